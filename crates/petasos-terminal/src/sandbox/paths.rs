//! Which paths a confined command may write, and which it never may.

use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};

use petasos_contract::CallContext;
use petasos_contract::environment::{Launch, Sandbox, SandboxLevel};
use petasos_contract::path::{TargetPath, resolve};

use super::{repositories, sockets, text};
use crate::settings::{Require, TerminalSettings};

/// The confinement that the settings ask for.
pub(crate) fn wanted(terminal: &TerminalSettings, cx: &CallContext) -> Sandbox {
    let level = terminal.sandbox_for(&cx.settings, cx.attended);
    let mut writable = Vec::new();
    if level == SandboxLevel::Workspace {
        writable.push(TargetPath::new(cx.workspace.to_path_buf()));
        writable.push(TargetPath::new(cx.settings.temp()));
        let granted = terminal.sandbox_writable.iter();
        let own = |user: &str| user.is_empty().then(|| cx.settings.user_home().to_owned());
        writable.extend(granted.map(|path| TargetPath::new(resolve(path, &cx.workspace, own))));
    }
    let home = cx.settings.home();
    let own = (!home.as_os_str().is_empty()).then(|| TargetPath::new(home));
    let project = [".petasos", ".hermes"].map(|name| TargetPath::new(cx.workspace.join(name)));
    Sandbox {
        level,
        required: terminal.sandbox_require == Require::Required,
        network: terminal.sandbox_network.unwrap_or(true),
        writable,
        protected: own.into_iter().chain(project).collect(),
    }
}

/// Real paths, with links resolved: a link must not move the border.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) writable: Vec<PathBuf>,
    protected: Vec<PathBuf>,
    /// Folders on the way to what is protected. A mount cannot be renamed, so that nobody moves the
    /// way aside and builds another one.
    pinned: Vec<PathBuf>,
    sockets: Vec<PathBuf>,
    own_temp: Option<PathBuf>,
    /// Whether every folder was searched for repositories.
    pub(super) searched_all: bool,
}

impl Scope {
    pub(super) fn of(launch: &Launch, cx: &CallContext) -> Self {
        let wanted = &launch.sandbox;
        let real = |path: &Path| fs::canonicalize(path).ok();
        let mut writable: Vec<PathBuf> =
            wanted.writable.iter().filter_map(|path| real(path.as_path())).collect();
        let temp = real(cx.settings.temp());
        let roots: Vec<PathBuf> =
            writable.iter().filter(|root| Some(*root) != temp.as_ref()).cloned().collect();
        let own_temp = (wanted.level == SandboxLevel::Readonly)
            .then(|| private_temp(cx.settings.home()))
            .flatten();
        writable.extend(own_temp.clone());
        // An outer path is mounted before one inside it.
        writable.sort();
        writable.dedup();
        let is_inside = |path: &Path| writable.iter().any(|root| path.starts_with(root));
        let mut protected: Vec<PathBuf> = Vec::new();
        for path in wanted.protected.iter().map(TargetPath::as_path) {
            // What is not there cannot be protected, so that it is made, empty.
            if !path.exists() && path.parent().and_then(real).is_some_and(|at| is_inside(&at)) {
                make_folder(path);
            }
            protected.extend(real(path));
        }
        let found = repositories::find(&roots);
        protected.extend(found.protected);
        protected.retain(|path| is_inside(path));
        protected.sort();
        protected.dedup();
        let pinned = pins(&writable, &protected);
        let sockets = sockets::foreign(launch, cx, &roots);
        Self { writable, protected, pinned, sockets, own_temp, searched_all: found.complete }
    }

    /// Letters and paths for the mounts; see the keeper.
    pub(super) fn mounts(&self) -> Result<Vec<(CString, CString)>, String> {
        let shared = Path::new("/dev/shm");
        let shared = shared.is_dir().then(|| shared.to_path_buf());
        let mut writable = self.bound();
        writable.extend(shared);
        let letters = [(c"w", &writable), (c"r", &self.protected), (c"h", &self.sockets)];
        letters
            .into_iter()
            .flat_map(|(letter, paths)| paths.iter().map(move |path| (letter, path)))
            .map(|(letter, path)| Ok((letter.to_owned(), text(path)?)))
            .collect()
    }

    /// The same for a program that mounts everything else by itself.
    pub(super) fn covers(&self) -> Result<Vec<(CString, CString)>, String> {
        self.sockets.iter().map(|path| Ok((c"h".to_owned(), text(path)?))).collect()
    }

    /// What is mounted to be written, outer paths first.
    pub(super) fn bound(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = self.writable.iter().chain(&self.pinned).cloned().collect();
        all.sort();
        all.dedup();
        all
    }

    pub(super) fn protected(&self) -> &[PathBuf] {
        &self.protected
    }

    pub(super) fn sockets(&self) -> &[PathBuf] {
        &self.sockets
    }

    /// A command that may write nowhere else is told where its temporary files go.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let temp = self.own_temp.as_ref().and_then(|path| path.to_str());
        temp.map(|path| ("TMPDIR".to_owned(), path.to_owned())).into_iter().collect()
    }
}

/// The folders between a writable root and what is protected below it.
fn pins(writable: &[PathBuf], protected: &[PathBuf]) -> Vec<PathBuf> {
    let is_below =
        |path: &Path| writable.iter().any(|root| path.starts_with(root) && path != root.as_path());
    let ways = protected.iter().flat_map(|path| path.ancestors().skip(1));
    ways.filter(|path| is_below(path)).map(Path::to_path_buf).collect()
}

/// In our own home, where no confined command and no other user can put a link in its place.
fn private_temp(home: &Path) -> Option<PathBuf> {
    if home.as_os_str().is_empty() {
        return None;
    }
    let path = home.join("sandbox-temp");
    make_folder(&path);
    let is_folder = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
    if !is_folder {
        tracing::warn!(path = %path.display(), "confined commands have no temp folder");
        return None;
    }
    fs::canonicalize(path).ok()
}

pub(super) fn make_folder(path: &Path) {
    use std::os::unix::fs::DirBuilderExt;
    if let Err(error) = fs::DirBuilder::new().recursive(true).mode(0o700).create(path) {
        tracing::debug!(%error, path = %path.display(), "a folder could not be made");
    }
}
