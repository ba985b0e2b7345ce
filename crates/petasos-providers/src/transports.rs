//! Index of the dialects. Kept in step with the folder by the build; do not edit.

mod anthropic_messages;
mod bedrock_converse;
mod chat_completions;
mod codex_app_server;
mod codex_responses;
mod copilot_acp;
mod gemini;

use crate::transport::TransportDef;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static TRANSPORTS: &[&TransportDef] = &[
    &anthropic_messages::TRANSPORT,
    &bedrock_converse::TRANSPORT,
    &chat_completions::TRANSPORT,
    &codex_app_server::TRANSPORT,
    &codex_responses::TRANSPORT,
    &copilot_acp::TRANSPORT,
    &gemini::TRANSPORT,
];
