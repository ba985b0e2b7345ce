//! Commands that run in another place: over `ssh`, in containers, clusters,
//! virtual machines, as another user.

use crate::code::Language;
use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::words::lists;
use crate::wrapper::{Inner, Inners, Wrapper, command_after, command_after_options};

pub(super) static WRAPPER: Wrapper = Wrapper {
    rows: &[],
    names: "ssh autossh mosh slogin rsh dropbear dbclient plink su runuser sg docker podman nerdctl \
        kubectl oc k3s microk8s docker-compose podman-compose kubectl.exe minikube buildah",
    unwrap,
};

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    inners.elsewhere = true;
    inners.opaque = true;
    match call.program {
        "su" | "runuser" | "sg" => switch_user(call, inners),
        "docker" | "podman" | "nerdctl" | "docker-compose" | "podman-compose" | "buildah" => {
            container(call, inners);
        }
        "kubectl" | "oc" | "k3s" | "microk8s" | "kubectl.exe" | "minikube" => cluster(call, inners),
        _ => ssh(call, inners),
    }
}

fn ssh(call: &Call<'_>, inners: &mut Inners) {
    const VALUES: &str = "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w";
    let host = call.args.len() - command_after_options(call.args, VALUES).len();
    for arg in call.args.iter().take(host.saturating_add(4)) {
        for key in ["ProxyCommand=", "ProxyCommand ", "LocalCommand=", "KnownHostsCommand="] {
            if let Some((_, code)) = arg.text.split_once(key) {
                inners.shell(arg.with_text(code));
            }
        }
    }
    let mut rest = command_after_options(call.args, VALUES);
    rest = rest.get(1..).unwrap_or_default();
    // Options may also follow the host.
    let rest = if rest.first().is_some_and(|arg| arg.text.starts_with('-')) {
        command_after_options(rest, VALUES)
    } else {
        rest
    };
    if rest.is_empty() {
        // Without a command the remote shell reads what is piped in.
        if call.stdin.text.is_some() {
            inners.list.push(Inner::Stdin(Language::Shell, Vec::new()));
        }
        return;
    }
    inners.joined(rest);
}

fn switch_user(call: &Call<'_>, inners: &mut Inners) {
    inners.elevated = true;
    inners.elsewhere = false;
    if let Some(code) =
        call.option(&["--command", "--session-command"]).or_else(|| call.clustered('c'))
    {
        inners.shell(code);
        return;
    }
    if call.program == "runuser" && call.option(&["-u", "--user"]).is_some() {
        let rest = command_after(call.args, "-u --user -g -G", 0);
        inners.argv(rest);
        return;
    }
    if call.stdin.text.is_some() {
        inners.list.push(Inner::Stdin(Language::Shell, Vec::new()));
    }
}

const CONTAINER_VALUES: &str = "-e --env -u --user -w --workdir --env-file -v --volume --name -p --publish --network --net \
    -h --hostname --mount --entrypoint -l --label --platform -m --memory --cpus --gpus --restart \
    --add-host --cap-add --cap-drop --device --security-opt --shm-size --ulimit --pull --tmpfs \
    -f --file --project-name --detach-keys --index";

fn container(call: &Call<'_>, inners: &mut Inners) {
    let rest = command_after_options(
        call.args,
        "-H --host -c --context -f --file -p --project-name --profile --log-level -l \
                --config --env-file",
    );
    let Some((verb, mut rest)) = rest.split_first() else { return };
    let mut verb = verb.text.as_str();
    if matches!(verb, "compose" | "container") {
        rest = command_after_options(
            rest,
            "-f --file -p --project-name --profile --env-file --project-directory",
        );
        let Some((next, tail)) = rest.split_first() else { return };
        verb = next.text.as_str();
        rest = tail;
    }
    if !matches!(verb, "exec" | "run" | "create") {
        return;
    }
    let entry = call.option(&["--entrypoint"]);
    let mounted = rest.iter().any(|arg| {
        arg.text.starts_with("-v")
            || arg.text.starts_with("--volume")
            || arg.text.starts_with("--mount")
            || arg.is("--privileged")
            || arg.text.starts_with("--pid")
    });
    inners.throwaway =
        verb == "run" && !mounted && !matches!(call.program, "docker-compose" | "podman-compose");
    let command = command_after_options(rest, CONTAINER_VALUES);
    let mounts = mounts(rest);
    inners.cwd = call
        .option(&["-w", "--workdir"])
        .map(|place| (on_host(&place, &mounts), place))
        .and_then(|(host, place)| (host.text != place.text || verb == "exec").then_some(host));
    if mounts.len().saturating_mul(command.len()) > 16_384 {
        inners.excess = true;
        return;
    }
    let command: Vec<Arg> = command.iter().skip(1).map(|arg| on_host(arg, &mounts)).collect();
    match entry {
        Some(entry) if !entry.text.is_empty() => {
            inners.argv([&[entry], command.as_slice()].concat());
        }
        _ => inners.run(&command),
    }
}

/// Places in a container and what of the host is mounted there.
fn mounts(args: &[Arg]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let value = match arg.text.as_str() {
            "-v" | "--volume" | "--mount" => rest.next().map(|arg| arg.text.clone()),
            text => ["-v", "--volume=", "--mount="]
                .iter()
                .find_map(|name| text.strip_prefix(name))
                .map(str::to_owned),
        };
        let Some(value) = value else { continue };
        let field = |names: [&str; 3]| {
            value.split(',').find_map(|part| {
                let (name, path) = part.split_once('=')?;
                names.contains(&name).then(|| path.to_owned())
            })
        };
        let pair = match (field(["source", "src", ""]), field(["target", "destination", "dst"])) {
            (Some(host), Some(place)) => Some((place, host)),
            _ => {
                let mut parts = value.split(':');
                match (parts.next(), parts.next()) {
                    (Some(host), Some(place)) => Some((place.to_owned(), host.to_owned())),
                    _ => None,
                }
            }
        };
        // Only paths: a name is a volume that the host does not see.
        found.extend(pair.filter(|(place, host)| {
            place.len() > 1 && place.starts_with('/') && host.starts_with(['/', '~', '.'])
        }));
    }
    found
}

/// An argument with paths in the container replaced by those of the host.
fn on_host(arg: &Arg, mounts: &[(String, String)]) -> Arg {
    let translated = |word: &str| {
        mounts.iter().find_map(|(place, host)| {
            let tail = word.strip_prefix(place.trim_end_matches('/'))?;
            (tail.is_empty() || tail.starts_with('/'))
                .then(|| format!("{}{tail}", host.trim_end_matches('/')))
                .map(|path| if path.is_empty() { "/".to_owned() } else { path })
        })
    };
    if mounts.is_empty() || arg.text.len() > 4096 {
        return arg.clone();
    }
    let words: Vec<String> = arg
        .text
        .split(' ')
        .map(|word| translated(word).unwrap_or_else(|| word.to_owned()))
        .collect();
    arg.with_text(words.join(" "))
}

fn cluster(call: &Call<'_>, inners: &mut Inners) {
    let nested = matches!(call.operand(0), "kubectl")
        && matches!(call.program, "k3s" | "microk8s" | "minikube");
    if nested {
        let rest = call.args.iter().skip_while(|arg| !arg.is("kubectl")).cloned().collect();
        inners.list.push(Inner::Argv(rest));
        return;
    }
    if !call.args.iter().any(|arg| lists("exec run debug rsh ssh", &arg.text)) {
        return;
    }
    inners.throwaway = call.operand(0) == "run";
    if let Some(at) = call.args.iter().position(|arg| arg.is("--")) {
        inners.argv(call.args.get(at + 1..).unwrap_or_default());
    } else {
        let rest = command_after(
            call.args,
            "-n --namespace -c --container --context --image",
            if call.program == "minikube" { 1 } else { 2 },
        );
        inners.run(rest);
    }
}
