//! Which paths a confined command may write, and which it never may.

use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};

use petasos_contract::CallContext;
use petasos_contract::environment::{Sandbox, SandboxLevel};
use petasos_contract::path::TargetPath;

use super::text;
use crate::settings::{Require, TerminalSettings};

/// Sockets that hand out the whole machine.
const SOCKETS: &[&str] =
    &["/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock"];

/// The confinement that the settings ask for.
pub(crate) fn wanted(terminal: &TerminalSettings, cx: &CallContext) -> Sandbox {
    let level = terminal.sandbox_for(&cx.settings, cx.attended);
    let mut writable = Vec::new();
    if level == SandboxLevel::Workspace {
        writable.push(TargetPath::new(cx.workspace.to_path_buf()));
        writable.push(TargetPath::new(cx.settings.temp()));
        let granted = terminal.sandbox_writable.iter();
        writable.extend(granted.map(|path| {
            crate::shell::within(
                &TargetPath::new(cx.workspace.to_path_buf()),
                path,
                cx.settings.user_home(),
            )
        }));
    }
    let home = cx.settings.home();
    let own = (!home.as_os_str().is_empty()).then(|| TargetPath::new(home));
    let project = TargetPath::new(cx.workspace.join(".petasos"));
    Sandbox {
        level,
        required: terminal.sandbox_require == Require::Required,
        network: terminal.sandbox_network.unwrap_or(true),
        writable,
        protected: own.into_iter().chain([project]).collect(),
    }
}

/// Real paths, with links resolved: a link must not move the border.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) writable: Vec<PathBuf>,
    protected: Vec<PathBuf>,
    own_temp: Option<PathBuf>,
}

impl Scope {
    pub(super) fn of(wanted: &Sandbox, cx: &CallContext) -> Self {
        let real = |path: &TargetPath| fs::canonicalize(path.as_path()).ok();
        let mut writable: Vec<PathBuf> = wanted.writable.iter().filter_map(real).collect();
        let own_temp = (wanted.level == SandboxLevel::Readonly)
            .then(|| private_temp(cx.settings.temp()))
            .flatten();
        writable.extend(own_temp.clone());
        // An outer path is mounted before one inside it.
        writable.sort();
        writable.dedup();
        let mut protected: Vec<PathBuf> = wanted.protected.iter().filter_map(real).collect();
        protected.extend(writable.iter().filter_map(|root| hooks_of(root)));
        let hidden = |path: &PathBuf| writable.iter().any(|root| path.starts_with(root));
        protected.retain(hidden);
        Self { writable, protected, own_temp }
    }

    /// Letters and paths for the mounts; see the keeper.
    pub(super) fn mounts(&self) -> Result<Vec<(CString, CString)>, String> {
        let shared = Path::new("/dev/shm");
        let shared = shared.is_dir().then_some(shared);
        let writable = self.writable.iter().map(PathBuf::as_path).chain(shared);
        let writable = writable.map(|path| (c"w", path));
        let protected = self.protected.iter().map(|path| (c"r", path.as_path()));
        let sockets = sockets().map(|path| (c"h", path));
        writable
            .chain(protected)
            .chain(sockets)
            .map(|(letter, path)| Ok((letter.to_owned(), text(path)?)))
            .collect()
    }

    pub(super) fn protected(&self) -> &[PathBuf] {
        &self.protected
    }

    /// A command that may write nowhere else is told where its temporary files go.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let temp = self.own_temp.as_ref().and_then(|path| path.to_str());
        temp.map(|path| ("TMPDIR".to_owned(), path.to_owned())).into_iter().collect()
    }
}

/// Those of the sockets that are there.
pub(super) fn sockets() -> impl Iterator<Item = &'static Path> {
    SOCKETS.iter().map(Path::new).filter(|path| path.exists())
}

fn private_temp(temp: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    let path = temp.join("petasos-readonly");
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
    if let Err(error) = made {
        tracing::warn!(%error, path = %path.display(), "confined commands have no temp folder");
        return None;
    }
    fs::canonicalize(path).ok()
}

/// The hooks of a repository at or above a folder. Made when missing, for what is not there
/// cannot be protected; git makes the folder itself in every new repository.
fn hooks_of(folder: &Path) -> Option<PathBuf> {
    let git = folder.ancestors().map(|at| at.join(".git")).find(|git| git.is_dir())?;
    let hooks = git.join("hooks");
    if !hooks.exists()
        && let Err(error) = fs::create_dir(&hooks)
    {
        tracing::debug!(%error, "git hooks cannot be protected");
    }
    fs::canonicalize(hooks).ok()
}
