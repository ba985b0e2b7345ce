//! Small traits by which a tool reaches beside or above itself.
//!
//! Each engine that a program links fills one field. A tool whose port is empty is hidden with
//! that reason; it never finds a weaker substitute.

use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::call::{ToolCall, ToolResult};
use crate::context::CallContext;
use crate::delivery::Deliveries;
use crate::environment::{EnvError, Environments};
use crate::hook::Moments;
use crate::id::SessionId;
use crate::jobs::Jobs;
use crate::model::Model;
use crate::processes::Processes;
use crate::terminal::{Passwords, Terminal};
use crate::{BoxFuture, Secret, Settings};

/// What the linked engines offer to tools.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Ports {
    /// The one door, for tools that call other tools.
    pub door: Option<Arc<dyn Door>>,
    /// Where commands run and files live.
    pub environments: Option<Arc<dyn Environments>>,
    /// What the file tools remember of each session.
    pub file_memory: Option<Arc<dyn Memory>>,
    /// Texts that an editor holds.
    pub buffers: Option<Arc<dyn Buffers>>,
    /// The pages that sessions have read, for citations.
    pub web_sources: Option<Arc<dyn Memory>>,
    /// What media tools share.
    pub media: Option<Arc<dyn Memory>>,
    /// Models, for tools that ask one.
    pub model: Option<Arc<dyn Model>>,
    /// The browsers of sessions.
    pub browsers: Option<Arc<dyn Memory>>,
    /// Boards of tasks.
    pub boards: Option<Arc<dyn Memory>>,
    /// Database files of others.
    pub databases: Option<Arc<dyn Memory>>,
    /// What a desktop client shows.
    pub panel: Option<Arc<dyn Memory>>,
    /// Commands for a session's shell.
    pub terminal: Option<Arc<dyn Terminal>>,
    /// Background jobs.
    pub jobs: Option<Arc<dyn Jobs>>,
    /// Somebody who can be asked for a password.
    pub passwords: Option<Arc<dyn Passwords>>,
    /// Helper programs of ours on the host.
    pub processes: Option<Arc<dyn Processes>>,
    /// Messages to people elsewhere.
    pub deliveries: Option<Arc<dyn Deliveries>>,
    /// Scheduled jobs.
    pub schedules: Option<Arc<dyn Schedules>>,
    /// Logins that the program keeps for services.
    pub logins: Option<Arc<dyn Logins>>,
    /// Hooks, for the moments that only a tool sees.
    pub moments: Option<Arc<dyn Moments>>,
    /// Folders of instructions that a model reads when it needs them.
    pub skills: Option<Arc<dyn Skills>>,
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports")
            .field("door", &self.door.is_some())
            .field("environments", &self.environments.is_some())
            .field("file_memory", &self.file_memory.is_some())
            .field("buffers", &self.buffers.is_some())
            .field("web_sources", &self.web_sources.is_some())
            .field("media", &self.media.is_some())
            .field("model", &self.model.is_some())
            .field("browsers", &self.browsers.is_some())
            .field("boards", &self.boards.is_some())
            .field("databases", &self.databases.is_some())
            .field("panel", &self.panel.is_some())
            .field("terminal", &self.terminal.is_some())
            .field("jobs", &self.jobs.is_some())
            .field("passwords", &self.passwords.is_some())
            .field("processes", &self.processes.is_some())
            .field("deliveries", &self.deliveries.is_some())
            .field("schedules", &self.schedules.is_some())
            .field("logins", &self.logins.is_some())
            .field("moments", &self.moments.is_some())
            .field("skills", &self.skills.is_some())
            .finish()
    }
}

/// Scheduled jobs, for the tool that manages them.
pub trait Schedules: Send + Sync {
    /// Does what a model asks; whatever goes wrong is in the answer.
    fn manage<'a>(&'a self, request: Value, cx: &'a CallContext) -> BoxFuture<'a, Value>;
}

/// Texts that an editor holds for the sessions that it has open: what its person sees, saved or not.
pub trait Buffers: fmt::Debug + Send + Sync {
    /// Whether the file of a call is read and written through an editor. Asks nobody.
    fn holds(&self, path: &Path, cx: &CallContext) -> bool;

    /// The text as the person sees it.
    fn read<'a>(
        &'a self,
        path: &'a Path,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, EnvError>>;

    /// Replaces the text; the editor saves it.
    fn write<'a>(
        &'a self,
        path: &'a Path,
        text: &'a str,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<(), EnvError>>;
}

/// The one way a tool runs, whoever calls.
pub trait Door: Send + Sync {
    /// Always comes back with exactly one result.
    fn dispatch<'a>(&'a self, call: ToolCall, cx: &'a CallContext) -> BoxFuture<'a, ToolResult>;
}

/// What the tools of one family remember together. The program keeps it; only they look inside.
pub trait Memory: Any + Send + Sync {
    /// Forgets a conversation: its model no longer has before it what it once read.
    fn forget(&self, session: &SessionId);
}

/// Logins that the program keeps for services that are no model providers.
pub trait Logins: Send + Sync {
    /// Whether somebody is signed in. Asks nobody.
    fn is_signed_in(&self, service: &str, settings: &Settings) -> bool;

    /// A token for requests, renewed where it ends soon; `refused` is one that the service does not
    /// take any more. The error says what to do.
    fn access<'a>(
        &'a self,
        service: &'a str,
        settings: &'a Settings,
        refused: Option<&'a Secret>,
    ) -> BoxFuture<'a, Result<Secret, String>>;
}

/// A skill by its name and line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkillLine {
    /// How it is called.
    pub name: String,
    /// What it is about.
    pub about: String,
}

/// A skill that a person called: their words, and what the model reads before them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalledSkill {
    /// The skill's text, for this turn.
    pub context: String,
    /// What the person said.
    pub words: String,
}

/// A skill that a plugin brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BroughtSkill {
    /// With the plugin before a colon.
    pub name: String,
    /// Its main file, or its folder.
    pub path: PathBuf,
}

/// Folders of instructions that a model reads when it needs them.
pub trait Skills: Any + Send + Sync {
    /// The list for the prompt of a new conversation with these toolsets; all without a choice.
    fn index<'a>(
        &'a self,
        toolsets: Option<&'a [String]>,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Option<String>>;

    /// Those that a person can call, by name.
    fn callable<'a>(&'a self, cx: &'a CallContext) -> BoxFuture<'a, Vec<SkillLine>>;

    /// A person calls one with these words; the error says why not.
    fn call<'a>(
        &'a self,
        name: &'a str,
        words: &'a str,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CalledSkill, String>>;

    /// `/skills` with these words: what waits for a person, and deciding it. `None` when the words
    /// are none of those.
    fn decide<'a>(
        &'a self,
        words: &'a str,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Option<Result<String, String>>>;

    /// What a plugin brings from now on; nothing when it goes.
    fn bring(&self, plugin: &str, skills: Vec<BroughtSkill>);
}
