//! Where a call's files are: on this machine, or wherever its terminal is.
//!
//! Tools ask a [`Site`] and never a file system, so that they act where the terminal acts. On
//! this machine it goes straight to the files; elsewhere every question goes through the
//! environment. A place that is lost is an error and never this machine.

pub(crate) mod there;

use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use petasos_contract::environment::{Environment, Environments, Sandbox};
use petasos_contract::ports::Ports;
use petasos_contract::terminal::Terminal;
use petasos_contract::{CallContext, ToolError};
use tokio::runtime::Handle;

use super::guard::Guard;
use super::open::{self, Place, Unreadable};
use super::place;
use super::similar;
use super::write::{self, Change, Done, WriteFault};
use there::There;

/// Finds the site of a call; every file tool has one.
#[derive(Clone)]
pub(crate) struct Sites(Option<Arc<dyn Environments>>, Option<Arc<dyn Terminal>>);

impl Sites {
    /// Looks where the terminal is, or on this machine when the program has no terminal.
    pub(crate) fn new(ports: &Ports) -> Self {
        Self(ports.environments.clone(), ports.terminal.clone())
    }

    /// Where a call's relative paths start.
    fn base(&self, cx: &CallContext) -> PathBuf {
        let cwd = self.0.as_ref().map(|environments| environments.cwd(cx));
        cwd.map_or_else(|| cx.workspace.to_path_buf(), |cwd| cwd.as_path().to_owned())
    }

    /// How commands of the call are confined; nothing where that cannot be told.
    pub(crate) fn sandbox(&self, cx: &CallContext) -> Option<Sandbox> {
        match &self.1 {
            Some(terminal) => terminal.sandbox(cx).ok(),
            None => Some(Sandbox::default()),
        }
    }

    /// The path that a caller means, for policy: asks nobody. Elsewhere `~` stays as it is.
    pub(crate) fn meant(&self, path: &str, cx: &CallContext) -> PathBuf {
        if self.is_here(cx) {
            let own = cx.settings.user_home();
            return place::resolve(path, &self.base(cx), |name| here_home(name, own));
        }
        if path.starts_with('~') {
            return PathBuf::from(path);
        }
        place::folded(&self.base(cx).join(path))
    }

    /// Every path that a write to `path` would touch, for policy: the name and what is behind it.
    pub(crate) fn touched(&self, path: &str, cx: &CallContext) -> Vec<PathBuf> {
        let meant = self.meant(path, cx);
        let behind = self.is_here(cx).then(|| write::target(&meant).ok()).flatten();
        let behind = behind.filter(|real| *real != meant);
        std::iter::once(meant).chain(behind).collect()
    }

    fn is_here(&self, cx: &CallContext) -> bool {
        let backend = cx.settings.text("terminal.backend").unwrap_or("local");
        self.0.is_none() || backend == "local"
    }

    /// The site of a call. Must run where blocking is allowed.
    pub(crate) fn open<'a>(&self, cx: &'a CallContext) -> Result<Site<'a>, ToolError> {
        let here = |base: PathBuf| Site {
            cx,
            home: cx.settings.user_home().to_owned(),
            base,
            guard: Guard::new(&cx.settings),
            there: None,
        };
        let Some(environments) = &self.0 else { return Ok(here(self.base(cx))) };
        let handle = Handle::current();
        let environment = there::wait(&handle, cx, "the terminal", environments.of(cx))?;
        // Asked once the place is open: before, it would be a path of this machine.
        let base = self.base(cx);
        if environment.facts().backend == "local" {
            return Ok(here(base));
        }
        let there = There::new(environment, handle, cx);
        let home = there.home()?;
        Ok(Site { cx, home, base, guard: Guard::elsewhere(), there: Some(there) })
    }
}

impl std::fmt::Debug for Sites {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sites(with a terminal: {})", self.0.is_some())
    }
}

/// What is at a path.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// Where it really is, behind all links.
    pub(crate) real: PathBuf,
    /// How many bytes it says it has.
    pub(crate) size: u64,
    /// When it last changed, by the clock of the place.
    pub(crate) modified_ns: i128,
    /// Whether it is a folder.
    pub(crate) is_folder: bool,
}

/// The files of one call.
pub(crate) struct Site<'a> {
    pub(crate) cx: &'a CallContext,
    pub(crate) base: PathBuf,
    home: PathBuf,
    pub(crate) guard: Guard,
    there: Option<There<'a>>,
}

impl<'a> Site<'a> {
    /// The absolute path that a caller means.
    pub(crate) fn resolve(&self, path: &str) -> PathBuf {
        place::resolve(path, &self.base, |name| match &self.there {
            Some(there) if !name.is_empty() => there.home_of(name),
            Some(_) => Some(self.home.clone()),
            None => here_home(name, &self.home),
        })
    }

    /// How a path is told to the model.
    pub(crate) fn shown(&self, path: &Path) -> String {
        place::shown(path, &self.base)
    }

    /// The environment, when it is not this machine.
    pub(crate) fn there(&self) -> Option<&There<'a>> {
        self.there.as_ref()
    }

    /// The home of the user there.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// What is at an absolute path; devices and protected files are refused.
    pub(crate) fn look(&self, path: &Path) -> Result<About, Unreadable> {
        if let Some(there) = &self.there {
            return there.look(path, &self.guard);
        }
        here(path, &self.guard)
    }

    /// What is at a path that is to be written; protected files too, for nothing of them is shown.
    pub(crate) fn known(&self, path: &Path) -> Result<Option<About>, Unreadable> {
        let known = match &self.there {
            Some(there) => there.look(path, &Guard::none()),
            None => here(path, &Guard::none()),
        };
        match known {
            Ok(about) => Ok(Some(about)),
            Err(Unreadable::Missing) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// The bytes of a regular file.
    pub(crate) fn reader(&self, about: &About) -> Result<Box<dyn Read + '_>, Unreadable> {
        match &self.there {
            Some(there) => Ok(Box::new(there.reader(&about.real))),
            None => Ok(Box::new(open::open(&about.real)?.0)),
        }
    }

    /// All bytes of a regular file, which must not have more than so many.
    pub(crate) fn bytes(&self, about: &About, most: u64) -> Result<Vec<u8>, Unreadable> {
        let size = usize::try_from(about.size.min(most)).unwrap_or_default();
        // One more, so that the end is seen without growing.
        let mut bytes = Vec::with_capacity(size + 1);
        self.reader(about)?.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            let told = format!("it has more than the {most} bytes that can be changed at once");
            return Err(Unreadable::System(std::io::Error::other(told)));
        }
        Ok(bytes)
    }

    /// Names in the folder of a missing file that look like it.
    pub(crate) fn beside(&self, missing: &Path) -> Vec<PathBuf> {
        match &self.there {
            Some(there) => there.beside(missing),
            None => similar::beside(missing),
        }
    }

    /// Whether a folder is there.
    pub(crate) fn is_folder(&self, path: &Path) -> bool {
        match &self.there {
            Some(there) => there.is_folder(path),
            None => path.is_dir(),
        }
    }

    /// The file that a write to a path would change, behind all links; refuses links that lead
    /// out of the folder that the caller named them in.
    pub(crate) fn target(&self, path: &Path) -> Result<PathBuf, WriteFault> {
        let real = match &self.there {
            Some(there) => there.target(path)?,
            None => write::target(path)?,
        };
        let root = self.base.components().collect::<PathBuf>();
        let is_inside = path.starts_with(&root) && has_depth(&root);
        if !is_inside || real.starts_with(&root) {
            return Ok(real);
        }
        let behind = match &self.there {
            Some(there) => there.target(&root)?,
            None => write::target(&root)?,
        };
        if real.starts_with(&behind) { Ok(real) } else { Err(WriteFault::LeadsOut { real }) }
    }

    /// Writes, changes and removes files: all of them or none.
    pub(crate) fn commit(&self, changes: &[Change<'_>]) -> Result<Done, WriteFault> {
        match &self.there {
            Some(there) => there.commit(changes),
            None => write::commit(changes),
        }
    }

    /// The environment of the call, for programs that help; `None` without a terminal.
    pub(crate) fn environment(&self, sites: &Sites) -> Option<Arc<dyn Environment>> {
        let environments = sites.0.as_ref()?;
        let opened =
            there::wait(&Handle::current(), self.cx, "the terminal", environments.of(self.cx));
        opened.ok()
    }
}

/// The home of a user of this machine.
fn here_home(name: &str, own: &Path) -> Option<PathBuf> {
    if name.is_empty() {
        return Some(own.to_owned());
    }
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    place::home_in(&users, name)
}

fn here(path: &Path, guard: &Guard) -> Result<About, Unreadable> {
    let (real, is_folder) = match open::look(path, guard)? {
        Place::File(real) => (real, false),
        Place::Folder(real) => (real, true),
    };
    let known = std::fs::metadata(&real)?;
    let modified_ns = write::modified_ns(&known);
    Ok(About { real, size: known.len(), modified_ns, is_folder })
}

/// The root of the file system holds everything and so confines nothing.
fn has_depth(root: &Path) -> bool {
    root.components().any(|part| matches!(part, Component::Normal(_)))
}
