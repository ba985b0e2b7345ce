//! Ways out to a shell from programs that are for something else: editors,
//! archivers, pagers, build tools, debuggers, databases, schedulers.

use super::prefix::{command_after, command_after_options};
use super::{Inner, Inners, Wrapper};
use crate::code::Language;
use crate::flow::call::Call;
use crate::flow::value::Arg;

pub(super) static WRAPPER: Wrapper = Wrapper {
    names: &[
        "vim", "vi", "nvim", "ex", "view", "rvim", "gvim", "emacs", "ed", "red", "tar", "bsdtar", "gtar", "zip", "rsync", "scp", "sftp",
        "rg", "ag", "sort", "man", "less", "more", "make", "gmake", "cmake", "gdb", "lldb", "psql", "sqlite3", "mysql", "mariadb", "at", "batch",
        "watch", "entr", "script", "tmux", "screen", "hyperfine", "sed", "gsed", "tcpdump", "nmap", "socat", "ncat", "nc", "crontab",
        "npm", "pnpm", "yarn", "bundle", "poetry", "pipenv", "uv", "hatch", "pdm", "conda", "mamba", "micromamba", "nix", "nix-shell", "mise", "asdf",
        "direnv", "op", "doppler", "aws-vault", "infisical", "cargo", "go", "dpkg", "apt", "apt-get", "pip", "logsave", "run-parts", "split",
        "inotifywait", "watchexec", "nodemon", "concurrently", "start-stop-daemon", "ftp", "telnet", "perf", "bwrap", "capsh", "ip", "gcc", "pg_dump",
        "incrontab", "anacron", "dc", "jq", "column", "xterm", "gnome-terminal", "konsole", "alacritty", "kitty", "ssh-keygen", "openvpn", "wget", "curl", "just", "task", "foreman", "tsp", "nq", "env-cmd", "cross-env", "rake", "ctest", "bazel", "open", "cpio",
    ],
    unwrap,
};

fn shell(code: Arg, inners: &mut Inners) {
    inners.list.push(Inner::Shell(code, Vec::new()));
}

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    match call.program {
        "vim" | "vi" | "nvim" | "ex" | "view" | "rvim" | "gvim" => editor(call, inners),
        "emacs" => {
            if let Some(code) = call.option(&["--eval", "--execute", "-eval"]) {
                lisp(&code, inners);
            }
        }
        "ed" | "red" => lines_after_mark(call, '!', inners),
        "tar" | "bsdtar" | "gtar" => archive(call, inners),
        "zip" => option_shell(call, &["-TT", "--unzip-command"], inners),
        "rsync" => option_shell(call, &["-e", "--rsh", "--rsync-path"], inners),
        "scp" | "sftp" => {
            option_shell(call, &["-S"], inners);
            for arg in call.args {
                if let Some((_, code)) = arg.text.split_once("ProxyCommand=") {
                    shell(Arg { text: code.to_owned(), ..arg.clone() }, inners);
                }
            }
        }
        "rg" => option_shell(call, &["--pre", "--hostname-bin"], inners),
        "ag" => option_shell(call, &["--pager"], inners),
        "sort" => option_shell(call, &["--compress-program"], inners),
        "man" => option_shell(call, &["-P", "--pager", "-H", "--html"], inners),
        "less" | "more" => {
            for arg in call.args {
                if let Some(code) = arg.text.strip_prefix("+!") {
                    shell(Arg { text: code.to_owned(), ..arg.clone() }, inners);
                }
            }
        }
        "make" | "gmake" => makefile(call, inners),
        "cmake" => {
            if call.flag_word("-E") {
                let rest = command_after(call.args, &[], 0);
                let rest = match rest.first().map(|arg| arg.text.as_str()) {
                    Some("env" | "time" | "chdir") => command_after(rest.get(1..).unwrap_or_default(), &[], 0),
                    _ => rest,
                };
                inners.list.push(Inner::Argv(rest.to_vec()));
            }
        }
        "gdb" | "lldb" => debugger(call, inners),
        "psql" | "sqlite3" | "mysql" | "mariadb" => database(call, inners),
        "sed" | "gsed" => stream_editor(call, inners),
        "socat" | "ncat" | "nc" => network(call, inners),
        _ => runner(call, inners),
    }
}

fn option_shell(call: &Call<'_>, names: &[&str], inners: &mut Inners) {
    if let Some(code) = call.option(names) {
        shell(code, inners);
    }
}

/// Emacs Lisp that runs a command or deletes a tree.
fn lisp(code: &Arg, inners: &mut Inners) {
    let text = code.text.as_str();
    let after = |mark: &str| text.split_once(mark).and_then(|(_, tail)| tail.split('"').nth(1)).map(str::to_owned);
    for mark in ["(shell-command", "(async-shell-command", "(compile", "(call-process-shell-command", "(start-process-shell-command"] {
        if let Some(command) = after(mark) {
            shell(Arg { text: command, ..code.clone() }, inners);
        }
    }
    if let Some((_, tail)) = text.split_once("(call-process").or_else(|| text.split_once("(start-process")) {
        let argv: Vec<Arg> = tail.split('"').skip(1).step_by(2).map(|word| Arg { text: word.to_owned(), ..code.clone() }).collect();
        inners.list.push(Inner::Argv(argv));
    }
    if let Some(path) = after("(delete-directory") {
        let argv = ["rm", "-rf", path.as_str()].map(|word| Arg { text: word.to_owned(), ..code.clone() });
        inners.list.push(Inner::Argv(argv.to_vec()));
    }
}

fn editor(call: &Call<'_>, inners: &mut Inners) {
    let mut rest = call.args.iter();
    while let Some(arg) = rest.next() {
        let code = if matches!(arg.text.as_str(), "-c" | "--cmd" | "-s" | "-S") {
            rest.next().cloned()
        } else {
            arg.text.strip_prefix('+').map(|text| Arg { text: text.to_owned(), ..arg.clone() })
        };
        if let Some(code) = code {
            editor_command(&code, inners);
        }
    }
    if let Some(text) = &call.stdin.text {
        for line in text.lines().take(64) {
            editor_command(&Arg::new(line, call.span), inners);
        }
    }
}

fn editor_command(code: &Arg, inners: &mut Inners) {
    let text = code.text.trim_start_matches([':', ' ', '%']);
    let found = text
        .strip_prefix("silent!")
        .or_else(|| text.strip_prefix("silent"))
        .unwrap_or(text)
        .trim_start();
    let command = found.split_once('!').filter(|(head, _)| head.is_empty() || matches!(head.trim(), "r" | "w" | "read" | "write" | "term"));
    if let Some((_, command)) = command {
        shell(Arg { text: command.to_owned(), ..code.clone() }, inners);
    }
    if let Some((_, tail)) = text.split_once("system(") {
        let command = tail.trim_start().trim_start_matches(['"', '\'']);
        let command = command.split(['"', '\'']).next().unwrap_or_default();
        shell(Arg { text: command.to_owned(), ..code.clone() }, inners);
    }
    for (mark, language) in [("py3 ", Language::Python), ("py ", Language::Python), ("python3 ", Language::Python), ("perl ", Language::Perl), ("ruby ", Language::Ruby), ("lua ", Language::Other)] {
        if let Some(body) = text.strip_prefix(mark) {
            inners.list.push(Inner::Code(language, Arg { text: body.to_owned(), ..code.clone() }));
        }
    }
}

fn lines_after_mark(call: &Call<'_>, mark: char, inners: &mut Inners) {
    for line in call.stdin.text.iter().flat_map(|text| text.lines()).take(256) {
        if let Some(code) = line.trim_start().strip_prefix(mark) {
            shell(Arg::new(code, call.span), inners);
        }
    }
}

fn archive(call: &Call<'_>, inners: &mut Inners) {
    for arg in call.args {
        if let Some(code) = arg.text.strip_prefix("--checkpoint-action=exec=").or_else(|| arg.text.strip_prefix("exec=")) {
            shell(Arg { text: code.to_owned(), ..arg.clone() }, inners);
        }
    }
    option_shell(call, &["--to-command", "-I", "--use-compress-program", "--info-script", "--new-volume-script", "-F", "--rsh-command"], inners);
}

fn makefile(call: &Call<'_>, inners: &mut Inners) {
    for arg in call.args {
        if let Some(text) = arg.text.strip_prefix("--eval=").or_else(|| arg.text.strip_prefix("--eval")) {
            recipe(text, arg, inners);
        }
        if let Some(code) = arg.text.strip_prefix("SHELL=") {
            shell(Arg { text: code.to_owned(), ..arg.clone() }, inners);
        }
    }
    if let Some(text) = call.option(&["--eval", "-E"]) {
        recipe(&text.text.clone(), &text, inners);
    }
    if call.option(&["-f", "--file", "--makefile"]).is_some_and(|file| file.is("-") || file.is("/dev/stdin")) {
        for line in call.stdin.text.iter().flat_map(|text| text.lines()).take(512) {
            recipe(line, &Arg::new(line, call.span), inners);
        }
    }
}

fn recipe(text: &str, arg: &Arg, inners: &mut Inners) {
    let code = text.strip_prefix('\t').or_else(|| text.split_once(":;").map(|(_, code)| code)).or_else(|| text.split_once("\n\t").map(|(_, code)| code)).or_else(|| text.split_once("; ").map(|(_, code)| code));
    if let Some(code) = code {
        shell(Arg { text: code.trim_start_matches(['@', '-', '+']).replace("$$", "$"), ..arg.clone() }, inners);
    }
    if let Some((_, tail)) = text.split_once("$(shell ") {
        shell(Arg { text: tail.trim_end_matches(')').to_owned(), ..arg.clone() }, inners);
    }
}

fn debugger(call: &Call<'_>, inners: &mut Inners) {
    let mut rest = call.args.iter();
    while let Some(arg) = rest.next() {
        if arg.is("--args") || arg.is("--") {
            inners.list.push(Inner::Argv(rest.cloned().collect()));
            return;
        }
        if matches!(arg.text.as_str(), "-ex" | "-iex" | "--eval-command" | "-o" | "--one-line" | "-eval-command")
            && let Some(code) = rest.next()
        {
            let text = code.text.trim_start();
            let body = text.strip_prefix('!').or_else(|| text.strip_prefix("shell ")).or_else(|| text.strip_prefix("platform shell "));
            if let Some(body) = body {
                shell(Arg { text: body.to_owned(), ..code.clone() }, inners);
            }
            if let Some(body) = text.strip_prefix("python ").or_else(|| text.strip_prefix("script ")) {
                inners.list.push(Inner::Code(Language::Python, Arg { text: body.to_owned(), ..code.clone() }));
            }
            for mark in ["system(\"", "system ("] {
                if let Some((_, tail)) = text.split_once(mark) {
                    let body = tail.split('"').next().unwrap_or_default();
                    shell(Arg { text: body.to_owned(), ..code.clone() }, inners);
                }
            }
        }
    }
}

fn database(call: &Call<'_>, inners: &mut Inners) {
    let texts = call.args.iter().map(|arg| arg.text.as_str()).chain(call.stdin.text.as_deref());
    for text in texts {
        for line in text.lines().take(512) {
            let line = line.trim();
            for mark in ["\\!", ".shell ", ".system ", "system "] {
                if let Some(code) = line.strip_prefix(mark) {
                    shell(Arg::new(code, call.span), inners);
                }
            }
            let lower = line.to_ascii_lowercase();
            if let Some(at) = lower.find("to program '").or_else(|| lower.find("from program '")) {
                let code = line.get(at..).and_then(|tail| tail.split('\'').nth(1)).unwrap_or_default();
                shell(Arg::new(code, call.span), inners);
            }
        }
    }
}

/// `sed` with the `e` command, which runs lines.
fn stream_editor(call: &Call<'_>, inners: &mut Inners) {
    let scripts = call.option(&["-e", "--expression"]).into_iter().chain(call.operands().next().cloned());
    for script in scripts {
        let text = script.text.trim();
        let code = text.strip_prefix("1e ").or_else(|| text.strip_prefix("e ")).or_else(|| text.strip_prefix("$e "));
        if let Some(code) = code {
            shell(Arg { text: code.to_owned(), ..script.clone() }, inners);
        }
        let pieces = substitution(text);
        if let [_, replacement, flags, ..] = pieces.as_slice()
            && flags.contains('e')
            && flags.bytes().all(|byte| b"egip0123456789mIM".contains(&byte))
        {
            shell(Arg { text: replacement.clone(), ..script.clone() }, inners);
        }
    }
}

/// The parts of `s/a/b/flags`, escaped separators taken as they are meant.
fn substitution(text: &str) -> Vec<String> {
    let mut letters = text.strip_prefix('s').unwrap_or_default().chars();
    let Some(mark) = letters.next() else { return Vec::new() };
    let mut pieces = vec![String::new()];
    while let Some(letter) = letters.next() {
        let letter = match letter {
            '\\' => letters.next().unwrap_or_default(),
            _ if letter == mark => {
                pieces.push(String::new());
                continue;
            }
            _ => letter,
        };
        if let Some(last) = pieces.last_mut() {
            last.push(letter);
        }
    }
    pieces
}

fn network(call: &Call<'_>, inners: &mut Inners) {
    for arg in call.args {
        let upper = arg.text.to_ascii_uppercase();
        for mark in ["EXEC:", "SYSTEM:", "SHELL:"] {
            if let Some(at) = upper.find(mark) {
                let code = arg.text.get(at + mark.len()..).unwrap_or_default();
                let code = code.trim_matches(['\'', '"']).split(',').next().unwrap_or_default();
                shell(Arg { text: code.to_owned(), ..arg.clone() }, inners);
            }
        }
    }
    if let Some(code) = call.option(&["-e", "--exec", "-c", "--sh-exec"]) {
        shell(code, inners);
    }
}

/// Task runners, terminals, schedulers: the command is an argument or a tail.
fn runner(call: &Call<'_>, inners: &mut Inners) {
    match call.program {
        "at" | "batch" => inners.list.push(Inner::Stdin(Language::Shell, Vec::new())),
        "watch" => {
            let rest = command_after_options(call.args, &["-n", "--interval", "-d"]);
            join(rest, inners);
        }
        "entr" | "inotifywait" | "watchexec" | "nodemon" => {
            option_shell(call, &["--exec", "-x"], inners);
            if call.program == "entr" || call.program == "watchexec" {
                let rest = command_after_options(call.args, &["-e", "--exts", "-w", "--watch", "-i"]);
                inners.bulk = false;
                join(rest, inners);
            }
        }
        "script" => {
            option_shell(call, &["--command"], inners);
            if let Some(code) = call.clustered('c') {
                shell(code, inners);
            }
        }
        "xterm" | "gnome-terminal" | "konsole" | "alacritty" | "kitty" => {
            if let Some(at) = call.args.iter().position(|arg| matches!(arg.text.as_str(), "-e" | "--" | "--command")) {
                join(call.args.get(at + 1..).unwrap_or_default(), inners);
            }
        }
        "tmux" => {
            if call.args.iter().any(|arg| matches!(arg.text.as_str(), "new" | "new-session" | "neww" | "new-window" | "splitw" | "split-window" | "run" | "run-shell" | "send-keys" | "send" | "respawn-pane" | "if-shell" | "display-popup" | "popup")) {
                let rest = command_after(call.args, &["-s", "-t", "-n", "-c", "-x", "-y", "-L", "-S", "-f", "-e", "-F"], 1);
                let rest: Vec<Arg> = rest.iter().filter(|arg| !matches!(arg.text.as_str(), "Enter" | "C-m")).cloned().collect();
                join(&rest, inners);
            }
        }
        "screen" => {
            if call.flag('m') || call.flag('X') {
                let rest = command_after(call.args, &["-S", "-c", "-t", "-p", "-h"], 0);
                let rest = if rest.first().is_some_and(|arg| arg.is("stuff") || arg.is("exec")) { rest.get(1..).unwrap_or_default() } else { rest };
                join(rest, inners);
            }
        }
        "hyperfine" | "concurrently" => {
            for operand in call.operands().filter(|arg| !arg.text.bytes().all(|byte| byte.is_ascii_digit())) {
                shell(operand.clone(), inners);
            }
            for name in ["--prepare", "-p", "--setup", "-s", "--cleanup", "-c"] {
                option_shell(call, &[name], inners);
            }
        }
        "tcpdump" => option_shell(call, &["-z"], inners),
        "dc" | "ftp" | "telnet" => lines_after_mark(call, '!', inners),
        "split" => option_shell(call, &["--filter"], inners),
        "openvpn" => option_shell(call, &["--up", "--down"], inners),
        "gcc" => option_shell(call, &["-wrapper"], inners),
        "wget" => option_shell(call, &["--use-askpass"], inners),
        "perf" | "logsave" => {
            let rest = command_after(call.args, &["-e", "-o", "-F", "-p"], 1);
            inners.list.push(Inner::Argv(rest.to_vec()));
        }
        "bwrap" | "capsh" => tail_command(call, inners),
        "ip" => {
            if call.operand(0) == "netns" && call.operand(1) == "exec" {
                inners.list.push(Inner::Argv(command_after(call.args, &[], 3).to_vec()));
            }
        }
        "start-stop-daemon" => {
            if let Some(program) = call.option(&["--exec", "-x", "--startas", "-a"]) {
                let mut argv = vec![program];
                let tail = call.args.iter().skip_while(|arg| !arg.is("--")).skip(1);
                argv.extend(tail.cloned());
                inners.list.push(Inner::Argv(argv));
            }
        }
        "dpkg" | "apt" | "apt-get" => {
            for arg in call.args {
                if let Some((_, code)) = arg.text.split_once("Invoke::=").or_else(|| arg.text.split_once("-Invoke=")) {
                    shell(Arg { text: code.trim_matches(['"', '{', '}']).to_owned(), ..arg.clone() }, inners);
                }
            }
        }
        _ => project_runner(call, inners),
    }
}

fn tail_command(call: &Call<'_>, inners: &mut Inners) {
    if let Some(at) = call.args.iter().position(|arg| arg.is("--")) {
        let rest = call.args.get(at + 1..).unwrap_or_default();
        if call.program == "capsh" {
            let mut argv = vec![Arg::new("bash", call.span)];
            argv.extend(rest.iter().cloned());
            inners.list.push(Inner::Argv(argv));
        } else {
            inners.list.push(Inner::Argv(rest.to_vec()));
        }
        return;
    }
    let names = ["rm", "sh", "bash", "dd"];
    if let Some(at) = call.args.iter().position(|arg| names.contains(&arg.text.rsplit('/').next().unwrap_or_default())) {
        inners.list.push(Inner::Argv(call.args.get(at..).unwrap_or_default().to_vec()));
    }
}

fn join(rest: &[Arg], inners: &mut Inners) {
    if let Some(first) = rest.first() {
        let words: Vec<&str> = rest.iter().map(|arg| arg.text.as_str()).collect();
        let taint = rest.iter().fold(first.taint, |taint, arg| taint.with(arg.taint));
        shell(Arg { text: words.join(" "), span: first.span, glob: false, taint }, inners);
    }
}

/// `npm exec`, `bundle exec`, `poetry run` and the like.
fn project_runner(call: &Call<'_>, inners: &mut Inners) {
    if let Some(code) = call.option(&["-c", "--call", "--run", "--command"])
        && matches!(call.program, "npm" | "nix-shell" | "pnpm" | "yarn" | "infisical" | "doppler")
    {
        shell(code, inners);
        return;
    }
    let verb = call.operand(0);
    let runs = matches!(
        (call.program, verb),
        ("npm" | "pnpm" | "yarn" | "bundle" | "mise" | "asdf" | "direnv" | "aws-vault" | "cargo", "exec" | "dlx" | "x")
            | ("poetry" | "pipenv" | "uv" | "hatch" | "pdm" | "conda" | "mamba" | "micromamba" | "op" | "doppler" | "infisical" | "foreman", "run" | "start")
            | ("nix", "develop" | "shell" | "run")
            | ("pnpm" | "yarn", "node")
    ) || matches!(call.program, "cross-env" | "env-cmd" | "tsp" | "nq");
    if !runs {
        return;
    }
    if let Some(at) = call.args.iter().position(|arg| arg.is("--")) {
        inners.list.push(Inner::Argv(call.args.get(at + 1..).unwrap_or_default().to_vec()));
        return;
    }
    if call.program == "nix" {
        if let Some(at) = call.args.iter().position(|arg| matches!(arg.text.as_str(), "-c" | "--command")) {
            inners.list.push(Inner::Argv(call.args.get(at + 1..).unwrap_or_default().to_vec()));
        }
        return;
    }
    let skip = usize::from(!matches!(call.program, "cross-env" | "env-cmd" | "tsp" | "nq")) + usize::from(matches!(call.program, "direnv" | "aws-vault"));
    let rest = command_after(call.args, &["-n", "--name", "-p", "--package", "--with", "--env-file", "-w", "--filter"], skip);
    if !rest.is_empty() {
        inners.list.push(Inner::Argv(rest.to_vec()));
    }
}
