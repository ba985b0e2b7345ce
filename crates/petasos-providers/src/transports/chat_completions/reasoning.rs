//! What each chat endpoint wants to hear about reasoning.
//!
//! Servers refuse fields that they do not know, so silence is the default and every row below
//! follows a provider's published field.

use petasos_contract::model::Effort;
use serde_json::{Value, json};

use crate::limits;
use crate::transport::node::Body;
use crate::transport::target::Target;

/// Puts the provider's reasoning fields.
pub(super) fn put(body: &mut Body, effort: Option<Effort>, target: &Target) {
    let family = target.family();
    match target.provider.as_str() {
        "openrouter" => openrouter(body, effort, target),
        "nous" => match effort {
            None => body.put("reasoning", json!({"enabled": true, "effort": "medium"})),
            Some(Effort::Off) => {}
            Some(effort) => body.put("reasoning", enabled(effort)),
        },
        "ai-gateway" => match effort {
            None => body.put("reasoning", json!({"enabled": true, "effort": "medium"})),
            Some(Effort::Off) => body.put("reasoning", json!({"enabled": false})),
            Some(effort) => body.put("reasoning", enabled(effort)),
        },
        "kimi-coding" | "kimi-coding-cn" => kimi(body, effort),
        "deepseek" => deepseek(body, effort, &family),
        "zai" => zai(body, effort, &family),
        "opencode-go" if family.starts_with("kimi") => kimi(body, effort),
        "opencode-go" if family.starts_with("deepseek") => deepseek(body, effort, &family),
        "opencode-go" if family.starts_with("glm") => zai(body, effort, &family),
        "gemini" | "vertex" => gemini(body, effort, &family),
        "ollama-cloud" => match effort {
            None | Some(Effort::Minimal) => {}
            Some(Effort::Off) => body.put("reasoning_effort", json!("none")),
            Some(effort) => body.put("reasoning_effort", json!(capped(effort, "max"))),
        },
        "custom" => match effort {
            None => {}
            Some(Effort::Off) => {
                body.put("reasoning_effort", json!("none"));
                body.put("think", json!(false));
            }
            Some(effort) => body.put("reasoning_effort", json!(effort)),
        },
        "upstage" => match effort {
            None => body.put("reasoning_effort", json!("medium")),
            Some(Effort::Off | Effort::Minimal) => {}
            Some(effort) => body.put("reasoning_effort", json!(capped(effort, "high"))),
        },
        "minimax" | "minimax-cn" if family.starts_with("minimax-m3") => minimax(body, effort),
        "openai-api" | "azure-foundry" | "copilot" if thinks(&family) => match effort {
            None | Some(Effort::Off) => {}
            Some(effort) => body.put("reasoning_effort", json!(capped(effort, "high"))),
        },
        "lmstudio" => match effort {
            None => {}
            Some(Effort::Off) => body.put("reasoning_effort", json!("none")),
            Some(effort) => body.put("reasoning_effort", json!(capped(effort, "high"))),
        },
        _ => {}
    }
}

/// Whether assistant messages with calls must carry their reasoning.
pub(super) fn echoes(target: &Target) -> bool {
    let family = target.family();
    let by_model = family.starts_with("kimi")
        || family.starts_with("mimo")
        || family.starts_with("deepseek-reasoner")
        || family.starts_with("deepseek-v4");
    let by_provider =
        matches!(target.provider.as_str(), "kimi-coding" | "kimi-coding-cn" | "xiaomi");
    let own = matches!(target.provider.as_str(), "deepseek" | "opencode-go" | "custom");
    by_provider || (own && by_model)
}

/// Whether the endpoint refuses a temperature.
pub(super) fn refuses_temperature(target: &Target) -> bool {
    let family = target.family();
    target.provider.starts_with("kimi") || family.starts_with("kimi") || thinks(&family)
}

fn thinks(family: &str) -> bool {
    ["o1", "o3", "o4", "gpt-5"].iter().any(|prefix| family.starts_with(prefix))
}

fn enabled(effort: Effort) -> Value {
    json!({"enabled": true, "effort": effort})
}

/// The effort's own word, with everything above `high` replaced by `top`.
fn capped(effort: Effort, top: &'static str) -> &'static str {
    match effort {
        Effort::Off => "none",
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Xhigh | Effort::Max | Effort::Ultra => top,
    }
}

fn openrouter(body: &mut Body, effort: Option<Effort>, target: &Target) {
    const REASONING: [&str; 9] = [
        "deepseek/",
        "anthropic/",
        "openai/",
        "x-ai/",
        "google/gemini",
        "qwen/",
        "z-ai/",
        "moonshotai/",
        "minimax/",
    ];
    let model = target.model.to_ascii_lowercase();
    if !REASONING.iter().any(|prefix| model.starts_with(prefix)) {
        return;
    }
    if model.starts_with("anthropic/") && limits::is_adaptive(&target.family()) {
        if let Some(effort) = effort.filter(|effort| *effort != Effort::Off) {
            body.put("verbosity", json!(capped(effort, "max")));
        }
        return;
    }
    let value = match effort {
        None => json!({"enabled": true, "effort": "medium"}),
        Some(Effort::Off) => json!({"enabled": false}),
        Some(effort) => enabled(effort),
    };
    body.put("reasoning", value);
}

fn kimi(body: &mut Body, effort: Option<Effort>) {
    match effort {
        Some(Effort::Off) => body.put("thinking", json!({"type": "disabled"})),
        Some(effort @ (Effort::Low | Effort::Medium | Effort::High)) => {
            body.put("reasoning_effort", json!(effort));
        }
        _ => body.put("thinking", json!({"type": "enabled"})),
    }
}

fn deepseek(body: &mut Body, effort: Option<Effort>, family: &str) {
    if !(family.starts_with("deepseek-v4") || family.contains("reasoner")) {
        return;
    }
    match effort {
        Some(Effort::Off) => body.put("thinking", json!({"type": "disabled"})),
        Some(Effort::Xhigh | Effort::Max | Effort::Ultra) => {
            body.put("thinking", json!({"type": "enabled"}));
            body.put("reasoning_effort", json!("max"));
        }
        _ => body.put("thinking", json!({"type": "enabled"})),
    }
}

fn zai(body: &mut Body, effort: Option<Effort>, family: &str) {
    let version = family.strip_prefix("glm-").unwrap_or_default();
    let knows =
        version.starts_with("4.5") || version.starts_with("4.6") || version.starts_with('5');
    match effort {
        Some(Effort::Off) if knows => body.put("thinking", json!({"type": "disabled"})),
        Some(effort) if knows && effort != Effort::Off => {
            body.put("thinking", json!({"type": "enabled"}));
            if version.starts_with("5.2") {
                let word = if effort >= Effort::Xhigh { "max" } else { "high" };
                body.put("reasoning_effort", json!(word));
            }
        }
        _ => {}
    }
}

/// The compatible path keeps the settings in snake case below `extra_body.google`.
fn gemini(body: &mut Body, effort: Option<Effort>, family: &str) {
    let Some(effort) = effort else { return };
    let mut thinking = json!({"include_thoughts": effort != Effort::Off});
    if let Some(level) = limits::gemini_level(effort, family) {
        thinking["thinking_level"] = json!(level);
    }
    body.put("extra_body", json!({"google": {"thinking_config": thinking}}));
}

fn minimax(body: &mut Body, effort: Option<Effort>) {
    body.put("reasoning_split", json!(true));
    match effort {
        None => {}
        Some(Effort::Off) => body.put("thinking", json!({"type": "disabled"})),
        Some(_) => body.put("thinking", json!({"type": "adaptive"})),
    }
}
