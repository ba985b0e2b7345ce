//! Kimi / Moonshot (China).

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "kimi-coding-cn",
    name: "Kimi / Moonshot (China)",
    aliases: &["kimi-cn", "moonshot-cn"],
    base_url: "https://api.moonshot.cn/v1",
    key_env: &["KIMI_CN_API_KEY"],
    key_hosts: &["api.moonshot.cn"],
    rank: Some(6),
    models_dev_id: Some("kimi-for-coding"),
    default_model: Some("kimi-k3"),
    aux_model: Some("kimi-k2-turbo-preview"),
    reasoning_field: Some("thinking xor reasoning_effort"),
    default_max_tokens: Some(32_000),
    headers: &[("User-Agent", "hermes-agent/1.0")],
    ..Row::EMPTY
};
