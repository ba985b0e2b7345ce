//! What a dialect is: a pure translation of prompts into requests and of bytes into replies.
//!
//! No transport sees a socket, a clock or a secret. [`Target`] says where a request goes and with
//! which repairs; the credential is attached later by the HTTP layer. Members live in `transports/`, one file per dialect.

pub mod assemble;
pub mod decode;
pub mod eventstream;
pub mod history;
pub mod ids;
pub mod images;
pub mod lines;
pub mod node;
pub mod program;
pub mod target;
pub mod think;
pub mod transcript;

use petasos_contract::id::ToolName;
use petasos_contract::model::{Prompt, Reason};

use crate::mode::Wire;
use crate::transports::TRANSPORTS;

pub use decode::{DecodeError, Decoder, Framing};
pub use program::Program;
pub use target::{Repair, Target};

/// A dialect, as its file declares it.
#[derive(Debug)]
pub struct TransportDef {
    /// Which one.
    pub wire: Wire,
    /// The word in `api_mode` and in the golden folder.
    pub name: &'static str,
    /// Error codes and types that mean the same whatever the status says.
    pub codes: &'static [(&'static str, Reason)],
    /// Which of [`Prompt::extra`] it has a word for.
    pub takes: &'static [&'static str],
    /// Writes a request.
    pub encode: fn(&Prompt, &Target) -> Result<WireRequest, EncodeError>,
    /// Reads an answer in the given framing.
    pub decoder: fn(&Target, Framing) -> Box<dyn Decoder>,
    /// How to talk, where the other side is a program and not an address.
    pub program: Option<&'static Program>,
}

/// A request that only lacks its credential.
#[derive(Debug, Clone)]
pub struct WireRequest {
    /// Where it goes; always below the target's base address.
    pub url: String,
    /// Headers in order, without the credential.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The tools that are offered, in the order sent: errors point at their places.
    pub offered: Vec<ToolName>,
    /// Tools that were left out, and why.
    pub quarantined: Vec<Quarantined>,
}

/// A tool that a provider is not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// The tool.
    pub tool: ToolName,
    /// Why.
    pub why: String,
}

/// Why a prompt has no form in a dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// There is nothing to answer.
    #[error("the prompt has no message; add at least one")]
    Empty,
    /// The dialect cannot hold an answer to a shape.
    #[error(
        "this dialect cannot hold the answer to a schema; offer a tool with that schema instead"
    )]
    Answer,
    /// A body part is no JSON; only a corrupt store can cause it.
    #[error("a stored provider block is not JSON: {0}; drop it from the history")]
    Block(String),
    /// The body cannot be written.
    #[error("the request body cannot be written: {0}")]
    Body(String),
}

/// The transport of a dialect; none for the mixture, which has no wire of its own.
pub fn of(wire: Wire) -> Option<&'static TransportDef> {
    TRANSPORTS.iter().find(|transport| transport.wire == wire).copied()
}
