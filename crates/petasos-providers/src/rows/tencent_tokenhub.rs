//! Tencent TokenHub.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "tencent-tokenhub",
    name: "Tencent TokenHub",
    aliases: &["tencent", "tencent-cloud", "tencentmaas", "tokenhub"],
    base_url: "https://tokenhub.tencentmaas.com/v1",
    base_url_env: &["TOKENHUB_BASE_URL"],
    key_env: &["TOKENHUB_API_KEY"],
    key_hosts: &["tokenhub.tencentmaas.com"],
    rank: Some(23),
    default_model: Some("hy3-preview"),
    aux_model: Some("hy3-preview"),
    ..Row::EMPTY
};
