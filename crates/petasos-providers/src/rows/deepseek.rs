//! DeepSeek.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "deepseek",
    name: "DeepSeek",
    aliases: &["deep-seek", "deepseek-chat"],
    base_url: "https://api.deepseek.com/v1",
    base_url_env: &["DEEPSEEK_BASE_URL"],
    key_env: &["DEEPSEEK_API_KEY"],
    key_hosts: &["api.deepseek.com"],
    rank: Some(15),
    models_dev_id: Some("deepseek"),
    default_model: Some("deepseek-v4-pro"),
    aux_model: Some("deepseek-chat"),
    reasoning_field: Some("thinking + reasoning_effort"),
    ..Row::EMPTY
};
