//! `tools list` and `tools schema`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Args;
use petasos_contract::{SessionId, ToolName};
use petasos_runtime::definitions::{Definition, Definitions, Fate};
use petasos_runtime::registry::{DEFAULT_EMOJI, Snapshot};
use petasos_runtime::toolsets;
use serde::Serialize;
use serde_json::{Value, json};

use super::Choice;
use crate::command::Session;
use crate::guests;
use crate::host::Host;
use crate::out::{Out, Style};
use crate::report::Report;

#[derive(Debug, Args)]
pub(super) struct List {
    /// Show every known tool, also those that are not offered, with the reason
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    choice: Choice,
}

#[derive(Debug, Args)]
pub(super) struct Schema {
    /// One tool (default: all that are offered)
    name: Option<String>,
    #[command(flatten)]
    choice: Choice,
}

/// A tool as listings show it.
#[derive(Debug, Serialize)]
struct Row {
    name: ToolName,
    toolset: Option<String>,
    available: bool,
    reason: Option<String>,
    deferred: bool,
    emoji: String,
    description: String,
    requires_env: Vec<String>,
    is_async: Option<bool>,
    origin: Option<String>,
}

impl List {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        // Without any flag it is what a chat here would offer; with `--all` everything there is.
        let choice = self.choice.clone();
        let choice = if self.all { choice } else { choice.or_here() };
        let rows = if host.settings().get("mcp_servers").is_some() {
            host.wait(async {
                // Their tools are listed only while they run.
                let guests = guests::start(host, None, out).await?;
                let cx = host.check_context(choice.surface(), SessionId::new("command-line"));
                let definitions = host.catalogue().define(&choice.wanted(host), &cx).await;
                let rows = self.rows(host, &definitions);
                drop(guests);
                Ok::<_, Report>(rows)
            })??
        } else {
            let definitions = define(host, &choice)?;
            self.rows(host, &definitions)
        };
        if out.is_json() {
            out.value(&json!({ "tools": rows }));
        } else {
            print(out, &rows);
        }
        session.host.leave();
        Ok(ExitCode::SUCCESS)
    }

    fn rows(&self, host: &Host, definitions: &Definitions) -> Vec<Row> {
        let tools = host.catalogue().registry().snapshot();
        let shown = |fate: &Fate| self.all || matches!(fate, Fate::Offered | Fate::Deferred);
        let fates = definitions.fates.iter().filter(|(_, fate)| shown(fate));
        let mut rows: Vec<Row> = fates.map(|(name, fate)| row(name, Some(fate), &tools)).collect();
        if self.all {
            let unseen = tools.names().into_iter().filter(|n| !definitions.fates.contains_key(n));
            rows.extend(unseen.map(|name| row(&name, None, &tools)));
            rows.sort_by(|a, b| a.name.cmp(&b.name));
        }
        rows
    }
}

impl Schema {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let definitions = define(host, &self.choice)?;
        let Some(name) = &self.name else {
            let list: Vec<Value> = definitions.tools.iter().map(Definition::to_value).collect();
            out.value(&list);
            return Ok(ExitCode::SUCCESS);
        };
        let found = definitions.tools.iter().find(|definition| definition.name == name.as_str());
        if let Some(definition) = found {
            out.value(&definition.to_value());
            return Ok(ExitCode::SUCCESS);
        }
        let tools = host.catalogue().registry().snapshot();
        match tools.find(name) {
            Some(entry) => {
                // Not offered with this choice; its own schema is what a search would show.
                let mut function = entry.schema.get().clone();
                function.insert("name".to_owned(), entry.name.as_str().into());
                out.value(&json!({ "type": "function", "function": function }));
                Ok(ExitCode::SUCCESS)
            }
            None => Err(unknown(name, &tools)),
        }
    }
}

/// The definitions for a choice.
pub(super) fn define(host: &Host, choice: &Choice) -> Result<std::sync::Arc<Definitions>, Report> {
    let cx = host.check_context(choice.surface(), SessionId::new("command-line"));
    let wanted = choice.wanted(host);
    Ok(host.glance(host.catalogue().define(&wanted, &cx))?)
}

/// An error that names the nearest tool.
pub(super) fn unknown(name: &str, tools: &Snapshot) -> Report {
    let report = Report::new(format!("no tool is named `{name}`")).code("unknown_tool");
    let near = tools
        .names()
        .into_iter()
        .map(|known| (strsim::jaro_winkler(name, known.as_str()), known))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    match near {
        Some((_, known)) => report.hint(format!("did you mean `{known}`?")),
        None => report.hint("`petasos tools list --all` shows every tool"),
    }
}

fn row(name: &ToolName, fate: Option<&Fate>, tools: &Snapshot) -> Row {
    let entry = tools.get(name.as_str());
    let (available, reason) = match fate {
        Some(Fate::Offered | Fate::Deferred) => (true, None),
        Some(Fate::NotRegistered) => (false, Some("this program has no such tool yet".to_owned())),
        Some(Fate::Unavailable(reason) | Fate::Withdrawn(reason)) => (false, Some(reason.clone())),
        None => (false, Some("no chosen toolset contains it".to_owned())),
    };
    let listed = || {
        let leaf = toolsets::TOOLSETS
            .iter()
            .find(|def| def.kind == toolsets::Kind::Leaf && def.tools.contains(&name.as_str()));
        leaf.map(|def| def.name.to_owned())
    };
    Row {
        toolset: entry.map(|entry| entry.toolset.to_string()).or_else(listed),
        available,
        reason,
        deferred: fate == Some(&Fate::Deferred),
        emoji: tools.emoji(name.as_str(), DEFAULT_EMOJI).to_owned(),
        description: entry.map(|entry| entry.description().to_owned()).unwrap_or_default(),
        requires_env: entry.map(|entry| entry.requires_env.clone()).unwrap_or_default(),
        is_async: entry.map(|entry| entry.is_async()),
        origin: entry.map(|entry| entry.origin().to_string()),
        name: name.clone(),
    }
}

fn print(out: Out, rows: &[Row]) {
    if rows.is_empty() {
        out.remark("no tool is offered with this choice");
        out.remark("hint: `petasos tools list --all` shows why");
        return;
    }
    let mut by_toolset: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        by_toolset.entry(row.toolset.as_deref().unwrap_or("(none)")).or_default().push(row);
    }
    let width = rows.iter().map(|row| row.name.as_str().len()).max().unwrap_or_default();
    let mut text = String::new();
    for (toolset, rows) in by_toolset {
        text.push_str(&out.paint(Style::Bold, toolset));
        text.push('\n');
        for row in rows {
            let name = format!("{:width$}", row.name.as_str());
            let about = match &row.reason {
                Some(reason) => out.paint(Style::Warn, &format!("not offered: {reason}")),
                None => first_sentence(&row.description).to_owned(),
            };
            text.push_str(&["  ", &row.emoji, " ", &name, "  ", &about, "\n"].concat());
        }
    }
    out.text(&text);
}

fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.')
}
