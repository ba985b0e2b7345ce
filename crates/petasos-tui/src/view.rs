//! What a turn shows: the reply as it streams, the calls, and what is going on right now.
//!
//! Events go in; lines that stay and the rows of the live area come out. It prints nothing itself.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::CallId;
use petasos_contract::call::Status;
use petasos_contract::event::{Event, ResultView};
use petasos_contract::reply::{Delta, Step};
use petasos_session::Ran;

use crate::calls::{Answered, Calls, lasted};
use crate::diff::{self, Fold};
use crate::flow::{self, Flow};
use crate::line::{Colour, Line, Style};
use crate::markdown::{Canvas, render};
use crate::screen::NARROWEST;
use crate::subagents::Subagents;
use crate::words::Written;

const SPINNER: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME: u128 = 120;
/// Who waits this long may want to know how to stop it.
pub(crate) const HINTED_AFTER: Duration = Duration::from_secs(2);

/// What shows the rest of something long.
const UNFOLDS: &str = " (Ctrl-O shows all)";
/// What the notice of a pause before another try says.
const ASKS_AGAIN: &str = "asking again in";
/// So many lines are kept to be shown whole.
const UNFOLDED_MAX: usize = 2000;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Replies, and calls only when they fail.
    Quiet,
    /// Replies and one line a call.
    Usual,
    /// What tools print, too, and who answered.
    Verbose,
}

/// When words of the model are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Words {
    /// As they come.
    Streamed,
    /// When the reply is complete.
    Whole,
    /// When it is complete, and only of a reply that asks for no calls.
    Final,
}

/// What is shown besides replies and calls.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    /// What the model thinks.
    pub(crate) reasoning: bool,
    /// Edits as diffs.
    pub(crate) diffs: bool,
    /// An empty line below a reply.
    pub(crate) space: bool,
}

/// Something that stays on the screen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    /// A line.
    Line(Line),
    /// Text as it comes, for terminals that cannot redraw.
    Raw(String),
}

/// The picture of a running turn.
pub(crate) struct View {
    pub(crate) detail: Detail,
    pub(crate) parts: Parts,
    pub(crate) words: Words,
    /// Files that were written since the last message: path and diff.
    changed: Vec<(String, String)>,
    /// What was shown in part since the last message, whole.
    folded: Vec<Line>,
    emoji: Arc<dyn Fn(&str) -> String + Send + Sync>,
    /// The terminal can redraw.
    live: bool,
    /// Where keys are taken it helps to name one, to whoever waits so long.
    pub(crate) hint_after: Option<Duration>,
    /// Words were shown, and nothing stands below them yet.
    spoke: bool,
    pub(crate) written: Written,
    streamed: Option<(u32, u32)>,
    thought: String,
    calls: Calls,
    subagents: Subagents,
    doing: String,
    since: Instant,
    stay: Vec<Piece>,
    /// Words as they come, where a window is written to line by line.
    flow: Option<Flow>,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("calls", &self.calls).finish_non_exhaustive()
    }
}

impl View {
    /// An empty one.
    pub(crate) fn new(live: bool, emoji: Arc<dyn Fn(&str) -> String + Send + Sync>) -> Self {
        Self {
            detail: Detail::Usual,
            parts: Parts { reasoning: false, diffs: true, space: true },
            words: Words::Streamed,
            changed: Vec::new(),
            folded: Vec::new(),
            emoji,
            live,
            hint_after: None,
            spoke: false,
            written: Written::default(),
            streamed: None,
            thought: String::new(),
            calls: Calls::default(),
            subagents: Subagents::default(),
            doing: String::new(),
            since: Instant::now(),
            stay: Vec::new(),
            flow: flow::columns().filter(|_| !live).map(|_| Flow::default()),
        }
    }

    /// Every line of the edits since the last message.
    pub(crate) fn whole_diffs(&self, canvas: Canvas) -> Vec<Line> {
        let whole = |(path, text): &(String, String)| {
            diff::lines(path, text, &Fold::none(), canvas.columns)
        };
        self.changed.iter().flat_map(whole).collect()
    }

    /// Everything since the last message of which only a part was shown.
    pub(crate) fn unfolded(&self) -> Vec<Line> {
        self.folded.clone()
    }

    /// A new message: what changed before it is no longer of interest.
    pub(crate) fn forget_changes(&mut self) {
        self.changed.clear();
        self.folded.clear();
    }

    /// Something else begins.
    pub(crate) fn begin(&mut self, doing: &str) {
        doing.clone_into(&mut self.doing);
        self.since = Instant::now();
    }

    /// What is going on, from here on.
    pub(crate) fn doing(&mut self, doing: &str) {
        doing.clone_into(&mut self.doing);
    }

    /// A command of the person has ended: all that it printed is what they wanted to see.
    pub(crate) fn ran(&mut self, ran: &Ran, canvas: Canvas) {
        self.calls.forget(&ran.call);
        for line in ran.output.trim_end().lines() {
            self.lines(Line::of(Style::PLAIN, line).wrapped(canvas.columns));
        }
        let bad = Style::of(Colour::Red);
        let end = match (&ran.error, ran.exit_code) {
            (Some(error), _) => Some(format!("✗ {}", first_sentence(error))),
            (None, Some(code)) if code != 0 => Some(format!("✗ exit {code}")),
            _ => None,
        };
        if let Some(end) = end {
            self.lines(Line::of(bad, &end).wrapped(canvas.columns));
        }
    }

    /// Takes an event.
    pub(crate) fn take(&mut self, event: Event, canvas: Canvas) {
        match event {
            Event::Delta { request, attempt, delta, .. } => {
                self.delta((request, attempt), delta, canvas);
            }
            Event::Replied { request, text, calls, served, path, .. } => {
                let hidden = text.is_empty() || calls > 0 && self.words == Words::Final;
                if self.streamed.is_none_or(|(shown, _)| shown != request) && !hidden {
                    self.text(&text, canvas);
                }
                self.settle(canvas);
                self.streamed = None;
                self.told_path(&path);
                if self.detail == Detail::Verbose {
                    let who = format!("answered by {} ({})", served.model, served.provider);
                    self.line(Line::of(Style::FAINT, &who));
                }
            }
            Event::ToolRequested { call, tool, arguments, .. } => {
                self.settle(canvas);
                let emoji = (self.emoji)(tool.as_str());
                self.calls.asked(&call, tool.as_str(), emoji, &arguments);
            }
            Event::ToolStarted { call, .. } => {
                self.calls.started(&call);
                // What it prints stands below what it is.
                let plain = !self.live && self.detail != Detail::Quiet;
                if plain || self.detail == Detail::Verbose {
                    let beginning = self.calls.beginning(&call);
                    self.lines(beginning);
                }
            }
            Event::ToolOutput { call, text } => self.printed(&call, &text),
            Event::ToolFinished { call, status, duration_ms, .. } => {
                self.calls.ended(&call, status, Duration::from_millis(duration_ms));
            }
            Event::FileChanged { call, path, diff, .. } => {
                self.changed.push((path.clone(), diff.clone()));
                self.calls.changed(&call, path, diff);
            }
            Event::ToolAnswered { call, status, preview, view, .. } => {
                let (diffs, columns) = (self.parts.diffs, canvas.columns);
                // Where keys are taken one of them shows the rest.
                let more = if self.hint_after.is_some() { UNFOLDS } else { "" };
                // Whoever saw it as it came needs no end of it.
                let seen = self.detail == Detail::Verbose && self.calls.has_printed(&call);
                let (preview, view) = if seen {
                    ("", ResultView { exit_code: view.exit_code, ..ResultView::default() })
                } else {
                    (preview.as_str(), view)
                };
                let lines = self.calls.lines(&call, &view);
                let answer = Answered { status, preview, view: &view, lines, diffs, columns, more };
                let shown = self.calls.answered(&call, &answer);
                if self.detail != Detail::Quiet || status != Status::Ok {
                    self.lines(shown.lines);
                }
                self.folded.extend(shown.whole.unwrap_or_default());
                let over = self.folded.len().saturating_sub(UNFOLDED_MAX);
                self.folded.drain(..over);
                if self.calls.is_empty() {
                    self.doing("thinking");
                }
            }
            other => self.aside(&other, canvas),
        }
    }

    /// What is neither reply nor call.
    fn aside(&mut self, event: &Event, canvas: Canvas) {
        let faint = |text: String| Line::of(Style::FAINT, &text);
        match event {
            Event::Notice { text } => {
                if text.contains(ASKS_AGAIN) {
                    self.doing("waiting");
                }
                self.note(text, canvas);
            }
            Event::ToolOutputRisk { tool, risk, findings, .. } => {
                let text = format!(
                    "{tool} brought text that looks like instructions ({risk} risk: {})",
                    findings.join(", ")
                );
                self.note(&text, canvas);
            }
            Event::Compressed { before, after, how, .. } => {
                self.line(faint(format!(
                    "✂ compressed from about {before} to {after} tokens ({how})"
                )));
            }
            Event::Steered { text, .. } => self.line(faint(format!("↪ the agent got: {text}"))),
            Event::SubagentStarted { child, goal, .. } => {
                let line = self.subagents.started(child, goal);
                self.line(line.cut(canvas.columns));
            }
            Event::Subagent { child, event } => self.subagents.happened(child, event),
            Event::SubagentEnded { child, status, .. } => {
                let line = self.subagents.ended(child, status);
                self.lines(line.wrapped(canvas.columns));
            }
            _ => {}
        }
    }

    fn delta(&mut self, of: (u32, u32), delta: Delta, canvas: Canvas) {
        match delta {
            Delta::Text { .. } if self.words != Words::Streamed => self.doing("writing"),
            Delta::Text { text } => {
                if self.streamed.is_some_and(|shown| shown.0 == of.0 && shown.1 < of.1) {
                    self.settle(canvas);
                    let again = "(the reply broke off; trying again)";
                    self.line(Line::of(Style::of(Colour::Yellow), again));
                }
                self.streamed = Some(of);
                self.doing("writing");
                self.told_thought();
                self.text(&text, canvas);
            }
            Delta::Reasoning { text } => {
                self.doing("thinking");
                if self.parts.reasoning {
                    self.think(&text, canvas);
                }
            }
            Delta::CallStarted { name, .. } if !name.is_empty() => {
                self.doing(&format!("preparing {name}"));
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, canvas: Canvas) {
        if self.live {
            self.spoke = true;
            let lines = self.written.push(text, canvas);
            self.lines(lines);
        } else {
            let shown = self.flow.as_mut().map(|flow| flow.push(text, canvas.columns));
            self.raw(shown.as_deref().unwrap_or(text));
        }
    }

    fn think(&mut self, text: &str, canvas: Canvas) {
        self.thought.push_str(text);
        while let Some((line, rest)) = self.thought.split_once('\n') {
            let lines = Line::of(Style::FAINT.italic(), line).wrapped(canvas.columns);
            self.thought = rest.to_owned();
            self.lines(lines);
        }
    }

    fn told_thought(&mut self) {
        let thought = std::mem::take(&mut self.thought);
        if !thought.trim().is_empty() {
            self.line(Line::of(Style::FAINT.italic(), &thought));
        }
    }

    fn printed(&mut self, call: &CallId, text: &str) {
        self.calls.printed(call, text);
        if self.detail == Detail::Verbose {
            let lines = text.lines().map(|line| Line::of(Style::FAINT, &format!("  │ {line}")));
            self.lines(lines);
        }
    }

    /// Retries and fallbacks are never silent.
    fn told_path(&mut self, path: &[Step]) {
        for step in path {
            let text = match step {
                Step::FellBack { provider, model } => format!("fell back to {model} ({provider})"),
                Step::Skipped { provider, why, .. } => format!("skipped {provider}: {why}"),
                Step::Rotated => "switched to another key".to_owned(),
                _ => continue,
            };
            self.line(Line::of(Style::of(Colour::Yellow), &format!("⚠ {text}")));
        }
    }

    /// So many events were missed. A reply that was being shown is shown whole when it is complete.
    pub(crate) fn gap(&mut self, missed: u64, canvas: Canvas) {
        self.note(&format!("{missed} events were not shown (too many at once)"), canvas);
        self.streamed = None;
    }

    /// A remark for the person.
    pub(crate) fn note(&mut self, text: &str, canvas: Canvas) {
        self.settle(canvas);
        let line = Line::of(Style::of(Colour::Yellow), &format!("⚠ {text}"));
        self.lines(line.wrapped(canvas.columns));
    }

    /// Something else is shown below: what has streamed so far stays above it.
    pub(crate) fn note_below(&mut self, canvas: Canvas) {
        self.settle(canvas);
    }

    /// What has streamed so far is all of it.
    fn settle(&mut self, canvas: Canvas) {
        self.told_thought();
        if self.live {
            let rest = self.written.finish(canvas);
            self.lines(rest);
            if std::mem::take(&mut self.spoke) && self.parts.space {
                self.line(Line::new());
            }
            return;
        }
        let rest = self.flow.as_mut().map(|flow| flow.finish(canvas.columns));
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            self.raw(&rest);
        }
        if matches!(self.stay.last(), Some(Piece::Raw(text)) if !text.ends_with('\n')) {
            self.raw("\n");
        }
    }

    /// Whether what was shown last is an empty line.
    pub(crate) fn ends_blank(&self) -> bool {
        matches!(self.stay.last(), Some(Piece::Line(line)) if line.is_empty())
    }

    /// The calls that come after the one that a question is about.
    pub(crate) fn behind(&self, asking: &CallId, columns: usize) -> Vec<Line> {
        self.calls.behind(asking, columns)
    }

    /// How many subagents are at work.
    pub(crate) fn subagents(&self) -> usize {
        self.subagents.len()
    }

    /// A call waited so long for a person: that is no time of its own.
    pub(crate) fn waited(&mut self, call: &CallId, time: Duration) {
        self.calls.waited(call, time);
    }

    /// The turn is over.
    pub(crate) fn end(&mut self, canvas: Canvas) {
        self.settle(canvas);
        self.streamed = None;
        self.calls.clear();
    }

    /// Whether there is something that stays and was not given yet.
    pub(crate) fn has_lines(&self) -> bool {
        !self.stay.is_empty()
    }

    /// What stays, in the order in which it happened; each is given once.
    pub(crate) fn done(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.stay)
    }

    fn line(&mut self, line: Line) {
        self.stay.push(Piece::Line(line));
    }

    /// Lines of somebody else, behind what is there.
    pub(crate) fn lines(&mut self, lines: impl IntoIterator<Item = Line>) {
        self.stay.extend(lines.into_iter().map(Piece::Line));
    }

    fn raw(&mut self, text: &str) {
        match self.stay.last_mut() {
            Some(Piece::Raw(raw)) => raw.push_str(text),
            _ => self.stay.push(Piece::Raw(text.to_owned())),
        }
    }

    /// The live area, at most so many rows.
    pub(crate) fn rows(&self, canvas: Canvas, most: usize) -> Vec<Line> {
        let took = self.since.elapsed();
        let frame = usize::try_from(took.as_millis() / FRAME).unwrap_or_default();
        let spinner = SPINNER[frame % SPINNER.len()];
        let mut rows = self.written.tail(canvas);
        if self.calls.is_empty() {
            let mut row = Line::of(Style::of(Colour::Cyan), &format!("{spinner} "));
            row.push(Style::FAINT, &format!("{} · {}", self.doing, lasted(took)));
            if self.hint_after.is_some_and(|after| took > after) {
                row.push(Style::FAINT, " · Esc stops");
            }
            rows.push(row);
        } else {
            rows.extend(self.calls.rows(spinner, canvas.columns));
        }
        rows.extend(self.subagents.rows(canvas.columns));
        // A window that is made narrow breaks every row anew: what would be taller than it then could
        // not be erased, and would stay in the scrollback.
        let tall = |row: &Line| row.width().div_ceil(NARROWEST).max(1);
        let mut room = most;
        let kept = rows.iter().rev().take_while(|row| {
            let fits = tall(row) <= room;
            room = room.saturating_sub(tall(row));
            fits
        });
        let over = rows.len() - kept.count().max(1).min(rows.len());
        rows.split_off(over)
    }
}

/// What happened; what follows in a refusal is advice for a model.
fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.split_once(". ").map_or(line, |(sentence, _)| sentence)
}

/// Text as Markdown, for commands that answer with a page.
pub(crate) fn page(text: &str, canvas: Canvas) -> Vec<Line> {
    render(text, canvas)
}
