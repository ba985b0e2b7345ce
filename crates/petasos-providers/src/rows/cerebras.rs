//! Cerebras: asked only when it is named, since its key often serves other tools.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "cerebras",
    name: "Cerebras",
    aliases: &["cerebras-ai"],
    base_url: "https://api.cerebras.ai/v1",
    key_env: &["CEREBRAS_API_KEY"],
    key_hosts: &["api.cerebras.ai"],
    models_dev_id: Some("cerebras"),
    ..Row::EMPTY
};
