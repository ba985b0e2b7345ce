//! `sessions show`: a conversation to read.

use std::process::ExitCode;

use clap::Args;
use petasos_sqlite::Format;
use serde_json::{Value, json};

use super::{find, mask, report};
use crate::command::Session;
use crate::report::Report;

#[derive(Debug, Args)]
pub(super) struct Show {
    /// Its id, the beginning of it, its title, or `latest`
    #[arg(default_value = "latest")]
    session: String,
    /// Include secrets instead of masking them
    #[arg(long)]
    unmasked: bool,
}

impl Show {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let store = host.store()?;
        let id = find(host, &store, &self.session)?.session();
        let format = if out.is_json() { Format::Jsonl } else { Format::Markdown };
        let text = host.wait(store.export(&id, format, mask(host, self.unmasked)))?;
        let text = text.map_err(report)?;
        if !out.is_json() {
            out.text(&text);
            return Ok(ExitCode::SUCCESS);
        }
        let mut lines = text.lines().map(serde_json::from_str::<Value>);
        let broken = |error| Report::new(format!("the conversation cannot be printed: {error}"));
        let head = lines.next().transpose().map_err(broken)?.unwrap_or(Value::Null);
        let messages = lines.collect::<Result<Vec<_>, _>>().map_err(broken)?;
        out.value(&json!({ "session": head, "messages": messages }));
        Ok(ExitCode::SUCCESS)
    }
}
