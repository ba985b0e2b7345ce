//! `petasos toolsets`: named bundles of tools, and what a name comes down to.

use std::process::ExitCode;

use clap::Subcommand;
use petasos_contract::context::Surface;
use petasos_contract::{SessionId, Settings};
use petasos_runtime::registry::Snapshot;
use petasos_runtime::toolsets::{self, Resolution, Selection, resolve};
use serde::Serialize;
use serde_json::json;

use crate::command::{Command, Session, actions, parse};
use crate::conversation::unknown_toolset;
use crate::out::{Out, Style};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "toolsets",
    about: "List toolsets and show what they contain",
    examples: &[
        ("petasos toolsets list", "all toolsets"),
        ("petasos toolsets show file", "what is in one"),
        ("petasos toolsets resolve hermes-cli", "which tools a bundle resolves to"),
    ],
    hidden: false,
    arguments: actions::<Action>,
    run,
};

#[derive(Debug, Subcommand)]
enum Action {
    /// List every toolset
    List,
    /// Show one toolset: what it is, and which of its tools this program has
    Show {
        /// The toolset
        name: String,
    },
    /// Print the tools that a toolset resolves to, and how
    Resolve {
        /// The toolset, an older list name, `all` or `*`
        name: String,
    },
}

/// A toolset as listings show it.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    description: String,
    available: bool,
    tools: usize,
    registered: usize,
    default_off: bool,
}

fn run(matches: &clap::ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let action: Action = parse(matches)?;
    let out = session.out;
    let host = session.host.get()?;
    let tools = host.catalogue().registry().snapshot();
    match action {
        Action::List => {
            let cx = host.check_context(Surface::OneShot, SessionId::new("command-line"));
            let views = host.glance(host.catalogue().toolsets(&cx))?;
            let offered: Vec<&str> = views
                .iter()
                .filter(|view| view.available)
                .flat_map(|view| view.tools.iter().map(petasos_contract::ToolName::as_str))
                .collect();
            list(out, &tools, &offered);
        }
        Action::Show { name } => show(out, &name, host.settings(), &tools)?,
        Action::Resolve { name } => {
            let resolution = resolved(&name, host.settings(), &tools)?;
            if out.is_json() {
                out.value(&resolution);
            } else {
                print_resolution(out, &resolution);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn resolved(name: &str, settings: &Settings, tools: &Snapshot) -> Result<Resolution, Report> {
    let names = vec![name.to_owned()];
    if let Some(strange) = toolsets::unknown(&names, settings, tools).first() {
        return Err(unknown_toolset(strange));
    }
    let selection = Selection { enabled: Some(names), ..Selection::default() };
    Ok(resolve(&selection, tools))
}

fn list(out: Out, tools: &Snapshot, offered: &[&str]) {
    let rows: Vec<Row> = toolsets::known_names(tools)
        .into_iter()
        .map(|name| {
            let members = toolsets::resolve_toolset(&name, tools).tools;
            let registered =
                members.iter().filter(|tool| tools.get(tool.as_str()).is_some()).count();
            Row {
                description: toolsets::describe(&name, tools).unwrap_or_default(),
                available: members.iter().any(|tool| offered.contains(&tool.as_str())),
                tools: members.len(),
                registered,
                default_off: toolsets::named(&name).is_some_and(|def| def.default_off),
                name: name.to_string(),
            }
        })
        .collect();
    if out.is_json() {
        out.value(&json!({ "toolsets": rows }));
        return;
    }
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
    for row in rows {
        let mark = if row.available { out.paint(Style::Good, "●") } else { "○".to_owned() };
        let count = out.paint(Style::Faint, &format!("{:>2}/{:<2}", row.registered, row.tools));
        out.line(format!("{mark} {:width$} {count} {}", row.name, row.description));
    }
    out.line(
        out.paint(Style::Faint, "● has a tool that works here; n/m: tools in this program / named"),
    );
}

fn show(out: Out, name: &str, settings: &Settings, tools: &Snapshot) -> Result<(), Report> {
    let resolution = resolved(name, settings, tools)?;
    let description = toolsets::describe(name, tools)
        .unwrap_or_else(|| "An older name of a list of tools.".to_owned());
    let includes = toolsets::named(name).map(|def| def.includes).unwrap_or_default();
    let registered = |tool: &str| tools.get(tool).is_some();
    if out.is_json() {
        let members: Vec<_> = resolution
            .tools
            .iter()
            .map(|tool| json!({ "name": tool, "registered": registered(tool.as_str()) }))
            .collect();
        out.value(&json!({
            "name": name, "description": description, "includes": includes, "tools": members,
        }));
        return Ok(());
    }
    out.line(format!("{}  {description}", out.paint(Style::Bold, name)));
    if !includes.is_empty() {
        out.line(format!("contains {}", includes.join(", ")));
    }
    for tool in &resolution.tools {
        if registered(tool.as_str()) {
            out.line(format!("  {tool}"));
        } else {
            out.line(out.paint(Style::Faint, &format!("  {tool} (not in this program yet)")));
        }
    }
    Ok(())
}

fn print_resolution(out: Out, resolution: &Resolution) {
    for step in &resolution.trace {
        let note = step.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        let action = format!("{:?}", step.action).to_lowercase();
        let line = format!("# {action} {}: {} tools{note}", step.toolset, step.tools.len());
        out.line(out.paint(Style::Faint, &line));
    }
    for tool in &resolution.tools {
        out.line(tool.as_str());
    }
}
