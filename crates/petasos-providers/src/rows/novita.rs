//! NovitaAI.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "novita",
    name: "NovitaAI",
    aliases: &["novita-ai", "novitaai"],
    base_url: "https://api.novita.ai/openai/v1",
    base_url_env: &["NOVITA_BASE_URL"],
    key_env: &["NOVITA_API_KEY"],
    key_hosts: &["api.novita.ai"],
    aggregator: true,
    rank: Some(28),
    models_dev_id: Some("novita-ai"),
    default_model: Some("moonshotai/kimi-k2.5"),
    aux_model: Some("deepseek/deepseek-v3-0324"),
    ..Row::EMPTY
};
