//! OpenAI Responses: the public API, the Codex backend, xAI and Copilot.

mod fold;
mod request;

use petasos_contract::model::Reason;

use crate::mode::Wire;
use crate::transport::TransportDef;
use crate::transport::decode::Framed;

/// The dialect.
pub(super) static TRANSPORT: TransportDef = TransportDef {
    wire: Wire::CodexResponses,
    name: "codex_responses",
    codes: &[
        ("insufficient_quota", Reason::Billing),
        ("usage_limit_reached", Reason::RateLimit),
        ("usage_not_included", Reason::Billing),
        ("context_length_exceeded", Reason::ContextOverflow),
        ("model_not_found", Reason::ModelNotFound),
        ("invalid_api_key", Reason::Auth),
        ("token_expired", Reason::Auth),
        ("rate_limit_exceeded", Reason::RateLimit),
        ("invalid_encrypted_content", Reason::EncryptedReasoning),
        ("invalid_function_parameters", Reason::ToolSchema),
        ("unsupported_parameter", Reason::UnsupportedParameter),
        ("content_policy_violation", Reason::ContentPolicy),
        ("server_is_overloaded", Reason::Overloaded),
        ("slow_down", Reason::Overloaded),
        ("server_error", Reason::ServerError),
    ],
    takes: &["top_p", "response_format"],
    encode: request::encode,
    decoder: |target, framing| Framed::boxed(fold::Responses::new(target), framing),
    program: None,
};
