//! `petasos webhook`: the routes of webhooks, and what a payload would lead to.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgMatches, Subcommand};
use petasos_api::WebhookOptions;
use serde_json::{Value, json};

use crate::command::{Command, Session, parse};
use crate::out::Style;
use crate::report::Report;

pub(super) static COMMAND: Command =
    Command::of_actions::<Action>("webhook", "Look at webhooks that come in, and try them", run);

#[derive(Debug, Subcommand)]
enum Action {
    /// List the routes
    List,
    /// Show what a payload would lead to; nothing is run
    Test {
        /// The route
        route: String,
        /// A file with the payload; standard input when absent
        #[arg(long, value_name = "FILE")]
        payload: Option<PathBuf>,
        /// What the sender calls the event
        #[arg(long)]
        event: Option<String>,
    },
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let action: Action = parse(matches)?;
    let out = session.out;
    let settings = session.host.get()?.settings();
    let enabled = WebhookOptions::read(settings).is_ok_and(|options| options.is_some());
    let options = WebhookOptions::configured(settings)
        .map_err(|error| Report::new(error.to_string()).code("settings"))?;
    match action {
        Action::List => {
            let names: Vec<&str> = options.routes.keys().map(String::as_str).collect();
            if out.is_json() {
                let address = options.address.to_string();
                out.value(&json!({ "enabled": enabled, "address": address, "routes": names }));
                return Ok(ExitCode::SUCCESS);
            }
            let word = if enabled { "taken" } else { "not taken (WEBHOOK_ENABLED)" };
            out.line(format!("webhooks are {word} at http://{}/webhooks/ROUTE", options.address));
            for name in names {
                out.line(format!("  {name}"));
            }
            Ok(ExitCode::SUCCESS)
        }
        Action::Test { route, payload, event } => {
            let found = options.routes.get(&route).ok_or_else(|| {
                Report::new(format!("no route is named `{route}`"))
                    .code("not_found")
                    .hint("`petasos webhook list` shows them")
            })?;
            let payload = read(payload.as_deref())?;
            let told = found.rehearse(&payload, event.as_deref());
            if out.is_json() {
                out.value(&json!({
                    "prompt": told.prompt, "missing": told.missing, "session": told.session,
                    "ignored": told.ignored, "toolsets": told.toolsets,
                }));
                return Ok(ExitCode::SUCCESS);
            }
            if let Some(why) = &told.ignored {
                out.line(format!("{} {why}", out.paint(Style::Warn, "ignored:")));
            }
            if !told.missing.is_empty() {
                let missing = told.missing.join(", ");
                out.line(format!("{} {missing}", out.paint(Style::Warn, "not in the payload:")));
            }
            let usual = || "those of webhooks".to_owned();
            let toolsets = told.toolsets.map_or_else(usual, |names| names.join(", "));
            out.line(format!(
                "session:  {}\ntoolsets: {toolsets}\n\n{}",
                told.session, told.prompt
            ));
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn read(file: Option<&Path>) -> Result<Value, Report> {
    let text = match file {
        Some(file) => std::fs::read_to_string(file)
            .map_err(|error| Report::new(format!("`{}`: {error}", file.display())))?,
        None => std::io::read_to_string(std::io::stdin())?,
    };
    serde_json::from_str(&text)
        .map_err(|error| Report::new(format!("the payload is no JSON: {error}")).code("usage"))
}
