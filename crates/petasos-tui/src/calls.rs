//! The tool calls of a round as a person sees them: a row while one runs, two lines when it is done.

mod sentence;
mod summary;

use std::time::{Duration, Instant};

use petasos_contract::CallId;
use petasos_contract::call::Status;
use petasos_contract::event::{ResultView, TaskView};

use crate::diff;
use crate::line::{Colour, Line, Style};
use sentence::Sentence;

/// Lines of output below a finished call.
const TAIL_LINES: usize = 4;
/// So many calls that wait behind a question are named.
const BEHIND_SHOWN: usize = 3;
/// What a call printed is kept to be shown whole, up to here.
const PRINTED_MAX: usize = 64 * 1024;

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
    sentence: Sentence,
    state: State,
    /// The end of what it printed.
    printed: String,
    /// Ends of lines before that end.
    dropped: usize,
    /// Files that it wrote: path and diff.
    changed: Vec<(String, String)>,
    /// How long it waited for a person.
    waited: Duration,
}

/// What came of a call, and how much of it is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered<'a> {
    pub(crate) status: Status,
    pub(crate) preview: &'a str,
    pub(crate) view: &'a ResultView,
    /// How many lines there are in all.
    pub(crate) lines: usize,
    pub(crate) diffs: bool,
    pub(crate) columns: usize,
    /// What shows the rest of something long, where anything does.
    pub(crate) more: &'static str,
}

/// The lines of a call that has ended.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// As they stay on the screen.
    pub(crate) lines: Vec<Line>,
    /// All of them, where some are left out.
    pub(crate) whole: Option<Vec<Line>>,
}

impl Answered<'_> {
    /// Everything below the line that names the call; nothing when nothing is left out anyway.
    fn whole(&self, call: &Call) -> Option<Vec<Line>> {
        if self.diffs && !call.changed.is_empty() {
            let diff = |(path, text): &(String, String)| {
                diff::lines(path, text, &diff::Fold::none(), self.columns)
            };
            return Some(call.changed.iter().flat_map(diff).collect());
        }
        let all: Vec<&str> = call.printed.lines().collect();
        let row = |text: &str| Line::of(Style::FAINT, &format!("  │ {text}")).wrapped(self.columns);
        let earlier = format!("… {}", counted(call.dropped, "earlier line"));
        let earlier = (call.dropped > 0).then_some(earlier.as_str());
        (all.len() > TAIL_LINES).then(|| earlier.into_iter().chain(all).flat_map(row).collect())
    }

    /// The lines below the one that names the call.
    fn below(&self, changed: &[(String, String)]) -> Vec<Line> {
        let cut = |line: Line| line.cut(self.columns);
        // A command that ran and failed is told by its end.
        if self.status != Status::Ok && self.view.exit_code.is_none_or(|code| code < 0) {
            return vec![cut(self.failure())];
        }
        if self.diffs && !changed.is_empty() {
            let diff = |(path, text): &(String, String)| {
                diff::lines(path, text, &diff::Fold::usual(self.more), self.columns)
            };
            return changed.iter().flat_map(diff).collect();
        }
        if !self.view.tasks.is_empty() {
            return self.view.tasks.iter().map(task).map(cut).collect();
        }
        self.tail().into_iter().map(cut).collect()
    }

    fn failure(&self) -> Line {
        let result = summary::result(self.preview);
        let mut line = Line::of(BAD, "  ✗ ");
        if self.status == Status::Blocked && !result.is_empty() {
            // What follows is advice for a model.
            line.push(BAD, result.split_once(". ").map_or(result.as_str(), |(what, _)| what));
            return line;
        }
        line.push(BAD, self.status.as_str());
        line.push(Style::FAINT, if result.is_empty() { "" } else { ": " });
        line.push(Style::FAINT, &result);
        line
    }

    /// The end of what was printed, and how much came before.
    fn tail(&self) -> Vec<Line> {
        let view = self.view;
        let faint = |text: &str| Line::of(Style::FAINT, text);
        let mut lines = Vec::new();
        if let Some(code) = view.exit_code {
            lines.push(Line::of(BAD, &format!("  ✗ exit {code}")));
        }
        let shown = view.tail.len().min(TAIL_LINES);
        let hidden = self.lines.saturating_sub(shown);
        match (shown, hidden) {
            (0, 0) if lines.is_empty() => {
                let result = summary::result(self.preview);
                lines.extend((!result.is_empty()).then(|| faint(&format!("  ↳ {result}"))));
            }
            (_, 0) => {}
            (0, _) => lines.push(faint(&format!("  ↳ {}", counted(hidden, "line")))),
            (1.., _) => lines.push(faint(&format!("  │ … {}", counted(hidden, "more line")))),
        }
        let sign = if self.lines == 1 { "↳" } else { "│" };
        let last = view.tail.iter().skip(view.tail.len() - shown);
        lines.extend(last.map(|text| faint(&format!("  {sign} {text}"))));
        lines
    }
}

/// `1 line`, `20,000 lines`.
fn counted(number: usize, noun: &str) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{text} {noun}{}", if number == 1 { "" } else { "s" })
}

fn task(task: &TaskView) -> Line {
    let (sign, style) = match task.status.as_str() {
        "completed" => ("☑", Style::FAINT.struck()),
        "in_progress" => ("◐", Style::of(Colour::Cyan)),
        "cancelled" => ("☒", Style::FAINT.struck()),
        _ => ("☐", Style::PLAIN),
    };
    let mut line = Line::of(Style::PLAIN, &format!("  {sign} "));
    line.push(style, &task.text);
    line
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
        let (id, sentence) = (id.clone(), sentence::of(tool, arguments));
        let (state, printed, changed) = (State::Waiting, String::new(), Vec::new());
        let (dropped, waited) = (0, Duration::ZERO);
        self.calls.push(Call { id, emoji, sentence, state, printed, dropped, changed, waited });
    }

    /// It begins.
    pub(crate) fn started(&mut self, id: &CallId) {
        self.output.clear();
        if let Some(call) = self.find(id) {
            call.state = State::Running(Instant::now());
        }
    }

    /// A call prints something.
    pub(crate) fn printed(&mut self, id: &CallId, text: &str) {
        if let Some(call) = self.find(id) {
            call.printed.push_str(text);
            let over = call.printed.len().saturating_sub(PRINTED_MAX);
            let end = call.printed.get(over..).and_then(|rest| rest.find('\n'));
            if let Some(end) = end.filter(|_| over > 0) {
                let gone = call.printed.drain(..=over + end);
                call.dropped += gone.filter(|sign| *sign == '\n').count();
            }
        }
        self.said(text);
    }

    /// Whether a call has printed anything.
    pub(crate) fn has_printed(&self, id: &CallId) -> bool {
        self.calls.iter().any(|call| call.id == *id && !call.printed.is_empty())
    }

    /// How long a result is. What a model reads of a long output has a hole in the middle; what was
    /// printed has none.
    pub(crate) fn lines(&self, id: &CallId, view: &ResultView) -> usize {
        let printed = |call: &&Call| {
            let last = call.printed.trim_end().lines().next_back();
            call.id == *id && last.is_some() && last == view.tail.last().map(String::as_str)
        };
        let call = self.calls.iter().find(printed);
        let all = call.map(|call| call.dropped + call.printed.trim_end().lines().count());
        all.unwrap_or_default().max(view.lines)
    }

    /// The last line of what goes on.
    pub(crate) fn said(&mut self, text: &str) {
        if let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) {
            line.clone_into(&mut self.output);
        }
    }

    /// It wrote a file.
    pub(crate) fn changed(&mut self, id: &CallId, path: String, diff: String) {
        if let Some(call) = self.find(id) {
            call.changed.push((path, diff));
        }
    }

    /// It ended.
    pub(crate) fn ended(&mut self, id: &CallId, status: Status, took: Duration) {
        self.output.clear();
        if let Some(call) = self.find(id) {
            call.state = State::Done(status, took.saturating_sub(call.waited));
        }
    }

    /// It waited so long for a person.
    pub(crate) fn waited(&mut self, id: &CallId, time: Duration) {
        if let Some(call) = self.find(id) {
            call.waited += time;
        }
    }

    /// Somebody else shows what came of it.
    pub(crate) fn forget(&mut self, id: &CallId) {
        self.calls.retain(|call| call.id != *id);
    }

    /// Its result is stored: the lines that stay.
    pub(crate) fn answered(&mut self, id: &CallId, answer: &Answered<'_>) -> Shown {
        let Some(at) = self.calls.iter().position(|call| call.id == *id) else {
            return Shown::default();
        };
        let call = self.calls.remove(at);
        // What was refused, or could not be done, did nothing that a verb could say.
        let undone =
            answer.status != Status::Ok && answer.view.exit_code.is_none_or(|code| code < 0);
        let verb = if undone { Tense::Named } else { Tense::Did };
        let time = match call.state {
            State::Done(status, took) if status != Status::Blocked => {
                format!(" · {}", lasted(took))
            }
            _ => String::new(),
        };
        let head = fitted(&told(&call, verb), &time, answer.columns);
        let lines: Vec<Line> =
            std::iter::once(head.clone()).chain(answer.below(&call.changed)).collect();
        let whole = answer.whole(&call).filter(|whole| whole.len() >= lines.len());
        let whole = whole.map(|whole| std::iter::once(head).chain(whole).collect());
        Shown { lines, whole }
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
            let tense = match call.state {
                State::Waiting => Tense::Named,
                State::Running(_) => Tense::Doing,
                State::Done(..) => Tense::Did,
            };
            row.extend(&told(call, tense));
            let time = match call.state {
                State::Waiting => String::new(),
                State::Running(since) => {
                    let ran = since.elapsed().saturating_sub(call.waited);
                    format!(" · {} s", ran.as_secs())
                }
                State::Done(_, took) => format!(" · {}", lasted(took)),
            };
            rows.push(fitted(&row, &time, columns));
        }
        if !self.output.is_empty() && !rows.is_empty() {
            rows.push(Line::of(Style::FAINT, &format!("  │ {}", self.output)));
        }
        rows
    }

    /// The calls that come after the one that waits for a person.
    pub(crate) fn behind(&self, asking: &CallId, columns: usize) -> Vec<Line> {
        let waits = |call: &&Call| matches!(call.state, State::Waiting) && call.id != *asking;
        let waiting = self.calls.iter().filter(waits);
        let row = |call: &Call| {
            let mut row = Line::of(Style::FAINT, "  then: ");
            row.extend(&told(call, Tense::Named));
            row.cut(columns)
        };
        let mut rows: Vec<Line> = waiting.clone().take(BEHIND_SHOWN).map(row).collect();
        let more = waiting.count() - rows.len();
        if more > 0 {
            let text = format!("  and {}", counted(more, "more call"));
            rows.push(Line::of(Style::FAINT, &text));
        }
        rows
    }

    /// What began just now, for terminals that cannot redraw.
    pub(crate) fn beginning(&self, id: &CallId) -> Option<Line> {
        let call = self.calls.iter().find(|call| call.id == *id)?;
        let mut line = told(call, Tense::Doing);
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

/// Which form of its sentence a call is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tense {
    /// It has not run.
    Named,
    /// It runs.
    Doing,
    /// It has run.
    Did,
}

fn told(call: &Call, tense: Tense) -> Line {
    let Sentence { doing, did, tool, about } = &call.sentence;
    let verb = match tense {
        Tense::Named => tool,
        Tense::Doing => doing,
        Tense::Did => did,
    };
    let mut line = Line::of(Style::PLAIN, &format!("{} ", call.emoji));
    line.push(Style::BOLD, verb);
    if !about.is_empty() {
        line.push(Style::PLAIN, &format!(" {about}"));
    }
    line
}

/// What a call does, in words.
pub(crate) fn doing(tool: &str, arguments: &str) -> String {
    let Sentence { doing, about, .. } = sentence::of(tool, arguments);
    format!("{doing} {about}").trim_end().to_owned()
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

    fn answer(view: &ResultView) -> Answered<'_> {
        let (lines, diffs, columns) = (view.lines, true, 80);
        Answered { status: Status::Ok, preview: "", view, lines, diffs, columns, more: "" }
    }

    #[test]
    fn what_was_left_out_can_be_shown_whole() {
        let mut calls = Calls::default();
        let id = CallId::new("c1");
        let numbers: Vec<String> = (1..=30).map(|number| number.to_string()).collect();
        calls.asked(&id, "terminal", "💻".to_owned(), r#"{"command":"seq 30"}"#);
        calls.printed(&id, &(numbers.join("\n") + "\n"));
        let view = ResultView { lines: 30, tail: numbers[26..].to_vec(), ..ResultView::default() };
        let shown = calls.answered(&id, &answer(&view));
        assert_eq!(shown.lines.len(), 6);
        let whole = shown.whole.expect("more");
        let whole: Vec<String> = whole.iter().map(Line::text).collect();
        assert_eq!((whole.len(), whole[1].as_str(), whole[30].as_str()), (31, "  │ 1", "  │ 30"));
        calls.asked(&id, "terminal", "💻".to_owned(), "{}");
        calls.printed(&id, "one\n");
        assert!(calls.answered(&id, &answer(&ResultView::default())).whole.is_none());
    }

    #[test]
    fn a_result_is_as_long_as_what_was_printed() {
        let mut calls = Calls::default();
        let id = CallId::new("c1");
        calls.asked(&id, "terminal", "💻".to_owned(), "{}");
        for number in 1..=20_000 {
            calls.printed(&id, &format!("{number}\n"));
        }
        let view = |last: &str| ResultView {
            lines: 9,
            tail: vec![last.to_owned()],
            ..ResultView::default()
        };
        assert_eq!(calls.lines(&id, &view("20000")), 20_000);
        assert_eq!(calls.lines(&id, &view("another text")), 9, "progress is no result");
        let whole = calls.answered(&id, &answer(&view("20000"))).whole.expect("more");
        let first = whole.get(1).map(Line::text).unwrap_or_default();
        assert!(first.starts_with("  │ … ") && first.ends_with(" earlier lines"), "{first}");
    }

    #[test]
    fn a_call_is_a_row_while_it_runs_and_two_lines_when_it_is_done() {
        let mut calls = Calls::default();
        let id = CallId::new("c1");
        calls.asked(&id, "terminal", "💻".to_owned(), r#"{"command":"make test"}"#);
        calls.started(&id);
        calls.printed(&id, "compiling\nlinking\n");
        let rows: Vec<String> = calls.rows("*", 80).iter().map(Line::text).collect();
        assert_eq!(rows, ["* 💻 Running make test · 0 s", "  │ linking"]);
        let narrow: Vec<String> = calls.rows("*", 20).iter().map(Line::text).collect();
        assert_eq!(narrow.first().map(String::as_str), Some("* 💻 Running … · 0 s"));
        calls.ended(&id, Status::Ok, Duration::from_millis(1500));
        let view = ResultView {
            lines: 20_000,
            tail: ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec(),
            exit_code: Some(2),
            tasks: Vec::new(),
        };
        let answer = answer(&view);
        let shown = calls.answered(&id, &answer).lines;
        let shown: Vec<String> = shown.iter().map(Line::text).collect();
        let head = ["💻 Ran make test · 1.5 s", "  ✗ exit 2", "  │ … 19,996 more lines"];
        assert_eq!(shown, [&head[..], &["  │ b", "  │ c", "  │ d", "  │ e"]].concat());
        assert!(calls.is_empty() && calls.rows("*", 80).is_empty());
    }

    #[test]
    fn an_edit_is_a_diff_and_a_task_list_has_its_states() {
        let mut calls = Calls::default();
        let id = CallId::new("c1");
        let mut answered = |view: &ResultView, changed: bool| {
            calls.asked(&id, "patch", "🔧".to_owned(), r#"{"path":"a.txt"}"#);
            if changed {
                calls.changed(&id, "a.txt".into(), "@@ -1,1 +1,1 @@\n-one\n+two\n".into());
            }
            let lines = calls.answered(&id, &answer(view)).lines;
            lines.iter().skip(1).map(Line::text).collect::<Vec<_>>()
        };
        let shown = answered(&ResultView::default(), true);
        assert_eq!(shown, ["  a.txt +1 -1", "    1 - one", "    1 + two"]);
        let task = |text: &str, status: &str| TaskView { text: text.into(), status: status.into() };
        let tasks =
            vec![task("read", "completed"), task("write", "in_progress"), task("x", "pending")];
        let view = ResultView { tasks, ..ResultView::default() };
        assert_eq!(answered(&view, false), ["  ☑ read", "  ◐ write", "  ☐ x"]);
        let view = ResultView { lines: 40, ..ResultView::default() };
        assert_eq!(answered(&view, false), ["  ↳ 40 lines"]);
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
