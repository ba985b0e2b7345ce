//! Rules, grants, the decision log and proposals.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use petasos_approval::grants::{self, GrantRecord, ListedGrant};
use petasos_approval::log::DecisionEntry;
use petasos_approval::policy::explain;
use petasos_approval::suggest;
use petasos_session::offers::ago;
use petasos_store::SessionScope;
use serde_json::json;

use crate::command::Session;
use crate::out::Style;
use crate::report::Report;

#[derive(Debug, Args)]
pub(super) struct Log {
    /// How many decisions to show
    #[arg(long, default_value_t = 20)]
    last: usize,
    /// Check that no line was changed or removed
    #[arg(long)]
    verify: bool,
}

pub(super) fn rules(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let rules = explain::rules(session.host.get()?.settings()).map_err(report)?;
    if out.is_json() {
        out.value(&json!({ "rules": rules }));
        return Ok(ExitCode::SUCCESS);
    }
    for rule in rules {
        out.line(format!("{:5} {}", rule.severity, out.paint(Style::Bold, &rule.key)));
        let source = out.paint(Style::Faint, &format!("({})", rule.source));
        out.line(format!("      {} {source}", rule.description));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn list(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let store = host.grants();
    let listed = host.wait(grants::list(host.settings(), &*store))?.map_err(report)?;
    if out.is_json() {
        out.value(&json!({ "grants": listed }));
        return Ok(ExitCode::SUCCESS);
    }
    if listed.is_empty() {
        out.line("Nothing is granted; every question is asked. `petasos approval grant` adds one.");
    }
    for one in &listed {
        match one {
            ListedGrant::Allowlist { entry, file, wide } => {
                let file = file.display();
                out.line(format!("{entry}  (command_allowlist in {file})"));
                if *wide {
                    let hint = format!(
                        "  wide: everything this rule asks about, everywhere; `petasos approval \
                         narrow '{entry}'` limits it to this project"
                    );
                    out.line(out.paint(Style::Faint, &hint));
                }
            }
            ListedGrant::Grant(grant) => out.line(shown(grant)),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A grant in one line, with how long it still holds.
pub(super) fn shown(grant: &GrantRecord) -> String {
    let Some(end) = grant.what.expires else { return grant.to_string() };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if grant.is_expired(now) {
        return format!("{grant}, expired");
    }
    let minutes = end.saturating_sub(now).div_ceil(60);
    let left = match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    };
    format!("{grant}, expires in {left}")
}

/// Puts a grant for one project in the place of a wide one.
pub(super) fn narrow(
    session: &mut Session,
    key: &str,
    to: Option<PathBuf>,
) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let (home, here) = (host.settings().home(), host.settings().workspace());
    let project = to.map_or_else(|| here.to_path_buf(), |to| here.join(to));
    let store = host.grants();
    let made = host.wait(grants::narrow(home, &*store, key, project))?.map_err(report)?;
    if out.is_json() {
        out.value(&made);
    } else {
        out.line(made.to_string());
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn revoke(session: &mut Session, name: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let store = host.grants();
    host.wait(grants::revoke(host.settings().home(), &*store, name))?.map_err(report)?;
    if out.is_json() {
        out.value(&json!({ "revoked": name }));
    } else {
        out.line(format!("Revoked `{name}`"));
    }
    Ok(ExitCode::SUCCESS)
}

impl Log {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let log = host.decisions();
        if self.verify {
            let verified = host.wait(log.verify())?.map_err(report)?;
            let holds = verified.broken.is_none();
            if out.is_json() {
                out.value(&verified);
            } else if let Some(broken) = &verified.broken {
                let what = format!("line {}: {}", broken.line, broken.what);
                out.line(out.paint(Style::Bad, &what));
            } else {
                out.line(format!("{} decisions, the chain holds", verified.entries));
            }
            return Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        let entries = host.wait(log.read(self.last, &SessionScope::Everyone))?.map_err(report)?;
        if out.is_json() {
            out.value(&json!({ "decisions": entries }));
        } else {
            for entry in &entries {
                out.line(told(entry));
            }
            if entries.is_empty() {
                out.line("no decision yet");
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A decision in one line: when, what came of it, what it was about, and why.
fn told(entry: &DecisionEntry) -> String {
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(entry.at);
    let outcome = json!(entry.outcome);
    let first = entry.subject.lines().next().unwrap_or_default();
    let subject = first.replace(char::is_control, " ");
    let more = if entry.subject.lines().count() > 1 { " …" } else { "" };
    let reasons = entry.reasons.iter().map(|reason| (*reason.key).to_owned());
    let why: Vec<String> = reasons.chain(entry.by.as_ref().map(|by| format!("by {by}"))).collect();
    let why = if why.is_empty() { String::new() } else { format!("  ({})", why.join(", ")) };
    let when = ago(at);
    let outcome = outcome.as_str().unwrap_or_default().replace('_', " ");
    format!("{when:16} {outcome:10} {}: {subject}{more}{why}", entry.tool)
}

pub(super) fn suggestions(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let log = host.decisions();
    let entries = host.wait(log.read(usize::MAX, &SessionScope::Everyone))?.map_err(report)?;
    let found = suggest::suggest(&entries);
    if out.is_json() {
        out.value(&json!({ "suggestions": found }));
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        out.line("no rule would have saved a question yet");
    }
    for one in &found {
        let list = json!(one.list);
        let list = list.as_str().unwrap_or_default();
        out.line(format!("permissions.{list}: {}  (answered {} times)", one.rule, one.times));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn report(error: impl std::fmt::Display) -> Report {
    Report::new(error.to_string()).code("approval")
}
