//! Google Vertex AI.

use crate::row::{Auth, Row};

pub(super) const ROW: Row = Row {
    id: "vertex",
    name: "Google Vertex AI",
    aliases: &["gcp-vertex", "google-vertex", "vertex-ai", "vertexai"],
    auth: Auth::Vertex,
    base_url: "https://aiplatform.googleapis.com",
    key_hosts: &["aiplatform.googleapis.com"],
    token_hosts: &["oauth2.googleapis.com"],
    aux_model: Some("google/gemini-3-flash-preview"),
    ..Row::EMPTY
};
