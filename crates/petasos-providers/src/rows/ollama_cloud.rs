//! Ollama Cloud.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "ollama-cloud",
    name: "Ollama Cloud",
    aliases: &["ollama_cloud"],
    base_url: "https://ollama.com/v1",
    base_url_env: &["OLLAMA_BASE_URL"],
    key_env: &["OLLAMA_API_KEY"],
    key_hosts: &["ollama.com"],
    rank: Some(24),
    models_dev_id: Some("ollama-cloud"),
    aux_model: Some("nemotron-3-nano:30b"),
    reasoning_field: Some("reasoning_effort"),
    ..Row::EMPTY
};
