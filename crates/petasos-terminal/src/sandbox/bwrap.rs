//! Bubblewrap, for kernels without Landlock.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use petasos_contract::environment::{EnvError, Sandbox};

use super::paths::Scope;
use super::{Confinement, none, seccomp};

const PLACES: &[&str] = &["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];

/// A `bwrap` that works here: it is run, not looked for.
#[expect(clippy::disallowed_methods, reason = "this crate is the one that starts processes")]
pub(super) fn usable() -> Option<PathBuf> {
    let works = |path: &&&str| {
        Command::new(path)
            .args(["--ro-bind", "/", "/", "--", "/bin/true"])
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
    wanted: &Sandbox,
    scope: &Scope,
) -> Result<Confinement, EnvError> {
    let Some(bwrap) = bwrap else { return none(wanted) };
    let fail = |why: String| EnvError::Sandbox { level: wanted.level.as_str(), why };
    let word = |path: &Path| path.to_string_lossy().into_owned();
    let fixed = ["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--die-with-parent"];
    let mut wrapper = vec![word(bwrap)];
    wrapper.extend(fixed.map(str::to_owned));
    for path in &scope.writable {
        wrapper.extend(["--bind".to_owned(), word(path), word(path)]);
    }
    for path in scope.protected() {
        wrapper.extend(["--ro-bind".to_owned(), word(path), word(path)]);
    }
    if !wanted.network {
        wrapper.push("--unshare-net".to_owned());
    }
    wrapper.push("--".to_owned());
    let filter = seccomp::filter(wanted.network, seccomp::Mounts::Allowed).map_err(fail)?;
    let network = if wanted.network { "" } else { " without network" };
    let label = format!("{} (bwrap, seccomp){network}", wanted.level.as_str());
    let variables = scope.variables();
    Ok(Confinement { filter, wrapper, variables, label, ..Confinement::default() })
}
