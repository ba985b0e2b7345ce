//! Fireworks AI.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "fireworks",
    name: "Fireworks AI",
    aliases: &["fireworks-ai", "fw"],
    base_url: "https://api.fireworks.ai/inference/v1",
    key_env: &["FIREWORKS_API_KEY"],
    key_hosts: &["api.fireworks.ai"],
    rank: Some(27),
    models_dev_id: Some("fireworks-ai"),
    aux_model: Some("accounts/fireworks/models/glm-5p2"),
    ..Row::EMPTY
};
