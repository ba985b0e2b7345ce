//! The subagents that are at work: a row each while they are, one line when they are done.

use std::time::{Duration, Instant};

use petasos_contract::SessionId;
use petasos_contract::event::Event;

use crate::calls::{doing, lasted};
use crate::line::{Colour, Line, Style};

/// So many have a row of their own.
const SHOWN_MAX: usize = 4;
/// So much of what one is to do names it.
const GOAL_CHARS: usize = 60;

#[derive(Debug)]
struct Subagent {
    id: SessionId,
    goal: String,
    /// What it does right now.
    doing: String,
    calls: usize,
    since: Instant,
}

/// Those that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Subagents {
    all: Vec<Subagent>,
}

impl Subagents {
    /// One begins; the line that stays.
    pub(crate) fn started(&mut self, id: &SessionId, goal: &str) -> Line {
        let goal = short(goal);
        let line = Line::of(Style::FAINT, &format!("⑂ subagent: {goal}"));
        let (id, doing, since) = (id.clone(), "thinking".to_owned(), Instant::now());
        self.all.push(Subagent { id, goal, doing, calls: 0, since });
        line
    }

    /// Something happened inside one.
    pub(crate) fn happened(&mut self, id: &SessionId, event: &Event) {
        let Some(one) = self.all.iter_mut().find(|one| one.id == *id) else { return };
        match event {
            Event::ToolRequested { tool, arguments, .. } => {
                one.doing = doing(tool.as_str(), arguments);
                one.calls += 1;
            }
            Event::ToolAnswered { .. } => "thinking".clone_into(&mut one.doing),
            _ => {}
        }
    }

    /// One has ended; the line that stays.
    pub(crate) fn ended(&mut self, id: &SessionId, status: &str) -> Line {
        let Some(at) = self.all.iter().position(|one| one.id == *id) else {
            return Line::of(Style::FAINT, &format!("⑂ subagent {status}"));
        };
        let Subagent { goal, calls, since, .. } = self.all.remove(at);
        let s = if calls == 1 { "" } else { "s" };
        let (style, how) = match status {
            "completed" => (Style::FAINT, "done"),
            other => (Style::of(Colour::Red), other),
        };
        let mut line = Line::of(style, &format!("⑂ subagent {how}: {goal}"));
        let time = lasted(since.elapsed());
        line.push(Style::FAINT, &format!(" · {time} · {calls} call{s}"));
        line
    }

    /// How many are at work.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The rows of the live area.
    pub(crate) fn rows(&self, columns: usize) -> Vec<Line> {
        let row = |one: &Subagent| {
            let time = format!(" · {} s", Duration::as_secs(&one.since.elapsed()));
            let text = format!("⑂ {}: {}", one.goal, one.doing);
            let mut row = Line::of(Style::FAINT, &text).cut(columns.saturating_sub(time.len()));
            row.push(Style::FAINT, &time);
            row
        };
        let mut rows: Vec<Line> = self.all.iter().take(SHOWN_MAX).map(row).collect();
        let more = self.all.len() - rows.len();
        if more > 0 {
            rows.push(Line::of(Style::FAINT, &format!("⑂ and {more} more subagents")));
        }
        rows
    }
}

fn short(goal: &str) -> String {
    let line = goal.lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(GOAL_CHARS).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use petasos_contract::{CallId, ToolName};

    use super::*;

    #[test]
    fn a_subagent_has_a_row_while_it_works_and_its_name_when_it_ends() {
        let (mut all, id) = (Subagents::default(), SessionId::new("s1"));
        assert_eq!(all.started(&id, "look around\nin detail").text(), "⑂ subagent: look around");
        let rows = |all: &Subagents| all.rows(80).iter().map(Line::text).collect::<Vec<_>>();
        assert_eq!(rows(&all), ["⑂ look around: thinking · 0 s"]);
        let event = Event::ToolRequested {
            session: id.clone(),
            call: CallId::new("c1"),
            tool: ToolName::new("terminal"),
            arguments: r#"{"command":"make test"}"#.to_owned(),
        };
        all.happened(&id, &event);
        assert_eq!(rows(&all), ["⑂ look around: Running make test · 0 s"]);
        assert_eq!(
            all.ended(&id, "completed").text(),
            "⑂ subagent done: look around · 0.0 s · 1 call"
        );
        assert_eq!(all.len(), 0);
        all.started(&id, &"x".repeat(200));
        assert!(all.ended(&id, "failed").text().starts_with("⑂ subagent failed: xxx"));
    }

    #[test]
    fn many_subagents_are_counted() {
        let mut all = Subagents::default();
        for number in 0..7 {
            all.started(&SessionId::new(format!("s{number}")), "work");
        }
        let rows = all.rows(40);
        assert_eq!(rows.len(), SHOWN_MAX + 1);
        assert_eq!(rows.last().map(Line::text).as_deref(), Some("⑂ and 3 more subagents"));
    }
}
