//! How long a model may be silent.
//!
//! Larger prompts, local machines and models that think get more patience; what the user wrote
//! for an endpoint beats all of it.

use std::time::Duration;

use petasos_contract::Settings;

use crate::runtime::ProviderRuntime;

/// The spans of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// The whole answer.
    pub whole: Duration,
    /// The first byte.
    pub first_byte: Duration,
    /// Between two bytes.
    pub idle: Duration,
}

/// Patience by the start of a model's name, in seconds; the longest match wins.
const FLOORS: [(&str, u64); 24] = [
    ("nemotron-3-ultra", 600),
    ("nemotron-3-super", 600),
    ("deepseek-r1", 600),
    ("deepseek-reasoner", 600),
    ("deepseek-v4-flash", 600),
    ("deepseek-v4-pro", 600),
    ("o1", 600),
    ("o3", 600),
    ("o3-pro", 600),
    ("nemotron-3-nano", 300),
    ("qwq-32b", 300),
    ("o3-mini", 300),
    ("o4-mini", 300),
    ("grok-4-fast-reasoning", 300),
    ("grok-4-20-reasoning", 300),
    ("grok-4-5", 300),
    ("claude-opus-4", 240),
    ("qwen3", 180),
    ("claude-sonnet-5", 180),
    ("claude-sonnet-4-5", 180),
    ("claude-sonnet-4-6", 180),
    ("grok-4-fast-non-reasoning", 180),
    ("o1-pro", 600),
    ("o1-mini", 600),
];

/// The spans for a prompt of this size.
pub fn of(runtime: &ProviderRuntime, model: &str, tokens: u64, settings: &Settings) -> Timeouts {
    let written = |name: &str| {
        let text = settings.role(name)?.value.expose().trim().to_owned();
        text.parse().ok().and_then(crate::fallback::seconds)
    };
    let own = |number: Option<f64>| number.and_then(crate::fallback::seconds);
    let is_local = runtime.base_url.origin().is_some_and(|origin| origin.is_loopback());
    let by_size = match (runtime.provider.as_str(), tokens) {
        ("openai-codex", 100_001..) => 1_200,
        ("openai-codex", 50_001..) => 900,
        ("openai-codex", _) => 600,
        (_, 100_001..) => 300,
        (_, 50_001..) => 240,
        _ => 180,
    };
    let usual = if is_local {
        written("LOCAL_STREAM_STALE_TIMEOUT").unwrap_or(Duration::from_mins(15))
    } else {
        let by_size = Duration::from_secs(by_size);
        written("STREAM_STALE_TIMEOUT").unwrap_or(by_size).max(floor(model))
    };
    let bytes = written("STREAM_READ_TIMEOUT").unwrap_or(Duration::MAX);
    let idle = own(runtime.overrides.stale_timeout_s).unwrap_or(usual.min(bytes));
    let whole = own(runtime.overrides.request_timeout_s)
        .or_else(|| written("API_TIMEOUT"))
        .unwrap_or(Duration::from_mins(30));
    Timeouts { whole, first_byte: idle.min(whole), idle: idle.min(whole) }
}

/// How long an answer that comes whole may take to begin, where the user says so.
pub fn unstreamed(settings: &Settings) -> Option<Duration> {
    let text = settings.role("API_CALL_STALE_TIMEOUT")?.value.expose().trim().to_owned();
    text.parse().ok().and_then(crate::fallback::seconds)
}

/// The patience that a model needs whatever is configured for all.
pub(crate) fn floor(model: &str) -> Duration {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase().replace('.', "-");
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(['-', '_']);
    let rows = FLOORS.iter().filter(|(start, _)| name.strip_prefix(start).is_some_and(ends));
    let longest = rows.max_by_key(|(start, _)| start.len());
    Duration::from_secs(longest.map_or(0, |(_, seconds)| *seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_a_model_get_its_patience() {
        for name in ["claude-sonnet-4.6", "anthropic/claude-sonnet-4-6"] {
            assert_eq!(floor(name), Duration::from_mins(3), "{name}");
        }
        assert_eq!(floor("o3-mini"), Duration::from_mins(5));
        assert_eq!(floor("o30"), Duration::ZERO);
    }
}
