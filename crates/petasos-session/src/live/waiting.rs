//! Messages that wait and are not to be said after all, and words that came too late for a turn.

use petasos_agent::{Agent, Outcome, TurnEnd};
use petasos_contract::context::Surface;
use petasos_contract::reply::Usage;

use super::{Asked, LiveSession, Queued};
use crate::command::Page;
use crate::event::SessionEvent;

impl LiveSession {
    /// Takes the newest message back that waits and fits; gives its words. Whoever waits for its
    /// turn hears that it is over.
    pub(crate) fn take_back(&mut self, fits: impl Fn(&Queued) -> bool) -> Option<String> {
        let may = |queued: &Queued| !matches!(queued.work, Asked::GoOn) && fits(queued);
        let at = self.queue.iter().rposition(may)?;
        let queued = self.queue.remove(at)?;
        let text = queued.text();
        let end = Ok(ended(Outcome::Interrupted, String::new()));
        let (id, waiting) = (queued.id, self.queue.len());
        self.shared.ring.push(SessionEvent::TurnEnded { id, end: end.clone(), waiting });
        if let Some(sender) = queued.end {
            // Whoever asked may be gone by now.
            drop(sender.send(end));
        }
        Some(text)
    }

    /// A turn was stopped: what was said to it and not read yet begins no other one. Where a message
    /// waits, it goes along with that. In a chat it was accepted from somebody who does not watch, and
    /// is answered.
    pub(crate) fn hand_back(&self, end: &TurnEnd, agent: &Agent) {
        let in_chat = self.choice.surface == Surface::Gateway;
        if end.outcome != Outcome::Interrupted || !self.queue.is_empty() || in_chat {
            return;
        }
        for text in agent.inbox().unread_guidance() {
            if self.choice.surface == Surface::Cli {
                self.shared.ring.push(SessionEvent::Unsaid { text });
            } else {
                self.show(Page::Note(format!("↩ not said, because the turn was stopped: {text}")));
            }
        }
    }
}

/// The end of something that asked no model.
pub(crate) fn ended(outcome: Outcome, text: String) -> TurnEnd {
    TurnEnd {
        outcome,
        text,
        requests: 0,
        tools: Vec::new(),
        usage: Usage::default(),
        cost_usd: 0.0,
        cut_off: false,
    }
}
