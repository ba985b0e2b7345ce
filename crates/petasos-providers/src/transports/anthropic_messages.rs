//! Anthropic Messages, at its own host and at those who imitate it.
//!
//! The request side is in `request`, what is replayed of thinking in `thinking`, the answer side
//! in `fold`.

mod fold;
mod request;
mod thinking;

use petasos_contract::model::Reason;

use crate::mode::Wire;
use crate::transport::TransportDef;
use crate::transport::decode::Framed;

/// The dialect.
pub(super) static TRANSPORT: TransportDef = TransportDef {
    wire: Wire::AnthropicMessages,
    name: "anthropic_messages",
    codes: &[
        ("authentication_error", Reason::Auth),
        ("permission_error", Reason::Auth),
        ("billing_error", Reason::Billing),
        ("not_found_error", Reason::ModelNotFound),
        ("request_too_large", Reason::PayloadTooLarge),
        ("rate_limit_error", Reason::RateLimit),
        ("timeout_error", Reason::Timeout),
        ("overloaded_error", Reason::Overloaded),
        ("api_error", Reason::ServerError),
    ],
    encode: request::encode,
    decoder: |target, framing| Framed::boxed(fold::Messages::new(target), framing),
};
