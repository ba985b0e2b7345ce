//! Which dialect an endpoint speaks.

use serde::{Deserialize, Serialize};

/// The dialect as configuration and status output name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiMode {
    /// OpenAI chat completions.
    ChatCompletions,
    /// Anthropic Messages.
    AnthropicMessages,
    /// OpenAI Responses.
    CodexResponses,
    /// AWS Bedrock Converse.
    BedrockConverse,
    /// An external Codex process.
    CodexAppServer,
}

/// The transport that serves a runtime. Finer than [`ApiMode`]: Gemini's own protocol and the
/// Copilot process hide behind `chat_completions` in configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// OpenAI chat completions over HTTP.
    ChatCompletions,
    /// Anthropic Messages over HTTP.
    AnthropicMessages,
    /// OpenAI Responses over HTTP.
    CodexResponses,
    /// AWS Bedrock Converse over HTTP.
    BedrockConverse,
    /// Gemini `generateContent` over HTTP.
    Gemini,
    /// An external Codex process over stdio.
    CodexAppServer,
    /// The Copilot ACP process over stdio.
    CopilotAcp,
    /// The mixture of agents: no endpoint of its own.
    Virtual,
}
