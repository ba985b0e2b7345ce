//! OpenAI Codex.

use crate::mode::ApiMode;
use crate::row::{Auth, Row};

pub(super) const ROW: Row = Row {
    id: "openai-codex",
    name: "OpenAI Codex",
    aliases: &["codex", "openai_codex"],
    auth: Auth::External,
    api_mode: ApiMode::CodexResponses,
    base_url: "https://chatgpt.com/backend-api/codex",
    base_url_env: &["HERMES_CODEX_BASE_URL"],
    key_hosts: &["chatgpt.com"],
    token_hosts: &["auth.openai.com"],
    models_dev_id: Some("openai"),
    default_model: Some("gpt-5.6-sol"),
    reasoning_field: Some("reasoning"),
    ..Row::EMPTY
};
