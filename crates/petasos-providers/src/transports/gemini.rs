//! Google's generateContent.
//!
//! Hidden behind `chat_completions` in configuration; thought signatures travel with their calls.

mod fold;
mod request;

use petasos_contract::model::Reason;

use crate::mode::Wire;
use crate::transport::TransportDef;
use crate::transport::decode::Framed;

/// The dialect.
pub(super) static TRANSPORT: TransportDef = TransportDef {
    wire: Wire::Gemini,
    name: "gemini",
    codes: &[
        ("UNAUTHENTICATED", Reason::Auth),
        ("API_KEY_INVALID", Reason::Auth),
        ("PERMISSION_DENIED", Reason::Auth),
        ("RESOURCE_EXHAUSTED", Reason::RateLimit),
        ("NOT_FOUND", Reason::ModelNotFound),
        ("UNAVAILABLE", Reason::Overloaded),
        ("DEADLINE_EXCEEDED", Reason::Timeout),
        ("INTERNAL", Reason::ServerError),
    ],
    takes: &["top_p", "stop", "seed"],
    encode: request::encode,
    decoder: |target, framing| Framed::boxed(fold::Generated::new(target), framing),
    program: None,
};
