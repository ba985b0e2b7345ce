//! `sessions list`: one line a conversation.

use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use petasos_contract::Settings;
use petasos_store::{Filter, SessionHead, SessionScope, SessionStore as _};
use serde_json::json;

use super::report;
use crate::command::Session;
use crate::out::{Out, Style};
use crate::report::Report;

#[derive(Debug, Args)]
pub(super) struct List {
    /// Show at most this many
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Skip this many of the newest
    #[arg(long, default_value_t = 0)]
    offset: usize,
    /// Only those from here: cli, one_shot, subagent, telegram, ...
    #[arg(long)]
    source: Option<String>,
    /// Include those of subagents and schedules
    #[arg(long)]
    all: bool,
    /// Include archived ones
    #[arg(long)]
    archived: bool,
}

impl List {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let store = host.store()?;
        let filter = Filter {
            scope: SessionScope::Everyone,
            source: self.source,
            all_sources: self.all,
            archived: self.archived,
            limit: self.limit,
            offset: self.offset,
        };
        let heads = host.wait(store.list(&filter))?.map_err(report)?;
        if out.is_json() {
            out.value(&json!({ "sessions": heads }));
            return Ok(ExitCode::SUCCESS);
        }
        if heads.is_empty() {
            out.remark("there are no conversations yet");
        }
        let settings = host.settings();
        if let Some(first) = heads.first() {
            let width = first.id.chars().count();
            let row = format!("{:width$}  {:>8}  {:>5}  TITLE", "ID", "USED", "MSGS");
            out.line(out.paint(Style::Faint, &row));
        }
        for head in &heads {
            line(out, head);
            elsewhere(out, head, settings);
        }
        if !heads.is_empty() {
            out.remark(
                "`petasos -r` continues one by its id, the beginning of that, or its title; “…” has \
                 no title yet: `petasos sessions rename ID TITLE`",
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Identity, age, length and what people call it.
pub(super) fn line(out: Out, head: &SessionHead) {
    // What is no title cannot be used as one.
    let quoted = || format!("“{}”", shortened(&head.preview));
    let mut name = head.title.clone().unwrap_or_else(quoted);
    if head.archived {
        name.push_str(" (archived)");
    }
    if !matches!(head.source.as_str(), "cli" | "one_shot") {
        name = format!("{name} [{}]", head.source);
    }
    let age = out.paint(Style::Faint, &format!("{:>8}", ago(head.updated_ms)));
    out.line(format!("{}  {age}  {:>5}  {name}", head.id, head.messages));
}

/// Where a conversation is at home, when that is not here.
fn elsewhere(out: Out, head: &SessionHead, settings: &Settings) {
    let Some(cwd) = head.cwd.as_deref().map(Path::new) else { return };
    if cwd != &**settings.workspace() {
        let shown = match cwd.strip_prefix(settings.user_home()) {
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => cwd.display().to_string(),
        };
        out.line(out.paint(Style::Faint, &format!("    in {shown}")));
    }
}

fn shortened(text: &str) -> String {
    const WIDTH: usize = 60;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut cut: String = line.chars().take(WIDTH).collect();
    if cut.len() < line.len() {
        cut.push('…');
    }
    cut
}

/// How long ago, as people say it.
pub(super) fn ago(ms: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let then = u64::try_from(ms / 1000).unwrap_or_default();
    match now.saturating_sub(then) {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds @ 3600..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_the_largest_fitting_unit() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let told = |seconds: u64| ago(i64::try_from((now - seconds) * 1000).unwrap());
        assert_eq!(told(0), "0 s");
        assert_eq!(told(61), "1 min");
        assert_eq!(told(7300), "2 h");
        assert_eq!(told(200_000), "2 d");
    }
}
