//! `provider list`: every provider, and whether a key for it is at hand.

use std::process::ExitCode;

use petasos_providers::{Request, Vault, resolve};
use serde::Serialize;
use serde_json::json;

use crate::command::Session;
use crate::out::Style;
use crate::report::Report;

/// A provider as listings show it.
#[derive(Debug, Serialize)]
struct Row {
    id: String,
    name: String,
    aliases: Vec<String>,
    usable: bool,
    reason: Option<String>,
}

pub(super) fn run(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let settings = session.host.get()?.settings();
    let vault = Vault::of(settings).view(settings);
    let rows: Vec<Row> = vault
        .table
        .providers()
        .iter()
        .map(|provider| {
            // The same resolver that a conversation would ask.
            let outcome = resolve(&Request::of(&provider.id), settings, &vault).outcome;
            Row {
                id: provider.id.clone(),
                name: provider.name.clone(),
                aliases: provider.aliases.clone(),
                usable: outcome.is_ok(),
                reason: outcome.err().map(|error| error.message),
            }
        })
        .collect();
    if out.is_json() {
        out.value(&json!({ "providers": rows }));
        return Ok(ExitCode::SUCCESS);
    }
    let width = rows.iter().map(|row| row.id.len()).max().unwrap_or_default();
    for row in rows {
        let mark = if row.usable { out.paint(Style::Good, "●") } else { "○".to_owned() };
        let reason = row.reason.map(|reason| out.paint(Style::Faint, &reason)).unwrap_or_default();
        out.line(format!("{mark} {:width$} {}  {reason}", row.id, row.name));
    }
    Ok(ExitCode::SUCCESS)
}
