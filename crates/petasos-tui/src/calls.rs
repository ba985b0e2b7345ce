//! The tool calls of a round as a person sees them: a row while one runs, two lines when it is done.

mod summary;

use std::time::{Duration, Instant};

use petasos_contract::CallId;
use petasos_contract::call::Status;

use crate::line::{Colour, Line, Style};

/// How far a call is.
#[derive(Debug, Clone, Copy)]
enum State {
    Waiting,
    Running(Instant),
    Done(Status, Duration),
}

#[derive(Debug)]
struct Call {
    id: CallId,
    emoji: String,
    tool: String,
    about: String,
    state: State,
}

/// The calls that have no result yet.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    calls: Vec<Call>,
    /// The last line that a running tool printed.
    output: String,
}

impl Calls {
    /// A model asks for a call.
    pub(crate) fn asked(&mut self, id: &CallId, tool: &str, emoji: String, arguments: &str) {
        let about = summary::arguments(arguments);
        let state = State::Waiting;
        self.calls.push(Call { id: id.clone(), emoji, tool: tool.to_owned(), about, state });
    }

    /// It begins.
    pub(crate) fn started(&mut self, id: &CallId) {
        self.output.clear();
        if let Some(call) = self.find(id) {
            call.state = State::Running(Instant::now());
        }
    }

    /// It prints something.
    pub(crate) fn printed(&mut self, text: &str) {
        if let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) {
            line.clone_into(&mut self.output);
        }
    }

    /// It ended.
    pub(crate) fn ended(&mut self, id: &CallId, status: Status, took: Duration) {
        self.output.clear();
        if let Some(call) = self.find(id) {
            call.state = State::Done(status, took);
        }
    }

    /// Its result is stored: the lines that stay.
    pub(crate) fn answered(
        &mut self,
        id: &CallId,
        (status, preview): (Status, &str),
        columns: usize,
    ) -> Vec<Line> {
        let Some(at) = self.calls.iter().position(|call| call.id == *id) else { return Vec::new() };
        let call = self.calls.remove(at);
        let time = match call.state {
            State::Done(_, took) => format!(" · {}", lasted(took)),
            State::Waiting | State::Running(_) => String::new(),
        };
        let line = fitted(&named(&call), &time, columns);
        let good = matches!(status, Status::Ok);
        let result = summary::result(preview);
        if good && result.is_empty() {
            return vec![line];
        }
        let (sign, style) = if good { ("  ↳ ", Style::FAINT) } else { ("  ✗ ", BAD) };
        let mut below = Line::of(style, sign);
        if !good {
            below.push(BAD, status.as_str());
            below.push(Style::FAINT, if result.is_empty() { "" } else { ": " });
        }
        below.push(Style::FAINT, &result);
        vec![line, below.cut(columns)]
    }

    /// The rows of the live area.
    pub(crate) fn rows(&self, spinner: &str, columns: usize) -> Vec<Line> {
        let mut rows = Vec::new();
        for call in &self.calls {
            let mut row = match call.state {
                State::Waiting => Line::of(Style::FAINT, "· "),
                State::Running(_) => Line::of(Style::of(Colour::Cyan), &format!("{spinner} ")),
                State::Done(Status::Ok, _) => Line::of(Style::of(Colour::Green), "✓ "),
                State::Done(..) => Line::of(BAD, "✗ "),
            };
            row.extend(&named(call));
            let time = match call.state {
                State::Waiting => String::new(),
                State::Running(since) => format!(" · {} s", since.elapsed().as_secs()),
                State::Done(_, took) => format!(" · {}", lasted(took)),
            };
            rows.push(fitted(&row, &time, columns));
        }
        if !self.output.is_empty() && !rows.is_empty() {
            rows.push(Line::of(Style::FAINT, &format!("  │ {}", self.output)));
        }
        rows
    }

    /// What began just now, for terminals that cannot redraw.
    pub(crate) fn beginning(&self, id: &CallId) -> Option<Line> {
        let call = self.calls.iter().find(|call| call.id == *id)?;
        let mut line = named(call);
        line.push(Style::FAINT, " …");
        Some(line)
    }

    /// Whether one has no result yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// A turn that failed leaves none behind.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    fn find(&mut self, id: &CallId) -> Option<&mut Call> {
        self.calls.iter_mut().find(|call| call.id == *id)
    }
}

const BAD: Style = Style::of(Colour::Red);

/// The time is always shown, whatever has to be cut for it.
fn fitted(line: &Line, time: &str, columns: usize) -> Line {
    let mut whole = line.cut(columns.saturating_sub(time.chars().count()));
    whole.push(Style::FAINT, time);
    whole
}

fn named(call: &Call) -> Line {
    let mut line = Line::of(Style::PLAIN, &format!("{} ", call.emoji));
    line.push(Style::BOLD, &call.tool);
    if !call.about.is_empty() {
        line.push(Style::PLAIN, &format!(" {}", call.about));
    }
    line
}

/// A duration as people say it.
pub(crate) fn lasted(took: Duration) -> String {
    match took.as_secs() {
        0..10 => format!("{:.1} s", took.as_secs_f64()),
        seconds @ 10..120 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_a_row_while_it_runs_and_two_lines_when_it_is_done() {
        let mut calls = Calls::default();
        let id = CallId::new("c1");
        calls.asked(&id, "terminal", "💻".to_owned(), r#"{"command":"make test"}"#);
        calls.started(&id);
        calls.printed("compiling\nlinking\n");
        let rows: Vec<String> = calls.rows("*", 80).iter().map(Line::text).collect();
        assert_eq!(rows, ["* 💻 terminal make test · 0 s", "  │ linking"]);
        let narrow: Vec<String> = calls.rows("*", 20).iter().map(Line::text).collect();
        assert_eq!(narrow.first().map(String::as_str), Some("* 💻 terminal… · 0 s"));
        calls.ended(&id, Status::Ok, Duration::from_millis(1500));
        let output = r#"{"output":"all good\n","exit_code":0}"#;
        let shown = calls.answered(&id, (Status::Ok, output), 80);
        let shown: Vec<String> = shown.iter().map(Line::text).collect();
        assert_eq!(shown, ["💻 terminal make test · 1.5 s", "  ↳ all good"]);
        assert!(calls.is_empty() && calls.rows("*", 80).is_empty());
    }

    #[test]
    fn durations_are_short() {
        let shown = |millis| lasted(Duration::from_millis(millis));
        assert_eq!(
            [shown(40), shown(9_940), shown(60_000), shown(125_000)],
            ["0.0 s", "9.9 s", "60 s", "2 min 5 s"]
        );
    }
}
