//! Vercel AI Gateway.

use crate::row::Row;

pub(super) const ROW: Row = Row {
    id: "ai-gateway",
    name: "Vercel AI Gateway",
    aliases: &["ai_gateway", "aigateway", "vercel", "vercel-ai-gateway"],
    base_url: "https://ai-gateway.vercel.sh/v1",
    base_url_env: &["AI_GATEWAY_BASE_URL"],
    key_env: &["AI_GATEWAY_API_KEY"],
    key_hosts: &["ai-gateway.vercel.sh"],
    aggregator: true,
    models_dev_id: Some("vercel"),
    aux_model: Some("google/gemini-3-flash"),
    reasoning_field: Some("extra_body.reasoning"),
    headers: &[("HTTP-Referer", "https://github.com/petasos/petasos"), ("X-Title", "Petasos")],
    ..Row::EMPTY
};
