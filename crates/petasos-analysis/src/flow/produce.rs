//! What a command prints, as far as it can be told, and where that text is from.

use super::call::Call;
use super::engine::Engine;
use super::printed::{echo, json_text, lists_every_process, picks, seq, split_path, swept, which};
use super::value::{Arg, Stream, Taint};
use super::{decode, filter, printf};
use crate::facts::Facts;
use crate::path::{self, is_secret, is_vital};
use crate::program;
use crate::rule::Signal;
use crate::shell::normalise::UNKNOWN;
use crate::words::{begins, lists};

/// Programs whose output comes from the network.
const DOWNLOADERS: &str = "curl wget fetch aria2c http https xh lynx w3m links nc ncat socat axel";
/// Programs that take one text and print another of the same origin.
const FILTERS: &str = "cat tr rev tac sed gsed head tail cut sort uniq tee pv grep egrep fgrep awk gawk perl nl \
    fold fmt sponge paste column jq";

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
            "pgrep" | "ps" if lists_every_process(call) => {
                Stream::unknown(Taint::PROCESSES.with(Taint::EVERY_PROCESS))
            }
            "pgrep" | "pidof" | "ps" | "jps" | "lsof" | "ss" | "netstat" | "fuser" => {
                Stream::unknown(Taint::PROCESSES)
            }
            "ls" if call.operands().any(|arg| matches!(arg.text.as_str(), "/proc" | "/proc/")) => {
                Stream::unknown(Taint::LISTING.with(Taint::EVERY_PROCESS))
            }
            _ if program::does(call, Signal::SecretRead) => {
                Stream::unknown(Taint::TOKEN.with(Taint::PROGRAM))
            }
            "find" if self.sweeps(call, is_vital) => swept(call, "/**\n"),
            "find" if self.sweeps(call, is_secret) => swept(call, "/*\n"),
            "jq" | "gojq" if call.flag('n') && call.flag('r') => json_text(call),
            // Names without a directory, in one that must stay.
            "ls" if self.captured && !call.flag('d') && self.lists_vital(call) => {
                Stream { text: Some("*\n".to_owned()), taint: Taint::LISTING }
            }
            "ls" if self.lists_disks(call) || call.flag('d') => {
                let all = |arg: &Arg| arg.text.trim_end_matches('/').replace("/*", "/**");
                let names: Vec<String> = call.operands().map(all).collect();
                Stream { text: Some(names.join("\n") + "\n"), taint: Taint::LISTING }
            }
            "find" | "fd" | "fdfind" | "ls" | "locate" => Stream::unknown(Taint::LISTING),
            name if lists(DOWNLOADERS, name) || asks_host(call) => self.download(call),
            name if lists(FILTERS, name) => self.filtered(call),
            _ => self.plain_output(call).unwrap_or(Stream::unknown(
                Taint::PROGRAM.with(taint.without(Taint::EVERY_PROCESS)),
            )),
        }
    }

    /// Whether all names in a directory that must stay are listed, without that directory.
    fn lists_vital(&self, call: &Call<'_>) -> bool {
        let place = call.operands().next().map(|place| self.resolve(&place.text));
        let place = place.or_else(|| self.state.cwd.clone());
        call.operands().nth(1).is_none() && place.is_some_and(|at| is_vital(&at, self.facts))
    }

    /// A format that is a command, filled in by the program: `--format 'rm {}'`.
    fn formatted(&self, call: &Call<'_>) -> Option<Stream> {
        let mut values =
            call.values(&["--format", "--pretty", "-printf", "--template", "--out-format"]);
        let format = values.next().filter(|_| self.captured && call.program != "echo")?;
        let mut words = format.text.split_whitespace();
        let (name, next) = (words.next()?, words.next()?);
        if !super::guess::announces(name, next) && !crate::rule::knows(name) {
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
            "rot13" | "caesar" => {
                let taint = self.stdin.taint;
                Stream { text: self.stdin.text.as_deref().map(decode::rot13), taint }
            }
            "env" | "printenv" | "export" | "set" | "declare" | "history" => {
                Stream::unknown(Taint::ENVIRONMENT)
            }
            "which" | "type" => which(call.args),
            "command" if call.flag('v') || call.flag('V') => which(call.args),
            "pwd" => Stream::known(self.working_directory()),
            "mktemp" if call.operands().next().is_none() && !call.flag('p') => {
                Stream::known(path::FRESH.to_owned())
            }
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
        let pattern_first = lists("sed gsed grep egrep fgrep awk gawk tr jq perl", call.program);
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
                None if lists("cat tee pv sponge nl", call.program) => {
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
        if is_secret(path, self.facts) || path::is_environment_file(path) {
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
        let packs = lists("gpg openssl age zip tar gzip xz zstd 7z", call.program);
        packs && call.operands().take(16).any(secret)
    }

    /// Whether a `find` lists all files of a place of that kind.
    fn sweeps(&self, call: &Call<'_>, kind: fn(&str, &Facts) -> bool) -> bool {
        let roots = || crate::wrappers::find_roots(call.args);
        self.captured
            && !crate::wrappers::is_narrowed(call.args)
            && roots().iter().any(|root| kind(&self.resolve(&root.text), self.facts))
    }

    /// Whether `ls` prints names of disks, or all names in the root, a home or the like.
    fn lists_disks(&self, call: &Call<'_>) -> bool {
        let listed = |arg: &Arg| {
            let path = self.resolve(&arg.text);
            crate::path::is_disk(&path) || arg.glob && crate::path::is_vital(&path, self.facts)
        };
        self.captured && call.operands().next().is_some() && call.operands().all(listed)
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
                self.held(&path).unwrap_or_else(|| Stream::unknown(Taint::OPAQUE))
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
    let tool = !lists("echo printf cat grep git yes", call.program);
    tool && lists("completion completions shellenv activate gen-completions", word)
        || tool && call.args.len() <= 3 && matches!(word, "init" | "hook" | "env")
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
