//! What happens in a session, for everybody who watches it.

use std::fmt;
use std::sync::Arc;

use petasos_agent::{TurnEnd, TurnError};
use petasos_contract::SessionId;
use petasos_contract::event::Event;
use petasos_contract::reply::Delta;

use crate::command::Page;
use crate::question::{Closed, Question, QuestionId};
use crate::shell::Ran;
use crate::state::EndReason;

/// Names a message of a session, from its arrival to the end of its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubmissionId(pub(crate) u64);

impl fmt::Display for SubmissionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// An event with its place in the stream.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// Counts the events of the session, without gaps.
    pub seq: u64,
    /// Whose it is.
    pub session: SessionId,
    /// What happened.
    pub event: SessionEvent,
}

/// Something that happened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SessionEvent {
    /// In the loop: replies, calls, subagents.
    Agent(Event),
    /// A message was accepted.
    Submitted {
        /// Its name.
        id: SubmissionId,
        /// Its text; empty when a turn that was cut off goes on.
        text: String,
    },
    /// Its turn begins.
    TurnStarted {
        /// Which message.
        id: SubmissionId,
    },
    /// Its turn is over, and the transcript whole.
    TurnEnded {
        /// Which message.
        id: SubmissionId,
        /// How.
        end: Result<TurnEnd, TurnError>,
        /// How many messages wait; with one, the next turn begins at once.
        waiting: usize,
    },
    /// Words for a turn that was stopped before the model read them; they were not said.
    Unsaid {
        /// The words.
        text: String,
    },
    /// A person is asked. One question of a session is open at a time.
    QuestionAsked(Arc<Question>),
    /// Another question waits until the open one is closed.
    QuestionWaits,
    /// A question is closed, by whichever surface or by nobody.
    QuestionClosed {
        /// Which.
        id: QuestionId,
        /// How.
        how: Closed,
    },
    /// A command of the person has ended; the model reads it with the next message.
    Ran(Arc<Ran>),
    /// Something to show.
    Page(Page),
    /// The session is over; nothing follows.
    Ended {
        /// Why.
        why: EndReason,
    },
}

impl SessionEvent {
    /// About how much memory it takes.
    pub(crate) fn weight(&self) -> usize {
        const USUAL: usize = 256;
        let text = match self {
            Self::Agent(event) => weight(event),
            Self::Submitted { text, .. } | Self::Unsaid { text } => text.len(),
            Self::TurnEnded { end: Ok(end), .. } => end.text.len(),
            Self::Page(page) => page.text().len(),
            Self::Ran(ran) => ran.output.len(),
            _ => 0,
        };
        USUAL + text
    }
}

fn weight(event: &Event) -> usize {
    match event {
        Event::ToolOutput { text, .. }
        | Event::Notice { text }
        | Event::Replied { text, .. }
        | Event::TurnEnded { text, .. }
        | Event::Delta { delta: Delta::Text { text } | Delta::Reasoning { text }, .. } => {
            text.len()
        }
        Event::ToolRequested { arguments, .. } => arguments.len(),
        Event::ToolAnswered { preview, view, .. } => {
            preview.len() + view.tail.iter().map(String::len).sum::<usize>()
        }
        Event::FileChanged { diff, .. } => diff.len(),
        Event::Subagent { event, .. } => weight(event),
        _ => 0,
    }
}
