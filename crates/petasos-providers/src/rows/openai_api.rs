//! OpenAI API.

use crate::mode::ApiMode;
use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "openai-api",
    name: "OpenAI API",
    aliases: &["openai"],
    api_mode: ApiMode::CodexResponses,
    base_url: "https://api.openai.com/v1",
    base_url_env: &["OPENAI_BASE_URL"],
    key_env: &["OPENAI_API_KEY"],
    key_hosts: &["api.openai.com"],
    rank: Some(2),
    models_dev_id: Some("openai"),
    default_model: Some("gpt-5.6-sol"),
    reasoning_field: Some("reasoning"),
    ..Row::EMPTY
};
