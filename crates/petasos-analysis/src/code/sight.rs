//! What is seen anywhere in program text and means something only together:
//! a connection and a shell, a decoder and an evaluator, a listing and a delete.

use super::evaluate::Value;
use super::scan::Token;
use super::walk::Walker;
use super::{Language, alias, calls};
use crate::flow::report::Deed;
use crate::flow::value::Taint;
use crate::rule::Signal;
use crate::shell::normalise::UNKNOWN;
use crate::words::{begins, lists};

/// Things seen anywhere in the text that mean something together.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent sightings")]
pub(super) struct Seen {
    pub(super) network: bool,
    pub(super) shell: bool,
    pub(super) duplicates: bool,
    pub(super) lists: bool,
    pub(super) deletes: bool,
    pub(super) evaluates: bool,
    pub(super) decodes: bool,
    pub(super) forks: bool,
    pub(super) loops: bool,
    pub(super) environment: bool,
    pub(super) sends: bool,
    pub(super) sockets: bool,
    /// Something of a language without a table starts a program.
    pub(super) runs: bool,
    /// A program is started whose name is not in the text.
    pub(super) runs_unknown: bool,
    pub(super) reads_stdin: bool,
    /// Text is worked out from something else than text.
    pub(super) computes: bool,
    pub(super) walked: Option<String>,
    /// Libraries that reach a cloud or a cluster, or an engine of containers.
    pub(super) cloud: bool,
    pub(super) engine: bool,
    /// Something is taken away, or ended, by a method of that name.
    pub(super) takes_away: bool,
    pub(super) ends: bool,
    /// All processes are looked through; files are given to root.
    pub(super) processes: bool,
    pub(super) owned: bool,
}

impl Walker<'_, '_, '_> {
    /// Names that mean something wherever they stand.
    pub(super) fn notice(&mut self, name: &str, at: usize) {
        let last = name.rsplit(['.', ':']).next().unwrap_or_default();
        self.seen.network |= calls::reaches_network(name);
        self.seen.evaluates |= last == "eval"
            || lists("pickle.loads marshal.loads dill.loads cloudpickle.loads", name);
        self.seen.duplicates |=
            lists("dup2 pty for_fd dup pipe reopen", last) || name.starts_with("pty");
        self.seen.decodes |= matches!(last, "chr" | "fromCharCode" | "unhexlify" | "marshal")
            || name == "codecs.decode";
        self.seen.sockets |= lists("socket TCPSocket fsockopen Socket", last)
            || name.contains("IO::Socket")
            || begins("net.connect net.Dial TCPSocket", name);
        self.seen.duplicates |= matches!(last, "stdin" | "stdout")
            && self.sign(at + 1, '=')
            && matches!(self.reader.tokens.get(at + 2), Some(Token::Name(value)) if !value.ends_with("PIPE") && !value.starts_with("sys.") && !value.ends_with("DEVNULL") && !value.contains("open"));
        self.seen.runs |= self.language == Language::Other && alias::runs_program(name);
        self.seen.deletes |= self.language == Language::Perl && matches!(name, "unlink" | "rmdir");
        self.seen.reads_stdin |=
            name.contains("stdin") || name.contains("STDIN") || name == "input";
        self.seen.computes |= lists(
            "chr fromCharCode reversed reverse strrev rot13 pack unpack decode unhexlify \
                bytes bytearray translate str_rot13",
            last,
        );
        self.seen.cloud |= calls::is_cloud_library(name);
        self.seen.engine |= name == "docker" || name.starts_with("docker.");
        let called = self.sign(at + 1, '(') || self.sign(at + 1, '!');
        self.seen.takes_away |=
            calls::takes_away(last) && (called && name.contains('.') || last.ends_with("Command"));
        self.seen.ends |=
            self.sign(at + 1, '(') && lists("stop kill remove prune restart pause terminate", last);
        self.seen.processes |=
            matches!(last, "process_iter" | "pids" | "get_processes" | "ps-list");
        if matches!(last, "chown" | "lchown" | "chownSync") && self.sign(at + 1, '(') {
            let (args, _) = self.reader.arguments(at + 1, 0);
            self.seen.owned |= args.get(1) == Some(&Value::Number(0));
        }
        self.notice_forks(name, last, at);
        self.notice_emptied(name, last, at);
        self.seen.lists |= calls::lists_files(name) || name == "list.files";
        self.seen.sends |= lists("post put send sendall request urlopen fetch write", last);
        let listed = name == "Dir" && self.sign(at + 1, '[');
        self.seen.lists |= listed;
        if listed || calls::lists_files(name) && self.sign(at + 1, '(') {
            let (args, _) = self.reader.arguments(at + 1, 0);
            let owner =
                name.rsplit_once('.').and_then(|(owner, _)| self.reader.constants.get(owner));
            let owner = match &self.receiver {
                Some((place, value)) if *place == at => Some(value),
                _ => owner,
            };
            // `Path("x").rglob("*")` lists what it is called on.
            let owner = owner
                .filter(|_| lists("rglob glob iterdir walk children entries each_child", last))
                .cloned();
            let mut roots = owner.into_iter().chain(args);
            if let Some(Value::Text(root)) = roots.find(|value| matches!(value, Value::Text(_))) {
                let everything = matches!(last, "listdir" | "scandir" | "readdirSync" | "iterdir");
                self.seen.walked = Some(if everything { format!("{root}/*") } else { root });
            }
        }
        self.seen.environment |=
            (last == "environ" || name == "process.env" || name == "ENV" || name == "%ENV")
                && !matches!(
                    self.reader.tokens.get(at + 1),
                    Some(Token::Sign('[' | '{') | Token::Name(_))
                );
    }

    /// Methods that take away all that a store holds: `all().delete()`, `deleteMany({})`.
    fn notice_emptied(&mut self, name: &str, last: &str, at: usize) {
        let method = name.starts_with('.') || at > 0 && self.sign(at - 1, '>');
        let bare = method && self.sign(at + 1, '(') && self.sign(at + 2, ')');
        self.seen.deletes |= bare && last == "delete";
        let everything = self.sign(at + 1, '(') && self.sign(at + 2, '{') && self.sign(at + 3, '}');
        let all = matches!(at.checked_sub(3).and_then(|at| self.reader.tokens.get(at)), Some(Token::Name(name)) if name.ends_with("all"));
        let table = at >= 6
            && matches!(self.reader.tokens.get(at - 6), Some(Token::Name(name)) if name.ends_with("table"));
        let all = all || table;
        if everything && lists("deletemany delete_many remove", &last.to_ascii_lowercase())
            || bare && last == "delete" && all
        {
            self.engine.report.signal(Signal::DestructiveSql, self.span, name);
        }
    }

    /// A fork in a loop, or `fork while …`; one in front of a loop is only a child.
    fn notice_forks(&mut self, name: &str, last: &str, at: usize) {
        let forks =
            |name: &str| matches!(name.rsplit(['.', ':']).next(), Some("fork" | "pcntl_fork"));
        let before = (1..=3).filter_map(|back| self.reader.tokens.get(at.checked_sub(back)?));
        let looped = matches!(last, "while" | "loop" | "until" | "for");
        self.seen.forks |= forks(name) && self.seen.loops
            || looped
                && before
                    .into_iter()
                    .any(|token| matches!(token, Token::Name(name) if forks(name)));
        self.seen.loops |= looped;
        let ahead = |steps: usize| self.reader.tokens.get(at + steps);
        let endless = match (ahead(1), ahead(2), ahead(3)) {
            (Some(Token::Sign('(')), Some(Token::Sign(';')), Some(Token::Sign(';'))) => true,
            (Some(Token::Sign('(')), Some(Token::Number(one)), _) => one == "1",
            (Some(Token::Sign('(')), Some(Token::Name(word)), _) => word == "true",
            _ => false,
        };
        let own = |token: &Token| matches!(token, Token::Name(name) if lists("__filename process.argv sys.argv __FILE__ sys.executable", name));
        self.seen.forks |= looped && endless && self.reader.tokens.iter().any(own);
    }

    /// What texts mean beside a connection: a request that deletes, a shell at its end.
    fn remote_signals(&self) -> Vec<Signal> {
        let seen = &self.seen;
        let mut signals = Vec::new();
        let tokens = &self.reader.tokens;
        let is_text = |test: fn(&str) -> bool| {
            tokens.iter().any(|token| matches!(token, Token::Text(text) if test(text)))
        };
        let deletes = seen.network
            && is_text(|text| text == "DELETE")
            && !is_text(|text| text.contains("//localhost") || text.contains("//127."));
        let shell = is_text(|text| {
            matches!(text.trim_end_matches(" -i"), "/bin/sh" | "/bin/bash" | "sh" | "bash")
        });
        if seen.sockets && shell && !is_text(|text| text == "-c") {
            signals.push(Signal::ReverseShell);
        }
        if deletes {
            signals.push(Signal::CloudDelete);
        }
        signals
    }

    /// A function that forks and calls itself.
    fn forks_itself(&self) -> bool {
        let tokens = self.reader.tokens;
        let named = |wanted: &str| {
            tokens
                .iter()
                .filter(|token| matches!(token, Token::Name(name) if name == wanted))
                .count()
        };
        let forks =
            ["fork", "os.fork", "Process.fork", "pcntl_fork"].iter().any(|name| named(name) > 0);
        forks
            && tokens.windows(2).any(|pair| match pair {
                [Token::Name(word), Token::Name(name)] => {
                    matches!(word.as_str(), "def" | "sub" | "function") && named(name) > 2
                }
                _ => false,
            })
    }

    /// What the sightings mean together.
    pub(super) fn conclude(&mut self) {
        let span = self.span;
        let seen = &self.seen;
        let decodes = self.reader.decoded || seen.decodes;
        let taint = self.engine.stdin.taint;
        let fed =
            |origin| seen.reads_stdin && (seen.runs_unknown || seen.evaluates) && taint.has(origin);
        let shell = seen.network && seen.shell && (seen.duplicates || seen.evaluates);
        let walks = |root: &str| seen.walked.as_ref().is_some_and(|place| place.starts_with(root));
        let together = [
            (shell || seen.sockets && seen.network && seen.runs_unknown, Signal::ReverseShell),
            (seen.evaluates && seen.network || fed(Taint::DOWNLOADED), Signal::RemoteCode),
            (seen.evaluates && decodes || fed(Taint::DECODED), Signal::DecodedCode),
            (seen.runs_unknown && (seen.computes || decodes), Signal::OpaqueCode),
            (seen.cloud && seen.takes_away, Signal::CloudDelete),
            ((seen.processes || walks("/proc")) && seen.ends, Signal::ForceKill),
            (seen.owned && seen.lists, Signal::RootOwner),
            (seen.engine && seen.ends, Signal::ContainerEnd),
            (seen.forks && seen.loops || self.forks_itself(), Signal::ForkBomb),
            (seen.environment && seen.network && seen.sends, Signal::Exfiltration),
        ];
        let meant = together.into_iter().filter(|(seen, _)| *seen).map(|(_, signal)| signal);
        let signals: Vec<Signal> = meant.chain(self.remote_signals()).collect();
        let guessed =
            if seen.runs { alias::possible_commands(self.reader.tokens) } else { Vec::new() };
        let sweep = seen.lists && seen.deletes;
        let root = seen.walked.clone().unwrap_or_else(|| UNKNOWN.to_string());
        // What flows in is what an unknown text that is run may be.
        let fed = self.reader.stdin.clone().filter(|_| seen.runs_unknown).unwrap_or_default();
        for line in fed.lines().take(4) {
            self.hand(line);
        }
        for command in guessed {
            self.shell(command);
        }
        for signal in signals {
            self.engine.report.signal(signal, span, "code");
        }
        let arriving = self.engine.stdin.taint.has(Taint::LISTING)
            && self.language == Language::Perl
            && self.seen.deletes;
        if arriving && let Some(text) = self.engine.copied_stdin().text {
            for line in text.lines() {
                self.touch(Deed::SWEEP, line);
            }
        }
        if sweep {
            self.touch(Deed::SWEEP, &root);
        }
    }
}
