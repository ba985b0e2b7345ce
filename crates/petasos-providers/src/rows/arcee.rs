//! Arcee AI.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "arcee",
    name: "Arcee AI",
    aliases: &["arcee-ai", "arceeai"],
    base_url: "https://api.arcee.ai/api/v1",
    base_url_env: &["ARCEE_BASE_URL"],
    key_env: &["ARCEEAI_API_KEY"],
    key_hosts: &["api.arcee.ai"],
    rank: Some(8),
    default_model: Some("trinity-large-thinking"),
    ..Row::EMPTY
};
