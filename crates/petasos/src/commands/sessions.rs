//! `petasos sessions`: the conversations of this home.

use std::process::ExitCode;

use clap::{ArgMatches, Subcommand};
use petasos_contract::store::{Filter, Query, SessionStore as _};
use petasos_store::Format;
use serde_json::json;

use crate::command::{Command, Session, actions, parse};
use crate::out::Style;
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "sessions",
    about: "List, search, export and check conversations",
    hidden: false,
    arguments: actions::<Action>,
    run,
};

#[derive(Debug, Subcommand)]
enum Action {
    /// List conversations, newest first
    List,
    /// Find conversations by words
    Search {
        /// The words
        query: String,
    },
    /// Print a conversation as Markdown, or as JSON lines with --json
    Show {
        /// Its id, the beginning of it, its title, or `latest`
        session: String,
    },
    /// Check that the file is sound
    Verify,
    /// Mend what can be mended
    Repair,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let action: Action = parse(matches)?;
    let out = session.out;
    let host = session.host.get()?;
    let store = host.store()?;
    match action {
        Action::List => {
            let heads = host.wait(store.list(&Filter::default()))?.map_err(report)?;
            if out.is_json() {
                out.value(&json!({ "sessions": heads }));
            } else {
                for head in heads {
                    out.line(format!("{}  {}", head.id, head.title.unwrap_or_default()));
                }
            }
        }
        Action::Search { query } => {
            let hits = host
                .wait(store.search(&Query { text: query, ..Query::default() }))?
                .map_err(report)?;
            out.value(&json!({ "hits": hits }));
        }
        Action::Show { session } => {
            let head = host.wait(store.find(&session))?.map_err(report)?;
            let format = if out.is_json() { Format::Jsonl } else { Format::Markdown };
            let text = host.wait(store.export(&head.session(), format, str::to_owned))?;
            out.text(&text.map_err(report)?);
        }
        Action::Verify => {
            let found = host.wait(store.verify(None))?.map_err(report)?;
            out.value(&found);
        }
        Action::Repair => {
            let done = host.wait(store.repair())?.map_err(report)?;
            out.value(&done);
            out.remark(out.paint(Style::Faint, "what could be mended is mended"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn report(error: impl std::fmt::Display) -> Report {
    Report::new(error.to_string()).code("store")
}
