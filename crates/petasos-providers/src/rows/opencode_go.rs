//! OpenCode Go.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "opencode-go",
    name: "OpenCode Go",
    aliases: &["go", "opencode-go-sub", "opencode_go"],
    base_url: "https://opencode.ai/zen/go/v1",
    base_url_env: &["OPENCODE_GO_BASE_URL"],
    key_env: &["OPENCODE_GO_API_KEY"],
    key_hosts: &["opencode.ai"],
    aggregator: true,
    rank: Some(19),
    models_dev_id: Some("opencode-go"),
    default_model: Some("kimi-k3"),
    aux_model: Some("glm-5"),
    ..Row::EMPTY
};
