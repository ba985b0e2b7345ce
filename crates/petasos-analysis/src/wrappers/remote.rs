//! Fleets, schedulers and platforms: the command behind a verb, an option or a place.
//! A row each; what needs more than a row is below.

use super::prefix::command_after;
use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::words::lists;
use crate::wrapper::{Inner, Inners, Wrapper};

/// Where the command of a program is.
struct Row {
    name: &'static str,
    /// The words that announce a command, any of them.
    verbs: &'static str,
    /// Options with a value between the verb and the command.
    values: &'static str,
    /// Operands between the verb and the command.
    skip: usize,
    /// Options whose value is the command.
    options: &'static [&'static str],
}

const fn row(
    name: &'static str,
    verbs: &'static str,
    values: &'static str,
    skip: usize,
    options: &'static [&'static str],
) -> Row {
    Row { name, verbs, values, skip, options }
}

const ROWS: &[Row] = &[
    row("nomad", "exec", "-task -job -namespace -region -address", 1, &[]),
    row("knife", "ssh winrm", "-x -i -a -P -A -m", 1, &[]),
    row("bolt", "run", "-t --targets -i -u --inventoryfile", 0, &[]),
    row("heroku", "run run:detached", "-a --app -s -r -e", 0, &[]),
    row("toolbox", "run", "-c --container -d --distro -r --release", 0, &[]),
    row("distrobox", "enter", "-n --name -H -a", 1, &["-e"]),
    row("fly", "exec", "-a --app", 1, &["-C", "--command", "-c"]),
    row("flyctl", "exec", "-a --app", 1, &["-C", "--command", "-c"]),
    row("railway", "run ssh", "-s -e", 0, &["--command", "-c"]),
    row("vagrant", "", "", 0, &["-c", "--command"]),
    row("dokku", "run enter run:detached", "", 1, &[]),
    row("kamal", "exec", "-d -c --primary", 0, &[]),
    row("scalingo", "run", "-a --app --size", 0, &[]),
    row("cf", "", "", 0, &["-c", "--command"]),
    row("eb", "", "", 0, &["-c", "--command"]),
    row("tsh", "ssh", "-l --login -p --cluster", 1, &[]),
    row("coder", "ssh", "", 1, &[]),
    row("devcontainer", "exec", "--workspace-folder --container-id", 0, &[]),
    row("runc", "exec", "-u -e --cwd", 1, &[]),
    row("crun", "exec", "-u -e --cwd", 1, &[]),
    row("docker-machine", "ssh", "", 1, &[]),
    row("virtctl", "", "", 0, &["-c", "--command"]),
    row("sbatch", "", "", 0, &["--wrap"]),
    row("qsub", "*", "-b -q -N -l -o -e -P -pe", 0, &[]),
    row("bsub", "*", "-q -n -o -e -J -W -R", 0, &[]),
    row("condor_run", "*", "-a", 0, &[]),
    row("dsh", "*", "-m -g -f -r -o", 0, &[]),
    row("mssh", "*", "-u -o -p -l", 1, &[]),
    row("pueue", "add", "-g --group -w -l --label", 0, &[]),
    row("zellij", "run", "-n --name --cwd", 0, &[]),
];

pub(super) static WRAPPER: Wrapper = Wrapper {
    names: "salt salt-ssh salt-call chezmoi",
    rows: || ROWS.iter().map(|row| row.name).collect(),
    unwrap,
};

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    inners.opaque = true;
    match call.program {
        "salt" | "salt-ssh" | "salt-call" => {
            inners.elsewhere = true;
            salt(call, inners);
            return;
        }
        "chezmoi" => {
            template(call, inners);
            return;
        }
        _ => {}
    }
    let Some(row) = ROWS.iter().find(|row| row.name == call.program) else { return };
    inners.elsewhere = !matches!(row.name, "pueue" | "zellij" | "toolbox" | "distrobox");
    if let Some(code) = call.option(row.options) {
        inners.list.push(Inner::Shell(code, Vec::new()));
        return;
    }
    let behind = match row.verbs {
        "*" => Some(call.args),
        verbs => call
            .args
            .iter()
            .position(|arg| lists(verbs, &arg.text))
            .and_then(|at| call.args.get(at + 1..)),
    };
    let Some(behind) = behind else {
        tail(call, inners);
        return;
    };
    if let Some(at) = behind.iter().position(|arg| arg.is("--")) {
        run(behind.get(at + 1..).unwrap_or_default(), inners);
    } else {
        run(command_after(behind, row.values, row.skip), inners);
    }
}

/// Everything behind `--`.
fn tail(call: &Call<'_>, inners: &mut Inners) {
    if let Some(at) = call.args.iter().position(|arg| arg.is("--")) {
        run(call.args.get(at + 1..).unwrap_or_default(), inners);
    }
}

/// One word is text for a shell, more are a command with its arguments.
fn run(words: &[Arg], inners: &mut Inners) {
    match words {
        [] => {}
        [code] | [code, _, _] if code.text.contains(' ') => {
            inners.list.push(Inner::Shell(code.clone(), Vec::new()));
        }
        words => inners.list.push(Inner::Argv(words.to_vec())),
    }
}

/// `salt '*' cmd.run …`, and the functions that are a command by themselves.
fn salt(call: &Call<'_>, inners: &mut Inners) {
    let Some(at) = call.args.iter().position(|arg| {
        ["cmd.", "system.", "file.", "service."].iter().any(|module| arg.text.starts_with(module))
    }) else {
        return;
    };
    let function = call.args.get(at).map(|arg| arg.text.as_str()).unwrap_or_default();
    let rest = call.args.get(at + 1..).unwrap_or_default();
    let word = |text: &str| Arg::new(text, call.span);
    let argv = |head: &[&str]| {
        let mut argv: Vec<Arg> = head.iter().map(|text| word(text)).collect();
        argv.extend(rest.iter().cloned());
        Inner::Argv(argv)
    };
    match function {
        "system.reboot" | "system.shutdown" | "system.poweroff" | "system.halt" => {
            inners.list.push(Inner::Argv(vec![word("reboot")]));
        }
        "file.remove" | "file.rmdir" => inners.list.push(argv(&["rm", "-rf"])),
        "service.stop" => inners.list.push(argv(&["systemctl", "stop"])),
        "service.restart" => inners.list.push(argv(&["systemctl", "restart"])),
        "service.disable" => inners.list.push(argv(&["systemctl", "disable"])),
        name if name.starts_with("cmd.") => {
            let words: Vec<&str> = rest.iter().map(|arg| arg.text.as_str()).collect();
            inners.list.push(Inner::Shell(word(&words.join(" ")), Vec::new()));
        }
        _ => {}
    }
}

/// `{{ output "rm" "-rf" "x" }}` in a template runs that program.
fn template(call: &Call<'_>, inners: &mut Inners) {
    if call.operand(0) != "execute-template" {
        return;
    }
    let texts = call.args.iter().map(|arg| arg.text.as_str()).chain(call.stdin.text.as_deref());
    for text in texts {
        for piece in text.split("output").skip(1) {
            let inside = piece.split(['}', '|', ')']).next().unwrap_or_default();
            let argv: Vec<Arg> = inside
                .split('"')
                .skip(1)
                .step_by(2)
                .map(|word| Arg::new(word, call.span))
                .collect();
            inners.list.push(Inner::Argv(argv));
        }
    }
}
