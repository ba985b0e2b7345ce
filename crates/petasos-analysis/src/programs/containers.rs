//! Engines of containers and virtual machines.

use crate::program::{Program, act, verbal};
use crate::rule::Signal::ContainerEnd;

/// Verbs that end or take away what they name.
macro_rules! ends {
    () => {
        "rm|rmi|stop|kill|restart|down|prune|remove|rmp|stopp|pause|delete|destroy|undefine|shutdown|\
         poweroff|halt|purge|reset|unregistervm|controlvm|force-stop"
    };
}

/// First words that say what kind of thing the verb behind them is about.
macro_rules! groups {
    () => {
        "container|cluster|compose|volume|network|image|system|builder|pod|service|stack|swarm|node|\
         secret|config|machine|buildx|images|containers|snapshot|storage|context|plugin|manifest|tasks|\
         t|c|i"
    };
}

const VALUES: &str = "-H --host -c --context -f --file -p --project-name --profile --config --env-file -n \
    --namespace";

pub(super) static PROGRAMS: &[Program] = &[
    verbal(
        ContainerEnd,
        "docker podman nerdctl runc crun crictl ctr lxc incus vagrant virsh multipass colima limactl buildah \
         minikube kind k3d compose machinectl qm pct vboxmanage prlctl ddev lando tart skopeo finch",
        VALUES,
        concat!(
            ends!(),
            "; ",
            groups!(),
            " ",
            ends!(),
            "; swarm leave; service scale|update ~=0; --down"
        ),
    ),
    verbal(ContainerEnd, "docker-compose podman-compose", VALUES, ends!()),
    act(ContainerEnd, "wsl", "--unregister; --shutdown; --terminate"),
    act(
        ContainerEnd,
        "docker podman nerdctl docker-compose podman-compose",
        "run|create @--privileged|--pid=host|/:/*|-v/:/*|--volume=/:/*|/etc:/*|-v/etc:/*|\
         *source=/,*|*src=/,*; \
         _ run|create @--privileged|--pid=host|/:/*|-v/:/*|--volume=/:/*|/etc:/*|*source=/,*|\
         *src=/,*",
    ),
];
