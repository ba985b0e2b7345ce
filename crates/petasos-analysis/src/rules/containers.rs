//! Stops, removes or prunes containers, images or volumes.

use super::{Check, Rule, Signal};
use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::verdict::Severity;

/// Stops, removes or prunes containers, images or volumes.
pub(super) static RULE: Rule = Rule {
    key: "container lifecycle",
    aliases: &["docker container lifecycle"],
    description: "stops, removes or prunes containers, images or volumes",
    severity: Severity::Ask,
    checks: &[
        Check::Call(
            &[
                "docker",
                "podman",
                "nerdctl",
                "docker-compose",
                "podman-compose",
                "crictl",
                "ctr",
                "lxc",
                "incus",
                "vagrant",
                "virsh",
                "multipass",
                "colima",
                "limactl",
                "buildah",
                "minikube",
                "kind",
                "k3d",
                "compose",
                "machinectl",
                "qm",
                "pct",
                "vboxmanage",
                "prlctl",
                "ddev",
                "lando",
                "tart",
                "skopeo",
                "finch",
            ],
            check,
        ),
        Check::Call(&["curl", "http", "https", "xh"], over_socket),
        Check::Signal(Signal::ContainerEnd),
    ],
    matches: &[
        "docker stop web",
        "docker rm -f cache",
        "docker compose down -v",
        "docker system prune -af",
        "podman kill x",
        "docker volume rm pgdata",
        "docker-compose restart",
        "kind delete cluster",
        "curl --unix-socket /run/docker.sock -X POST http://d/containers/web/stop",
        "python3 -c 'import docker; docker.from_env().containers.prune()'",
    ],
    passes: &[
        "docker ps -a",
        "docker logs web",
        "docker compose up -d",
        "docker exec web ls",
        "docker build -t x .",
        "docker run --rm alpine ls",
        "docker images",
        "curl --unix-socket /run/docker.sock http://d/containers/json",
    ],
};

/// The engine's own interface, behind its socket.
fn over_socket(call: &Call<'_>) -> bool {
    let socket = ["docker.sock", "podman.sock", "containerd.sock"];
    let method = |name: &str| {
        call.args.iter().any(|arg| {
            arg.text
                .trim_start_matches("-X")
                .trim_start_matches("--request=")
                .eq_ignore_ascii_case(name)
        })
    };
    let ended = |arg: &Arg| {
        let path = arg.text.split('?').next().unwrap_or_default();
        arg.text.contains('/') && path.rsplit('/').next().is_some_and(ends)
    };
    call.args.iter().any(|arg| socket.iter().any(|name| arg.text.contains(name)))
        && (method("delete") || method("post") && call.args.iter().any(ended))
}

fn check(call: &Call<'_>) -> bool {
    let verbs = verbs(call);
    let first = verbs.first().copied().unwrap_or_default();
    let second = verbs.get(1).copied().unwrap_or_default();
    if call.flag_word("--dry-run") {
        return false;
    }
    if privileged(call, first) || call.flag_word("--down") {
        return true;
    }
    if call.program == "docker-compose" || call.program == "podman-compose" || !is_group(first) {
        return ends(first);
    }
    ends(second)
        || first == "swarm" && second == "leave"
        || first == "service"
            && matches!(second, "scale" | "update")
            && call.args.iter().any(|arg| arg.text.ends_with("=0"))
        || first == "volume" && second == "rm"
}

/// The first words that are neither options nor their values, at most three.
fn verbs<'a>(call: &'a Call<'_>) -> Vec<&'a str> {
    let mut words = call.args.iter().map(|arg| arg.text.as_str());
    let mut verbs = Vec::new();
    while let Some(word) = words.next() {
        if matches!(
            word,
            "-H" | "--host"
                | "-c"
                | "--context"
                | "-f"
                | "--file"
                | "-p"
                | "--project-name"
                | "--profile"
                | "--config"
                | "--env-file"
                | "-n"
                | "--namespace"
        ) {
            words.next();
        } else if !word.starts_with('-') {
            verbs.push(word);
            if verbs.len() == 3 {
                break;
            }
        }
    }
    verbs
}

/// Verbs that end or take away what they name.
fn ends(verb: &str) -> bool {
    matches!(
        verb,
        "rm" | "rmi"
            | "stop"
            | "kill"
            | "restart"
            | "down"
            | "prune"
            | "remove"
            | "rmp"
            | "stopp"
            | "pause"
            | "delete"
            | "destroy"
            | "undefine"
            | "shutdown"
            | "poweroff"
            | "halt"
            | "purge"
            | "reset"
            | "unregistervm"
            | "controlvm"
            | "force-stop"
    )
}

/// First words that say what kind of thing the verb behind them is about.
fn is_group(word: &str) -> bool {
    matches!(
        word,
        "container"
            | "cluster"
            | "compose"
            | "volume"
            | "network"
            | "image"
            | "system"
            | "builder"
            | "pod"
            | "service"
            | "stack"
            | "swarm"
            | "node"
            | "secret"
            | "config"
            | "machine"
            | "buildx"
            | "images"
            | "containers"
            | "snapshot"
            | "storage"
            | "context"
            | "plugin"
            | "manifest"
            | "tasks"
            | "t"
            | "c"
            | "i"
    )
}

/// A container that can do to the host what it likes.
fn privileged(call: &Call<'_>, verb: &str) -> bool {
    let root_mount = |text: &str| {
        text.starts_with("/:/")
            || text.contains("source=/,")
            || text.contains("src=/,")
            || text.starts_with("/etc:/")
    };
    matches!(verb, "run" | "create")
        && (call.flag_word("--privileged")
            || call.args.iter().any(|arg| {
                root_mount(arg.text.trim_start_matches("-v").trim_start_matches("--volume="))
            })
            || call.flag_word("--pid=host"))
}
