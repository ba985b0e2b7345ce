//! What is to be started, in a place: everything a backend needs and nothing it must look up.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::path::TargetPath;

/// Variables that outlive a command, by name.
pub type Exports = BTreeMap<String, String>;

/// What runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// Text for the place's shell, with the session's variables, aliases and functions.
    Shell(String),
    /// A program and its arguments, without a shell.
    Argv(Vec<String>),
}

/// What the program reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing: it is at its end from the start.
    Closed,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// Whatever is written later.
    Open,
}

/// Where error output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stderr {
    /// Among the output, in the order of writing.
    Joined,
    /// As steps of its own.
    Apart,
}

/// Rows and columns of a pseudo-terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}

impl Size {
    /// The usual window of an unseen terminal.
    pub const USUAL: Self = Self { rows: 30, columns: 120 };
}

/// Who outlives whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// The whole tree ends with the call, and with this program.
    Call,
    /// A job: it may outlive this program and be found again.
    Job,
}

/// How much a command may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxLevel {
    /// What the user may touch.
    #[default]
    Off,
    /// Writes only below the workspace, the temp folder and granted paths.
    Workspace,
    /// Writes nothing but its own temp folder.
    Readonly,
}

impl SandboxLevel {
    /// The word in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Workspace => "workspace",
            Self::Readonly => "readonly",
        }
    }
}

/// The wanted confinement of one launch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sandbox {
    /// How much it may touch.
    pub level: SandboxLevel,
    /// Whether a level that cannot be attained refuses the launch.
    pub required: bool,
    /// Whether it may use the network.
    pub network: bool,
    /// Paths it may write besides the workspace.
    pub writable: Vec<TargetPath>,
    /// Paths it may never write, even below a writable one.
    pub protected: Vec<TargetPath>,
}

/// One thing to start.
#[derive(Debug, Clone)]
pub struct Launch {
    /// What runs.
    pub program: Program,
    /// Where.
    pub cwd: TargetPath,
    /// The directory that must be there, by device and number, where the place can tell.
    pub directory: Option<(u64, u64)>,
    /// The session's own variables, on top of the base that the backend allows.
    pub exports: Exports,
    /// Names of the base that the session has unset.
    pub unset: Vec<String>,
    /// Files of this machine that are there while it runs, by their path below the folder of the
    /// agent in a place that does not see them.
    pub lent: Vec<(PathBuf, String)>,
    /// A folder of programs that are found before all others.
    pub programs: Option<TargetPath>,
    /// What it reads.
    pub stdin: Stdin,
    /// Where error output goes.
    pub stderr: Stderr,
    /// A pseudo-terminal of this size instead of pipes.
    pub pty: Option<Size>,
    /// Who outlives whom.
    pub lifetime: Lifetime,
    /// How much it may touch.
    pub sandbox: Sandbox,
}

impl Launch {
    /// A shell command with the common choices.
    pub fn shell(script: impl Into<String>, cwd: TargetPath) -> Self {
        Self::of(Program::Shell(script.into()), cwd)
    }

    /// Any program with the common choices.
    pub fn of(program: Program, cwd: TargetPath) -> Self {
        Self {
            program,
            cwd,
            directory: None,
            exports: Exports::new(),
            unset: Vec::new(),
            lent: Vec::new(),
            programs: None,
            stdin: Stdin::Closed,
            stderr: Stderr::Joined,
            pty: None,
            lifetime: Lifetime::Call,
            sandbox: Sandbox::default(),
        }
    }
}
