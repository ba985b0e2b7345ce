//! Commands in places where no table says so: behind a program nobody has heard of,
//! in a start script's name, in a variable that some program runs.

use super::call::Call;
use super::engine::Engine;
use super::report::{Deed, render};
use super::value::{Arg, Stream, Taint};
use crate::code::Language;
use crate::own_program;
use crate::path::matches_glob;
use crate::rule::{self, Signal};
use crate::shell::Span;
use crate::shell::normalise::UNKNOWN;
use crate::shell::tree::{RedirectKind, Simple};
use crate::words::{begins, ends, holds, lists};
use crate::wrapper::{self, Inner, Obeyed};

/// Programs whose arguments are words to show, to look for or to name files.
pub(super) const PLAIN: &str = ": true false write-host write-output write-error write-warning write-verbose echo printf print say espeak figlet toilet cowsay cowthink \
    banner lolcat logger notify-send wall write info whatis apropos tldr cheat howdoi which whereis \
    type hash help ls dir cat touch mkdir stat file wc test [ grep egrep fgrep zgrep rg ag ack ugrep \
    code subl open xdg-open tree du df basename dirname realpath readlink pgrep history complete \
    compgen jq yq task todo.sh jrnl";

/// Programs, and the words directly behind them with which they are called to do harm.
const ANNOUNCED: &[(&str, &str)] = &[
    ("rm shred chmod chown pkill killall", "-?*"),
    ("chmod", "0* 1* 2* 4* 6* 7*"),
    ("sh bash zsh dash ksh", "-*c*"),
    ("python python3 perl ruby node", "-c -e -E --eval"),
    ("dd", "*=*"),
    ("git", "push reset clean checkout branch stash restore -C -c"),
    ("find", ".* /* ~*"),
    ("sudo xargs env", "*"),
    ("docker podman", "rm stop kill system volume compose"),
    ("systemctl", "stop restart disable mask poweroff reboot halt isolate"),
    ("kubectl", "delete drain"),
    ("terraform tofu", "destroy"),
    ("crontab", "-r"),
    ("rd rmdir", "/s /S"),
    ("del", "/*"),
    ("dropdb rimraf", "?*"),
    ("shutdown", "now -h -r -P +0 /s /r"),
    ("reboot poweroff halt", "-f now -p"),
    ("helm", "uninstall delete"),
    ("npm cargo twine", "publish unpublish upload"),
    ("wipefs blkdiscard remove-item", "?*"),
    ("mkfs mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mke2fs mkswap", "/dev/* -?*"),
    ("userdel deluser", "?*"),
    ("iptables", "-F --flush"),
    ("ufw", "disable reset"),
];

/// Whether `name` is a program that is called to do harm with `next` directly behind it.
pub(crate) fn announces(name: &str, next: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ANNOUNCED.iter().any(|(names, words)| {
        lists(names, &lower) && words.split_ascii_whitespace().any(|word| matches_glob(word, next))
    })
}

/// `/etc/init.d/NAME verb` said the way the service manager says it.
pub(super) fn start_script(first: &Arg, args: &[Arg]) -> Option<Vec<Arg>> {
    let (folder, name) = first.text.rsplit_once('/')?;
    if !(folder.ends_with("/init.d") || folder.ends_with("/rc.d")) {
        return None;
    }
    let word = |text: &str| first.with_text(text);
    let mut argv = vec![word("service"), word(name)];
    argv.extend(args.iter().cloned());
    Some(argv)
}

impl Engine<'_> {
    /// A command whose name is not known before it runs.
    pub(super) fn unknown_program(
        &mut self,
        argv: &[Arg],
        base: &str,
        span: Span,
        assigns: &[(String, Arg)],
    ) -> Stream {
        let Some((first, args)) = argv.split_first() else { return Stream::empty() };
        let taint = first.taint.with(self.doubt);
        self.signal_code(taint, span, argv);
        let bare: String = base.chars().filter(|letter| *letter != UNKNOWN).collect();
        if !bare.is_empty() && (rule::knows(&bare) || wrapper::knows(&bare)) {
            let mut respelt = argv.to_vec();
            if let Some(name) = respelt.first_mut() {
                name.text = bare;
            }
            return self.dispatch(&respelt, span, assigns);
        }
        if own_program::is_called_like_ours(args) {
            return self.run_as_ours(argv, span, assigns);
        }
        if looks_destructive(args)
            || args.iter().any(|arg| crate::path::is_vital(&self.resolve(&arg.text), self.facts))
        {
            self.report.signal(Signal::UnknownProgram, span, render(argv));
        }
        self.report.leaf(argv, &self.via, span);
        Stream::unknown(Taint::PROGRAM.with(taint))
    }

    /// A program that is called as only ours is, under another name: it is judged as ours, and
    /// asked about for hiding it.
    fn run_as_ours(&mut self, argv: &[Arg], span: Span, assigns: &[(String, Arg)]) -> Stream {
        let mut respelt = argv.to_vec();
        if let Some(name) = respelt.first_mut() {
            own_program::NAMES[0].clone_into(&mut name.text);
        }
        self.report.signal(Signal::OwnPolicy, span, render(argv));
        self.dispatch(&respelt, span, assigns)
    }

    /// A command name with a pattern: every program it may be is looked at.
    pub(super) fn globbed_program(&mut self, argv: &[Arg], base: &str, span: Span) -> Stream {
        self.report.signal(Signal::HiddenName, span, render(argv));
        if !self.charge(100_000, span) {
            return Stream::unknown(Taint::PROGRAM);
        }
        for name in rule::matching(base) {
            let mut respelt = argv.to_vec();
            if let Some(first) = respelt.first_mut() {
                name.clone_into(&mut first.text);
                first.glob = false;
            }
            self.dispatch(&respelt, span, &[]);
        }
        Stream::unknown(Taint::PROGRAM)
    }

    /// Looks for a call of our own program under a name that no table knows.
    pub(super) fn follow_unknown(&mut self, call: &Call<'_>) {
        if rule::knows(call.program) || lists(PLAIN, call.program) {
            return;
        }
        if own_program::is_called_like_ours(call.args) {
            let mut argv = vec![call.name.clone()];
            argv.extend_from_slice(call.args);
            self.run_as_ours(&argv, call.span, &[]);
        }
    }

    /// What a command that is nothing but redirections prints: `$(< file)`.
    pub(super) fn only_redirected(&self, simple: &Simple) -> Stream {
        let reads = simple.assigns.is_empty()
            && simple.redirects.iter().any(|redirect| {
                redirect.kind == RedirectKind::Read && redirect.descriptor.is_none_or(|at| at == 0)
            });
        if reads && self.captured { self.stdin.clone() } else { Stream::empty() }
    }

    /// What giving a variable its value makes some program run later.
    pub(super) fn assigned(&mut self, name: &str, value: &Arg, span: Span) {
        let text = value.text.as_str();
        if own_program::loosens(name, text) {
            self.report.signal(Signal::OwnPolicy, span, format!("{name}={text}"));
        }
        if let Some(obeyed) = wrapper::obeyed(name) {
            self.obey(obeyed, name, value, span);
            return;
        }
        if ends("CONFIG CONFIG_GLOBAL CONFIG_SYSTEM CONFIG_FILE CONF RC RCFILE", name) {
            let path = self.resolve(text);
            if let Some(held) = self.held(&path).and_then(|held| held.text) {
                self.run_phrases(&held, span);
            }
        }
        // Logs and dumps are written where a variable says.
        if holds("HIST LOG OUT DUMP TRACE", name) && text.starts_with(['/', '~']) {
            let path = self.resolve(text);
            self.touch_path(Deed::Write, value, &path);
        }
        match name {
            "PS0" | "PS1" | "PS2" | "PS4" => self.expand_again(text, span),
            "HISTFILE" if text == "/dev/null" || text.is_empty() => {
                self.report.signal(Signal::SecurityOff, span, name);
            }
            "HISTSIZE" | "HISTFILESIZE" | "SAVEHIST" if text == "0" => {
                self.report.signal(Signal::SecurityOff, span, name);
            }
            _ => {}
        }
    }

    /// What the variables in front of a command make it or others run.
    pub(super) fn carry(&mut self, program: &str, assigns: &[(String, Arg)], span: Span) {
        for (name, value) in assigns {
            self.assigned(name, value, span);
            if !lists(PLAIN, program) {
                self.carried(name, value, span);
            }
        }
    }

    /// A variable in front of a command: a command, code, or a file of this line that it holds.
    fn carried(&mut self, name: &str, value: &Arg, span: Span) {
        let text = value.text.as_str();
        if !is_shouted(name) {
            return;
        }
        let mut words = text.split_whitespace();
        if let (Some(first), Some(next)) = (words.next(), words.next())
            && announces(first, next)
        {
            self.run_phrases(text, span);
        }
        if ["(\"", "('"].iter().any(|mark| text.contains(mark)) {
            self.run_inner(Inner::Code(Language::Other, value.clone()), span);
        }
        if let Some(body) = text.strip_prefix("() {") {
            self.run_inner(Inner::Shell(value.with_text(body), Vec::new()), span);
        }
        if text.starts_with("/dev/fd/")
            && let Some(held) = self.held(text).and_then(|held| held.text)
        {
            self.run_phrases(&held, span);
        }
    }

    /// What the session exported before makes programs of this line run, too.
    pub(crate) fn obey_exports(&mut self) {
        let facts = self.facts;
        for (name, value) in &facts.variables {
            if let Some(obeyed) = wrapper::obeyed(name) {
                let span = Span::default();
                self.obey(obeyed, name, &Arg::new(value.as_str(), span), span);
            }
        }
    }

    fn obey(&mut self, obeyed: Obeyed, name: &str, value: &Arg, span: Span) {
        let text = value.text.as_str();
        if let Obeyed::Folders(language, names) = obeyed {
            for folder in text.split(':').take(8).filter(|folder| *folder != self.facts.home) {
                for name in names.split_whitespace() {
                    let path = self.resolve(&format!("{folder}/{name}"));
                    if let Some(text) = self.held(&path).and_then(|held| held.text) {
                        self.run_code(language, value.with_text(text), Vec::new(), span);
                    }
                }
            }
            return;
        }
        // Where everybody can write, nobody keeps what programs load.
        let loose = text.split([' ', ':', '=', ',']).map(|word| word.trim_start_matches("-r"));
        if !name.ends_with("FLAGS")
            && loose.clone().any(|word| begins("/tmp/ /var/tmp/ /dev/shm/", word))
        {
            self.report.signal(Signal::KeyImplant, span, name);
        }
        let inner = match obeyed {
            Obeyed::Text => {
                self.run_phrases(text, span);
                return;
            }
            Obeyed::Command if text.contains([' ', ';', '|', '/', '$']) => {
                // `LESSOPEN` marks a pipe in front of its command.
                let text = text.trim_start_matches(['|', '-']);
                Inner::Shell(value.with_text(text), Vec::new())
            }
            Obeyed::Script(language) if text.contains(['/', '.']) => {
                Inner::File(language, value.clone(), Vec::new())
            }
            Obeyed::Library if text.split([':', ' ']).any(is_own_library) => {
                self.report.signal(Signal::KeyImplant, span, name);
                return;
            }
            Obeyed::Options(language) => match loaded(language, text) {
                Some(Loaded::File(file)) => {
                    // The ending may be left out.
                    let endings =
                        ["", ".rb", ".js", ".mjs", ".cjs"].map(|end| format!("{file}{end}"));
                    let mut named = endings
                        .iter()
                        .filter(|name| self.state.files.contains_key(&self.resolve(name)));
                    let file = named.next().map_or(file, String::as_str);
                    Inner::File(language, value.with_text(file), Vec::new())
                }
                Some(Loaded::Code(code)) => Inner::Code(language, value.with_text(code)),
                None => return,
            },
            Obeyed::GitSettings => {
                let command = text.split_once("=!").map_or(text, |(_, command)| command);
                let command = command.trim_matches(['\'', '!']);
                Inner::Shell(value.with_text(command), Vec::new())
            }
            _ => return,
        };
        self.run_inner(inner, span);
    }
}

/// A name in capitals, as the variables of programs have.
fn is_shouted(name: &str) -> bool {
    name.len() > 2 && !name.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// A library that is not one of the system's.
fn is_own_library(path: &str) -> bool {
    let places = ["/usr/", "/lib", "/opt/", "/nix/", "/snap/"];
    path.contains('/') && !places.iter().any(|place| path.starts_with(place))
}

/// What options in a variable load.
enum Loaded<'a> {
    File(&'a str),
    Code(&'a str),
}

fn loaded(language: Language, text: &str) -> Option<Loaded<'_>> {
    if language == Language::Perl {
        return text.contains([';', '(', '{']).then_some(Loaded::Code(text));
    }
    let named = ["--require", "--import", "--loader", "--experimental-loader", "-r"];
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let attached = named.iter().find_map(|name| {
            let rest = word.strip_prefix(name)?;
            Some(rest.strip_prefix('=').unwrap_or(rest))
        });
        let Some(attached) = attached else { continue };
        let file = if attached.is_empty() { words.next()? } else { attached };
        if let Some(code) = file.strip_prefix("data:") {
            let start = text.find(code)?;
            return text
                .get(start..)
                .map(|code| Loaded::Code(code.split_once(',').map_or(code, |it| it.1)));
        }
        if file.starts_with(['.', '/', '~']) {
            return Some(Loaded::File(file));
        }
    }
    None
}

fn looks_destructive(args: &[Arg]) -> bool {
    const FLAGS: &str = "-rf -fr -Rf -rF --force --hard --no-preserve-root -fdx --recursive";
    args.iter().any(|arg| lists(FLAGS, &arg.text))
}
