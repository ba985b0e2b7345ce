//! What a call would do, resolved once: the value that is judged, shown, pinned and run.
//!
//! A tool makes its [`Plan`] before anybody judges the call. When it runs it gets the very same
//! value back as [`Cleared`], so that nothing is resolved a second time with another outcome.

use std::any::Any;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::BoxFuture;
use crate::args::Args;
use crate::context::CallContext;
use crate::effect::Effects;
use crate::environment::{Exports, Located, Sandbox};
use crate::path::TargetPath;
use crate::tool::ToolError;

/// Something that must not move between judging a call and running it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pin {
    /// This very directory is at the path.
    Directory {
        /// Where, behind all links.
        path: PathBuf,
        /// Which file system.
        device: u64,
        /// Which directory there.
        inode: u64,
    },
    /// Nothing is at the path.
    Absent(PathBuf),
    /// The file has this content.
    Content {
        /// Which file, behind all links.
        path: PathBuf,
        /// The SHA-256 of all of it.
        sha256: [u8; 32],
    },
}

/// Which edits a person wants to see before they are made, whatever the rules say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EditApproval {
    /// Those that policy asks about.
    #[default]
    ByPolicy,
    /// Every one.
    Each,
    /// Those outside the workspace, and those of sensitive files.
    OutsideWorkspace,
    /// Those of sensitive files.
    Sensitive,
}

/// One file before and after an edit, for people. `None` means that it is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// The file, behind all links.
    pub path: PathBuf,
    /// Its text before.
    pub before: Option<String>,
    /// Its text after.
    pub after: Option<String>,
    /// The change as a unified diff, redacted.
    pub diff: String,
}

/// Tells what an edit would change. Asked only when somebody wants to see it.
pub trait EditPreview: Send + Sync {
    /// Every file that the edit changes, or why that cannot be told.
    fn edits<'a>(&'a self, cx: &'a CallContext) -> BoxFuture<'a, Result<Vec<FileEdit>, ToolError>>;
}

/// What a call would do, and the tool's own resolved work.
#[derive(Default)]
#[non_exhaustive]
pub struct Plan {
    /// The arguments it was made from.
    pub args: Args,
    /// What it would do, for policy, checkpoints and the log.
    pub effects: Effects,
    /// What people are shown; made from the effects when empty.
    pub subject: String,
    /// What must not move before it runs.
    pub pins: Vec<Pin>,
    /// The home of whoever it acts as, when it acts on another machine.
    pub home: Option<TargetPath>,
    /// What the session exported to the commands that it runs.
    pub exports: Exports,
    /// The confinement that it is sure to have, with real paths.
    pub confined: Option<Sandbox>,
    /// What it would change in files, for those who want to see it.
    pub edits: Option<Arc<dyn EditPreview>>,
    work: Option<Box<dyn Any + Send + Sync>>,
}

impl Plan {
    /// A call that touches nothing outside the conversation.
    pub fn new(args: Args) -> Self {
        Self { args, ..Self::default() }
    }

    /// With these effects.
    #[must_use]
    pub fn with_effects(self, effects: Effects) -> Self {
        Self { effects, ..self }
    }

    /// With what the tool has resolved, which its `run` takes back.
    #[must_use]
    pub fn with_work<W: Send + Sync + 'static>(self, work: W) -> Self {
        Self { work: Some(Box::new(work)), ..self }
    }

    /// Acting there.
    #[must_use]
    pub fn at(self, located: &Located) -> Self {
        let home = (!located.is_here()).then(|| located.home.clone());
        Self { home, exports: located.exports.clone(), ..self }
    }

    /// Holding on to these.
    #[must_use]
    pub fn with_pins(mut self, pins: impl IntoIterator<Item = Pin>) -> Self {
        self.pins.extend(pins);
        self
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("effects", &self.effects)
            .field("pins", &self.pins)
            .finish_non_exhaustive()
    }
}

/// A plan that policy let through, or that somebody agreed to. Only the dispatcher makes one.
#[derive(Debug)]
pub struct Cleared(Plan);

impl Cleared {
    /// Lets a plan through.
    pub fn new(plan: Plan) -> Self {
        Self(plan)
    }

    /// What was judged.
    pub fn plan(&self) -> &Plan {
        &self.0
    }

    /// The final arguments.
    pub fn args(&self) -> &Args {
        &self.0.args
    }

    /// The final arguments, for tools that resolve nothing.
    pub fn into_args(self) -> Args {
        self.0.args
    }

    /// What the tool resolved when it planned.
    pub fn into_work<W: 'static>(self) -> Result<W, ToolError> {
        let work = self.0.work.and_then(|work| work.downcast::<W>().ok());
        work.map(|work| *work)
            .ok_or_else(|| ToolError::new("NotPlanned", "the call comes without the tool's plan"))
    }
}
