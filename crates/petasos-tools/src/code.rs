//! Running a script that calls tools: the parts behind `execute_code`.
//!
//! `module` writes what the script imports, `gate` decides over each of its calls, `socket` and
//! `spool` carry them, `capture` keeps what it prints and `run` owns all of it until the script
//! and everything it started is gone. A script never calls a tool itself: it asks, and the gate
//! goes through the one door in its name.

mod capture;
mod folder;
mod gate;
mod module;
mod run;
mod socket;
mod spool;

use std::time::Duration;

use petasos_contract::settings::Section;
use serde::Deserialize;

pub(crate) use module::described;
pub(crate) use run::{Ended, Finished, Job, run};

/// Tools that a script may call, as far as its caller has them.
pub(crate) const TOOLS: &[&str] =
    &["web_search", "web_extract", "read_file", "write_file", "search_files", "patch", "terminal"];

/// The `code_execution` section.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub(crate) struct CodeSettings {
    /// Where scripts run.
    pub(crate) mode: Mode,
    /// Seconds a script may take.
    timeout: f64,
    /// How many tools it may call.
    pub(crate) max_tool_calls: u32,
}

/// Where scripts run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// In the session's directory, with the active virtual environment.
    Project,
    /// In a folder of their own, without it.
    Strict,
}

impl Default for CodeSettings {
    fn default() -> Self {
        Self { mode: Mode::Project, timeout: 300.0, max_tool_calls: 50 }
    }
}

impl Section for CodeSettings {
    const NAME: &'static str = "code_execution";
}

impl CodeSettings {
    /// How long a script may take.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::try_from_secs_f64(self.timeout).unwrap_or(Duration::from_mins(5))
    }
}
