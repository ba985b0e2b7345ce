//! Programs that run other programs, and how to find what they run.
//!
//! Each file of `wrappers/` declares one `WRAPPER` for a family of programs. A wrapper only says
//! what is run; the engine follows it.

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

/// One family of programs that run others.
#[derive(Debug)]
pub(crate) struct Wrapper {
    pub(crate) names: &'static str,
    /// Names that stand in rows of its own.
    pub(crate) rows: fn() -> Vec<&'static str>,
    pub(crate) unwrap: fn(&Call<'_>, &mut Inners),
}

impl Wrapper {
    fn all_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let rows = (self.rows)().into_iter().flat_map(str::split_ascii_whitespace);
        self.names.split_ascii_whitespace().chain(rows)
    }
}

static BY_NAME: LazyLock<Table<(&'static str, &'static Wrapper)>> = LazyLock::new(|| {
    WRAPPERS
        .iter()
        .flat_map(|wrapper| wrapper.all_names().map(move |name| (name, (name, *wrapper))))
        .collect()
});

/// The plain name of a versioned interpreter, such as `python3.12`.
fn versioned(program: &str) -> Option<&str> {
    let known = ["python", "ruby", "php", "perl", "pypy", "node", "lua"];
    let stem = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    (stem.len() < program.len() && known.contains(&stem)).then_some(stem)
}

/// What `call` runs, if it is a wrapper.
pub(crate) fn unwrap(call: &Call<'_>) -> Option<Inners> {
    let (name, wrapper) = BY_NAME
        .get(call.program)
        .or_else(|| versioned(call.program).and_then(|name| BY_NAME.get(name)))?;
    let mut inners = Inners { name, ..Inners::default() };
    if name == &call.program {
        (wrapper.unwrap)(call, &mut inners);
    } else {
        let call = Call { program: name, ..*call };
        (wrapper.unwrap)(&call, &mut inners);
    }
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
    /// May run a command that stands in it.
    Text,
    /// Read settings of git from it, some of which are commands.
    GitSettings,
}

/// Variables that programs obey.
const OBEYED: [(Obeyed, &str); 8] = [
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
