//! `sessions export`: conversations as text for elsewhere. Files are not overwritten unasked.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use petasos_contract::SessionId;
use petasos_sqlite::Format;
use petasos_store::{Filter, SessionHead, SessionScope, SessionStore as _};
use serde_json::{Value, json};

use super::{find, mask, report};
use crate::command::Session;
use crate::report::Report;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command")]
pub(super) struct Export {
    /// Its id, the beginning of it, its title, or `latest`
    #[arg(required_unless_present = "all")]
    session: Option<String>,
    /// Every conversation, including archived ones and those of subagents and schedules
    #[arg(long, conflicts_with = "session")]
    all: bool,
    /// The format
    #[arg(long, value_enum, default_value_t = Shape::Jsonl)]
    format: Shape,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file when it exists
    #[arg(long, requires = "output")]
    force: bool,
    /// Include secrets instead of masking them
    #[arg(long)]
    unmasked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shape {
    Jsonl,
    #[value(alias = "md")]
    Markdown,
}

impl Export {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let store = host.store()?;
        let sessions: Vec<SessionId> = if let Some(handle) = &self.session {
            vec![find(host, &store, handle)?.session()]
        } else {
            let limit = usize::try_from(i64::MAX).unwrap_or(usize::MAX);
            let scope = SessionScope::Everyone;
            let (all_sources, archived) = (true, true);
            let filter = Filter { scope, all_sources, archived, limit, ..Filter::default() };
            let heads = host.wait(store.list(&filter))?.map_err(report)?;
            heads.iter().map(SessionHead::session).collect()
        };
        let format = match self.format {
            Shape::Jsonl => Format::Jsonl,
            Shape::Markdown => Format::Markdown,
        };
        let mask = mask(host, self.unmasked);
        let mut text = String::new();
        for id in &sessions {
            let one = host.wait(store.export(id, format, mask.clone()))?.map_err(report)?;
            if !text.is_empty() && self.format == Shape::Markdown {
                text.push_str("\n---\n\n");
            }
            text.push_str(&one);
        }
        match &self.output {
            Some(file) => {
                save(file, &text, self.force)?;
                let told = json!({ "file": file, "sessions": sessions.len() });
                if out.is_json() {
                    out.value(&told);
                } else {
                    out.remark(format!("{} conversation(s) in {}", sessions.len(), file.display()));
                }
            }
            // A script that asks for Markdown in JSON gets it as a text inside one object.
            None if out.is_json() && self.format == Shape::Markdown => {
                out.value(&json!({ "markdown": Value::from(text) }));
            }
            None => out.text(&text),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes the file for its owner only: conversations are private.
fn save(file: &Path, text: &str, force: bool) -> Result<(), Report> {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let written = options.open(file).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let report = Report::new(format!("`{}`: {error}", file.display())).code("io");
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            return report.hint("--force replaces it");
        }
        report
    })
}
