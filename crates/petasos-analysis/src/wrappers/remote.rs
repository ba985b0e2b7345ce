//! Fleets, schedulers and platforms: the command behind a verb, an option or a place.
//! A row each; what needs more than a row is below.

use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::wrapper::{Inners, Row, Wrapper, after, behind, option};

pub(super) static WRAPPER: Wrapper =
    Wrapper { rows: ROWS, names: "salt salt-ssh salt-call chezmoi az aws", unwrap };

const ROWS: &[Row] = &[
    behind("nomad", "..exec", "-task -job -namespace -region -address", 1).away(),
    behind("knife", "..ssh ..winrm", "-x -i -a -P -A -m", 1).away(),
    behind("bolt", "..run", "-t --targets -i -u --inventoryfile", 0).away(),
    behind("heroku", "..run ..run:detached", "-a --app -s -r -e", 0).away(),
    behind("toolbox", "..run", "-c --container -d --distro -r --release", 0),
    behind("distrobox", "..enter", "-n --name -H -a", 1).or("-e"),
    behind("fly flyctl", "..exec", "-a --app", 1).or("-C --command -c").away(),
    behind("railway", "..run ..ssh", "-s -e", 0).or("--command -c").away(),
    behind("dokku", "..run ..enter ..run:detached", "", 1).away(),
    behind("kamal", "..exec", "-d -c --primary", 0).away(),
    behind("scalingo", "..run", "-a --app --size", 0).away(),
    behind("tsh", "..ssh", "-l --login -p --cluster", 1).away(),
    behind("coder", "..ssh", "", 1).away(),
    behind("devcontainer", "..exec", "--workspace-folder --container-id", 0).away(),
    behind("runc crun", "..exec", "-u -e --cwd", 1).away(),
    behind("docker-machine", "..ssh", "", 1).away(),
    option("sbatch", "--wrap").away(),
    after("qsub", "-b -q -N -l -o -e -P -pe", 0).away(),
    after("bsub", "-q -n -o -e -J -W -R", 0).away(),
    after("condor_run", "-a", 0).away(),
    after("dsh", "-m -g -f -r -o", 0).away(),
    after("mssh", "-u -o -p -l", 1).away(),
    behind("pueue", "..add", "-g --group -w -l --label", 0),
    behind("zellij", "..run", "-n --name --cwd", 0),
    option("vagrant cf eb virtctl", "-c --command").away(),
    after("pdsh pssh parallel-ssh clush", "-w -h -H -l -t -g -x -f -p -o -e -u -R", 0).away(),
    behind(
        "lxc incus lxc-attach crictl ctr multipass machinectl systemd-nspawn apptainer \
         singularity limactl colima flatpak snap orb",
        "..exec ..run ..shell ..enter ..attach ..ssh ..t ..--command ..-e",
        "-a --app -u -w --bind -B -n",
        1,
    )
    .away(),
    behind("adb", "..exec ..run ..shell ..enter ..attach ..ssh ..t ..--command ..-e", "-s", 0)
        .away(),
    after("systemd-nspawn orb lxc-attach", "-D -M -u --directory -i --image --machine", 0).away(),
    after("jexec", "-u -U", 1).away(),
    option("gcloud", "--command -c -C").away(),
    option("az aws", "--scripts --command-line").away(),
    option("ansible", "-a --args").away(),
];

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    inners.opaque = true;
    match call.program {
        "chezmoi" => template(call, inners),
        "az" | "aws" => {
            if let Some(code) = call.option(&["--parameters"])
                && let Some((_, code)) = code.text.split_once("commands=")
            {
                inners.shell(Arg::new(code.trim_matches(['[', ']', '"', '\'']), call.span));
            }
        }
        _ => {
            inners.elsewhere = true;
            salt(call, inners);
        }
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
        let head = head.iter().map(|text| word(text));
        head.chain(rest.iter().cloned()).collect::<Vec<Arg>>()
    };
    match function {
        "system.reboot" | "system.shutdown" | "system.poweroff" | "system.halt" => {
            inners.argv([word("reboot")]);
        }
        "file.remove" | "file.rmdir" => inners.argv(argv(&["rm", "-rf"])),
        "service.stop" => inners.argv(argv(&["systemctl", "stop"])),
        "service.restart" => inners.argv(argv(&["systemctl", "restart"])),
        "service.disable" => inners.argv(argv(&["systemctl", "disable"])),
        name if name.starts_with("cmd.") => {
            inners.joined(rest);
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
            inners.argv(argv);
        }
    }
}
