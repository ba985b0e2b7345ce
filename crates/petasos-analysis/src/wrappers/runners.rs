//! Task runners, terminals, multiplexers and schedulers: the command is an
//! argument or the tail of the arguments.

use crate::code::Language;
use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::wrapper::{Inner, Inners, Row, Wrapper, after, behind, command_after, option};

pub(super) static WRAPPER: Wrapper = Wrapper {
    rows: ROWS,
    names: "at batch crontab script screen hyperfine concurrently pee dpkg apt apt-get start-stop-daemon \
        bwrap capsh java go wine mono dotnet rpm installer tcc",
    unwrap,
};

/// Options of runners that take a value.
const RUNNING: &str = "-n --name -p --package --with --env-file -w --filter";
const PANES: &str = "..new ..new-session ..neww ..new-window ..splitw ..split-window ..run ..run-shell ..send-keys \
    ..send ..respawn-pane ..pipe-pane ..set-hook ..bind ..bind-key ..if-shell ..display-popup ..popup";

const ROWS: &[Row] = &[
    after("watch", "-n --interval -d", 0),
    after("entr watchexec", "-e --exts -w --watch -i", 0).or("--exec -x"),
    option("nodemon inotifywait", "--exec -x"),
    option("chokidar watchman-make tsc-watch bpftrace", "-c --command --run --onSuccess"),
    option("execlineb", "-c"),
    behind("just", "..-c ..--command", "", 0).or("--shell"),
    after("perf logsave", "-e -o -F -p", 1),
    behind("ip", "..exec", "", 1),
    behind("repo", "..-c", "", 0),
    behind("sops", "exec-env exec-file", "", 1),
    after("dtach", "-E -r -a -t -P", 1),
    after("ssh-agent cross-env env-cmd tsp nq", "-E -a -t -P -f", 0),
    behind(
        "xterm gnome-terminal konsole alacritty kitty urxvt st terminator xfce4-terminal tilix \
         lxterminal ghostty wezterm x-terminal-emulator",
        "..-e ..-x ..-- ..--command",
        "",
        0,
    ),
    behind("tmux", PANES, "-s -t -n -c -x -y -L -S -f -e -F", 0),
    behind("cargo", "watch", "", 99).or("-s --shell"),
    option("npm pnpm yarn nix-shell infisical doppler", "-c --call --run --command"),
    behind(
        "npm pnpm yarn bundle mise asdf cargo lerna opam stack cabal rbenv pyenv chamber rustup \
         nvm",
        "exec dlx x",
        RUNNING,
        0,
    ),
    behind("direnv aws-vault", "exec", RUNNING, 1),
    behind(
        "poetry pipenv uv hatch pdm conda mamba micromamba op doppler infisical foreman rustup \
         guix pixi rye devbox",
        "run start shell",
        RUNNING,
        0,
    ),
    behind("pnpm yarn", "node ..foreach", RUNNING, 0),
    behind("jj", "..exec", "", 0),
    behind("nix", "..-c ..--command ..--", "", 0),
];

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    match call.program {
        "at" | "batch" => inners.list.push(Inner::Stdin(Language::Shell, Vec::new())),
        "crontab" => schedule(call, inners),
        "script" => typescript(call, inners),
        "screen" => screen(call, inners),
        "hyperfine" | "concurrently" | "pee" => each_operand(call, inners),
        "bwrap" | "capsh" => tail_command(call, inners),
        "start-stop-daemon" => daemon(call, inners),
        "java" => archive_program(call, inners),
        "dpkg" | "apt" | "apt-get" => {
            package_hooks(call, inners);
            opens_program(call, inners);
        }
        _ => opens_program(call, inners),
    }
}

/// The command of each line of a schedule, behind its five fields or `@daily`.
fn schedule(call: &Call<'_>, inners: &mut Inners) {
    for line in call.stdin.text.iter().flat_map(|text| text.lines()).take(64) {
        let fields = if line.starts_with('@') { 1 } else { 5 };
        let words: Vec<&str> = line.split_whitespace().skip(fields).collect();
        if !words.is_empty() && !line.starts_with('#') {
            inners.shell(Arg::new(words.join(" "), call.span));
        }
    }
}

/// `script -c command`, or the command behind the file.
fn typescript(call: &Call<'_>, inners: &mut Inners) {
    match call.option(&["--command"]).or_else(|| call.clustered('c')) {
        Some(code) => inners.shell(code),
        // Elsewhere than on Linux the command follows the file.
        None => inners.argv(command_after(call.args, "-t -T -m -E -o", 1)),
    }
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
    inners.argv(argv);
}

/// A file that is a program, in whatever form.
fn opened(file: Arg) -> Inner {
    Inner::File(Language::Other, file, Vec::new())
}

/// Programs and packages that another program opens: what they do is in the file.
fn opens_program(call: &Call<'_>, inners: &mut Inners) {
    let files: Vec<Arg> = match call.program {
        "go" if call.operand(0) != "run" => return,
        "go" if call.flag_word("-") || call.operands().any(|arg| arg.is("/dev/stdin")) => {
            inners.list.push(Inner::Stdin(Language::Other, Vec::new()));
            return;
        }
        "go" => call.operands().filter(|arg| arg.text.ends_with(".go")).cloned().collect(),
        "dpkg" | "rpm"
            if call.flag('q') || !(call.flag('i') || call.flag('U') || call.long("--install")) =>
        {
            return;
        }
        "dotnet" if matches!(call.operand(0), "fsi" | "script") => {
            let code = call.operands().filter(|arg| arg.text.contains('(')).cloned();
            inners.list.extend(code.map(|code| Inner::Code(Language::Other, code)));
            inners.list.push(Inner::Stdin(Language::Other, Vec::new()));
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

/// A detached command, or text put into a session.
fn screen(call: &Call<'_>, inners: &mut Inners) {
    if call.flag('m') || call.flag('X') {
        let rest = command_after(call.args, "-S -c -t -p -h", 0);
        let rest = if rest.first().is_some_and(|arg| arg.is("stuff") || arg.is("exec")) {
            rest.get(1..).unwrap_or_default()
        } else {
            rest
        };
        inners.joined(rest);
    }
}

/// Every operand is a command, and so are the steps around them.
fn each_operand(call: &Call<'_>, inners: &mut Inners) {
    for operand in call.operands().filter(|arg| !arg.text.bytes().all(|byte| byte.is_ascii_digit()))
    {
        inners.shell(operand.clone());
    }
    let around = ["--prepare", "-p", "--setup", "-s", "--cleanup", "-c"];
    call.values(&around).for_each(|code| inners.shell(code));
}

/// The program of a daemon with the arguments behind `--`.
fn daemon(call: &Call<'_>, inners: &mut Inners) {
    if let Some(program) = call.option(&["--exec", "-x", "--startas", "-a"]) {
        let mut argv = vec![program];
        let tail = call.args.iter().skip_while(|arg| !arg.is("--")).skip(1);
        argv.extend(tail.cloned());
        inners.cwd = call.option(&["-d", "--chdir"]);
        inners.argv(argv);
    }
}

/// Hooks set on the line of a package manager.
fn package_hooks(call: &Call<'_>, inners: &mut Inners) {
    for arg in call.args {
        if let Some((_, code)) =
            arg.text.split_once("Invoke::=").or_else(|| arg.text.split_once("-Invoke="))
        {
            inners.shell(arg.with_text(code.trim_matches(['"', '{', '}'])));
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
            inners.argv(argv);
        } else {
            inners.argv(rest);
        }
        return;
    }
    let names = ["rm", "sh", "bash", "dd"];
    if let Some(at) = call
        .args
        .iter()
        .position(|arg| names.contains(&arg.text.rsplit('/').next().unwrap_or_default()))
    {
        inners.argv(call.args.get(at..).unwrap_or_default());
    }
}
