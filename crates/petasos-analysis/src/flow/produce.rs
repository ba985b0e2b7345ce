//! What a command prints, as far as it can be told, and where that text is from.

use super::call::Call;
use super::engine::Engine;
use super::value::{Arg, Stream, Taint};
use super::{decode, filter, printf};
use crate::path::is_vital;
use crate::shell::normalise::UNKNOWN;
use crate::words::{begins, lists};

/// Programs whose output comes from the network.
const DOWNLOADERS: [&str; 14] = [
    "curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lynx", "w3m", "links", "nc", "ncat",
    "socat", "axel",
];
/// Programs that take one text and print another of the same origin.
const FILTERS: [&str; 26] = [
    "cat", "tr", "rev", "tac", "sed", "gsed", "head", "tail", "cut", "sort", "uniq", "tee", "pv",
    "grep", "egrep", "fgrep", "awk", "gawk", "perl", "nl", "fold", "fmt", "sponge", "paste",
    "column", "jq",
];

impl Engine<'_> {
    /// The output of a plain command.
    pub(super) fn output(&mut self, call: &Call<'_>) -> Stream {
        let taint = self.stdin.taint;
        if prints_setup(call) || self.encodes_secret(call) {
            let secret = self.encodes_secret(call);
            return Stream::unknown(if secret { Taint::SECRET } else { Taint::NONE });
        }
        if let Some(stream) = self.formatted(call) {
            return stream;
        }
        match call.program {
            "echo" if self.captured => {
                Stream { text: Some(echo(call.args)), taint: taint_of(call.args) }
            }
            "printf" if self.captured => match call.args.split_first() {
                Some((first, rest)) => {
                    let (first, rest) = match rest.split_first() {
                        Some((next, rest)) if first.is("--") => (next, rest),
                        _ => (first, rest),
                    };
                    Stream {
                        text: Some(printf::format(&first.text, rest)),
                        taint: taint_of(call.args),
                    }
                }
                None => Stream::empty(),
            },
            "echo" | "printf" => Stream { text: None, taint: taint_of(call.args) },
            "base64" | "gbase64" | "base32" | "xxd" | "openssl" | "uudecode" | "basenc" | "hxd"
            | "base58" => self.decoder(call),
            "gunzip" | "zcat" | "bzcat" | "bunzip2" | "xzcat" | "unxz" | "lz4" | "zstdcat"
            | "unzstd" | "gpg" | "ccrypt" | "age" | "uncompress" | "lzcat" | "brotli"
            | "unlzma" => Stream::unknown(Taint::DECODED.with(taint)),
            "gzip" | "bzip2" | "xz" | "zstd" => {
                let decodes =
                    call.flag('d') || call.long("--decompress") || call.long("--uncompress");
                let origin = if decodes { Taint::DECODED } else { Taint::PROGRAM };
                Stream::unknown(origin.with(taint))
            }
            "rot13" | "caesar" => {
                Stream { text: self.stdin.text.as_deref().map(decode::rot13), taint }
            }
            "env" | "printenv" | "export" | "set" | "declare" => {
                Stream::unknown(Taint::ENVIRONMENT)
            }
            "pgrep" | "ps" if lists_every_process(call) => {
                Stream::unknown(Taint::PROCESSES.with(Taint::EVERY_PROCESS))
            }
            "pgrep" | "pidof" | "ps" | "jps" | "lsof" | "ss" | "netstat" | "fuser" => {
                Stream::unknown(Taint::PROCESSES)
            }
            "ls" if call.operands().any(|arg| matches!(arg.text.as_str(), "/proc" | "/proc/")) => {
                Stream::unknown(Taint::LISTING.with(Taint::EVERY_PROCESS))
            }
            "history" => Stream::unknown(Taint::ENVIRONMENT),
            "gh" | "gcloud" | "az" | "aws" | "kubectl" | "vault" | "op" | "pass" | "bw"
            | "security" | "secret-tool" | "doppler" | "git" | "gpg2" | "keyring" | "heroku"
                if prints_secrets(call) =>
            {
                Stream::unknown(Taint::TOKEN.with(Taint::PROGRAM))
            }
            "find" if self.sweeps(call) => swept(call, "/**\n"),
            "find" if self.lists_secrets(call) => swept(call, "/*\n"),
            "jq" | "gojq" if call.flag('n') && call.flag('r') => json_text(call),
            // Names without a directory, in one that must stay.
            "ls" if self.captured
                && call.operands().next().is_none()
                && self.state.cwd.as_deref().is_some_and(|at| is_vital(at, self.facts)) =>
            {
                Stream { text: Some("*\n".to_owned()), taint: Taint::LISTING }
            }
            "ls" if self.lists_disks(call) => {
                let names: Vec<&str> = call.operands().map(|arg| arg.text.as_str()).collect();
                Stream { text: Some(names.join("\n") + "\n"), taint: Taint::LISTING }
            }
            "find" | "fd" | "fdfind" | "ls" | "locate" => Stream::unknown(Taint::LISTING),
            name if DOWNLOADERS.contains(&name) || asks_host(call) => self.download(call),
            name if FILTERS.contains(&name) => self.filtered(call),
            _ => self.plain_output(call).unwrap_or(Stream::unknown(
                Taint::PROGRAM.with(taint.without(Taint::EVERY_PROCESS)),
            )),
        }
    }

    /// A format that is a command, filled in by the program: `--format 'rm {}'`.
    fn formatted(&self, call: &Call<'_>) -> Option<Stream> {
        let mut values =
            call.values(&["--format", "--pretty", "-printf", "--template", "--out-format"]);
        let format = values.next().filter(|_| self.captured && call.program != "echo")?;
        let mut words = format.text.split_whitespace();
        let (name, next) = (words.next()?, words.next()?);
        if !super::guess::announces(name, next) && !crate::rules::knows(name) {
            return None;
        }
        let mut text = String::new();
        let mut inside = false;
        for letter in format.text.chars() {
            match letter {
                '%' | '{' => inside = true,
                ')' | '}' | ' ' | '\n' if inside => {
                    inside = false;
                    text.push(UNKNOWN);
                    if letter.is_whitespace() {
                        text.push(letter);
                    }
                }
                _ if !inside => text.push(letter),
                _ => {}
            }
        }
        if inside {
            text.push(UNKNOWN);
        }
        Some(Stream { text: Some(text + "\n"), taint: Taint::PROGRAM })
    }

    /// The output of small tools that print what their arguments say.
    fn plain_output(&mut self, call: &Call<'_>) -> Option<Stream> {
        Some(match call.program {
            "which" | "type" => which(call.args),
            "command" if call.flag('v') || call.flag('V') => which(call.args),
            "pwd" => Stream::known(self.working_directory()),
            "mktemp" => Stream::known(format!("/tmp/tmp.{UNKNOWN}")),
            "true" | "false" | ":" | "cd" | "test" | "[" | "mkdir" | "sleep" => Stream::empty(),
            "readlink" | "realpath" if call.operand(0).starts_with('/') => {
                Stream::known(self.resolve(call.operand(0)))
            }
            "basename" | "dirname" => split_path(call),
            "seq" => {
                let stream = seq(call.args);
                self.charge(stream.text.as_ref().map_or(0, String::len) * 8, call.span);
                stream
            }
            "yes" => Stream::known(
                call.args.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(" ") + "\n",
            ),
            _ => return None,
        })
    }

    fn download(&self, call: &Call<'_>) -> Stream {
        if matches!(call.program, "nc" | "ncat" | "socat") && !self.captured {
            return Stream::unknown(Taint::DOWNLOADED);
        }
        let local = call.args.iter().any(|arg| {
            let text = arg.text.trim_start_matches("http://");
            text.starts_with("file://")
        });
        // What a cloud tells the machine about itself, keys among it.
        let metadata = ["169.254.169.254", "metadata.google.internal", "169.254.170.2"];
        if call.args.iter().any(|arg| metadata.iter().any(|host| arg.text.contains(host))) {
            return Stream::unknown(Taint::DOWNLOADED.with(Taint::SECRET));
        }
        if local { Stream::unknown(Taint::OPAQUE) } else { Stream::unknown(Taint::DOWNLOADED) }
    }

    /// The text a filter reads: its files, or what flows in.
    fn filtered(&mut self, call: &Call<'_>) -> Stream {
        let pattern_first = matches!(
            call.program,
            "sed" | "gsed" | "grep" | "egrep" | "fgrep" | "awk" | "gawk" | "tr" | "jq" | "perl"
        );
        let mut operands: Vec<&Arg> = call.operands().collect();
        if pattern_first && !operands.is_empty() && !call.flag('e') && !call.flag('f') {
            operands.remove(0);
        }
        if matches!(call.program, "head" | "tail" | "cut") && !operands.is_empty() {
            operands.retain(|arg| {
                !arg.text.bytes().all(|byte| byte.is_ascii_digit() || b",-+".contains(&byte))
                    && arg.text.len() > 1
            });
        }
        if call.program == "tr" || call.program == "tee" {
            operands.clear();
        }
        let mut input = self.filter_input(&operands);
        if picks(call) {
            input.taint = input.taint.without(Taint::EVERY_PROCESS);
        }
        if !self.captured {
            return input;
        }
        let size = input.text.as_ref().map_or(0, String::len);
        if !self.charge(size.saturating_mul(if call.program == "tr" { 60 } else { 12 }), call.span)
        {
            return Stream::unknown(input.taint);
        }
        // A pattern has to be made ready before it is used.
        if matches!(call.program, "sed" | "gsed") && !self.charge(6_000, call.span) {
            return Stream::unknown(input.taint);
        }
        if operands.len() > 64 {
            return Stream::unknown(input.taint.with(Taint::OPAQUE));
        }
        let inner: Vec<Arg> = match call.program {
            "cat" | "tee" | "pv" => Vec::new(),
            _ => call
                .args
                .iter()
                .filter(|arg| !operands.iter().any(|other| std::ptr::eq(*other, *arg)))
                .cloned()
                .collect(),
        };
        let text = input.text.as_deref().and_then(|text| filter::run(call.program, &inner, text));
        Stream {
            taint: match text {
                Some(_) => input.taint,
                None if matches!(call.program, "cat" | "tee" | "pv" | "sponge" | "nl") => {
                    input.taint.with(Taint::OPAQUE)
                }
                None => input.taint.with(Taint::OPAQUE).with(Taint::REWRITTEN),
            },
            text,
        }
    }

    /// What the files of a filter hold, or what flows in; the text only where somebody takes it.
    fn filter_input(&mut self, operands: &[&Arg]) -> Stream {
        if operands.is_empty() {
            return if self.captured {
                self.copied_stdin()
            } else {
                Stream::unknown(self.stdin.taint)
            };
        }
        let mut input = if self.captured { Stream::empty() } else { Stream::unknown(Taint::NONE) };
        for operand in operands {
            if operand.is("-") || operand.is("/dev/stdin") {
                input.append(self.copied_stdin());
                continue;
            }
            let path = self.resolve(&operand.text);
            let held = match self.state.files.get(&path) {
                Some(stream) if !self.captured => Some(Stream::unknown(stream.taint)),
                _ => self.held(&path),
            };
            let unseen = || Stream::unknown(self.file_taint(&path).with(operand.taint));
            input.append_mixed(held.unwrap_or_else(unseen));
        }
        input
    }

    /// Where the text of a file that this line did not write is from.
    pub(super) fn file_taint(&self, path: &str) -> Taint {
        if crate::path::is_secret(path, self.facts) || crate::path::is_environment_file(path) {
            Taint::SECRET.with(Taint::OPAQUE)
        } else if path.starts_with("/proc/") && path.ends_with("/environ")
            || path.ends_with("_history")
        {
            Taint::ENVIRONMENT
        } else {
            Taint::OPAQUE
        }
    }

    /// Whether an encoder or packer is given a file of secrets.
    fn encodes_secret(&self, call: &Call<'_>) -> bool {
        let secret = |arg: &Arg| self.file_taint(&self.resolve(&arg.text)).has(Taint::SECRET);
        let packs = matches!(
            call.program,
            "gpg" | "openssl" | "age" | "zip" | "tar" | "gzip" | "xz" | "zstd" | "7z"
        );
        packs && call.operands().take(16).any(secret)
    }

    /// Whether a `find` lists all of the root, a home or a system directory.
    fn sweeps(&self, call: &Call<'_>) -> bool {
        self.captured
            && !crate::wrappers::is_narrowed(call.args)
            && crate::wrappers::find_roots(call.args)
                .iter()
                .any(|root| crate::path::is_vital(&self.resolve(&root.text), self.facts))
    }

    /// Whether `ls` prints names of disks, or all names in the root, a home or the like.
    fn lists_disks(&self, call: &Call<'_>) -> bool {
        let listed = |arg: &Arg| {
            let path = self.resolve(&arg.text);
            crate::path::is_disk(&path) || arg.glob && crate::path::is_vital(&path, self.facts)
        };
        self.captured && call.operands().next().is_some() && call.operands().all(listed)
    }

    /// Whether a `find` lists all files in a place of keys.
    fn lists_secrets(&self, call: &Call<'_>) -> bool {
        self.captured
            && !crate::wrappers::is_narrowed(call.args)
            && crate::wrappers::find_roots(call.args)
                .iter()
                .any(|root| crate::path::is_secret(&self.resolve(&root.text), self.facts))
    }

    fn decoder(&mut self, call: &Call<'_>) -> Stream {
        let decodes = match call.program {
            "xxd" => call.flag('r'),
            "openssl" => call.flag_word("-d") || call.flag_word("-base64") || call.flag_word("-a"),
            "uudecode" => true,
            _ => call.flag('d') || call.flag('D') || call.long("--decode"),
        };
        if !decodes {
            return Stream::unknown(Taint::PROGRAM.with(self.stdin.taint));
        }
        let file =
            call.operands().find(|arg| !arg.is("-") && !arg.is("enc") && !arg.is("/dev/stdin"));
        let input = match file {
            Some(file) if call.program != "openssl" => {
                let path = self.resolve(&file.text);
                self.state
                    .files
                    .get(&path)
                    .cloned()
                    .unwrap_or_else(|| Stream::unknown(Taint::OPAQUE))
            }
            _ => self.stdin.clone(),
        };
        let taint = input.taint.with(Taint::DECODED);
        let text = input.text.filter(|text| text.len() <= 1 << 20);
        let text = text.and_then(|text| match call.program {
            "xxd" => decode::hex(text.split_once(':').map_or(text.as_str(), |(_, tail)| tail)),
            "base32" => decode::base32(&text),
            "openssl"
                if call
                    .args
                    .iter()
                    .any(|arg| arg.text.starts_with("-aes") || arg.text.starts_with("-des")) =>
            {
                None
            }
            _ => decode::base64(&text),
        });
        Stream { text, taint }
    }
}

/// `TOOL completion bash` and its like print code of the tool itself.
fn prints_setup(call: &Call<'_>) -> bool {
    let word = call.operand(0);
    let tool = !matches!(call.program, "echo" | "printf" | "cat" | "grep" | "git" | "yes");
    tool && matches!(
        word,
        "completion" | "completions" | "shellenv" | "activate" | "gen-completions"
    ) || tool && call.args.len() <= 3 && matches!(word, "init" | "hook" | "env")
}

/// Programs that print what they were given, or what is here.
const LOCAL: &str = "echo printf cat sed gsed awk gawk grep jq yq tr cut head tail sort base64 git psql \
    mysql redis-cli kubectl docker python python3 node perl ruby php find ls xargs env";

/// A client of any kind that is given another machine to ask.
fn asks_host(call: &Call<'_>) -> bool {
    let away = |text: &str| {
        text.contains("://") && !text.contains("localhost") && !text.contains("//127.")
    };
    let storage = |text: &str| begins("s3:// gs:// az:// r2:// b2:// hdfs://", text);
    call.values(&["-h", "--host", "-H", "--server", "--url", "--endpoint"]).any(|host| {
        host.text.contains('.') && !host.text.contains(['/', ' ']) && !host.text.starts_with("127.")
    }) || lists("dig drill kdig nslookup host whois finger gopher rclone mc gsutil", call.program)
        || !lists(LOCAL, call.program)
            && call.args.iter().any(|arg| away(&arg.text) || storage(&arg.text))
}

fn taint_of(args: &[Arg]) -> Taint {
    args.iter().fold(Taint::NONE, |taint, arg| taint.with(arg.taint))
}

fn echo(args: &[Arg]) -> String {
    let mut escapes = false;
    let mut newline = true;
    let mut skipped = 0;
    for arg in args {
        match arg.text.strip_prefix('-') {
            Some(flags)
                if !flags.is_empty() && flags.bytes().all(|flag| b"neE".contains(&flag)) =>
            {
                escapes |= flags.contains('e');
                newline &= !flags.contains('n');
                skipped += 1;
            }
            _ => break,
        }
    }
    let words: Vec<&str> = args.iter().skip(skipped).map(|arg| arg.text.as_str()).collect();
    let mut text = words.join(" ");
    if escapes {
        text = printf::unescape(&text, false);
    }
    if newline {
        text.push('\n');
    }
    text
}

fn which(args: &[Arg]) -> Stream {
    match args.iter().rfind(|arg| !arg.text.starts_with('-')) {
        Some(arg) => Stream { text: Some(arg.text.clone()), taint: arg.taint.with(Taint::LOCATED) },
        None => Stream::unknown(Taint::PROGRAM),
    }
}

fn split_path(call: &Call<'_>) -> Stream {
    let Some(path) = call.operands().next() else { return Stream::empty() };
    let text = path.text.trim_end_matches('/');
    let (head, tail) = text.rsplit_once('/').unwrap_or((".", text));
    let head = if head.is_empty() { "/" } else { head };
    let text = if call.program == "dirname" { head } else { tail };
    Stream { text: Some(text.to_owned()), taint: path.taint }
}

fn seq(args: &[Arg]) -> Stream {
    let numbers: Vec<i64> = args.iter().filter_map(|arg| arg.text.parse().ok()).collect();
    let (first, last) = match numbers.as_slice() {
        [last] => (1, *last),
        [first, last] => (*first, *last),
        _ => return Stream::unknown(Taint::NONE),
    };
    if last < first || last.abs_diff(first) > 512 {
        return Stream::unknown(Taint::NONE);
    }
    Stream::known(
        (first..=last).fold(String::new(), |text, number| text + &number.to_string() + "\n"),
    )
}

/// Whether the output of `call` is a key, a token or a password.
pub(super) fn prints_secrets(call: &Call<'_>) -> bool {
    let (first, second) = (call.operand(0), call.operand(1));
    let third = call.operand(2);
    match call.program {
        "gh" => first == "auth" && second == "token",
        "gcloud" => first == "auth" && second.starts_with("print-"),
        "az" => first == "account" && second == "get-access-token",
        "aws" => {
            first == "configure" && matches!(second, "get" | "export-credentials")
                || first == "secretsmanager" && second.starts_with("get-secret")
                || first == "ssm" && second.starts_with("get-parameter")
        }
        "kubectl" => {
            first == "get"
                && (second.starts_with("secret") || third.starts_with("secret"))
                && call.args.iter().any(|arg| begins("-o --output --template", &arg.text))
        }
        "vault" => matches!(first, "read") || first == "kv" && second == "get",
        "op" => matches!(first, "read" | "item"),
        "pass" | "bw" | "keyring" => !first.is_empty() && !matches!(first, "ls" | "list" | "git"),
        "security" => first.starts_with("find-") || first == "dump-keychain",
        "secret-tool" => first == "lookup",
        "doppler" => first == "secrets",
        "git" => first == "credential" && second == "fill",
        "heroku" => first.starts_with("config"),
        _ => false,
    }
}

/// What `jq -rn` prints for a program that is nothing but a string.
fn json_text(call: &Call<'_>) -> Stream {
    match serde_json::from_str::<String>(call.operand(0)) {
        Ok(text) => Stream::known(text + "\n"),
        // Any other program.
        Err(_) => Stream::unknown(Taint::PROGRAM),
    }
}

/// Options of `ps` that pick some processes, or that are long.
const PICKING: [&str; 9] = ["-p", "-C", "-u", "-U", "-t", "-g", "-G", "-s", "--"];

/// `ps -e`, `ps aux`, `pgrep .`: nobody is left out.
fn lists_every_process(call: &Call<'_>) -> bool {
    let mut options = call.options().map(|arg| arg.text.as_str());
    if call.program == "pgrep" {
        return call.operands().next().is_some()
            && call.operands().all(|arg| crate::rules::matches_everything(&arg.text))
            && options.all(|option| matches!(option, "-f" | "-l" | "-a" | "-x" | "-i"));
    }
    if options.any(|option| PICKING.iter().any(|name| option.starts_with(name))) {
        return false;
    }
    // Letters up to the one whose value is a list of columns.
    let letters = |text: &'_ str| text.split('o').next().unwrap_or_default().to_owned();
    call.args.iter().enumerate().any(|(at, arg)| match arg.text.strip_prefix('-') {
        Some(flags) => letters(flags).contains(['e', 'A']),
        None => at == 0 && letters(&arg.text).contains('x'),
    })
}

/// Whether a filter lets only some lines through; numbers alone are no choice.
fn picks(call: &Call<'_>) -> bool {
    let pattern = call.operand(0);
    match call.program {
        "grep" | "egrep" | "fgrep" => {
            let digits = pattern.trim_matches(['^', '$', '\\', '(', ')', '+', '*']);
            !call.flag('v') && !matches!(digits, "[0-9]" | "[[:digit:]]" | "d" | "" | ".")
        }
        "awk" | "gawk" => picks_records(pattern),
        "head" => true,
        "tail" => !call.args.iter().any(|arg| arg.text.contains('+')),
        "sed" | "gsed" => pattern.starts_with('/') || call.flag('n'),
        _ => false,
    }
}

/// Whether an AWK program leaves records out, but for a heading.
pub(super) fn picks_records(program: &str) -> bool {
    let program: String = program.chars().filter(|letter| !letter.is_whitespace()).collect();
    let body = ["NR>1", "NR!=1", "NR>=2"].iter().find_map(|head| program.strip_prefix(head));
    let body = body.unwrap_or(&program);
    !body.starts_with('{') || ["if(", "~", "==", "<", ">"].iter().any(|sign| body.contains(sign))
}

/// Everything below the roots of a `find`.
fn swept(call: &Call<'_>, all: &str) -> Stream {
    let roots = crate::wrappers::find_roots(call.args);
    let text = roots
        .iter()
        .take(16)
        .fold(String::new(), |text, root| text + root.text.trim_end_matches('/') + all);
    Stream { text: Some(text), taint: Taint::LISTING }
}
