//! Anthropic.

use crate::mode::ApiMode;
use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "anthropic",
    name: "Anthropic",
    aliases: &["claude", "claude-code", "claude-oauth"],
    api_mode: ApiMode::AnthropicMessages,
    base_url: "https://api.anthropic.com",
    base_url_env: &["ANTHROPIC_BASE_URL"],
    key_env: &["ANTHROPIC_API_KEY", "ANTHROPIC_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    key_hosts: &["api.anthropic.com", "*.anthropic.com", "*.claude.com"],
    token_hosts: &["platform.claude.com", "console.anthropic.com", "claude.ai"],
    rank: Some(11),
    models_dev_id: Some("anthropic"),
    default_model: Some("claude-fable-5"),
    aux_model: Some("claude-haiku-4-5-20251001"),
    reasoning_field: Some("thinking/output_config"),
    ..Row::EMPTY
};
