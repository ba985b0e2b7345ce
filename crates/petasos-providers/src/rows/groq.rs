//! Groq: asked only when it is named, since its key often serves other tools.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "groq",
    name: "Groq",
    aliases: &["groqcloud"],
    base_url: "https://api.groq.com/openai/v1",
    key_env: &["GROQ_API_KEY"],
    key_hosts: &["api.groq.com"],
    models_dev_id: Some("groq"),
    ..Row::EMPTY
};
