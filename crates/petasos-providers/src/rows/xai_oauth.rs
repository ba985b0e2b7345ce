//! xAI Grok OAuth (SuperGrok / Premium+).

use crate::mode::ApiMode;
use crate::row::{Auth, Row};

pub(super) const ROW: Row = Row {
    id: "xai-oauth",
    name: "xAI Grok OAuth (SuperGrok / Premium+)",
    aliases: &["grok-oauth", "x-ai-oauth", "xai-grok-oauth"],
    auth: Auth::External,
    api_mode: ApiMode::CodexResponses,
    base_url: "https://api.x.ai/v1",
    base_url_env: &["HERMES_XAI_BASE_URL", "XAI_BASE_URL"],
    key_hosts: &["*.x.ai"],
    token_hosts: &["auth.x.ai"],
    models_dev_id: Some("xai"),
    default_model: Some("grok-build-0.1"),
    reasoning_field: Some("reasoning (some models)"),
    ..Row::EMPTY
};
