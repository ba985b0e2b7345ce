//! Task runners, terminals, multiplexers and schedulers: the command is an
//! argument or the tail of the arguments.

use super::escapes::{lines_after_mark, option_shell, shell};
use super::prefix::{command_after, command_after_options};
use crate::code::Language;
use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::words::lists;
use crate::wrapper::{Inner, Inners, Wrapper};

pub(super) static WRAPPER: Wrapper = Wrapper {
    names: "at batch watch entr script tmux screen hyperfine tcpdump npm pnpm yarn bundle poetry \
        pipenv uv hatch pdm conda mamba micromamba nix nix-shell mise asdf direnv op doppler \
        aws-vault infisical cargo dpkg apt apt-get logsave split inotifywait watchexec nodemon \
        concurrently start-stop-daemon telnet perf bwrap capsh ip gcc xterm gnome-terminal \
        konsole alacritty kitty openvpn wget foreman tsp nq env-cmd cross-env lerna opam stack \
        cabal rbenv pyenv chamber rustup nvm repo sops dtach just ssh-agent guix pixi rye devbox \
        java go wine mono dotnet rpm installer tcc chokidar watchman-make tsc-watch bpftrace pee \
        execlineb urxvt st terminator xfce4-terminal tilix lxterminal ghostty wezterm \
        x-terminal-emulator",
    rows: Vec::new,
    unwrap: runner,
};

/// Task runners, terminals, schedulers: the command is an argument or a tail.
fn runner(call: &Call<'_>, inners: &mut Inners) {
    if by_option(call, inners) {
        return;
    }
    match call.program {
        "at" | "batch" => inners.list.push(Inner::Stdin(Language::Shell, Vec::new())),
        "watch" => {
            let rest = command_after_options(call.args, "-n --interval -d");
            join(rest, inners);
        }
        "go" | "wine" | "mono" | "dotnet" | "rpm" | "installer" | "tcc" => {
            opens_program(call, inners);
        }
        "entr" | "inotifywait" | "watchexec" | "nodemon" => on_change(call, inners),
        "script" => typescript(call, inners),
        "tmux" => tmux(call, inners),
        "screen" => screen(call, inners),
        "hyperfine" | "concurrently" => each_operand(call, inners),
        "tcpdump" => option_shell(call, &["-z"], inners),
        "telnet" => lines_after_mark(call, "!", inners),
        "split" => option_shell(call, &["--filter"], inners),
        "openvpn" => option_shell(call, &["--up", "--down"], inners),
        "gcc" => option_shell(call, &["-wrapper"], inners),
        "wget" => option_shell(call, &["--use-askpass"], inners),
        "perf" | "logsave" => {
            let rest = command_after(call.args, "-e -o -F -p", 1);
            inners.list.push(Inner::Argv(rest.to_vec()));
        }
        "bwrap" | "capsh" => tail_command(call, inners),
        "ip" => {
            if call.operand(0) == "netns" && call.operand(1) == "exec" {
                inners.list.push(Inner::Argv(command_after(call.args, "", 3).to_vec()));
            }
        }
        "start-stop-daemon" => daemon(call, inners),
        "repo" => {
            if let Some(at) = call.args.iter().position(|arg| arg.is("-c")) {
                join(call.args.get(at + 1..).unwrap_or_default(), inners);
            }
        }
        "sops" => {
            if let Some(code) =
                call.operands().nth(2).filter(|_| call.operand(0).starts_with("exec-"))
            {
                shell(code.clone(), inners);
            }
        }
        "dtach" | "ssh-agent" => {
            let skip = usize::from(call.program == "dtach");
            let rest = command_after(call.args, "-E -r -a -t -P", skip);
            inners.list.push(Inner::Argv(rest.to_vec()));
        }
        "dpkg" | "apt" | "apt-get" => {
            package_hooks(call, inners);
            opens_program(call, inners);
        }
        _ => project_runner(call, inners),
    }
}

/// `script -c command`, or the command behind the file.
fn typescript(call: &Call<'_>, inners: &mut Inners) {
    option_shell(call, &["--command"], inners);
    if let Some(code) = call.clustered('c') {
        shell(code, inners);
    } else {
        // Elsewhere than on Linux the command follows the file.
        let rest = command_after(call.args, "-t -T -m -E -o", 1);
        inners.list.push(Inner::Argv(rest.to_vec()));
    }
}

/// Runners whose command is the value of an option, or behind one.
fn by_option(call: &Call<'_>, inners: &mut Inners) -> bool {
    match call.program {
        "xterm"
        | "gnome-terminal"
        | "konsole"
        | "alacritty"
        | "kitty"
        | "urxvt"
        | "st"
        | "terminator"
        | "xfce4-terminal"
        | "tilix"
        | "lxterminal"
        | "ghostty"
        | "wezterm"
        | "x-terminal-emulator" => terminal(call, inners),
        "just" => {
            option_shell(call, &["--shell"], inners);
            if let Some(at) = call.args.iter().position(|arg| arg.is("-c") || arg.is("--command")) {
                inners.list.push(Inner::Argv(call.args.get(at + 1..).unwrap_or_default().to_vec()));
            }
        }
        "java" => archive_program(call, inners),
        "chokidar" | "watchman-make" | "tsc-watch" | "bpftrace" => {
            option_shell(call, &["-c", "--command", "--run", "--onSuccess"], inners);
        }
        "pee" => each_operand(call, inners),
        "execlineb" => option_shell(call, &["-c"], inners),
        "cargo" if call.operand(0) == "watch" => {
            option_shell(call, &["-s", "--shell"], inners);
            if let Some(at) = call.args.iter().position(|arg| arg.is("--")) {
                join(call.args.get(at + 1..).unwrap_or_default(), inners);
            }
        }
        _ => return false,
    }
    true
}

/// `java -jar tool-1.2.jar …` is that tool.
fn archive_program(call: &Call<'_>, inners: &mut Inners) {
    let Some(at) = call.args.iter().position(|arg| arg.is("-jar")) else {
        let source = call.operands().find(|arg| arg.text.ends_with(".java"));
        inners.list.extend(source.cloned().map(opened));
        return;
    };
    let Some(jar) = call.args.get(at + 1) else { return };
    inners.list.push(opened(jar.clone()));
    let name = jar.text.rsplit('/').next().unwrap_or_default();
    let name = name.strip_suffix(".jar").unwrap_or(name);
    let name =
        name.trim_end_matches(|letter: char| letter.is_ascii_digit() || "-._".contains(letter));
    let mut argv = vec![jar.with_text(name)];
    argv.extend(call.args.iter().skip(at + 2).cloned());
    inners.list.push(Inner::Argv(argv));
}

/// A file that is a program, in whatever form.
fn opened(file: Arg) -> Inner {
    Inner::File(Language::Other, file, Vec::new())
}

/// Programs and packages that another program opens: what they do is in the file.
fn opens_program(call: &Call<'_>, inners: &mut Inners) {
    let files: Vec<Arg> = match call.program {
        "go" if call.operand(0) != "run" => return,
        "go" if call.flag_word("-") => {
            inners.list.push(Inner::Stdin(Language::Other, Vec::new()));
            return;
        }
        "go" => call.operands().filter(|arg| arg.text.ends_with(".go")).cloned().collect(),
        "dpkg" | "rpm"
            if call.flag('q') || !(call.flag('i') || call.flag('U') || call.long("--install")) =>
        {
            return;
        }
        "wine" | "mono" | "dotnet" => {
            let program = |arg: &&Arg| [".exe", ".dll"].iter().any(|end| arg.text.ends_with(end));
            call.operands().find(program).cloned().into_iter().collect()
        }
        "installer" => call.values(&["-pkg"]).collect(),
        "tcc" if !call.flag_word("-run") => return,
        _ => call.operands().cloned().collect(),
    };
    inners.list.extend(files.into_iter().map(opened));
}

/// What runs again whenever a file changes.
fn on_change(call: &Call<'_>, inners: &mut Inners) {
    option_shell(call, &["--exec", "-x"], inners);
    if call.program == "entr" || call.program == "watchexec" {
        let rest = command_after_options(call.args, "-e --exts -w --watch -i");
        inners.bulk = false;
        match rest {
            [code] => shell(code.clone(), inners),
            rest => inners.list.push(Inner::Argv(rest.to_vec())),
        }
    }
}

/// The command a terminal is opened with.
fn terminal(call: &Call<'_>, inners: &mut Inners) {
    if let Some(at) = call
        .args
        .iter()
        .position(|arg| matches!(arg.text.as_str(), "-e" | "-x" | "--" | "--command"))
    {
        join(call.args.get(at + 1..).unwrap_or_default(), inners);
    }
}

/// Commands and keys handed to a pane.
fn tmux(call: &Call<'_>, inners: &mut Inners) {
    if call.args.iter().any(|arg| {
        lists(
            "new new-session neww new-window splitw split-window run run-shell send-keys send \
                respawn-pane if-shell display-popup popup",
            &arg.text,
        )
    }) {
        let rest = command_after(call.args, "-s -t -n -c -x -y -L -S -f -e -F", 1);
        let rest: Vec<Arg> = rest
            .iter()
            .filter(|arg| !matches!(arg.text.as_str(), "Enter" | "C-m"))
            .cloned()
            .collect();
        join(&rest, inners);
    }
}

/// A detached command, or text put into a session.
fn screen(call: &Call<'_>, inners: &mut Inners) {
    if call.flag('m') || call.flag('X') {
        let rest = command_after(call.args, "-S -c -t -p -h", 0);
        let rest = if rest.first().is_some_and(|arg| arg.is("stuff") || arg.is("exec")) {
            rest.get(1..).unwrap_or_default()
        } else {
            rest
        };
        join(rest, inners);
    }
}

/// Every operand is a command, and so are the steps around them.
fn each_operand(call: &Call<'_>, inners: &mut Inners) {
    for operand in call.operands().filter(|arg| !arg.text.bytes().all(|byte| byte.is_ascii_digit()))
    {
        shell(operand.clone(), inners);
    }
    for name in ["--prepare", "-p", "--setup", "-s", "--cleanup", "-c"] {
        option_shell(call, &[name], inners);
    }
}

/// The program of a daemon with the arguments behind `--`.
fn daemon(call: &Call<'_>, inners: &mut Inners) {
    if let Some(program) = call.option(&["--exec", "-x", "--startas", "-a"]) {
        let mut argv = vec![program];
        let tail = call.args.iter().skip_while(|arg| !arg.is("--")).skip(1);
        argv.extend(tail.cloned());
        inners.cwd = call.option(&["-d", "--chdir"]);
        inners.list.push(Inner::Argv(argv));
    }
}

/// Hooks set on the line of a package manager.
fn package_hooks(call: &Call<'_>, inners: &mut Inners) {
    for arg in call.args {
        if let Some((_, code)) =
            arg.text.split_once("Invoke::=").or_else(|| arg.text.split_once("-Invoke="))
        {
            shell(arg.with_text(code.trim_matches(['"', '{', '}']).to_owned()), inners);
        }
    }
}

fn tail_command(call: &Call<'_>, inners: &mut Inners) {
    inners.cwd = call.option(&["--chdir"]);
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
    if let Some(at) = call
        .args
        .iter()
        .position(|arg| names.contains(&arg.text.rsplit('/').next().unwrap_or_default()))
    {
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
        && lists("npm nix-shell pnpm yarn infisical doppler", call.program)
    {
        shell(code, inners);
        return;
    }
    if !runs_tail(call) {
        return;
    }
    if let Some(at) = call.args.iter().position(|arg| arg.is("--")) {
        inners.list.push(Inner::Argv(call.args.get(at + 1..).unwrap_or_default().to_vec()));
        return;
    }
    if call.program == "nix" {
        if let Some(at) =
            call.args.iter().position(|arg| matches!(arg.text.as_str(), "-c" | "--command"))
        {
            inners.list.push(Inner::Argv(call.args.get(at + 1..).unwrap_or_default().to_vec()));
        }
        return;
    }
    let skip = usize::from(!matches!(call.program, "cross-env" | "env-cmd" | "tsp" | "nq"))
        + usize::from(matches!(call.program, "direnv" | "aws-vault"));
    let rest =
        command_after(call.args, "-n --name -p --package --with --env-file -w --filter", skip);
    match rest {
        [code] if code.text.contains(' ') => shell(code.clone(), inners),
        [] => {}
        rest => inners.list.push(Inner::Argv(rest.to_vec())),
    }
}

/// Whether the verb of a runner is followed by a command.
fn runs_tail(call: &Call<'_>) -> bool {
    let verb = call.operand(0);
    matches!(
        (call.program, verb),
        (
            "npm"
                | "pnpm"
                | "yarn"
                | "bundle"
                | "mise"
                | "asdf"
                | "direnv"
                | "aws-vault"
                | "cargo"
                | "lerna"
                | "opam"
                | "stack"
                | "cabal"
                | "rbenv"
                | "pyenv"
                | "chamber"
                | "rustup"
                | "nvm",
            "exec" | "dlx" | "x"
        ) | (
            "poetry"
                | "pipenv"
                | "uv"
                | "hatch"
                | "pdm"
                | "conda"
                | "mamba"
                | "micromamba"
                | "op"
                | "doppler"
                | "infisical"
                | "foreman"
                | "rustup"
                | "guix"
                | "pixi"
                | "rye"
                | "devbox",
            "run" | "start" | "shell"
        ) | ("nix", "develop" | "shell" | "run")
            | ("pnpm" | "yarn", "node")
    ) || matches!(call.program, "cross-env" | "env-cmd" | "tsp" | "nq")
}
