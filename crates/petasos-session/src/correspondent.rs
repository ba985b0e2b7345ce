//! A surface whose people do not watch all the time: what a session would do or say unasked is
//! handed to it, so that it reaches somebody.

use petasos_agent::Closing;
use petasos_contract::{BoxFuture, SessionId};

/// What a session has although nobody asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Letter {
    /// Words for the model: a job that ended, guidance that came too late for its turn.
    ToModel(String),
    /// Something to read for the people of the conversation: what came of a task beside it.
    ToPeople(String),
}

/// Carries letters to the people of conversations, and says what is stored with the end of a turn.
pub trait Correspondent: Closing {
    /// Takes a letter; whether the conversation is one of its own. Words for the model come back
    /// as a message that is answered like any other.
    fn carry<'a>(&'a self, session: &'a SessionId, letter: Letter) -> BoxFuture<'a, bool>;
}
