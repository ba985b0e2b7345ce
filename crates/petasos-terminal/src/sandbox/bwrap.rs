//! Bubblewrap, for kernels without Landlock.
//!
//! It arranges the same view of the files by mounts, and processes of its own, because nothing
//! else keeps a command from those outside; the seccomp filter is its to install, after the mounts
//! that the filter refuses.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use petasos_contract::environment::{EnvError, Sandbox};

use super::paths::Scope;
use super::seccomp::{Connect, Covered};
use super::{Confinement, none, seccomp};
use crate::keeper::{self, FLAG_COVER, FLAG_USERNS, Namespaces};

const PLACES: &[&str] = &["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];

/// Everything read-only, with the command's own processes in `/proc`.
const FIXED: &[&str] = &[
    "--ro-bind",
    "/",
    "/",
    // The usual harmless devices and no disk, of which root could write any.
    "--dev",
    "/dev",
    "--unshare-pid",
    "--proc",
    "/proc",
    "--ro-bind",
    "/proc/sys",
    "/proc/sys",
    "--ro-bind-try",
    "/proc/sysrq-trigger",
    "/proc/sysrq-trigger",
    "--die-with-parent",
];

/// A `bwrap` that works here: it is run, not looked for.
#[expect(clippy::disallowed_methods, reason = "this crate is the one that starts processes")]
pub(super) fn usable() -> Option<PathBuf> {
    let works = |path: &&&str| {
        Command::new(path)
            .args(FIXED)
            .args(["--", "/bin/true"])
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    PLACES.iter().find(works).map(PathBuf::from)
}

/// The words before the program.
pub(super) fn prepare(
    bwrap: Option<&Path>,
    namespaces: Namespaces,
    wanted: &Sandbox,
    scope: &Scope,
) -> Result<Confinement, EnvError> {
    let Some(bwrap) = bwrap else { return none(wanted) };
    let fail = |why: String| EnvError::Sandbox { level: wanted.level.as_str(), why };
    let word = |path: &Path| path.to_string_lossy().into_owned();
    let mut wrapper = vec![word(bwrap)];
    wrapper.extend(FIXED.iter().map(|word| (*word).to_owned()));
    let mut bind = |how: &str, from: &Path, to: &Path| {
        wrapper.extend([how.to_owned(), word(from), word(to)]);
    };
    for path in &scope.bound() {
        bind("--bind", path, path);
    }
    for path in scope.protected() {
        bind("--ro-bind", path, path);
    }
    // It insists that each is still there, and others may be gone by then: so they are covered
    // before it starts, where we can do that.
    let (mounts, flags) = match namespaces {
        Namespaces::Direct => (scope.covers().map_err(fail)?, FLAG_COVER),
        Namespaces::WithUsers => (scope.covers().map_err(fail)?, FLAG_COVER | FLAG_USERNS),
        Namespaces::Refused => {
            for path in scope.sockets() {
                bind("--bind", Path::new("/dev/null"), path);
            }
            (Vec::new(), 0)
        }
    };
    if rustix::process::geteuid().is_root() {
        wrapper.extend(["--cap-drop", "ALL"].map(str::to_owned));
        let kept = keeper::KEPT_NAMES.iter().flat_map(|name| ["--cap-add", name]);
        wrapper.extend(kept.map(str::to_owned));
    }
    if !wanted.network {
        wrapper.push("--unshare-net".to_owned());
    }
    let filter = seccomp::filter(Connect::of(wanted, Covered::All)).map_err(fail)?.concat();
    let handed = keeper::memory("filter", &filter).map_err(|error| fail(error.to_string()))?;
    wrapper.extend(["--seccomp".to_owned(), keeper::filter_fd().to_string(), "--".to_owned()]);
    let network = if wanted.network { "" } else { " without network" };
    let end = if scope.searched_all { ")" } else { super::UNSEARCHED };
    let label = format!("{} (bwrap, seccomp{end}{network}", wanted.level.as_str());
    let variables = scope.variables();
    let handed = Some(handed);
    Ok(Confinement { handed, mounts, flags, wrapper, variables, label, ..Confinement::default() })
}
