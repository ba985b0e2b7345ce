//! `mcp logs`: what servers wrote to their error output, and log messages that they sent.

use std::process::ExitCode;

use clap::Args;
use petasos_mcp::client::STDERR_LOG;

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
            let start = format!("===== {name} starts");
            let from = lines.iter().rposition(|line| *line == start).unwrap_or(lines.len());
            lines = lines.split_off(from);
        }
        let skipped = lines.len().saturating_sub(self.last);
        let shown = lines.split_off(skipped);
        if out.is_json() {
            out.value(&shown);
        } else {
            out.text(&shown.join("\n"));
        }
        Ok(ExitCode::SUCCESS)
    }
}
