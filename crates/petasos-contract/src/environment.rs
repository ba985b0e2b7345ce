//! Where commands run and files live: one place, local or remote, behind one trait.
//!
//! A backend knows how to start and stop things in its place and how to touch files there. It
//! knows nothing of working directory records, approvals or jobs. A lost place is an error; no
//! other place ever stands in for it.

mod files;
mod launch;
mod process;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use crate::BoxFuture;
use crate::context::CallContext;
use crate::path::TargetPath;
use crate::tool::ToolError;

pub use files::{Entry, FileKind, Files, Stat, WriteMode};
pub use launch::{Exports, Launch, Lifetime, Program, Sandbox, SandboxLevel, Size, Stderr, Stdin};
pub use process::{Control, Ending, Exit, Input, Process, Session, Step};

/// A place where commands run.
pub trait Environment: Send + Sync {
    /// What is known about the place without asking it.
    fn facts(&self) -> &Facts;

    /// Gets ready what a first command would wait for; most places have nothing of the kind.
    fn warm<'a>(&'a self, _: &'a CallContext) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// Starts a program. When this fails with [`EnvError::NotStarted`], nothing has run.
    fn spawn<'a>(
        &'a self,
        launch: Launch,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn Process>, EnvError>>;

    /// Finds a kept program again by the handle of `Control::keep`; `None` when it is gone and
    /// left nothing. A process number that now belongs to another program counts as gone.
    fn find<'a>(
        &'a self,
        handle: &'a str,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Process>>, EnvError>>;

    /// The home of whoever commands run as there.
    fn home(&self, cx: &CallContext) -> TargetPath {
        TargetPath::new(cx.settings.user_home())
    }

    /// The files of the place, so that file tools act where the terminal acts.
    fn files(&self) -> &dyn Files;

    /// Whether the place answers, found out by doing.
    fn health(&self) -> BoxFuture<'_, Health>;

    /// Ends what runs there for calls and removes what we put there. Jobs are left alone.
    fn close(&self) -> BoxFuture<'_, Result<(), EnvError>>;
}

/// How far a place is from the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// The host itself.
    Host,
    /// A container on the host, with host folders mounted.
    Mounted,
    /// A container or machine that cannot touch the host.
    Apart,
}

/// What a backend can do beyond running a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Capability {
    /// Gives a program a pseudo-terminal.
    Pty,
    /// Feeds input to a running program.
    Stdin,
    /// Lets a job outlive this program.
    Detach,
    /// Confines a command further.
    Sandbox,
}

/// What is known about a place.
#[derive(Debug, Clone, Serialize)]
pub struct Facts {
    /// The backend's name, as in `terminal.backend`.
    pub backend: &'static str,
    /// Which place of that kind, for people: `local`, `docker:ab12`, `ssh:me@host`.
    pub target: String,
    /// How far from the host.
    pub isolation: Isolation,
    /// Where commands begin.
    pub cwd: TargetPath,
    /// Where temporary files go.
    pub temp: TargetPath,
    /// What it can do.
    pub capabilities: BTreeSet<Capability>,
}

/// Whether a place answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Health {
    /// It does.
    Ready {
        /// What was found, for people.
        detail: String,
    },
    /// It does, with something missing.
    Degraded {
        /// What is missing and what to do.
        reason: String,
    },
    /// It does not.
    Lost {
        /// Why and what to do.
        reason: String,
    },
}

/// Why something did not work in a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvError {
    /// There is no such backend.
    #[error("unknown terminal backend `{name}`: set `terminal.backend` to one of {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The program was not started, and nothing has run.
    #[error("{what} was not started: {why}")]
    NotStarted {
        /// What should have run.
        what: String,
        /// Why it did not.
        why: String,
    },
    /// The working directory cannot be entered.
    #[error("cannot enter the working directory `{path}`: {why}")]
    Cwd {
        /// The directory.
        path: TargetPath,
        /// What the system said.
        why: String,
    },
    /// The wanted sandbox cannot be attained and was required.
    #[error("sandbox `{level}` is required and cannot be attained here: {why}")]
    Sandbox {
        /// The wanted level.
        level: &'static str,
        /// What is missing.
        why: String,
    },
    /// The place is gone; what ran there may or may not have ended.
    #[error("the {target} terminal is lost: {why}")]
    Lost {
        /// Which place.
        target: String,
        /// What happened.
        why: String,
    },
    /// A file operation failed.
    #[error("`{path}`: {why}")]
    File {
        /// The file.
        path: TargetPath,
        /// What the system said.
        why: String,
        /// Whether it is simply not there.
        missing: bool,
    },
    /// The backend cannot do this.
    #[error("the {backend} terminal cannot {what}")]
    Unsupported {
        /// The backend.
        backend: &'static str,
        /// What was asked.
        what: &'static str,
    },
    /// The settings do not fit.
    #[error("{0}")]
    Settings(String),
    /// A limit was reached.
    #[error("{0}")]
    Limit(String),
}

impl From<EnvError> for ToolError {
    fn from(error: EnvError) -> Self {
        Self::new("EnvironmentError", error.to_string())
    }
}

/// Where a call acts, found out once: its place, its directory and its variables.
#[derive(Clone)]
pub struct Located {
    /// The place, which is open.
    pub environment: Arc<dyn Environment>,
    /// Where relative paths start.
    pub cwd: TargetPath,
    /// What `~` means there.
    pub home: TargetPath,
    /// What the session exported.
    pub exports: Exports,
    /// What the session has unset.
    pub unset: Vec<String>,
}

impl Located {
    /// Whether it is this machine, so that paths of the host are paths of the place.
    pub fn is_here(&self) -> bool {
        self.environment.facts().backend == "local"
    }
}

impl std::fmt::Debug for Located {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Located")
            .field("target", &self.environment.facts().target)
            .field("cwd", &self.cwd)
            .field("home", &self.home)
            .finish_non_exhaustive()
    }
}

/// Finds the place a call belongs to, starting it on first need.
pub trait Environments: Send + Sync {
    /// The place for this call.
    fn of<'a>(
        &'a self,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Arc<dyn Environment>, EnvError>>;

    /// Where this call's relative paths start: the directory its session last went to, the task's
    /// own, or the configured one. Reads a record and asks nobody.
    fn cwd(&self, cx: &CallContext) -> TargetPath;

    /// The place of this call with all that its session carries there, as of one moment.
    fn locate<'a>(&'a self, cx: &'a CallContext) -> BoxFuture<'a, Result<Located, EnvError>> {
        Box::pin(async move {
            let environment = self.of(cx).await?;
            let (cwd, home) = (self.cwd(cx), environment.home(cx));
            Ok(Located { environment, cwd, home, exports: Exports::new(), unset: Vec::new() })
        })
    }

    /// Gives a task its own starting directory; it applies at once.
    fn set_cwd(&self, cx: &CallContext, cwd: TargetPath);
}
