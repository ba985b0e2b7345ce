//! xAI.

use crate::mode::ApiMode;
use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "xai",
    name: "xAI",
    aliases: &["grok", "x-ai", "x.ai"],
    api_mode: ApiMode::CodexResponses,
    base_url: "https://api.x.ai/v1",
    base_url_env: &["XAI_BASE_URL"],
    key_env: &["XAI_API_KEY"],
    key_hosts: &["api.x.ai"],
    rank: Some(16),
    models_dev_id: Some("xai"),
    default_model: Some("grok-build-0.1"),
    reasoning_field: Some("reasoning (some models)"),
    ..Row::EMPTY
};
