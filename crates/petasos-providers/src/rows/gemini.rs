//! Google AI Studio.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "gemini",
    name: "Google AI Studio",
    aliases: &["google", "google-ai-studio", "google-gemini"],
    base_url: "https://generativelanguage.googleapis.com/v1beta",
    base_url_env: &["GEMINI_BASE_URL"],
    key_env: &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
    key_hosts: &["generativelanguage.googleapis.com"],
    rank: Some(3),
    models_dev_id: Some("google"),
    default_model: Some("gemini-3.1-pro-preview"),
    aux_model: Some("gemini-3.5-flash"),
    reasoning_field: Some("thinking_config"),
    ..Row::EMPTY
};
