//! Who is sent prompt-cache markers, and what one looks like.
//!
//! At most four: the system prompt and the last three messages that can carry one. Each dialect
//! places them in its own layout; this file only says whether and what.

use petasos_contract::model::CacheTtl;
use serde_json::{Value, json};

use crate::transport::target::{Cache, Target};

/// How many messages carry a marker beside the system prompt.
pub const MESSAGES: usize = 3;

/// A marker.
pub fn marker(ttl: CacheTtl) -> Value {
    match ttl {
        CacheTtl::FiveMinutes => json!({"type": "ephemeral"}),
        CacheTtl::OneHour => json!({"type": "ephemeral", "ttl": "1h"}),
    }
}

/// Whether a Messages endpoint takes markers.
pub fn native(target: &Target) -> bool {
    target.cache != Cache::Off && takes_native(target)
}

fn takes_native(target: &Target) -> bool {
    target.family().contains("claude")
        || target.provider.starts_with("minimax")
        || target.is_at("minimax.io")
        || target.is_at("minimaxi.com")
}

/// Whether a chat endpoint takes markers inside its message parts.
pub fn envelope(target: &Target) -> bool {
    let family = target.family();
    let is = |start: &str| target.cache != Cache::Off && family.starts_with(start);
    match target.provider.as_str() {
        "openrouter" => is("claude") || is("kimi"),
        "nous" => is("claude") || is("kimi") || is("qwen"),
        "opencode-zen" | "opencode-go" | "alibaba" => is("qwen"),
        _ => false,
    }
}
