//! Anthropic Messages, at its own host, at those who imitate it, and inside Amazon Bedrock.
//!
//! The request side is in `request`, what is replayed of thinking in `thinking`, the answer side
//! in `fold`, what Amazon does differently in `bedrock`.

mod bedrock;
mod fold;
mod request;
mod thinking;
mod vertex;

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
        ("AccessDeniedException", Reason::Auth),
        ("UnrecognizedClientException", Reason::Auth),
        ("ExpiredTokenException", Reason::Auth),
        ("InvalidSignatureException", Reason::Auth),
        ("ThrottlingException", Reason::RateLimit),
        ("ServiceQuotaExceededException", Reason::RateLimit),
        ("ServiceUnavailableException", Reason::Overloaded),
        ("ModelNotReadyException", Reason::Overloaded),
        ("ModelTimeoutException", Reason::Timeout),
        ("ModelStreamErrorException", Reason::ServerError),
        ("InternalServerException", Reason::ServerError),
        ("ResourceNotFoundException", Reason::ModelNotFound),
    ],
    takes: &["top_p", "stop"],
    encode: request::encode,
    decoder: |target, framing| Framed::boxed(fold::Messages::new(target), framing),
    program: None,
};
