//! Cohere: asked only when it is named, since its key often serves other tools.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "cohere",
    name: "Cohere",
    aliases: &["cohere-ai"],
    base_url: "https://api.cohere.ai/compatibility/v1",
    key_env: &["COHERE_API_KEY"],
    key_hosts: &["api.cohere.ai", "api.cohere.com"],
    models_dev_id: Some("cohere"),
    ..Row::EMPTY
};
