//! Upstage Solar.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "upstage",
    name: "Upstage Solar",
    aliases: &["solar"],
    base_url: "https://api.upstage.ai/v1",
    base_url_env: &["UPSTAGE_BASE_URL"],
    key_env: &["UPSTAGE_API_KEY"],
    key_hosts: &["api.upstage.ai"],
    rank: Some(29),
    reasoning_field: Some("reasoning_effort"),
    ..Row::EMPTY
};
