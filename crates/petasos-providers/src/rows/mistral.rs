//! Mistral AI: asked only when it is named, since its key often serves other tools.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "mistral",
    name: "Mistral AI",
    aliases: &["mistral-ai", "mistralai"],
    base_url: "https://api.mistral.ai/v1",
    key_env: &["MISTRAL_API_KEY"],
    key_hosts: &["api.mistral.ai"],
    models_dev_id: Some("mistral"),
    ..Row::EMPTY
};
