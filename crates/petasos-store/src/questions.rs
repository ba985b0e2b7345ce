//! Keeping questions to people: a question outlives the process that asked it, and the first valid
//! answer counts, whichever process it comes from.
//!
//! Times are the caller's, so that a test moves them. Passwords are never kept: whoever asks for one
//! asks in memory.

use std::fmt;
use std::time::Duration;

use petasos_contract::address::Address;
use petasos_contract::id::{CallId, SessionId, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sessions::Later;

/// A question that is asked again after its process died stays open for so long at least.
pub const REJOINED_MIN: Duration = Duration::from_mins(1);

/// Keeps questions.
pub trait QuestionStore: Send + Sync {
    /// Puts a question. The one that the same call of the same turn has put before, word for word,
    /// is joined: open, or answered while nobody waited. Other questions of that call are
    /// cancelled.
    fn ask(&self, new: NewQuestion) -> Later<'_, QuestionRecord>;

    /// Answers an open question. The first answer that comes in time counts.
    fn answer<'a>(&'a self, id: &'a QuestionId, answer: QuestionAnswer)
    -> Later<'a, AnswerOutcome>;

    /// An open question may be answered until this moment, in milliseconds since 1970.
    fn extend<'a>(&'a self, id: &'a QuestionId, expires_ms: i64) -> Later<'a, ()>;

    /// Whoever asked takes the answer; nobody gets it a second time.
    fn take<'a>(&'a self, id: &'a QuestionId) -> Later<'a, Option<QuestionAnswer>>;

    /// Closes an open question without an answer. Gives the state as it is then: an answer may have
    /// been faster.
    fn close<'a>(
        &'a self,
        id: &'a QuestionId,
        how: NotAnswered,
    ) -> Later<'a, Option<QuestionState>>;

    /// The same for somebody who cannot wait. It takes effect before whatever this store writes
    /// afterwards.
    fn close_later(&self, id: &QuestionId, how: NotAnswered);

    /// One question.
    fn get<'a>(&'a self, id: &'a QuestionId) -> Later<'a, Option<QuestionRecord>>;

    /// Those that nobody has decided yet, the oldest first: of one session, or of all.
    fn open<'a>(&'a self, session: Option<&'a SessionId>) -> Later<'a, Vec<QuestionRecord>>;
}

/// Names a question: sixteen characters that nobody guesses and that fit into a button.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuestionId(String);

impl QuestionId {
    /// A name that was read somewhere.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The name of these random bits.
    pub fn of(bits: [u8; 10]) -> Self {
        const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let number = bits.iter().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
        let digit = |at: u32| {
            let five = usize::try_from((number >> (5 * at)) & 31).unwrap_or_default();
            ALPHABET.get(five).map_or('a', |letter| char::from(*letter))
        };
        Self((0..16).rev().map(digit).collect())
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A question that is to be put.
#[derive(Debug, Clone, PartialEq)]
pub struct NewQuestion {
    /// Its name, when it is a new one.
    pub id: QuestionId,
    /// The session that asks.
    pub session: SessionId,
    /// In which turn.
    pub turn: TurnId,
    /// For which call.
    pub call: CallId,
    /// What kind it is: `approval`, `choice`.
    pub kind: String,
    /// Identifies exactly what is asked about.
    pub digest: String,
    /// The question itself, as whoever asks reads it back; secrets redacted.
    pub body: Value,
    /// Where it is put.
    pub address: Address,
    /// Milliseconds since 1970.
    pub opened_ms: i64,
    /// Milliseconds since 1970.
    pub expires_ms: i64,
}

/// A question that is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionRecord {
    /// What was put.
    pub asked: NewQuestion,
    /// Counts the questions of a session, from one.
    pub number: u32,
    /// What became of it.
    pub state: QuestionState,
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionState {
    /// Nobody has answered.
    Open,
    /// Somebody has, and whoever asked has not heard of it yet.
    Answered(QuestionAnswer),
    /// Whoever asked has heard the answer.
    Taken(QuestionAnswer),
    /// It is closed without an answer.
    Closed(NotAnswered),
}

/// Why a question is closed without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotAnswered {
    /// Nobody answered in time.
    Expired,
    /// Whoever asked no longer waits: interrupted, or the session ended.
    Withdrawn,
    /// What was asked about is not what would happen now, or will not happen at all.
    Cancelled,
}

impl NotAnswered {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
            Self::Cancelled => "cancelled",
        }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuestionAnswer {
    /// What was answered, as whoever asks reads it back.
    pub reply: Value,
    /// Who, where that is known.
    pub by: Option<String>,
    /// Milliseconds since 1970.
    pub at_ms: i64,
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerOutcome {
    /// It is the one that counts.
    Counts,
    /// The question was decided or over before.
    Late(QuestionState),
    /// There is no such question.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_sixteen_characters_and_every_bit_counts() {
        let (none, all) = (QuestionId::of([0; 10]), QuestionId::of([255; 10]));
        assert_eq!((none.as_str(), all.as_str()), ("aaaaaaaaaaaaaaaa", "7777777777777777"));
        let mut last = [0; 10];
        last[9] = 1;
        assert_eq!(QuestionId::of(last).as_str(), "aaaaaaaaaaaaaaab");
    }
}
