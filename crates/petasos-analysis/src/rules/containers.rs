//! Stops, removes or prunes containers, images or volumes.

use super::cloud_delete::has_method;
use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::rule::{Check, Rule, Signal};
use crate::words::lists;

pub(super) static RULE: Rule = Rule {
    key: "container lifecycle",
    aliases: &["docker container lifecycle"],
    description: "stops, removes or prunes containers, images or volumes",
    checks: &[Check::Signal(Signal::ContainerEnd), Check::Call("curl http https xh", over_socket)],
    examples: include_str!("containers.txt"),
    ..Rule::ASK
};

/// What the engine is asked to do to a container that ends.
const ENDS: &str = "rm stop kill restart prune remove pause delete";

/// The engine's own interface, behind its socket.
fn over_socket(call: &Call<'_>) -> bool {
    let socket = ["docker.sock", "podman.sock", "containerd.sock"];
    let ended = |arg: &Arg| {
        let path = arg.text.split('?').next().unwrap_or_default();
        arg.text.contains('/') && path.rsplit('/').next().is_some_and(|verb| lists(ENDS, verb))
    };
    call.args.iter().any(|arg| socket.iter().any(|name| arg.text.contains(name)))
        && (has_method(call, "delete") || has_method(call, "post") && call.args.iter().any(ended))
}
