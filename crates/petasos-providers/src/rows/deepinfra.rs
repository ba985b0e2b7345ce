//! DeepInfra.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "deepinfra",
    name: "DeepInfra",
    aliases: &["deep-infra", "deepinfra-ai"],
    base_url: "https://api.deepinfra.com/v1/openai",
    base_url_env: &["DEEPINFRA_BASE_URL"],
    key_env: &["DEEPINFRA_API_KEY"],
    key_hosts: &["api.deepinfra.com"],
    rank: Some(26),
    aux_model: Some("deepseek-ai/DeepSeek-V4-Flash"),
    ..Row::EMPTY
};
