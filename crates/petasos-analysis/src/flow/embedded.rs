//! Commands in text that a program is given and no table accounts for: one argument, standard
//! input, a file that this line wrote. A phrase counts only where the rules speak about it.

use super::call::Call;
use super::engine::Engine;
use super::guess::{PLAIN, announces};
use super::report::Deed;
use super::value::Arg;
use crate::code::Language;
use crate::path::{Target, is_secret, target};
use crate::rule::{self, Signal};
use crate::shell::Span;
use crate::shell::normalise::UNKNOWN;
use crate::words::{ends, lists};
use crate::wrapper::{Inner, obeyed};

/// So many commands in a text are followed.
const COMMANDS_MAX: usize = 8;

/// Programs that store, show, send or look for text, and those whose code is read as code.
pub(super) const DATA: &str = "comm join expr last lastlog git hg gh glab jj curl wget http xh sed gsed awk \
 gawk mawk nawk perl ruby python python2 python3 pypy node nodejs php bun tee sponge cp mv ln install chmod \
 chown rm head tail less more bat diff cmp sort uniq cut tr nl tac rev column fold fmt base64 xxd od \
 sha256sum sha1sum md5sum shellcheck shfmt find fd sh bash zsh dash ksh fish csh tcsh nu pwsh powershell ssh \
 read export set unset declare local alias trap man clip pbcopy xclip wl-copy slack mail mutt jest pytest \
 vitest mocha petasos hermes cd sleep docker kubectl rsync scp tar dialog whiptail zenity kdialog osascript \
 tmux prettier eslint mdcat glow pandoc split strings expect for case env sudo apply_patch unzip zip exit \
 return date bash-language-server shuf patch npm cargo yarn pnpm aspell hunspell string";

/// Options whose value is a text for people, or a name.
const ABOUT: &str = "-t -m -k -g --message --title --body --description --comment --grep --name \
    --text --subject --notes --reason --label --pattern --filter --note --summary";

/// Words behind which a command is only shown or stored.
const SHOWN: &str = "print println puts echo printf say log write console.log VALUES values INSERT \
    insert LIKE like io.write message Console.WriteLine putStrLn display format Println print_endline print_string";

impl Engine<'_> {
    /// Follows commands in what `call` is given, where nothing was found about it so far.
    pub(super) fn follow_text(&mut self, call: &Call<'_>) {
        let loaded = self.loaded(call);
        for (language, text) in loaded {
            self.run_loaded(language, &text, call.span);
        }
        if lists(PLAIN, call.program) {
            return;
        }
        self.follow_publishing(call);
        self.follow_substitution(call);
        self.follow_settings(call);
        if lists(DATA, call.program) {
            return;
        }
        self.follow_words(call);
        // A project's own program may do anything with a text, or nothing.
        if call.name.text.contains('/') {
            return;
        }
        let mut option = "";
        for arg in call.args.iter().take(24) {
            let about = std::mem::replace(&mut option, arg.text.as_str());
            // Code of a language that no table knows.
            let code = lists("-e -c -x -p", about)
                || about.starts_with('-')
                    && ends("eval exec execute expression string code expr", about);
            let plain = !arg.text.starts_with('-')
                && ['"', '\''].iter().any(|quote| arg.text.contains(&format!("({quote}")));
            if code && arg.text.contains(['(', '[']) || plain && !lists(ABOUT, about) {
                self.run_inner(Inner::Code(Language::Other, arg.clone()), call.span);
            }
            let phrase =
                arg.text.contains(|sign: char| sign.is_whitespace() || "{\"".contains(sign));
            if phrase && !lists(ABOUT, about) {
                self.follow_phrases(&arg.text, call.span, false);
                self.run_statement(&arg.text, call);
                self.follow_files(arg, call);
            }
        }
        if let Some(text) = &call.stdin.text {
            self.run_phrases(text, call.span);
            self.run_statement(text, call);
        }
    }

    /// `sed 's/…/command/e'` runs each line as it is after the change.
    fn follow_substitution(&mut self, call: &Call<'_>) {
        if !lists("sed gsed", call.program) {
            return;
        }
        for file in call.values(&["-f", "--file"]) {
            let path = self.resolve(&file.text);
            if let Some(script) = self.held(&path).and_then(|held| held.text) {
                let argv = ["sed", "-e", script.as_str()].map(|text| file.with_text(text));
                self.run_inner(Inner::Argv(argv.to_vec()), call.span);
            }
        }
        let executed = call.args.iter().find_map(|arg| executed(&arg.text).map(|code| (arg, code)));
        if let Some((arg, code)) = executed {
            let input = call.stdin.text.as_deref().unwrap_or_default();
            let line = input.lines().next().unwrap_or_default();
            let code = arg.with_text(format!("{code}{line}"));
            self.run_shell(code, call.span);
        }
    }

    /// A statement of a database, as it is spelt for a client that no table knows.
    fn run_statement(&mut self, text: &str, call: &Call<'_>) {
        let first = text.split_whitespace().next().unwrap_or_default();
        let verb = lists("DROP TRUNCATE DELETE REMOVE MATCH ALTER BEGIN", first);
        if verb && crate::sql::is_destructive(text) {
            self.report.signal(Signal::DestructiveSql, call.span, call.name.text.clone());
        }
    }

    /// Aliases and hooks that hold a command: `alias.x=!rm`, `set-hook x 'run-shell …'`.
    fn follow_settings(&mut self, call: &Call<'_>) {
        let sets =
            call.args.iter().take(4).any(|arg| lists("alias set-hook bind bind-key", &arg.text));
        for arg in call.args.iter().take(24) {
            // `ui.editor=…`, `--script-shell=…`: named as variables that programs obey are.
            if let Some((name, code)) = arg.text.split_once('=')
                && obeyed(&name.trim_start_matches('-').replace(['.', '-'], "_")).is_some()
            {
                self.follow_phrases(code, call.span, false);
            }
            let command = arg.text.split_once("=!").map(|(_, code)| code);
            let command = command.or_else(|| arg.text.strip_prefix('!'));
            if let Some(command) = command.or((sets && call.program != "git").then_some(&arg.text))
            {
                self.follow_phrases(command, call.span, false);
            }
        }
    }

    /// A command that stands word by word behind the name and options of another program.
    fn follow_words(&mut self, call: &Call<'_>) {
        let word = |at: usize| call.args.get(at).map_or("", |arg| arg.text.as_str());
        let starts = |at: &usize| {
            let name = base(word(*at));
            // `g/rm -rf/d`: what stands in a pattern is none.
            if word(*at).contains('/')
                && !word(*at).contains("bin/")
                && !word(*at).starts_with("./")
            {
                return false;
            }
            let led = *at > 0 && lists("exec run spawn -- -e --exec", word(at - 1));
            announces(name, word(at + 1))
                || led && rule::knows(name) && !lists(RUNNERS, call.program)
        };
        let Some(at) = (0..call.args.len().min(24)).find(starts) else { return };
        let argv = call.args.get(at..).unwrap_or_default().to_vec();
        self.via.push("unknown program");
        self.run_inner(Inner::Argv(argv), call.span);
        self.via.pop();
    }

    /// Arguments that a builtin evaluates by itself: subscripts, and commands it calls back.
    pub(super) fn follow_evaluated(&mut self, program: &str, args: &[Arg], span: Span) {
        if lists(
            "let test [ unset read printf wait declare local export typeset readonly getopts",
            program,
        ) {
            for arg in args.iter().take(16) {
                if let Some(code) = subscript(&arg.text) {
                    self.run_shell(arg.with_text(code), span);
                }
            }
        }
        if program == "bind" && args.first().is_some_and(|flag| flag.is("-x")) {
            for code in args.iter().filter_map(|arg| arg.text.split_once(':')) {
                self.run_shell(Arg::new(code.1, span), span);
            }
        }
        if program == "history" && args.first().is_some_and(|flag| flag.is("-s")) {
            let words: Vec<&str> = args.iter().skip(1).map(|arg| arg.text.as_str()).collect();
            let code = Arg::new(words.join(" "), span);
            self.run_shell(code, span);
        }
        if lists("mapfile readarray compgen complete", program) {
            for pair in args.windows(2).take(16) {
                if let [flag, code] = pair
                    && lists("-C -W", &flag.text)
                {
                    // Words are expanded again, a command is called back.
                    match flag.text.as_str() {
                        "-W" => self.expand_again(&code.text, span),
                        _ => drop(self.run_shell(code.clone(), span)),
                    }
                }
            }
        }
    }

    /// Follows every command that stands in `text` in plain sight.
    pub(super) fn run_phrases(&mut self, text: &str, span: Span) {
        self.follow_phrases(text, span, true);
    }

    fn follow_phrases(&mut self, text: &str, span: Span, anywhere: bool) {
        if !self.charge(text.len() * 4, span) {
            return;
        }
        for words in phrases(text, anywhere) {
            if !self.charge(words.len() * 100 + 300, span) {
                return;
            }
            let argv = words.into_iter().map(|word| Arg::new(word, span)).collect();
            self.via.push("text");
            self.run_inner(Inner::Argv(argv), span);
            self.via.pop();
        }
    }

    /// Files that a text in the language of a tool writes or shows: `.output F`, `into outfile 'F'`.
    fn follow_files(&mut self, arg: &Arg, call: &Call<'_>) {
        let mut before = "";
        let parts = arg.text.split(|sign: char| sign.is_whitespace() || "'\"();,[]".contains(sign));
        for word in parts.filter(|word| !word.is_empty()).take(64) {
            let path = word;
            let verb = std::mem::replace(&mut before, word);
            if !path.starts_with(['/', '~']) {
                continue;
            }
            let place = arg.with_text(path);
            let resolved = self.resolve(path);
            let verb = verb.trim_matches(['\\', ':', '(', '%']).to_ascii_lowercase();
            if lists(WRITES, &verb) && target(&resolved, call.facts) != Target::Ordinary {
                self.touch(Deed::Write, &place, call);
            } else if is_secret(&resolved, call.facts) {
                self.touch(Deed::Read, &place, call);
            }
        }
    }
}

/// Programs whose `run` and `exec` name a script of the project.
const RUNNERS: &str = "npm yarn pnpm bun composer poetry pdm hatch uv rye pixi make just task rake deno go \
    cargo dotnet gradle mvn nx turbo lerna invoke inv fab poe nox tox mise asdf devbox";

/// Words in front of a file that is written.
const WRITES: &str = ".output .once .backup .save .log .excel .clone o w g s outfile dumpfile to into \
    write wq w! wq! saveas save output tee append > >> >! dump export redirect logging file \
    writefile pg_file_write lo_export";

/// The command that is substituted in the subscript of a name: `a[$(code)]`.
pub(super) fn subscript(text: &str) -> Option<&str> {
    let (_, inside) = text.split_once('[')?;
    let code = inside.split_once("$(").or_else(|| inside.split_once('`'))?.1;
    code.split([')', '`']).next()
}

/// What a substitution with the flag `e` puts in.
fn executed(script: &str) -> Option<&str> {
    let rest = script.strip_prefix('s')?;
    let sign = rest.chars().next().filter(char::is_ascii_punctuation)?;
    let mut fields = rest.split(sign).skip(2);
    let code = fields.next()?;
    let flags = fields.next()?;
    let known = flags.chars().all(|flag| flag.is_ascii_digit() || "gepiIm".contains(flag));
    (known && flags.contains('e')).then_some(code)
}

fn base(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or_default()
}

/// Words between a program and what it is given.
const GIVEN: &str = "arg args arguments line value";
/// Words behind which a command stands.
const EXECS: &str = "exec run shell sh system spawn command cmd call start do eval script host execute \
    run-shell shell-escape shell-command process popen -c -e -x --exec --command --cmd --run : ! bash \
    then and else to";
/// Programs whose names are words of English: they begin a command only where their options say so.
const PROSE: &str = "stop restart format enable trust history security net host mail at batch service \
    compose init pass op port k pw god snap flux copy move rename replace install link remove delete \
    erase halt reboot shutdown poweroff kill find sort split script watch time nice make just task run \
    apply render build test go node at screen reset more less cut join paste date time which who last \
    write read open close print echo head tail look file yes no true false set unset export source \
    env sudo type help man info up down start clear empty purge wipe drop change switch rush st mount";

/// The words of every command in `text`; quotes and brackets part words, as lists of them do.
/// A command may stand `anywhere`, or only where something in front of it runs it.
fn phrases(text: &str, anywhere: bool) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for line in text.lines().flat_map(|line| line.split([';', '|', '&', '`'])).take(8_192) {
        let words = parted(line);
        let word = |at: usize| words.get(at).map_or("", |(word, _)| word.as_str());
        let start = (0..words.len()).find(|at| {
            let name = base(word(*at));
            // Quotes part words here, so that the code of a shell is found by itself.
            if lists("sh bash zsh dash ksh", name) {
                return false;
            }
            let begins = *at == 0
                && words.len() > 1
                && word(*at) == name.to_ascii_lowercase()
                && !lists(PROSE, name)
                && (rule::knows(name) || lists("sudo doas env", name));
            let fresh = words.get(*at).is_some_and(|(_, fresh)| *fresh);
            let led = anywhere || fresh || *at == 0 || lists(EXECS, word(at.saturating_sub(1)));
            let next = usize::from(lists(GIVEN, word(at + 1)));
            begins || led && announces(name, word(at + 1 + next))
        });
        let shown = |at: usize| {
            (0..at).any(|before| lists(SHOWN, word(before).rsplit('.').next().unwrap_or_default()))
        };
        if let Some(start) = start.filter(|at| !shown(*at)) {
            let own = words.iter().skip(start).filter(|(word, _)| !lists(GIVEN, word));
            let mut own: Vec<String> = own.map(|(word, _)| word.replace("$HOME", "~")).collect();
            // What is filled in between brackets is gone by now.
            if own.iter().skip(1).all(|word| word.starts_with('-')) {
                own.push(UNKNOWN.to_string());
            }
            found.push(own);
        }
        if found.len() >= COMMANDS_MAX {
            break;
        }
    }
    found
}

/// The words of a line, and whether a sign stands in front of each.
fn parted(line: &str) -> Vec<(String, bool)> {
    let mut words: Vec<(String, bool)> = Vec::new();
    let mut fresh = false;
    let mut open = false;
    for letter in line.chars() {
        let sign = "\"',()[]{}!\\@+=%<>:".contains(letter);
        if sign || letter.is_whitespace() {
            fresh |= sign;
            open = false;
            continue;
        }
        if !open && words.len() == 64 {
            break;
        }
        if !open {
            words.push((String::new(), std::mem::take(&mut fresh)));
            open = true;
        }
        if let Some((word, _)) = words.last_mut() {
            word.push(letter);
        }
    }
    words
}
