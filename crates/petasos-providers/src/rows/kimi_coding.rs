//! Kimi / Moonshot.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "kimi-coding",
    name: "Kimi / Moonshot",
    aliases: &["kimi", "kimi-for-coding", "moonshot"],
    base_url: "https://api.moonshot.ai/v1",
    base_url_env: &["KIMI_BASE_URL"],
    key_env: &["KIMI_API_KEY", "KIMI_CODING_API_KEY"],
    key_hosts: &["api.moonshot.ai", "api.kimi.com"],
    rank: Some(5),
    models_dev_id: Some("kimi-for-coding"),
    default_model: Some("kimi-k3"),
    aux_model: Some("kimi-k2-turbo-preview"),
    reasoning_field: Some("thinking xor reasoning_effort"),
    default_max_tokens: Some(32_000),
    headers: &[("User-Agent", "hermes-agent/1.0")],
    ..Row::EMPTY
};
