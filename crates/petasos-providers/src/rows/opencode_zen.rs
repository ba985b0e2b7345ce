//! OpenCode Zen.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "opencode-zen",
    name: "OpenCode Zen",
    aliases: &["opencode", "opencode_zen", "zen"],
    base_url: "https://opencode.ai/zen/v1",
    base_url_env: &["OPENCODE_ZEN_BASE_URL"],
    key_env: &["OPENCODE_ZEN_API_KEY"],
    key_hosts: &["opencode.ai"],
    aggregator: true,
    rank: Some(18),
    models_dev_id: Some("opencode"),
    default_model: Some("kimi-k2.5"),
    aux_model: Some("gemini-3-flash"),
    ..Row::EMPTY
};
