//! What happens as plain lines, for commands that are not a chat: a line a call, and what matters
//! besides.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::event::Event;

use crate::calls::{Answered, Calls};
use crate::line::{Line, Style};

/// Turns events into lines.
pub struct Progress {
    calls: Calls,
    emoji: Arc<dyn Fn(&str) -> String + Send + Sync>,
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress").field("calls", &self.calls).finish_non_exhaustive()
    }
}

impl Progress {
    /// With the emoji of tools.
    pub fn new(emoji: Arc<dyn Fn(&str) -> String + Send + Sync>) -> Self {
        Self { calls: Calls::default(), emoji }
    }

    /// The lines that an event is worth.
    pub fn take(&mut self, event: &Event) -> Vec<Line> {
        match event {
            Event::ToolRequested { call, tool, arguments, .. } => {
                let emoji = (self.emoji)(tool.as_str());
                self.calls.asked(call, tool.as_str(), emoji, arguments);
            }
            Event::ToolStarted { call, .. } => {
                self.calls.started(call);
                return self.calls.beginning(call).into_iter().collect();
            }
            Event::ToolFinished { call, status, duration_ms, .. } => {
                self.calls.ended(call, *status, Duration::from_millis(*duration_ms));
            }
            Event::FileChanged { call, path, diff, .. } => {
                self.calls.changed(call, path.clone(), diff.clone());
            }
            Event::ToolAnswered { call, status, preview, view, .. } => {
                let (status, columns) = (*status, usize::MAX);
                let lines = self.calls.lines(call, view);
                let answer =
                    Answered { status, preview, view, lines, diffs: true, columns, more: "" };
                return self.calls.answered(call, &answer).lines;
            }
            Event::Notice { text } => return vec![Line::of(Style::PLAIN, text)],
            Event::SubagentStarted { goal, .. } => {
                return vec![Line::of(Style::FAINT, &format!("⑂ subagent: {goal}"))];
            }
            Event::SubagentEnded { status, .. } => {
                return vec![Line::of(Style::FAINT, &format!("⑂ subagent {status}"))];
            }
            Event::Compressed { before, after, .. } => {
                let text = format!("✂ compressed from about {before} to {after} tokens");
                return vec![Line::of(Style::FAINT, &text)];
            }
            _ => {}
        }
        Vec::new()
    }
}
