//! Helper programs of ours on the host: MCP servers over stdio, plugins, hooks that are programs.
//!
//! A helper is not a command of a session: it has no shell, no jobs and no record of directories.
//! It always runs on this machine, whatever backend commands use, and it ends with its owner.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::BoxFuture;
use crate::environment::{Ending, EnvError, Sandbox};
use crate::settings::Settings;

/// How a helper is confined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum HelperSandbox {
    /// Not at all.
    #[default]
    Off,
    /// As the settings ask for commands of a session.
    LikeCommands {
        /// Whether somebody watches that session.
        attended: bool,
    },
    /// So.
    Given(Sandbox),
}

/// What is to be started.
#[derive(Debug, Clone)]
pub struct HelperSpec {
    /// What people call it: `MCP server git`.
    pub name: String,
    /// The program and its arguments. A bare name is looked for in the child's own search path.
    pub argv: Vec<String>,
    /// Where it starts.
    pub cwd: PathBuf,
    /// Variables with their values, on top of the safe base. Nothing is filtered here: whoever
    /// writes a value into this map has been told to by the user.
    pub env: BTreeMap<String, String>,
    /// Names that the user granted to this helper; their values come from the settings. A name
    /// that has no value is left out.
    pub grants: Vec<String>,
    /// How much it may touch; off unless said otherwise.
    pub sandbox: HelperSandbox,
    /// Where the base and the granted values come from.
    pub settings: Arc<Settings>,
}

impl HelperSpec {
    /// A helper without further variables, grants or confinement, in the workspace.
    pub fn new(name: impl Into<String>, argv: Vec<String>, settings: &Arc<Settings>) -> Self {
        Self {
            name: name.into(),
            argv,
            cwd: settings.workspace().to_path_buf(),
            env: BTreeMap::new(),
            grants: Vec::new(),
            sandbox: HelperSandbox::Off,
            settings: Arc::clone(settings),
        }
    }
}

/// Starts helpers.
pub trait Processes: Send + Sync {
    /// Starts one. When this fails with [`EnvError::NotStarted`], nothing has run.
    fn start(&self, spec: HelperSpec) -> BoxFuture<'_, Result<Helper, EnvError>>;
}

/// A running helper. The pipes may be taken apart; the tree lives as long as `hand` does.
pub struct Helper {
    /// Its input; dropping it is the end of input.
    pub stdin: Box<dyn AsyncWrite + Send + Sync + Unpin>,
    /// Its output.
    pub stdout: Box<dyn AsyncRead + Send + Sync + Unpin>,
    /// Its error output; whoever does not read it stops a helper that writes much.
    pub stderr: Box<dyn AsyncRead + Send + Sync + Unpin>,
    /// Its life: the whole tree ends when the last copy of this is dropped, and with this
    /// program however that ends.
    pub hand: Arc<dyn HelperHand>,
}

impl fmt::Debug for Helper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Helper").field("pid", &self.hand.pid()).finish_non_exhaustive()
    }
}

/// The life of a helper.
pub trait HelperHand: Send + Sync {
    /// The process number of the program.
    fn pid(&self) -> u32;

    /// Comes back when the program itself has ended; descendants may live until the hand is gone.
    fn exited(&self) -> BoxFuture<'_, Result<Ending, EnvError>>;

    /// TERM to the whole tree, KILL after the grace; comes back when the tree is verified empty.
    fn kill(&self, grace: Duration) -> BoxFuture<'_, Result<(), EnvError>>;

    /// The living processes of the tree.
    fn pids(&self) -> Vec<u32>;

    /// The confinement it really has, in words.
    fn confinement(&self) -> &str;
}
