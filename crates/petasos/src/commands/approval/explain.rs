//! `approval explain`: the commands inside a command, what they would do, and what decided.

use std::ops::Range;
use std::process::ExitCode;

use clap::Args;
use petasos_approval::log::DecisionEntry;
use petasos_approval::policy::decision::Observed;
use petasos_approval::policy::explain::Explained;
use petasos_store::SessionScope;

use crate::command::Session;
use crate::out::{Out, Style};
use crate::report::Report;

use super::records::report;

#[derive(Debug, Args)]
pub(super) struct Explain {
    /// The command
    #[arg(required_unless_present = "call")]
    command: Option<String>,
    /// Explain a past call instead: its id, or its number in its conversation
    #[arg(long, value_name = "CALL", conflicts_with = "command")]
    call: Option<String>,
    /// The conversation of that call (default: the latest)
    #[arg(long, value_name = "ID", requires = "call")]
    session: Option<String>,
}

impl Explain {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        if let Some(call) = &self.call {
            return decided(session, call, self.session.as_deref());
        }
        let command = super::spoken(self.command.as_deref().unwrap_or_default(), "explain")?;
        let host = session.host.get()?;
        let checker = host.checker()?;
        let scanned = host.wait(checker.scan(command))?;
        let explained = checker
            .explain(command, scanned)
            .map_err(|error| Report::new(error.to_string()).code("approval"))?;
        if out.is_json() {
            out.value(&explained);
            return Ok(ExitCode::SUCCESS);
        }
        print_tree(out, &explained);
        for scanned in &explained.scanned {
            let (program, outcome) = (&scanned.program, &scanned.outcome);
            let said = format!("{outcome} after {} ms", scanned.milliseconds);
            out.line(format!("scanner {}: {said}", out.paint(Style::Bold, program)));
        }
        for observed in &explained.observed {
            print_finding(command, out, observed);
        }
        let verdict = explained.verdict;
        let style = match verdict {
            "allow" => Style::Good,
            "ask" => Style::Warn,
            _ => Style::Bad,
        };
        out.line(format!("→ {}", out.paint(style, verdict)));
        Ok(ExitCode::SUCCESS)
    }
}

/// What was decided about a call, as it was written down then.
fn decided(
    session: &mut Session,
    call: &str,
    conversation: Option<&str>,
) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let log = host.decisions();
    let entries = host.wait(log.read(usize::MAX, &SessionScope::Everyone))?.map_err(report)?;
    let last = entries.iter().rev().map(|entry| entry.session.clone()).next();
    let conversation = conversation.map(str::to_owned).or(last).unwrap_or_default();
    let is_own = |entry: &&DecisionEntry| entry.session == conversation;
    let own: Vec<&DecisionEntry> = entries.iter().filter(is_own).collect();
    let by_number = call.parse::<usize>().ok().and_then(|n| own.get(n.checked_sub(1)?));
    let named = own.iter().rev().find(|entry| entry.call == call);
    let Some(entry) = named.or(by_number) else {
        let text = format!("no decision about call `{call}` of `{conversation}` is written down");
        return Err(Report::new(text).code("approval").hint("`petasos approval log` lists them"));
    };
    if out.is_json() {
        out.value(entry);
        return Ok(ExitCode::SUCCESS);
    }
    out.line(format!("{} {}", out.paint(Style::Bold, &entry.tool), entry.subject));
    if let Some(heat) = &entry.heat {
        out.line(format!("words from outside: {heat}, from {}", entry.sources.join(", ")));
    }
    for reason in &entry.reasons {
        let waived = reason.waived.as_ref().map(|why| format!("  (does not count: {why})"));
        let key = out.paint(Style::Bold, &reason.key);
        out.line(format!("rule {key}: {}{}", reason.why, waived.unwrap_or_default()));
    }
    let outcome = serde_json::to_value(entry.outcome).unwrap_or_default();
    let outcome = outcome.as_str().unwrap_or_default().to_owned();
    let by = entry.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    out.line(format!("→ {}, {outcome}{by}", entry.verdict));
    Ok(ExitCode::SUCCESS)
}

fn print_finding(command: &str, out: Out, observed: &Observed) {
    let finding = &observed.finding;
    let waived = match &observed.waived {
        Some(why) => format!("  (does not count: {why})"),
        None => String::new(),
    };
    let key = out.paint(Style::Bold, &finding.key);
    out.line(format!("rule {key}: {}{waived}", finding.why));
    if let Some(span) = &finding.span {
        let (line, marks) = underlined(command, span);
        out.line(format!("  {line}"));
        out.line(format!("  {}", out.paint(Style::Bad, &marks)));
    }
}

fn print_tree(out: Out, explained: &Explained) {
    for leaf in &explained.leaves {
        let via = if leaf.via.is_empty() {
            String::new()
        } else {
            out.paint(Style::Faint, &format!("  inside {}", leaf.via.join(" › ")))
        };
        out.line(format!("runs {}{via}", leaf.argv.join(" ")));
    }
    for effect in &explained.effects {
        let kind = format!("{:?}", effect.kind).to_lowercase();
        out.line(out.paint(Style::Faint, &format!("  {kind} {}", effect.target)));
    }
}

/// The line of the text that holds the place, and marks below it.
fn underlined(text: &str, span: &Range<usize>) -> (String, String) {
    let start = text.floor_char_boundary(span.start);
    let before = text.get(..start).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text.get(line_start..).unwrap_or_default().lines().next().unwrap_or_default();
    let indent = text.get(line_start..start).unwrap_or_default().chars().count();
    let end = text.floor_char_boundary(span.end);
    let width = text.get(start..end).unwrap_or_default().lines().next().unwrap_or_default();
    let width = width.chars().count().max(1);
    (line.to_owned(), format!("{}{}", " ".repeat(indent), "^".repeat(width)))
}
