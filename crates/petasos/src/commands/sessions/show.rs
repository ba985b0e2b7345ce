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
    /// Say of each message whose words it holds
    #[arg(long)]
    labels: bool,
}

impl Show {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let store = host.store()?;
        let id = find(host, &store, &self.session)?.session();
        let reads = !out.is_json() && !self.labels;
        let format = if reads { Format::Markdown } else { Format::Jsonl };
        let text = host.wait(store.export(&id, format, mask(host, self.unmasked)))?;
        let text = text.map_err(report)?;
        if reads {
            out.text(&text);
            return Ok(ExitCode::SUCCESS);
        }
        let mut lines = text.lines().map(serde_json::from_str::<Value>);
        let broken = |error| Report::new(format!("the conversation cannot be printed: {error}"));
        let head = lines.next().transpose().map_err(broken)?.unwrap_or(Value::Null);
        let mut messages = lines.collect::<Result<Vec<_>, _>>().map_err(broken)?;
        if self.labels {
            for message in &mut messages {
                let (label, source) = labelled(message);
                message["label"] = label.into();
                message["source"] = source.into();
            }
        }
        if !out.is_json() {
            for (number, message) in messages.iter().enumerate() {
                let word = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
                let line =
                    format!("{} {} {} {}", number + 1, word("role"), word("label"), word("source"));
                out.text(line.trim_end());
            }
            return Ok(ExitCode::SUCCESS);
        }
        out.value(&json!({ "session": head, "messages": messages }));
        Ok(ExitCode::SUCCESS)
    }
}

/// Whose words a message holds, and where strangers' came from. Labels stand in the transcript, so
/// that they outlive everything that is kept beside it.
fn labelled(message: &Value) -> (&'static str, Option<String>) {
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        other => other.to_string().replace("\\\"", "\""),
    };
    let between = |from: &str, to: char| {
        let (_, rest) = text.split_once(from)?;
        Some(rest.split(to).next().unwrap_or_default().to_owned())
    };
    match message["role"].as_str() {
        Some("tool") => match between("<untrusted_tool_result source=\"", '"') {
            Some(source) => ("foreign", Some(source)),
            None => ("local", None),
        },
        Some("user") => match between("[From outside: ", ']') {
            Some(source) => ("foreign", Some(source)),
            None => ("user", None),
        },
        _ => ("own", None),
    }
}
