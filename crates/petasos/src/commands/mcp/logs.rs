//! `mcp logs`: what servers wrote to their error output, and log messages that they sent.

use std::process::ExitCode;

use clap::Args;
use petasos_mcp::client::{STDERR_LOG, log_prefix, log_start};

use crate::command::Session;
use crate::report::Report;

#[derive(Debug, Args)]
pub(super) struct Logs {
    /// Only this server, since its last start
    name: Option<String>,
    /// How many lines to show
    #[arg(long, default_value_t = 100)]
    last: usize,
}

impl Logs {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let file = session.host.get()?.settings().home().join(STDERR_LOG);
        let bytes = match std::fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                return Err(Report::new(format!("{}: {error}", file.display())).code("io"));
            }
        };
        let text = String::from_utf8_lossy(&bytes);
        let mut lines: Vec<&str> = text.lines().collect();
        if let Some(name) = &self.name {
            let (start, own) = (log_start(name), log_prefix(name));
            let from = lines.iter().rposition(|line| *line == start);
            // One over the network has no start of its own.
            lines = lines.split_off(from.unwrap_or_default());
            lines.retain(|line| line.starts_with(&own));
        }
        let skipped = lines.len().saturating_sub(self.last);
        let shown = lines.split_off(skipped);
        if out.is_json() {
            out.value(&shown);
        } else {
            if shown.is_empty() {
                out.remark("Nothing was written yet; `petasos mcp test` starts the servers.");
            }
            out.text(&shown.join("\n"));
        }
        Ok(ExitCode::SUCCESS)
    }
}
