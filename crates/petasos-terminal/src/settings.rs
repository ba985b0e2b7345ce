//! The `terminal` section and the few keys beside it that this crate obeys.
//!
//! Read from the snapshot that travels with a call, so that a reload never changes a running one.

use std::time::Duration;

use petasos_contract::Settings;
use petasos_contract::environment::{EnvError, SandboxLevel};
use petasos_contract::settings::{Section, Source};
use serde::Deserialize;

/// The section as it is written. Keys of other backends are theirs to read.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct TerminalSettings {
    /// Where commands run.
    pub backend: String,
    /// Where the first command runs; `.` and friends mean where the program was started.
    pub cwd: String,
    /// Seconds a command may take when the call does not say.
    pub timeout: f64,
    /// The most seconds a call may ask for in the foreground.
    pub max_foreground_timeout: f64,
    /// Seconds an unused place other than this machine is kept open; 0 for ever.
    pub lifetime_seconds: f64,
    /// Seconds between asking a process to end and ending it.
    pub daemon_term_grace_seconds: f64,
    /// Variables that commands may see.
    pub env_passthrough: Vec<String>,
    /// Which home directory commands see.
    pub home_mode: String,
    /// Files sourced before the first command.
    pub shell_init_files: Vec<String>,
    /// Source the login files when no init files are named.
    pub auto_source_bashrc: bool,
    /// How far commands are confined.
    pub sandbox: SandboxLevel,
    /// Whether a command runs when the confinement cannot be had.
    pub sandbox_require: Require,
    /// Whether a confined command may use the network.
    pub sandbox_network: Option<bool>,
    /// What confines.
    pub sandbox_by: By,
    /// Paths that a confined command may write besides the workspace.
    pub sandbox_writable: Vec<String>,
}

/// Whether a level that cannot be attained stops the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Require {
    /// It runs with what can be had, and says so.
    #[default]
    Preferred,
    /// It does not run.
    Required,
}

/// What confines a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Landlock where the kernel has it, else bubblewrap.
    #[default]
    Auto,
    /// Landlock, mounts and seccomp.
    Landlock,
    /// Bubblewrap and seccomp.
    Bwrap,
}

impl Default for TerminalSettings {
    fn default() -> Self {
        Self {
            backend: "local".to_owned(),
            cwd: ".".to_owned(),
            timeout: 180.0,
            max_foreground_timeout: 600.0,
            lifetime_seconds: 300.0,
            daemon_term_grace_seconds: 2.0,
            env_passthrough: Vec::new(),
            home_mode: "auto".to_owned(),
            shell_init_files: Vec::new(),
            auto_source_bashrc: true,
            sandbox: SandboxLevel::Off,
            sandbox_require: Require::Preferred,
            sandbox_network: None,
            sandbox_by: By::Auto,
            sandbox_writable: Vec::new(),
        }
    }
}

impl Section for TerminalSettings {
    const NAME: &'static str = "terminal";
}

impl TerminalSettings {
    /// The section of a snapshot.
    pub fn of(settings: &Settings) -> Result<Self, EnvError> {
        settings.section().map_err(|error| EnvError::Settings(error.to_string()))
    }

    /// How long a command may take when the call does not say.
    pub fn timeout(&self) -> Duration {
        seconds(self.timeout, 180.0)
    }

    /// The longest foreground command.
    pub fn timeout_max(&self) -> Duration {
        seconds(self.max_foreground_timeout, 600.0)
    }

    /// The grace between TERM and KILL.
    pub fn grace(&self) -> Duration {
        seconds(self.daemon_term_grace_seconds, 2.0)
    }

    /// How long an unused place is kept; `None` for ever.
    pub fn lifetime(&self) -> Option<Duration> {
        (self.lifetime_seconds > 0.0).then(|| seconds(self.lifetime_seconds, 300.0))
    }

    /// The configured starting directory, unless it only says "here".
    pub fn cwd(&self) -> Option<&str> {
        let cwd = self.cwd.trim();
        (!matches!(cwd, "" | "." | "auto" | "cwd")).then_some(cwd)
    }

    /// The level of a call: where nobody can be asked, at least `workspace` unless a person chose. A
    /// project's file is no person's choice, though what it tightens holds.
    pub fn sandbox_for(&self, settings: &Settings, attended: bool) -> SandboxLevel {
        let chosen = settings.get("terminal.sandbox").is_some()
            && settings.explain("terminal.sandbox").first().is_none_or(|layer| {
                !matches!(layer.source, Source::Default | Source::Project { .. })
            });
        if chosen || attended { self.sandbox } else { self.sandbox.max(SandboxLevel::Workspace) }
    }
}

/// How many characters of output a result may hold.
pub(crate) fn output_chars_max(settings: &Settings) -> usize {
    let configured = settings.get("tool_output.max_bytes").and_then(serde_json::Value::as_u64);
    configured.and_then(|chars| usize::try_from(chars).ok()).unwrap_or(50_000).max(200)
}

fn seconds(value: f64, otherwise: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or(Duration::from_secs_f64(otherwise))
}
