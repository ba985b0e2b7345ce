//! Xiaomi MiMo.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "xiaomi",
    name: "Xiaomi MiMo",
    aliases: &["mimo", "xiaomi-mimo"],
    base_url: "https://api.xiaomimimo.com/v1",
    base_url_env: &["XIAOMI_BASE_URL"],
    key_env: &["XIAOMI_API_KEY"],
    key_hosts: &["api.xiaomimimo.com"],
    rank: Some(22),
    models_dev_id: Some("xiaomi"),
    default_model: Some("mimo-v2.5-pro"),
    vision_model: Some("mimo-v2.5"),
    ..Row::EMPTY
};
