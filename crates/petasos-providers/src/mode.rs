//! Which dialect an endpoint speaks: one pure function for the resolver, model switches, fallback
//! and side tasks alike.

use serde::{Deserialize, Serialize};

use crate::runtime::BaseUrl;

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

impl ApiMode {
    /// Reads the name used in configuration; unknown names are nothing.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "chat_completions" => Some(Self::ChatCompletions),
            "anthropic_messages" => Some(Self::AnthropicMessages),
            "codex_responses" => Some(Self::CodexResponses),
            "bedrock_converse" => Some(Self::BedrockConverse),
            "codex_app_server" => Some(Self::CodexAppServer),
            _ => None,
        }
    }

    /// The name used in configuration and output.
    pub fn name(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat_completions",
            Self::AnthropicMessages => "anthropic_messages",
            Self::CodexResponses => "codex_responses",
            Self::BedrockConverse => "bedrock_converse",
            Self::CodexAppServer => "codex_app_server",
        }
    }
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

/// What the dialect depends on.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Canonical provider id.
    pub provider: &'a str,
    /// The endpoint.
    pub url: &'a BaseUrl,
    /// The model about to be used; empty when unknown.
    pub model: &'a str,
    /// The dialect saved for this provider or entry.
    pub saved: Option<ApiMode>,
    /// The provider's usual dialect.
    pub usual: ApiMode,
    /// A choice in the configuration that only some providers know.
    pub option: ModeOption,
}

/// Choices that change the dialect of single providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModeOption {
    /// None of them.
    Plain,
    /// `model.openai_runtime: codex_app_server`.
    CodexAppServer,
    /// Bedrock must be asked in Converse: a bearer token cannot sign Messages requests, and
    /// only Converse carries a guardrail in its body.
    BedrockConverse,
    /// The dialect stands in the very entry that is asked, so that it is no left-over.
    OwnEntry,
}

/// The dialect.
pub fn mode(question: &Question<'_>) -> ApiMode {
    let Question { provider, model, .. } = *question;
    let app_server = question.option == ModeOption::CodexAppServer;
    match provider {
        "openai-codex" | "openai-api" if app_server => ApiMode::CodexAppServer,
        "openai-codex" | "xai" | "xai-oauth" => ApiMode::CodexResponses,
        "anthropic" | "minimax-oauth" => ApiMode::AnthropicMessages,
        "nous" | "qwen-oauth" => ApiMode::ChatCompletions,
        "opencode-zen" => by_prefix(model, &["claude-", "qwen"], &["gpt-"]),
        "opencode-go" => by_prefix(model, &["minimax-", "qwen"], &[]),
        "copilot" => copilot(model, question.saved),
        "bedrock" if is_claude(model) && question.option != ModeOption::BedrockConverse => {
            ApiMode::AnthropicMessages
        }
        "bedrock" => ApiMode::BedrockConverse,
        "vertex" if is_claude(model.strip_prefix("anthropic/").unwrap_or(model)) => {
            ApiMode::AnthropicMessages
        }
        "azure-foundry" => azure(question),
        "custom" => custom(question),
        _ => question.saved.or_else(|| of_url(question.url)).unwrap_or_else(|| usual(question)),
    }
}

/// The dialect that an address alone gives away.
pub fn of_url(url: &BaseUrl) -> Option<ApiMode> {
    let path = url.url().path().trim_end_matches('/');
    match url.host() {
        "api.x.ai" | "api.openai.com" => return Some(ApiMode::CodexResponses),
        "api.anthropic.com" => return Some(ApiMode::AnthropicMessages),
        _ => {}
    }
    if path.ends_with("/anthropic") || path.ends_with("/anthropic/v1") {
        return Some(ApiMode::AnthropicMessages);
    }
    if url.host() == "api.kimi.com" && path.contains("/coding") {
        return Some(ApiMode::AnthropicMessages);
    }
    let host = url.host();
    let is_bedrock = host.starts_with("bedrock-runtime.") && host.ends_with(".amazonaws.com");
    is_bedrock.then_some(ApiMode::BedrockConverse)
}

fn usual(question: &Question<'_>) -> ApiMode {
    let path = question.url.url().path().trim_end_matches('/');
    match question.provider {
        // A server that imitates OpenAI nearly always imitates the older of the two protocols.
        "openai-api" if question.url.host() != "api.openai.com" => ApiMode::ChatCompletions,
        "minimax" | "minimax-cn" if path.ends_with("/v1") => ApiMode::ChatCompletions,
        _ => question.usual,
    }
}

fn custom(question: &Question<'_>) -> ApiMode {
    let seen = of_url(question.url);
    match question.saved {
        Some(own) if question.option == ModeOption::OwnEntry => own,
        // Left over from a switch away from OpenAI; other servers answer it with 404.
        Some(ApiMode::CodexResponses) if seen != Some(ApiMode::CodexResponses) => {
            seen.unwrap_or(ApiMode::ChatCompletions)
        }
        Some(saved) => saved,
        None => seen.unwrap_or(ApiMode::ChatCompletions),
    }
}

fn azure(question: &Question<'_>) -> ApiMode {
    let chosen =
        question.saved.or_else(|| of_url(question.url)).unwrap_or(ApiMode::ChatCompletions);
    let model = question.model.to_ascii_lowercase();
    let newer = ["codex", "gpt-5", "o1", "o3", "o4"].iter().any(|prefix| model.starts_with(prefix));
    if chosen == ApiMode::ChatCompletions && newer { ApiMode::CodexResponses } else { chosen }
}

fn copilot(model: &str, saved: Option<ApiMode>) -> ApiMode {
    // The live catalogue may say that a model is served only as Messages; it is saved then.
    if saved == Some(ApiMode::AnthropicMessages) {
        return ApiMode::AnthropicMessages;
    }
    let model = model.to_ascii_lowercase();
    let generation: String = match model.strip_prefix("gpt-") {
        Some(rest) => rest.chars().take_while(char::is_ascii_digit).collect(),
        None => String::new(),
    };
    let recent = generation.parse::<u32>().is_ok_and(|number| number >= 5);
    if recent && !model.starts_with("gpt-5-mini") {
        ApiMode::CodexResponses
    } else {
        ApiMode::ChatCompletions
    }
}

fn by_prefix(model: &str, messages: &[&str], responses: &[&str]) -> ApiMode {
    let model = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let has = |prefixes: &[&str]| prefixes.iter().any(|prefix| model.starts_with(prefix));
    if has(messages) {
        ApiMode::AnthropicMessages
    } else if has(responses) {
        ApiMode::CodexResponses
    } else {
        ApiMode::ChatCompletions
    }
}

fn is_claude(model: &str) -> bool {
    model.contains("anthropic.claude") || model.starts_with("claude")
}

/// The transport for a dialect at an endpoint. `asked` is the saved dialect as written, so that a
/// server which imitates Gemini can be named.
pub fn wire(provider: &str, mode: ApiMode, url: &BaseUrl, asked: Option<&str>) -> Wire {
    match (provider, mode) {
        ("copilot-acp", _) => return Wire::CopilotAcp,
        ("moa", _) => return Wire::Virtual,
        (_, ApiMode::AnthropicMessages) => return Wire::AnthropicMessages,
        (_, ApiMode::CodexResponses) => return Wire::CodexResponses,
        (_, ApiMode::BedrockConverse) => return Wire::BedrockConverse,
        (_, ApiMode::CodexAppServer) => return Wire::CodexAppServer,
        (_, ApiMode::ChatCompletions) => {}
    }
    let compatible = url.url().path().trim_end_matches('/').ends_with("/openai");
    let google = url.host() == "generativelanguage.googleapis.com" && !compatible;
    let named = asked.is_some_and(|text| matches!(text.trim(), "gemini" | "gemini_native"));
    if google || named { Wire::Gemini } else { Wire::ChatCompletions }
}

/// The endpoint as the dialect's client expects it: some providers keep their dialects at
/// different paths.
pub fn settled(provider: &str, mode: ApiMode, url: &BaseUrl) -> BaseUrl {
    let text = url.as_str();
    let stem = text.strip_suffix("/v1").unwrap_or(text);
    let messages = mode == ApiMode::AnthropicMessages;
    match provider {
        "lmstudio" => {
            let stem = stem.strip_suffix("/api").unwrap_or(stem);
            url.with_text(&format!("{stem}/v1"))
        }
        // Claude is published beside the endpoint that imitates OpenAI.
        "vertex" if messages => match text.strip_suffix("/endpoints/openapi") {
            Some(place) => url.with_text(&format!("{place}/publishers/anthropic/models")),
            None => url.clone(),
        },
        // People know the host of their account; the path is the vendor's.
        "databricks" if is_bare(url) => url.with_text(&format!("{text}/serving-endpoints")),
        "snowflake" if is_bare(url) => url.with_text(&format!("{text}/api/v2/cortex/v1")),
        _ if messages => url.with_text(stem),
        "opencode-zen" | "opencode-go" => url.with_text(&format!("{stem}/v1")),
        _ => url.clone(),
    }
}

fn is_bare(url: &BaseUrl) -> bool {
    url.url().path().trim_matches('/').is_empty()
}

#[cfg(test)]
mod tests;
