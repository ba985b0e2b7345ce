//! What an interrupted turn leaves behind: the words that had come, and a mark that the model reads.
//!
//! Without the mark the next message would be glued to the cancelled one, and the model would do
//! the cancelled work again.

use parking_lot::Mutex;
use petasos_contract::message::Message;
use petasos_store::Stored;

use super::Turn;
use crate::agent::{Agent, TurnError};

/// The note of a row that ends an interrupted turn.
pub const INTERRUPTED: &str = "interrupted";
const MARK: &str = "[Interrupted by the user]";
/// So much of a reply is remembered while it streams.
const STREAMED_CHARS_MAX: usize = 400_000;

/// The visible text of the request that runs, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Streamed(Mutex<Pieces>);

#[derive(Debug, Default)]
struct Pieces {
    attempt: u32,
    text: String,
    chars: usize,
}

impl Streamed {
    /// Takes a piece; a higher attempt replaces what lower ones brought.
    pub(super) fn push(&self, attempt: u32, piece: &str) {
        let mut pieces = self.0.lock();
        if attempt > pieces.attempt {
            *pieces = Pieces { attempt, ..Pieces::default() };
        }
        if attempt == pieces.attempt && pieces.chars < STREAMED_CHARS_MAX {
            pieces.chars += piece.chars().count();
            pieces.text.push_str(piece);
        }
    }

    /// What has come, once.
    pub(super) fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock()).text
    }
}

impl Agent {
    /// Stores what had come of the reply, and that it was interrupted. Gives the text.
    pub(super) async fn mark_interrupted(&mut self, turn: &mut Turn) -> Result<String, TurnError> {
        let partial = turn.streamed.take();
        let words = partial.trim_end();
        let (shown, sent) = match words {
            "" => (MARK, None),
            words => (words, Some(format!("{words}\n\n{MARK}"))),
        };
        let stored = Stored {
            sent,
            turn: Some(turn.id.clone()),
            note: Some(INTERRUPTED.to_owned()),
            ..Stored::new(Message::assistant(shown))
        };
        self.transcript.add(vec![stored]).await?;
        Ok(std::mem::take(&mut turn.parts) + words)
    }
}
