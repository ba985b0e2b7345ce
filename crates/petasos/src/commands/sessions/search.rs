//! `sessions search`: where words were said.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use petasos_store::{Query, SessionScope, SessionStore as _, Sort};
use serde_json::json;

use super::list::ago;
use super::{find, report};
use crate::command::Session;
use crate::out::Style;
use crate::report::Report;

#[derive(Debug, Args)]
pub(super) struct Search {
    /// Words, a "phrase" in quotes, OR, NOT, or a beginning*
    #[arg(required = true)]
    query: Vec<String>,
    /// Show at most this many
    #[arg(long, default_value_t = 10)]
    limit: usize,
    /// Only what user, assistant or tool said (comma-separated)
    #[arg(long, value_name = "ROLES", value_delimiter = ',')]
    role: Vec<String>,
    /// The order
    #[arg(long, value_enum, default_value_t = Order::Best)]
    sort: Order,
    /// Only in this conversation
    #[arg(long)]
    session: Option<String>,
    /// Include those of subagents and schedules
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Order {
    Best,
    Newest,
    Oldest,
}

impl Search {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let store = host.store()?;
        let only = self.session.map(|handle| find(host, &store, &handle)).transpose()?;
        let query = Query {
            scope: SessionScope::Everyone,
            text: self.query.join(" "),
            roles: self.role,
            sort: match self.sort {
                Order::Best => Sort::Best,
                Order::Newest => Sort::Newest,
                Order::Oldest => Sort::Oldest,
            },
            limit: self.limit,
            only: only.map(|head| head.session()),
            all_sources: self.all,
            ..Query::default()
        };
        let hits = host.wait(store.search(&query))?.map_err(report)?;
        if out.is_json() {
            out.value(&json!({ "hits": hits }));
            return Ok(ExitCode::SUCCESS);
        }
        if hits.is_empty() {
            out.remark(format!("No matches for `{}`", query.text));
        }
        for hit in hits {
            let name = hit.session.title.unwrap_or_default();
            let place = format!(
                "{}  message {}  {} ({} ago)  {name}",
                hit.session.id,
                hit.seq,
                hit.role,
                ago(hit.at_ms)
            );
            out.line(out.paint(Style::Bold, place.trim_end()));
            for line in hit.snippet.lines() {
                out.line(format!("    {line}"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
