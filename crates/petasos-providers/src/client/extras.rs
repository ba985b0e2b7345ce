//! What the configuration adds to requests to some providers: tiers, routing, caches, windows.
//!
//! Each is sent only where the provider documents it; an endpoint that does not know a field would
//! refuse the whole request.

use petasos_contract::Settings;
use petasos_contract::model::CacheTtl;
use serde_json::{Map, Value, json};
use url::Url;

use crate::mode::Wire;
use crate::runtime::ProviderRuntime;
use crate::transport::target::Cache;

/// Body fields for a model at a resolved provider.
pub(super) fn body(
    runtime: &ProviderRuntime,
    model: &str,
    settings: &Settings,
) -> Map<String, Value> {
    let mut body = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    };
    match runtime.provider.as_str() {
        "openai-api" | "openai-codex" => put("service_tier", service_tier(settings)),
        "anthropic" if is_fast(settings) && has_fast_mode(runtime.base_url.url(), model) => {
            put("speed", Some(json!("fast")));
        }
        "openrouter" => {
            let routing = settings.get("provider_routing").filter(|value| is_filled(value));
            put("provider", routing.cloned());
            let score = settings.get("openrouter.min_coding_score").and_then(Value::as_f64);
            let score = score.filter(|_| model == "openrouter/pareto-code");
            put(
                "plugins",
                score.map(|score| json!([{"id": "pareto-router", "min_coding_score": score}])),
            );
        }
        "custom" if runtime.wire == Wire::ChatCompletions => {
            let window = settings.get("model.ollama_num_ctx").and_then(Value::as_u64);
            put("options", window.map(|window| json!({"num_ctx": window})));
        }
        _ => {}
    }
    body
}

/// Headers for a resolved provider.
pub(super) fn headers(runtime: &ProviderRuntime, settings: &Settings) -> Vec<(String, String)> {
    let cached = settings.get("openrouter.response_cache") == Some(&Value::Bool(true));
    if runtime.provider != "openrouter" || !cached {
        return Vec::new();
    }
    let seconds = settings.get("openrouter.response_cache_ttl").and_then(Value::as_f64);
    let seconds = seconds.filter(|seconds| *seconds >= 1.0).unwrap_or(300.0);
    vec![
        ("x-openrouter-cache".to_owned(), "true".to_owned()),
        ("x-openrouter-cache-ttl".to_owned(), format!("{seconds:.0}")),
    ]
}

/// Whether and for how long the prefix is marked for the provider's cache.
pub(super) fn cache(settings: &Settings) -> Cache {
    if settings.get("prompt_caching.enabled") == Some(&Value::Bool(false)) {
        return Cache::Off;
    }
    match settings.text("prompt_caching.cache_ttl").map(str::trim) {
        Some("1h") => Cache::For(CacheTtl::OneHour),
        _ => Cache::AsAsked,
    }
}

/// Whether the fast tier is asked for.
fn is_fast(settings: &Settings) -> bool {
    matches!(settings.text("agent.service_tier").map(str::trim), Some("fast" | "priority"))
}

/// Only one of Anthropic's models has a fast mode, and only at Anthropic itself: anywhere else the
/// whole request would be refused.
fn has_fast_mode(address: &Url, model: &str) -> bool {
    let bare = model.strip_prefix("anthropic/").unwrap_or(model).replace('.', "-");
    address.host_str() == Some("api.anthropic.com") && bare.starts_with("claude-opus-4-6")
}

/// `fast` is what people call the tier that OpenAI names `priority`.
fn service_tier(settings: &Settings) -> Option<Value> {
    let tier = settings.text("agent.service_tier")?.trim();
    match tier {
        "" | "normal" | "none" => None,
        "fast" => Some(json!("priority")),
        tier => Some(json!(tier)),
    }
}

fn is_filled(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| !fields.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_mode_is_asked_of_the_model_that_has_it_at_its_own_host() {
        let at = |address: &str, model: &str| has_fast_mode(&Url::parse(address).unwrap(), model);
        assert!(at("https://api.anthropic.com", "claude-opus-4-6"));
        assert!(at("https://api.anthropic.com/v1", "anthropic/claude-opus-4.6"));
        assert!(!at("https://api.anthropic.com", "claude-sonnet-4-6"));
        assert!(!at("https://api.anthropic.com.example.org", "claude-opus-4-6"));
        assert!(!at("http://127.0.0.1:9/anthropic", "claude-opus-4-6"));
    }
}
