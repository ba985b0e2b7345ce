//! GMI Cloud.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "gmi",
    name: "GMI Cloud",
    aliases: &["gmi-cloud", "gmicloud"],
    base_url: "https://api.gmi-serving.com/v1",
    base_url_env: &["GMI_BASE_URL"],
    key_env: &["GMI_API_KEY"],
    key_hosts: &["api.gmi-serving.com"],
    rank: Some(9),
    default_model: Some("zai-org/GLM-5.1-FP8"),
    aux_model: Some("google/gemini-3.1-flash-lite-preview"),
    ..Row::EMPTY
};
