//! Hugging Face.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "huggingface",
    name: "Hugging Face",
    aliases: &["hf", "hugging-face", "huggingface-hub"],
    base_url: "https://router.huggingface.co/v1",
    base_url_env: &["HF_BASE_URL"],
    key_env: &["HF_TOKEN"],
    key_hosts: &["router.huggingface.co"],
    aggregator: true,
    rank: Some(21),
    models_dev_id: Some("huggingface"),
    default_model: Some("moonshotai/Kimi-K2.5"),
    ..Row::EMPTY
};
