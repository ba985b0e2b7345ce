//! Sockets that a confined command must not reach: whoever listens there is not confined.
//!
//! Neither Landlock nor seccomp sees the path of a local socket, so that those which are there at the
//! start are covered by mounts. A command's own sockets work.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use petasos_contract::CallContext;
use petasos_contract::environment::Launch;

/// Sockets outside a user's own places that hand out the machine or the session.
const SERVICES: &[&str] = &[
    "/run/docker.sock",
    "/run/podman/",
    "/run/containerd/",
    "/run/crio/",
    "/run/dbus/",
    "/run/libvirt/",
    "/run/lxd",
    "/run/snapd",
    "/run/systemd/private",
    "/var/run/docker.sock",
    "/var/lib/lxd/",
    "/var/snap/lxd/",
];

/// Where a script finds the socket for its calls.
const CHANNEL: &str = "PETASOS_CODE_SOCKET";

/// Those that are listened at now. Without a network all of them: one may belong to somebody who has
/// one.
pub(super) fn foreign(launch: &Launch, cx: &CallContext, roots: &[PathBuf]) -> Vec<PathBuf> {
    let own =
        |path: &Path| is_channel(path, launch) || roots.iter().any(|root| path.starts_with(root));
    let personal = [Path::new("/run/user"), cx.settings.user_home(), cx.settings.temp()];
    let reaches_out = |path: &Path| {
        let inside = |place: &&Path| !place.as_os_str().is_empty() && path.starts_with(place);
        let service =
            path.to_str().is_some_and(|path| SERVICES.iter().any(|at| path.starts_with(at)));
        !launch.sandbox.network || service || personal.iter().any(inside)
    };
    let mut found: Vec<PathBuf> = listening()
        .into_iter()
        .filter(|path| reaches_out(path) && !own(path))
        .filter(|path| fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket()))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Whether it is the way back to us of a script that calls tools. The variable alone would not do:
/// an earlier command can export it with any path.
fn is_channel(path: &Path, launch: &Launch) -> bool {
    let told = launch.exports.get(CHANNEL).is_some_and(|told| Path::new(told) == path);
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    told && path.ends_with("calls") && folder.is_some_and(|name| name.starts_with("petasos-code-"))
}

/// The paths of the kernel's table. One that nobody listens at may stand there, too.
fn listening() -> Vec<PathBuf> {
    let table = fs::read("/proc/net/unix").unwrap_or_default();
    let table = String::from_utf8_lossy(&table);
    let paths = table.lines().filter_map(|line| {
        let at = line.find(" /")?;
        line.get(at + 1..).map(PathBuf::from)
    });
    paths.collect()
}
