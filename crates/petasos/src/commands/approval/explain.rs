//! `approval explain`: the commands inside a command, what they would do, and what decided.

use std::ops::Range;
use std::process::ExitCode;

use clap::Args;
use petasos_approval::policy::decision::Observed;
use petasos_approval::policy::explain::Explained;

use crate::command::Session;
use crate::out::{Out, Style};
use crate::report::Report;

#[derive(Debug, Args)]
pub(super) struct Explain {
    /// The command
    command: String,
}

impl Explain {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let checker = host.checker()?;
        let scanned = host.wait(checker.scan(&self.command))?;
        let explained = checker
            .explain(&self.command, scanned)
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
            self.print_finding(out, observed);
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

    fn print_finding(&self, out: Out, observed: &Observed) {
        let finding = &observed.finding;
        let waived = match &observed.waived {
            Some(why) => format!("  (does not count: {why})"),
            None => String::new(),
        };
        let key = out.paint(Style::Bold, &finding.key);
        out.line(format!("rule {key}: {}{waived}", finding.why));
        if let Some(span) = &finding.span {
            let (line, marks) = underlined(&self.command, span);
            out.line(format!("  {line}"));
            out.line(format!("  {}", out.paint(Style::Bad, &marks)));
        }
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
