//! `petasos tools`: which tools there are, what a model is told of them, and running one.

mod call;
mod explain;
mod list;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use petasos_contract::context::Surface;
use petasos_runtime::definitions::Wanted;
use petasos_runtime::toolsets::{Selection, choose};

use crate::command::{Command, Session, actions, parse};
use crate::host::Host;
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "tools",
    about: "List, explain and call tools",
    examples: &[
        ("petasos tools list", "what a model is offered here"),
        ("petasos tools list --all", "and what is not, with the reason"),
        ("petasos tools call read_file '{\"path\": \"README.md\"}'", "run one tool"),
        ("petasos tools explain terminal --surface telegram", "why it is offered or not"),
    ],
    hidden: false,
    arguments: actions::<Action>,
    run,
};

#[derive(Debug, Subcommand)]
enum Action {
    /// List the tools that a model would be offered
    List(list::List),
    /// Print the definitions as a model receives them
    Schema(list::Schema),
    /// Run one tool as a model would, and print its result
    Call(call::Call),
    /// Show why a tool is or is not offered, step by step
    Explain(explain::Explain),
}

/// A choice of toolsets, as flags.
#[derive(Debug, Clone, Args)]
struct Choice {
    /// Only these toolsets (comma-separated; an empty list means none)
    #[arg(long, value_name = "TOOLSETS", num_args = 0..=1, default_missing_value = "")]
    enabled: Option<String>,
    /// Without these toolsets (comma-separated)
    #[arg(long, value_name = "TOOLSETS", default_value = "")]
    disabled: String,
    /// Use what this surface's configuration enables (cli, telegram, cron, acp, ...)
    #[arg(long, value_name = "SURFACE", conflicts_with = "enabled")]
    surface: Option<String>,
}

impl Choice {
    /// What is said where nothing is: what a conversation here is offered.
    fn or_here(mut self) -> Self {
        if self.enabled.is_none() && self.surface.is_none() {
            self.surface = Some("cli".to_owned());
        }
        self
    }

    /// What the flags come down to: a surface's configuration, or exactly what was named.
    fn wanted(&self, host: &Host) -> Wanted {
        let tools = host.with_plugins().catalogue().registry().snapshot();
        let mut selection = match &self.surface {
            Some(surface) => choose(surface, host.settings(), &tools).selection(host.settings()),
            None => Selection {
                enabled: self.enabled.as_deref().map(names),
                disabled: Vec::new(),
                board_task: host.settings().role("KANBAN_TASK").is_some(),
            },
        };
        selection.disabled.extend(names(&self.disabled));
        Wanted { selection, context_tokens: None, whole: false }
    }

    /// The kind of surface that checks are told.
    fn surface(&self) -> Surface {
        self.surface.as_deref().map_or(Surface::OneShot, surface_kind)
    }
}

/// Comma-separated names; blanks do not count.
fn names(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// What kind of place a platform name means.
fn surface_kind(platform: &str) -> Surface {
    match platform {
        "cli" => Surface::Cli,
        "cron" => Surface::Cron,
        "acp" => Surface::Acp,
        "mcp" => Surface::Mcp,
        "api_server" | "webhook" => Surface::ApiServer,
        _ => Surface::Gateway,
    }
}

fn run(matches: &clap::ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let action: Action = parse(matches)?;
    match action {
        Action::List(list) => list.run(session),
        Action::Schema(schema) => schema.run(session),
        Action::Call(call) => call.run(session),
        Action::Explain(explain) => explain.run(session),
    }
}
