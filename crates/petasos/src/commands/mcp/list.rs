//! `mcp list`: the entries of the configuration. Starts nothing.

use std::process::ExitCode;

use petasos_mcp::client::{Launch, ServerSpec, oauth};
use serde_json::json;

use crate::command::Session;
use crate::guests;
use crate::out::Style;
use crate::report::Report;

pub(super) fn run(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let around = guests::around(host, None);
    let specs = ServerSpec::all(host.settings());
    if out.is_json() {
        let rows: Vec<_> = specs
            .iter()
            .map(|spec| match spec {
                Ok(spec) => json!({
                    "name": spec.name, "at": spec.shown(), "enabled": spec.enabled,
                    "required": spec.required, "transport": transport(spec),
                    "signed_in": oauth::kept(spec, &around).exists(), "notes": spec.notes,
                }),
                Err(error) => json!({ "name": error.name, "error": error.problem }),
            })
            .collect();
        out.value(&rows);
        return Ok(ExitCode::SUCCESS);
    }
    if specs.is_empty() {
        out.line("no MCP servers are configured; `petasos mcp add` adds one");
    }
    for spec in specs {
        match spec {
            Ok(spec) => {
                let off = if spec.enabled { "" } else { " (disabled)" };
                let name = out.paint(Style::Bold, &spec.name);
                out.line(format!("{name}{off}  {}  {}", transport(&spec), spec.shown()));
                spec.notes.iter().for_each(|note| out.line(format!("  {note}")));
            }
            Err(error) => out.line(out.paint(Style::Bad, &error.to_string())),
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn transport(spec: &ServerSpec) -> &'static str {
    match &spec.launch {
        Launch::Stdio { .. } => "stdio",
        Launch::Http { sse: true, .. } => "sse",
        Launch::Http { .. } => "http",
    }
}
