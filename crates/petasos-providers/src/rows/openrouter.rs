//! OpenRouter.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "openrouter",
    name: "OpenRouter",
    aliases: &["or"],
    base_url: "https://openrouter.ai/api/v1",
    base_url_env: &["OPENROUTER_BASE_URL"],
    key_env: &["OPENROUTER_API_KEY"],
    key_hosts: &["openrouter.ai", "*.openrouter.ai"],
    aggregator: true,
    rank: Some(1),
    models_dev_id: Some("openrouter"),
    default_model: Some("z-ai/glm-5.2"),
    aux_model: Some("google/gemini-3-flash-preview"),
    reasoning_field: Some("extra_body.reasoning"),
    headers: &[
        ("HTTP-Referer", "https://github.com/petasos/petasos"),
        ("X-Title", "Petasos"),
        ("X-OpenRouter-Categories", "cli-agent"),
    ],
    ..Row::EMPTY
};
