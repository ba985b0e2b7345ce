//! Bytes into replies: the framing that all dialects share, around a fold that each brings.
//!
//! The same deltas come out whatever the cuts of the input. An error is typed and never loses
//! what arrived before it: [`Decoder::rescue`] gives the earlier text back.

use petasos_contract::model::{Delta, Reply};
use petasos_net::sse::{self, SseError};
use serde::Deserialize;

use super::eventstream::{self, Frames};
use super::lines::Lines;

/// How an answer's bytes are cut into events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON document.
    Whole,
    /// Amazon's binary event stream.
    AmazonEvents,
    /// One JSON text a line.
    Lines,
}

impl Framing {
    /// The framing that a content type announces.
    pub fn of(content_type: &str) -> Option<Self> {
        let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match kind.as_str() {
            "text/event-stream" => Some(Self::Events),
            "application/json" => Some(Self::Whole),
            "application/vnd.amazon.eventstream" => Some(Self::AmazonEvents),
            other if other.ends_with("+json") => Some(Self::Whole),
            _ => None,
        }
    }
}

/// The largest answer that is taken whole.
pub const WHOLE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Reads one answer.
pub trait Decoder: Send {
    /// Takes a piece and adds the deltas that it completes.
    fn push(&mut self, bytes: &[u8], deltas: &mut Vec<Delta>) -> Result<(), DecodeError>;
    /// Whether the dialect's last event has arrived: nothing after it matters.
    fn is_done(&self) -> bool;
    /// Whether the answer is whole, though more (usage, an end mark) may follow.
    fn is_settled(&self) -> bool;
    /// The reply, when the answer was complete. Deltas that only the end completes are added.
    fn finish(&mut self, deltas: &mut Vec<Delta>) -> Result<Reply, DecodeError>;
    /// What arrived before an error: text and reasoning, and no call, since none is known whole.
    fn rescue(&mut self) -> Reply;
}

/// Why an answer cannot be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DecodeError {
    /// An event is not what the dialect says.
    #[error("the answer is not in the dialect: {what}")]
    Malformed {
        /// What is wrong, with a short excerpt.
        what: String,
    },
    /// It ended before its last event.
    #[error("the answer broke off before its end")]
    Truncated,
    /// It had no content at all.
    #[error("the answer was empty")]
    Empty,
    /// It outgrew its bound.
    #[error("the answer is larger than we take: more than {most} {what}")]
    TooLarge {
        /// What outgrew its bound.
        what: &'static str,
        /// The bound.
        most: usize,
    },
    /// The provider reported an error inside the answer.
    #[error("the provider reported an error: {}", fault.message)]
    Fault {
        /// Its words.
        fault: Fault,
    },
}

/// An error in a provider's own words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fault {
    /// The status it names inside the body.
    pub status: Option<u16>,
    /// Its `type` or `status` word.
    pub kind: Option<String>,
    /// Its `code`.
    pub code: Option<String>,
    /// Its text.
    pub message: String,
    /// The parameter it points at.
    pub param: Option<String>,
}

impl DecodeError {
    /// A malformed event, with an excerpt that fits a log line.
    pub fn malformed(what: impl std::fmt::Display, data: &str) -> Self {
        let excerpt: String = data.chars().take(120).collect();
        Self::Malformed { what: format!("{what} in `{excerpt}`") }
    }
}

impl From<SseError> for DecodeError {
    fn from(error: SseError) -> Self {
        match error {
            SseError::TooLarge => {
                Self::TooLarge { what: "bytes in one event", most: sse::EVENT_BYTES_MAX }
            }
        }
    }
}

/// Parses the data of one event.
pub fn parse<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, DecodeError> {
    serde_json::from_str(data).map_err(|error| DecodeError::malformed(error, data))
}

/// What a dialect does with its events.
pub trait Fold: Send {
    /// Takes one event of a stream.
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError>;
    /// Takes an answer that came whole.
    fn whole(&mut self, body: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError>;
    /// Whether the last event has arrived.
    fn is_done(&self) -> bool;
    /// Whether the answer is whole, though more may follow.
    fn is_settled(&self) -> bool {
        self.is_done()
    }
    /// Checks that a stream that ended was complete, and flushes.
    fn close(&mut self, out: &mut Vec<Delta>) -> Result<(), DecodeError>;
    /// The reply from what was collected.
    fn reply(&mut self) -> Reply;
    /// What arrived before an error.
    fn rescue(&mut self) -> Reply;
}

/// The shared decoder.
#[derive(Debug)]
pub struct Framed<F> {
    fold: F,
    frames: Reader,
}

#[derive(Debug)]
enum Reader {
    Events(sse::Parser),
    Whole(Vec<u8>),
    Amazon(Frames),
    Lines(Lines),
}

impl<F: Fold + 'static> Framed<F> {
    /// A decoder for one answer.
    pub fn boxed(fold: F, framing: Framing) -> Box<dyn Decoder> {
        let frames = match framing {
            Framing::Events => Reader::Events(sse::Parser::new()),
            Framing::Whole => Reader::Whole(Vec::new()),
            Framing::AmazonEvents => Reader::Amazon(Frames::default()),
            Framing::Lines => Reader::Lines(Lines::default()),
        };
        Box::new(Self { fold, frames })
    }
}

impl<F: Fold> Decoder for Framed<F> {
    fn push(&mut self, bytes: &[u8], deltas: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let fold = &mut self.fold;
        match &mut self.frames {
            Reader::Events(parser) => parser.push(bytes, |event| {
                if fold.is_done() { Ok(()) } else { fold.event(event.name, event.data, deltas) }
            }),
            Reader::Whole(body) => {
                if body.len() + bytes.len() > WHOLE_BYTES_MAX {
                    return Err(DecodeError::TooLarge { what: "bytes", most: WHOLE_BYTES_MAX });
                }
                body.extend_from_slice(bytes);
                Ok(())
            }
            Reader::Amazon(frames) => frames.push(bytes, |frame: eventstream::Frame<'_>| {
                fold.event(frame.kind, frame.payload, deltas)
            }),
            Reader::Lines(lines) => lines.push(bytes, |line| {
                if fold.is_done() { Ok(()) } else { fold.event("", line, deltas) }
            }),
        }
    }

    fn is_done(&self) -> bool {
        self.fold.is_done()
    }

    fn is_settled(&self) -> bool {
        self.fold.is_settled()
    }

    fn finish(&mut self, deltas: &mut Vec<Delta>) -> Result<Reply, DecodeError> {
        let fold = &mut self.fold;
        match &mut self.frames {
            Reader::Events(parser) => {
                // A cut event at the very end is a truncation, which `close` finds by itself.
                let rest = std::mem::take(parser);
                let left = rest.finish(|event| {
                    if fold.is_done() { Ok(()) } else { fold.event(event.name, event.data, deltas) }
                });
                match left {
                    Err(DecodeError::Malformed { .. }) => return Err(DecodeError::Truncated),
                    other => other?,
                }
            }
            Reader::Whole(body) => {
                if body.is_empty() {
                    return Err(DecodeError::Empty);
                }
                let text = String::from_utf8_lossy(body);
                fold.whole(&text, deltas)?;
            }
            Reader::Amazon(frames) => frames.finish()?,
            // A line without its end is a truncation, which `close` finds by itself.
            Reader::Lines(_) => {}
        }
        self.fold.close(deltas)?;
        Ok(self.fold.reply())
    }

    fn rescue(&mut self) -> Reply {
        self.fold.rescue()
    }
}
