//! What the judge is told about the machine, once, by whoever starts it.
//!
//! The analysis itself never asks the file system or the environment; every fact
//! it may use is in here.

use std::sync::Arc;

/// The surroundings a command is judged in.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The user's home directory, absolute.
    pub home: String,
    /// The directory the command starts in, when it is known.
    pub cwd: Option<String>,
    /// The agent's own home (its settings, rules and credentials), absolute.
    pub agent_home: Option<String>,
    /// Whether the command runs where nothing of the host can be reached.
    pub isolated: bool,
    /// Whether paths are those of another machine, so that none of them can be looked at here.
    pub elsewhere: bool,
    /// The project that the session works in.
    pub workspace: Option<String>,
    /// What the session exported before.
    pub variables: Vec<(String, String)>,
    /// The files that a command may run, where they can be looked at.
    pub scripts: Option<Arc<dyn Scripts>>,
}

/// Small text files of the place, as they are now.
pub trait Scripts: std::fmt::Debug + Send + Sync {
    /// The text of one that the agent wrote in this session.
    fn written(&self, path: &str) -> Option<String>;

    /// The paths of all that the agent wrote in this session.
    fn paths(&self) -> Vec<String>;

    /// The text of one that is somebody else's.
    fn foreign(&self, path: &str) -> Option<String>;
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            home: "/home/user".to_owned(),
            cwd: None,
            agent_home: None,
            isolated: false,
            elsewhere: false,
            workspace: None,
            variables: Vec::new(),
            scripts: None,
        }
    }
}

impl Facts {
    /// Facts for a user whose home is `home`, with nothing else known.
    pub fn for_home(home: impl Into<String>) -> Self {
        Self { home: home.into(), ..Self::default() }
    }
}
