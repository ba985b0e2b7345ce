//! Where a call's files are: on this machine, or wherever its terminal is.
//!
//! Tools ask a [`Site`] and never a file system, so that they act where the terminal acts. On
//! this machine it goes straight to the files; elsewhere every question goes through the
//! environment. A place that is lost is an error and never this machine.

pub(crate) mod there;

use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use petasos_contract::effect::{Effect, Effects};
use petasos_contract::environment::{EnvError, Environment, Environments, Located, Sandbox};
use petasos_contract::path::resolve;
use petasos_contract::ports::{Buffers, Ports};
use petasos_contract::terminal::Terminal;
use petasos_contract::{Args, CallContext, Plan, ToolError};
use tokio::runtime::Handle;

use super::buffers;
use super::confine;
use super::directory::Directory;
use super::guard::Guard;
use super::open::{self, Place, Unreadable};
use super::place;
use super::similar;
use super::write::{self, Anchor, Change, Done, WriteFault};
use there::There;

/// Finds out where the files of calls are; every file tool has one.
#[derive(Clone)]
pub(crate) struct Sites(
    Option<Arc<dyn Environments>>,
    Option<Arc<dyn Terminal>>,
    Option<Arc<dyn Buffers>>,
);

impl Sites {
    /// Looks where the terminal is, or on this machine when the program has no terminal.
    pub(crate) fn new(ports: &Ports) -> Self {
        Self(ports.environments.clone(), ports.terminal.clone(), ports.buffers.clone())
    }

    /// How commands of the call are confined; nothing where that cannot be told.
    pub(crate) fn sandbox(&self, cx: &CallContext) -> Option<Sandbox> {
        match &self.1 {
            Some(terminal) => terminal.sandbox(cx).ok(),
            None => Some(Sandbox::default()),
        }
    }

    /// Effects of a file tool: with leaving the sandbox where a command of the call could not write.
    pub(crate) fn confined(
        &self,
        effects: Effects,
        place: &FilePlace,
        cx: &CallContext,
    ) -> Effects {
        let Some(sandbox) = self.sandbox(cx).filter(|_| place.is_here()) else { return effects };
        let leaves = effects.iter().any(
            |effect| matches!(effect, Effect::Write(path) if confine::refuses(&sandbox, path)),
        );
        if leaves { effects.and(Effect::Unconfined) } else { effects }
    }

    /// Refuses what may not leave the sandbox, whoever agreed.
    pub(crate) fn may_write(&self, paths: &[PathBuf], cx: &CallContext) -> Result<(), String> {
        let backend = cx.settings.text("terminal.backend").unwrap_or("local");
        let Some(sandbox) = self.sandbox(cx).filter(|sandbox| sandbox.required) else {
            return Ok(());
        };
        let refused = paths.iter().find(|path| confine::refuses(&sandbox, path));
        refused.filter(|_| backend == "local").map_or(Ok(()), |path| {
            let (path, level) = (path.display(), sandbox.level.as_str());
            Err(format!(
                "`{path}` is outside the {level} sandbox, which `terminal.sandbox_require` demands: \
                 choose a path inside it"
            ))
        })
    }

    /// The same for those who await.
    pub(crate) async fn locate(&self, cx: &CallContext) -> Result<FilePlace, EnvError> {
        match &self.0 {
            Some(environments) => {
                let place = FilePlace::at(environments.locate(cx).await?);
                Ok(FilePlace { buffers: self.2.clone(), ..place })
            }
            None => Ok(FilePlace::without_terminal(cx)),
        }
    }

    /// Where the files of a call are. Opens the place of its terminal, so that `~` and relative
    /// paths mean the same from the first call on. Must run where blocking is allowed.
    pub(crate) fn find(&self, cx: &CallContext) -> Result<FilePlace, ToolError> {
        let Some(environments) = &self.0 else { return Ok(FilePlace::without_terminal(cx)) };
        let located = environments.locate(cx);
        let place = FilePlace::at(there::wait(&Handle::current(), cx, "the terminal", located)?);
        Ok(FilePlace { buffers: self.2.clone(), ..place })
    }
}

impl std::fmt::Debug for Sites {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sites(with a terminal: {})", self.0.is_some())
    }
}

/// Where the files of one call are, found out once.
#[derive(Debug, Clone)]
pub(crate) struct FilePlace {
    located: Option<Arc<Located>>,
    base: PathBuf,
    home: PathBuf,
    buffers: Option<Arc<dyn Buffers>>,
}

impl FilePlace {
    fn without_terminal(cx: &CallContext) -> Self {
        let (base, home) = (cx.workspace.to_path_buf(), cx.settings.user_home().to_owned());
        Self { located: None, base, home, buffers: None }
    }

    /// The directory that a program runs in: the one that was named for it, or the session's. Asks
    /// the place where that is needed, on a thread that may wait.
    pub(crate) async fn directory(
        &self,
        workdir: Option<String>,
        cx: &CallContext,
    ) -> Result<Directory, ToolError> {
        let (place, cx) = (self.clone(), cx.clone());
        let looking = tokio::task::spawn_blocking(move || {
            let path = match workdir {
                Some(workdir) => place.site(&cx).resolve(&workdir),
                None => place.base.clone(),
            };
            Directory::look(path, &place)
        });
        looking.await.map_err(|error| ToolError::new("Cancelled", error.to_string()))
    }

    /// Where commands run.
    pub(crate) fn at(located: Located) -> Self {
        let base = located.cwd.as_path().to_owned();
        let home = located.home.as_path().to_owned();
        Self { located: Some(Arc::new(located)), base, home, buffers: None }
    }

    /// Whether it is this machine.
    pub(crate) fn is_here(&self) -> bool {
        self.located.as_ref().is_none_or(|located| located.is_here())
    }

    /// The terminal's place, where the program has one.
    pub(crate) fn located(&self) -> Option<&Arc<Located>> {
        self.located.as_ref()
    }

    /// The plan of a call that acts there.
    pub(crate) fn plan(&self, args: Args) -> Plan {
        let plan = Plan::new(args);
        match &self.located {
            Some(located) => plan.at(located),
            None => plan,
        }
    }

    /// Its files, for one call. Must be used where blocking is allowed.
    pub(crate) fn site<'a>(&self, cx: &'a CallContext) -> Site<'a> {
        let (base, home) = (self.base.clone(), self.home.clone());
        match self.located.as_ref().filter(|located| !located.is_here()) {
            None => {
                let (guard, buffers) = (Guard::new(&cx.settings), self.buffers.clone());
                Site { cx, base, home, guard, there: None, buffers }
            }
            Some(located) => {
                let environment = Arc::clone(&located.environment);
                let there = Some(There::new(environment, Handle::current(), cx));
                // An editor holds files of this machine.
                Site { cx, base, home, guard: Guard::elsewhere(), there, buffers: None }
            }
        }
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

/// What reading a path would do, for policy: the name and what is behind it.
pub(crate) fn reads(path: &Path, about: Option<&About>) -> Effects {
    let behind = about.map(|about| about.real.clone()).filter(|real| real != path);
    std::iter::once(path.to_owned()).chain(behind).map(Effect::Read).collect()
}

/// The files of one call.
pub(crate) struct Site<'a> {
    pub(crate) cx: &'a CallContext,
    pub(crate) base: PathBuf,
    home: PathBuf,
    pub(crate) guard: Guard,
    there: Option<There<'a>>,
    buffers: Option<Arc<dyn Buffers>>,
}

impl<'a> Site<'a> {
    /// The absolute path that a caller means.
    pub(crate) fn resolve(&self, path: &str) -> PathBuf {
        resolve(path, &self.base, |name| match &self.there {
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

    /// What is at a path without links that is to be written; protected files too, for nothing of
    /// them is shown.
    pub(crate) fn known(&self, path: &Path) -> Result<Option<About>, Unreadable> {
        let known = match &self.there {
            Some(there) => there.look(path, &Guard::none()),
            None => known(path),
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
            None => match self.held(&about.real) {
                Some(text) => Ok(Box::new(std::io::Cursor::new(text.into_bytes()))),
                None => Ok(Box::new(open::open(&about.real)?.0)),
            },
        }
    }

    /// The text of a file that an editor holds. One that the editor cannot read is read from the
    /// disk, and the person is told.
    fn held(&self, real: &Path) -> Option<String> {
        let held = self.buffers.as_deref().filter(|it| it.holds(real, self.cx))?;
        buffers::read(held, real, self.cx)
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
            None => buffers::commit(changes, self.buffers.as_deref(), self.cx),
        }
    }

    /// The environment of the call, for programs that help; `None` without a terminal.
    pub(crate) fn environment(&self, sites: &Sites) -> Option<Arc<dyn Environment>> {
        let environments = sites.0.as_ref()?;
        let opened =
            there::wait(&Handle::current(), self.cx, "the terminal", environments.of(self.cx));
        opened.ok()
    }

    /// The folder that a file will be written to, held from now on. Elsewhere there is none to
    /// hold: a place writes each file by its path.
    pub(crate) fn anchor(&self, real: &Path) -> Option<Arc<Anchor>> {
        let folder = real.parent().filter(|_| self.there.is_none())?;
        Anchor::hold(folder).ok().map(Arc::new)
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

/// What is at a path that has no links; one that has become a link is not followed.
fn known(real: &Path) -> Result<About, Unreadable> {
    let known = open::about(real)?;
    if !known.is_file() && !known.is_dir() {
        return Err(Unreadable::Special);
    }
    let (modified_ns, is_folder) = (write::modified_ns(&known), known.is_dir());
    Ok(About { real: real.to_owned(), size: known.len(), modified_ns, is_folder })
}

/// The root of the file system holds everything and so confines nothing.
fn has_depth(root: &Path) -> bool {
    root.components().any(|part| matches!(part, Component::Normal(_)))
}
