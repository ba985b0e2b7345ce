//! Programs that run other programs, and how to find what they run.
//!
//! Each file of `wrappers/` declares one `WRAPPER` for a family of programs: rows that say where
//! among the words the command stands, and a function for what rows cannot say. A wrapper only
//! says what is run; the engine follows it.

use crate::code::Language;
use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::table::Table;
use crate::words::{ends, lists};
use crate::wrappers::WRAPPERS;
use std::sync::LazyLock;

/// Something a wrapper runs.
#[derive(Debug)]
pub(crate) enum Inner {
    Argv(Vec<Arg>),
    /// Shell text with its positional arguments.
    Shell(Arg, Vec<Arg>),
    Code(Language, Arg),
    /// Whatever arrives on standard input.
    Stdin(Language, Vec<Arg>),
    File(Language, Arg, Vec<Arg>),
}

/// What a wrapper runs and under which circumstances.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent circumstances, each set by name")]
pub(crate) struct Inners {
    pub(crate) name: &'static str,
    pub(crate) list: Vec<Inner>,
    /// Variables that hold for what is run.
    pub(crate) assigns: Vec<(String, Arg)>,
    /// Arguments that inline code is given.
    pub(crate) args: Vec<Arg>,
    /// The directory that it is run in, where the wrapper changes it.
    pub(crate) cwd: Option<Arg>,
    pub(crate) elevated: bool,
    pub(crate) bulk: bool,
    pub(crate) narrowed: bool,
    /// On another machine or in a container.
    pub(crate) elsewhere: bool,
    /// In a container that is thrown away and sees nothing of the host.
    pub(crate) throwaway: bool,
    /// More than can be followed.
    pub(crate) excess: bool,
    /// Prints only what the inner command prints.
    pub(crate) opaque: bool,
}

impl Inners {
    pub(crate) fn shell(&mut self, code: Arg) {
        self.list.push(Inner::Shell(code, Vec::new()));
    }

    pub(crate) fn argv(&mut self, words: impl Into<Vec<Arg>>) {
        self.list.push(Inner::Argv(words.into()));
    }

    /// Words that are joined to one text for a shell.
    pub(crate) fn joined(&mut self, words: &[Arg]) {
        if let Some(first) = words.first() {
            let taint = words.iter().fold(first.taint, |taint, arg| taint.with(arg.taint));
            let texts: Vec<&str> = words.iter().map(|arg| arg.text.as_str()).collect();
            self.shell(Arg::of(texts.join(" "), first.span, taint));
        }
    }

    /// One word with blanks is text for a shell, more are a command with its arguments.
    pub(crate) fn run(&mut self, words: &[Arg]) {
        // The key that sends what was typed.
        let typed = words.split_last().filter(|(key, _)| key.is("Enter") || key.is("C-m"));
        match typed.map_or(words, |(_, words)| words) {
            [] => {}
            [code] | [code, _, _] if code.text.contains(' ') => self.shell(code.clone()),
            words => self.argv(words),
        }
    }

    /// Lines of arguments and standard input that begin with one of these marks, without it.
    pub(crate) fn lines_after(&mut self, marks: &[&str], call: &Call<'_>) {
        let texts = call.args.iter().map(|arg| arg.text.as_str()).chain(call.stdin.text.as_deref());
        for line in texts.flat_map(str::lines).map(str::trim_start) {
            if let Some(code) = marks.iter().find_map(|mark| line.strip_prefix(mark)) {
                self.shell(Arg::new(code, call.span));
            }
        }
    }
}

/// One family of programs that run others.
#[derive(Debug)]
pub(crate) struct Wrapper {
    /// Where the command stands, for programs of which that is all there is to say.
    pub(crate) rows: &'static [Row],
    /// The programs that `unwrap` knows more about.
    pub(crate) names: &'static str,
    pub(crate) unwrap: fn(&Call<'_>, &mut Inners),
}

/// Where a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Here,
    /// With other rights.
    Raised,
    /// On another machine or in a container.
    Away,
}

/// Where the command of a program stands.
#[derive(Debug)]
pub(crate) struct Row {
    names: &'static str,
    place: Place,
    /// The words behind which it stands: `*` behind none, `exec` where that is the first operand,
    /// `..exec` wherever it is.
    verbs: &'static str,
    /// Options in front of the command whose value is the next argument.
    values: &'static str,
    /// Operands in front of the command.
    skip: usize,
    /// Options whose value is a command.
    options: &'static str,
    /// Options whose value is the directory that the command runs in.
    dirs: &'static str,
    /// Options with which nothing is run.
    idle: &'static str,
}

impl Row {
    /// The same for commands that run elsewhere.
    pub(crate) const fn away(self) -> Self {
        Self { place: Place::Away, ..self }
    }

    /// The same for commands that get other rights.
    pub(crate) const fn raised(self) -> Self {
        Self { place: Place::Raised, ..self }
    }

    /// The same, with options whose value is a command.
    pub(crate) const fn or(self, options: &'static str) -> Self {
        Self { options, ..self }
    }

    /// The same, with options that name the directory.
    pub(crate) const fn at(self, dirs: &'static str) -> Self {
        Self { dirs, ..self }
    }

    /// The same, but for calls with one of these options.
    pub(crate) const fn unless(self, idle: &'static str) -> Self {
        Self { idle, ..self }
    }

    fn unwrap(&self, call: &Call<'_>, inners: &mut Inners) {
        let options: Vec<&str> = self.options.split_ascii_whitespace().collect();
        call.values(&options).for_each(|code| inners.shell(code));
        // What follows the words that `env -S` parts goes on with them.
        let split = call.args.iter().position(|arg| arg.is("-S") || arg.is("--split-string"));
        if let Some(at) = split.filter(|_| call.program == "env") {
            let words = call.args.iter().skip(at + 1).map(|arg| arg.text.as_str());
            inners.shell(Arg::new(words.collect::<Vec<_>>().join(" "), call.span));
        }
        inners.elsewhere |= self.place == Place::Away;
        inners.elevated |= self.place == Place::Raised;
        inners.opaque |= !self.verbs.is_empty();
        if !inners.list.is_empty() {
            return;
        }
        if self.verbs == "*" {
            self.unwrap_rest(call, inners);
            return;
        }
        let first = call.operand(0);
        let announces = |arg: &Arg| {
            self.verbs.split_ascii_whitespace().any(|verb| match verb.strip_prefix("..") {
                Some(verb) => arg.is(verb),
                None => arg.is(verb) && verb == first,
            })
        };
        let Some(at) = call.args.iter().position(announces) else { return };
        let behind = call.args.get(at + 1..).unwrap_or_default();
        match behind.iter().position(|arg| arg.is("--")) {
            Some(at) => inners.run(behind.get(at + 1..).unwrap_or_default()),
            None => inners.run(command_after(behind, self.values, self.skip)),
        }
    }

    /// The rest of the words, with the variables and the directory that stand before it.
    fn unwrap_rest(&self, call: &Call<'_>, inners: &mut Inners) {
        let rest = command_after(call.args, self.values, self.skip);
        let before = call.args.get(..call.args.len() - rest.len()).unwrap_or_default();
        if before.iter().any(|arg| lists(self.idle, &arg.text)) {
            return;
        }
        let dirs: Vec<&str> = self.dirs.split_ascii_whitespace().collect();
        inners.cwd = Call { args: before, ..*call }.option(&dirs);
        for arg in before.iter().filter(|arg| is_assignment(&arg.text)) {
            let assigned = arg.text.split_once('=');
            inners
                .assigns
                .extend(assigned.map(|(name, value)| (name.to_owned(), arg.with_text(value))));
        }
        let shell = before.iter().any(|arg| lists("-s -i --shell --login", &arg.text));
        if rest.is_empty() && shell && self.place == Place::Raised {
            inners.list.push(Inner::Stdin(Language::Shell, Vec::new()));
        }
        inners.run(rest);
    }
}

const NOWHERE: Row = Row {
    names: "",
    place: Place::Here,
    verbs: "",
    values: "",
    skip: 0,
    options: "",
    dirs: "",
    idle: "",
};

/// Programs whose command follows their own options and `skip` operands.
pub(crate) const fn after(names: &'static str, values: &'static str, skip: usize) -> Row {
    Row { names, verbs: "*", values, skip, ..NOWHERE }
}

/// Programs whose command follows a verb, options with `values` and `skip` operands.
pub(crate) const fn behind(
    names: &'static str,
    verbs: &'static str,
    values: &'static str,
    skip: usize,
) -> Row {
    Row { names, verbs, values, skip, ..NOWHERE }
}

/// Programs with options whose value is a command.
pub(crate) const fn option(names: &'static str, options: &'static str) -> Row {
    Row { names, options, ..NOWHERE }
}

/// The arguments from the first that is neither option, value nor assignment, and `skip` more.
pub(crate) fn command_after<'c>(args: &'c [Arg], values: &str, skip: usize) -> &'c [Arg] {
    let mut at = 0;
    let mut skip = skip;
    while let Some(arg) = args.get(at) {
        if arg.is("--") {
            return args.get(at + 1 + skip..).unwrap_or_default();
        }
        if arg.text.len() > 1 && arg.text.starts_with('-') {
            let takes = lists(values, &arg.text) || cluster_takes_value(&arg.text, values);
            at += if takes { 2 } else { 1 };
        } else if is_assignment(&arg.text) {
            at += 1;
        } else if skip > 0 {
            skip -= 1;
            at += 1;
        } else {
            return args.get(at..).unwrap_or_default();
        }
    }
    &[]
}

/// `-iu user`: the last letter of a cluster takes the next argument as its value.
fn cluster_takes_value(text: &str, values: &str) -> bool {
    let letters: Vec<char> = text.chars().skip(1).collect();
    let takes =
        |letter: Option<&char>| letter.is_some_and(|letter| lists(values, &format!("-{letter}")));
    letters.len() > 1
        && letters.len() < 5
        && !text.starts_with("--")
        && !letters.iter().rev().skip(1).any(|letter| takes(Some(letter)))
        && takes(letters.last())
}

pub(crate) fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|letter: char| letter.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// As [`command_after`], for programs that take no assignments.
pub(crate) fn command_after_options<'c>(args: &'c [Arg], values: &str) -> &'c [Arg] {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        if arg.is("--") {
            return args.get(at + 1..).unwrap_or_default();
        }
        if arg.text.len() < 2 || !arg.text.starts_with('-') {
            break;
        }
        at += if lists(values, &arg.text) { 2 } else { 1 };
    }
    args.get(at..).unwrap_or_default()
}

/// What is known about the programs of one name.
#[derive(Debug, Default)]
struct Known {
    name: &'static str,
    rows: Vec<&'static Row>,
    more: Vec<fn(&Call<'_>, &mut Inners)>,
}

static BY_NAME: LazyLock<Table<Known>> = LazyLock::new(|| {
    let mut map: Table<Known> = Table::default();
    for wrapper in WRAPPERS {
        for name in wrapper.names.split_ascii_whitespace() {
            let known = map.entry(name).or_insert(Known { name, ..Known::default() });
            known.more.push(wrapper.unwrap);
        }
        for row in wrapper.rows {
            for name in row.names.split_ascii_whitespace() {
                let known = map.entry(name).or_insert(Known { name, ..Known::default() });
                known.rows.push(row);
            }
        }
    }
    map
});

/// The plain name of a versioned interpreter, such as `python3.12`.
fn versioned(program: &str) -> Option<&str> {
    let known = ["python", "ruby", "php", "perl", "pypy", "node", "lua"];
    let stem = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    (stem.len() < program.len() && known.contains(&stem)).then_some(stem)
}

/// What `call` runs, if it is a wrapper.
pub(crate) fn unwrap(call: &Call<'_>) -> Option<Inners> {
    let known = BY_NAME
        .get(call.program)
        .or_else(|| versioned(call.program).and_then(|name| BY_NAME.get(name)))?;
    let mut inners = Inners { name: known.name, ..Inners::default() };
    let call = Call { program: known.name, ..*call };
    known.more.iter().for_each(|unwrap| unwrap(&call, &mut inners));
    known.rows.iter().for_each(|row| row.unwrap(&call, &mut inners));
    Some(inners)
}

/// Whether `program` is a wrapper.
pub(crate) fn knows(program: &str) -> bool {
    BY_NAME.contains_key(program)
}

/// All wrapper names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    BY_NAME.keys().copied()
}

/// What programs do with the value of a variable.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Obeyed {
    /// Run it as a command.
    Command,
    /// Run the file it names.
    Script(Language),
    /// Load the libraries it names.
    Library,
    /// Take options from it, some of which load a file.
    Options(Language),
    /// Run what has one of these names in the folders that it lists.
    Folders(Language, &'static str),
    /// May run a command that stands in it.
    Text,
    /// Read settings of git from it, some of which are commands.
    GitSettings,
}

/// Files of a home that shells run.
const SHELL_FILES: &str = ".bashrc .bash_profile .profile .zshenv .zshrc .zprofile .zlogin";

/// Variables that programs obey.
const OBEYED: [(Obeyed, &str); 10] = [
    (
        Obeyed::Command,
        "PAGER GIT_PAGER MANPAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR \
            GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_ASKPASS GIT_PROXY_COMMAND SSH_ASKPASS \
            SUDO_ASKPASS SUDO_EDITOR BROWSER LESSOPEN LESSCLOSE PROMPT_COMMAND RSYNC_RSH CVS_RSH \
            SYSTEMD_EDITOR SYSTEMD_PAGER FZF_DEFAULT_COMMAND FCEDIT BORG_PASSCOMMAND BORG_RSH \
            RESTIC_PASSWORD_COMMAND RUSTC_WRAPPER CARGO_BUILD_RUSTC_WRAPPER KUBE_EDITOR",
    ),
    (Obeyed::Script(Language::Shell), "BASH_ENV ENV"),
    (Obeyed::Script(Language::Python), "PYTHONSTARTUP"),
    (Obeyed::Folders(Language::Python, "sitecustomize.py usercustomize.py"), "PYTHONPATH"),
    (Obeyed::Folders(Language::Shell, SHELL_FILES), "HOME ZDOTDIR"),
    (Obeyed::Library, "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES"),
    (Obeyed::Options(Language::JavaScript), "NODE_OPTIONS"),
    (Obeyed::Options(Language::Ruby), "RUBYOPT"),
    (Obeyed::Options(Language::Perl), "PERL5OPT PERL5DB"),
    (Obeyed::GitSettings, "GIT_CONFIG_PARAMETERS"),
];

/// How variables are named whose value some program runs.
const COMMANDS: &str = "PAGER EDITOR _COMMAND _CMD _RSH _SSH _HOOK _HOOKS INIT _OPTS _OPTIONS _WRAPPER ASKPASS \
    PASSCOMMAND _SHELL _PROGRAM _DIFF _LAUNCHER _RUNNER _EXEC BROWSER OPENER _PREVIEW MAKEFLAGS \
    SHELL _LINKER _SCRIPT _FLAGS FLAGS _TOOL _HELPER CC CXX _HANDLER";

/// What programs do with the value of this variable, if any does something.
pub(crate) fn obeyed(name: &str) -> Option<Obeyed> {
    if name.starts_with("GIT_CONFIG_VALUE_") {
        return Some(Obeyed::GitSettings);
    }
    if let Some(row) = OBEYED.iter().find(|(_, names)| lists(names, name)) {
        return Some(row.0);
    }
    let upper = name.to_ascii_uppercase();
    let named = ends(COMMANDS, &upper);
    named.then_some(Obeyed::Text)
}
