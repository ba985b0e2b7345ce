//! A question as a person sees it: what would happen, the place that made a rule speak, and why.
//!
//! Secrets are masked, and signs that a terminal would act on or hide are spelled out.

use std::fmt::Write as _;
use std::ops::Range;

use petasos_contract::Settings;
use petasos_contract::approval::{ApprovalRequest, Finding, Scope};

use petasos_redact::{MARK, Redactor};

const SUBJECT_LINES: usize = 40;
const SUBJECT_CHARS: usize = 6000;
const PLACE_CHARS: usize = 200;

/// How a place is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// With signs around it.
    Plain,
    /// In colour.
    Colour,
}

impl Look {
    fn marks(self) -> (&'static str, &'static str) {
        match self {
            Self::Plain => ("»", "«"),
            Self::Colour => ("\u{1b}[1;31m", "\u{1b}[0m"),
        }
    }
}

/// The question as text, without the choices.
pub(crate) fn shown(request: &ApprovalRequest, settings: &Settings, look: Look) -> String {
    let text = &request.subject;
    let hidden = Redactor::of(settings).command_ranges(text);
    let spans: Vec<Range<usize>> = request
        .findings
        .iter()
        .filter_map(|finding| finding.span.clone())
        .filter(|span| text.get(span.clone()).is_some_and(|part| !part.is_empty()))
        .collect();
    let mut out = format!("`{}` needs your approval:\n\n", visible(request.tool.as_str()));
    for line in shortened(&marked(text, &hidden, &spans, look)).lines() {
        // Writing to a text cannot fail; the line would only be missing.
        writeln!(out, "    {line}").unwrap_or_default();
    }
    if let Some(cwd) = &request.cwd {
        writeln!(out, "\nin {}", visible(&cwd.display().to_string())).unwrap_or_default();
    }
    for edit in &request.edits {
        writeln!(out, "\n{}:", visible(&edit.path.display().to_string())).unwrap_or_default();
        for line in shortened(&visible(&edit.diff)).lines() {
            writeln!(out, "    {line}").unwrap_or_default();
        }
    }
    out.push_str("\nbecause:\n");
    for finding in &request.findings {
        let place =
            place(text, finding, &hidden).map(|it| format!("  at {it}")).unwrap_or_default();
        let why = visible(&finding.why);
        writeln!(out, "  - {}: {why}{place}", visible(&finding.key)).unwrap_or_default();
    }
    out
}

/// What an answer for longer than once would store, a line each.
pub(crate) fn stored(request: &ApprovalRequest, settings: &Settings) -> String {
    let redactor = Redactor::of(settings);
    let mut out = String::new();
    for finding in request.findings.iter().filter(|_| request.widest > Scope::Once) {
        let stores = finding.stores.clone();
        let stores = stores.unwrap_or_else(|| format!("everything under `{}`", finding.key));
        let lasting = if request.widest == Scope::Always { "Session or always" } else { "Session" };
        let clean = cut(&visible(&redactor.command(&stores)), PLACE_CHARS * 2);
        writeln!(out, "  {lasting} would allow: {clean}").unwrap_or_default();
    }
    out
}

fn place(text: &str, finding: &Finding, hidden: &[Range<usize>]) -> Option<String> {
    let span = finding.span.clone()?;
    let part = text.get(span.clone())?;
    if part.is_empty() || part.len() == text.len() {
        return None;
    }
    let inside: Vec<Range<usize>> = hidden
        .iter()
        .filter(|range| range.start < span.end && range.end > span.start)
        .map(|range| {
            let start = range.start.saturating_sub(span.start);
            start..range.end.min(span.end) - span.start
        })
        .collect();
    let clean = marked(part, &inside, &[], Look::Plain);
    Some(format!("`{}`", cut(&clean.replace('\n', " "), PLACE_CHARS)))
}

/// The text with secrets masked, places marked and nothing invisible.
fn marked(text: &str, hidden: &[Range<usize>], spans: &[Range<usize>], look: Look) -> String {
    let (open, close) = look.marks();
    let mut out = String::with_capacity(text.len() + 32);
    let mut inside = false;
    for (at, sign) in text.char_indices() {
        let within = spans.iter().any(|span| span.contains(&at));
        if within != inside {
            out.push_str(if within { open } else { close });
            inside = within;
        }
        match hidden.iter().find(|range| range.contains(&at)) {
            Some(range) if range.start == at => out.push_str(MARK),
            Some(_) => {}
            None => spell(sign, &mut out),
        }
    }
    if inside {
        out.push_str(close);
    }
    out
}

fn visible(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, sign| {
        spell(sign, &mut out);
        out
    })
}

fn spell(sign: char, out: &mut String) {
    let acts = sign.is_control() && sign != '\n' && sign != '\t';
    let hides = matches!(
        sign,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    );
    if acts || hides {
        out.extend(sign.escape_unicode());
    } else {
        out.push(sign);
    }
}

fn shortened(text: &str) -> String {
    let lines = text.lines().count();
    let head: Vec<&str> = text.lines().take(SUBJECT_LINES).collect();
    let mut out = cut(&head.join("\n"), SUBJECT_CHARS);
    if lines > SUBJECT_LINES {
        write!(out, "\n… and {} more lines", lines - SUBJECT_LINES).unwrap_or_default();
    }
    out
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
