//! Kilo Code.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "kilocode",
    name: "Kilo Code",
    aliases: &["kilo", "kilo-code", "kilo-gateway"],
    base_url: "https://api.kilo.ai/api/gateway",
    base_url_env: &["KILOCODE_BASE_URL"],
    key_env: &["KILOCODE_API_KEY"],
    key_hosts: &["api.kilo.ai"],
    aggregator: true,
    rank: Some(20),
    models_dev_id: Some("kilo"),
    default_model: Some("anthropic/claude-opus-4.6"),
    aux_model: Some("google/gemini-3-flash-preview"),
    ..Row::EMPTY
};
