//! `petasos backend list`.

use std::process::ExitCode;

use serde::Serialize;

use super::configured;
use crate::command::Session;
use crate::out::Style;
use crate::report::Report;

/// One backend.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    summary: &'static str,
    configured: bool,
    usable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

pub(super) fn run(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let mut rows = Vec::new();
    for backend in host.terminal().backends() {
        let reason = host.wait(host.terminal().ask(backend, host.settings()))?.err();
        rows.push(Row {
            name: backend.name,
            summary: backend.summary,
            configured: backend.name == configured(host),
            usable: reason.is_none(),
            reason,
        });
    }
    if out.is_json() {
        out.value(&rows);
        return Ok(ExitCode::SUCCESS);
    }
    for row in &rows {
        let mark = if row.usable { out.paint(Style::Good, "●") } else { "○".to_owned() };
        let chosen = if row.configured { "  (configured)" } else { "" };
        out.line(format!("{mark} {:<16} {}{chosen}", row.name, row.summary));
        if let Some(reason) = &row.reason {
            out.line(format!("  {:<16} {reason}", ""));
        }
    }
    Ok(ExitCode::SUCCESS)
}
