//! OpenAI chat completions, and the many servers that imitate it.
//!
//! The request side is in `request`, what each provider wants to hear about reasoning in
//! `reasoning`, the answer side in `fold`.

mod fold;
mod reasoning;
mod request;

use petasos_contract::model::Reason;

use crate::mode::Wire;
use crate::transport::TransportDef;
use crate::transport::decode::Framed;

/// The dialect.
pub(super) static TRANSPORT: TransportDef = TransportDef {
    wire: Wire::ChatCompletions,
    name: "chat_completions",
    codes: &[
        ("insufficient_quota", Reason::Billing),
        ("billing_hard_limit_reached", Reason::Billing),
        ("context_length_exceeded", Reason::ContextOverflow),
        ("exceed_context_size_error", Reason::ContextOverflow),
        ("string_above_max_length", Reason::ContextOverflow),
        ("model_not_found", Reason::ModelNotFound),
        ("invalid_api_key", Reason::Auth),
        ("rate_limit_exceeded", Reason::RateLimit),
        ("content_filter", Reason::ContentPolicy),
        ("content_policy_violation", Reason::ContentPolicy),
        ("unsupported_parameter", Reason::UnsupportedParameter),
        ("unsupported_value", Reason::UnsupportedParameter),
        ("invalid_function_parameters", Reason::ToolSchema),
        ("server_error", Reason::ServerError),
    ],
    takes: &["top_p", "stop", "seed", "response_format"],
    encode: request::encode,
    decoder: |target, framing| Framed::boxed(fold::Chat::new(target), framing),
    program: None,
};
