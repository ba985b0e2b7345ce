//! Which candidates serve a role: the conversation itself, or one of the side tasks.
//!
//! A side task is `main` (whoever serves the conversation), explicit (its own provider), or
//! `auto`: main first, then its own chain, the main chain, and whoever has a cheap model and a
//! key. Pure: it names candidates, the resolver finds out which of them exist.

use std::time::Duration;

use petasos_contract::Secret;
use petasos_contract::Settings;
use petasos_contract::model::{Effort, Prompt, Role};
use serde_json::Value;

use crate::fallback::{self, Wanted, seconds};
use crate::recover::Patience;
use crate::sight::{self, Sight};
use crate::table::{Provider, Table};

/// The candidates of one question.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// In the order they are tried.
    pub candidates: Vec<Wanted>,
    /// Whether a refused credential leads to the next candidate; not where the user named one,
    /// who must hear that it is broken.
    pub auth_falls_back: bool,
    /// How often the same candidate is asked again.
    pub retries_max: u32,
    /// How often after a connection that broke, where the user says so.
    pub reconnects_max: Option<u32>,
    /// How long the whole answer may take.
    pub timeout: Option<Duration>,
    /// Who waits.
    pub patience: Patience,
}

/// What a role is called in configuration, and how long it may take.
struct Facts {
    key: &'static str,
    timeout_s: u64,
}

fn facts(role: Role) -> Option<Facts> {
    let (key, timeout_s) = match role {
        Role::Vision => ("vision", 120),
        Role::Video => ("video", 180),
        Role::WebExtract => ("web_extract", 360),
        Role::Compression => ("compression", 300),
        Role::SessionSearch => ("session_search", 30),
        Role::FlushMemories => ("flush_memories", 30),
        Role::SkillsHub => ("skills_hub", 30),
        Role::Mcp => ("mcp", 30),
        Role::Approval => ("approval", 30),
        Role::TitleGeneration => ("title_generation", 30),
        Role::MemoryQueryRewrite => ("memory_query_rewrite", 8),
        Role::TtsAudioTags => ("tts_audio_tags", 30),
        Role::TriageSpecifier => ("triage_specifier", 120),
        Role::KanbanDecomposer => ("kanban_decomposer", 180),
        Role::ProfileDescriber => ("profile_describer", 60),
        Role::GoalJudge => ("goal_judge", 60),
        Role::Monitor => ("monitor", 60),
        Role::BackgroundReview => ("background_review", 120),
        Role::Curator => ("curator", 600),
        Role::MoaReference => ("moa_reference", 900),
        Role::MoaAggregator => ("moa_aggregator", 900),
        _ => return None,
    };
    Some(Facts { key, timeout_s })
}

/// The role's key in configuration; `main` for the conversation.
pub fn key(role: Role) -> &'static str {
    facts(role).map_or("main", |facts| facts.key)
}

/// The role with this key, for `--role`.
pub fn named(word: &str) -> Option<Role> {
    serde_json::from_value(Value::String(word.to_owned())).ok()
}

/// How much a side task thinks, where the user says so.
pub(crate) fn effort(role: Role, settings: &Settings) -> Option<Effort> {
    let word = Task { settings, key: facts(role)?.key }.text("reasoning_effort")?;
    let word = if word == "none" { "off".to_owned() } else { word };
    serde_json::from_value(Value::String(word)).ok()
}

/// The candidates of a question.
pub fn plan(role: Role, prompt: &Prompt, settings: &Settings, table: &Table) -> Plan {
    let main = Wanted {
        provider: prompt.provider.clone(),
        model: prompt.model.clone(),
        ..Wanted::default()
    };
    let main = unalias(main, settings);
    match facts(role) {
        None => conversation(role, main, settings),
        Some(facts) => side(role, &facts, main, settings, table),
    }
}

fn conversation(role: Role, main: Wanted, settings: &Settings) -> Plan {
    let own = if role == Role::Subagent { delegated(&main, settings) } else { None };
    let mut candidates = vec![own.unwrap_or(main)];
    let inherits = settings.get("delegation.inherit_fallback") != Some(&Value::Bool(false));
    if role != Role::Subagent || inherits {
        fallback::add(&mut candidates, fallback::chain(settings));
    }
    let retries = settings.get("agent.api_max_retries").and_then(Value::as_u64).unwrap_or(3);
    Plan {
        candidates,
        auth_falls_back: true,
        retries_max: u32::try_from(retries).unwrap_or(u32::MAX).min(20),
        reconnects_max: reconnects(settings),
        timeout: None,
        patience: Patience::Conversation,
    }
}

fn reconnects(settings: &Settings) -> Option<u32> {
    let text = settings.role("STREAM_RETRIES")?.value.expose().trim().to_owned();
    text.parse::<u32>().ok().map(|times| times.min(20))
}

/// The user's own name for a model, or the model itself. A name may stand for another provider's
/// model: `fast: {provider: zai, model: glm-5.2}`.
fn unalias(main: Wanted, settings: &Settings) -> Wanted {
    let Some(name) = main.model.clone() else { return main };
    let known = ["model_aliases", "model.aliases"].iter().find_map(|key| {
        let names = settings.get(key)?.as_object()?;
        names.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name)).map(|(_, value)| value)
    });
    let text = |value: &Value, key: &str| {
        let text = value.get(key)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    match known {
        Some(Value::String(model)) => Wanted { model: Some(model.trim().to_owned()), ..main },
        Some(entry @ Value::Object(_)) => Wanted {
            model: text(entry, "model").or(main.model),
            provider: text(entry, "provider").or(main.provider),
            base_url: text(entry, "base_url").or(main.base_url),
            ..main
        },
        _ => main,
    }
}

/// An endpoint of their own for subagents, where one is configured.
fn delegated(main: &Wanted, settings: &Settings) -> Option<Wanted> {
    let text = |name: &str| {
        let text = settings.text(&format!("delegation.{name}")).map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let base_url = text("base_url")?;
    Some(Wanted {
        provider: text("provider").or_else(|| Some("custom".to_owned())),
        model: text("model").or_else(|| main.model.clone()),
        base_url: Some(base_url),
        api_key: text("api_key").map(Secret::new),
        api_mode: text("api_mode"),
        ..Wanted::default()
    })
}

fn side(role: Role, facts: &Facts, main: Wanted, settings: &Settings, table: &Table) -> Plan {
    let task = Task { settings, key: facts.key };
    let provider = task.text("provider").unwrap_or_else(|| "auto".to_owned());
    let base_url = task.text("base_url");
    let explicit = (provider != "auto" && provider != "main") || base_url.is_some();
    let own_model = task.text("model").filter(|model| model != "auto");
    let mut candidates = Vec::new();
    if explicit {
        // An address alone is a custom endpoint; with a provider it keeps that identity.
        let named = if provider == "auto" { "custom".to_owned() } else { provider };
        // The saved model is the main provider's: another provider brings its own.
        let row = table.find(&named).filter(|row| row.id != "custom");
        let lent = || row.and_then(|row| model_for(role, row).or(row.default_model.clone()));
        candidates.push(Wanted {
            model: own_model.or_else(lent),
            provider: Some(named),
            base_url,
            api_key: task.text("api_key").map(Secret::new),
            key_env: task.text("key_env"),
            api_mode: task.text("api_mode"),
            extra_body: task
                .value("extra_body")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
            timeout: None,
        });
        fallback::add(&mut candidates, task.chain());
        fallback::add(&mut candidates, [main]);
    } else {
        let is_main = provider == "main";
        let seeing =
            if role == Role::Vision { sight::of(&main, settings, table) } else { Sight::Own };
        let model = match (own_model, seeing) {
            (Some(model), _) | (None, Sight::By(model)) => Some(Some(model)),
            (None, Sight::Own) => Some(main.model.clone()),
            (None, Sight::Blind) => None,
        };
        candidates.extend(model.map(|model| Wanted { model, ..main }));
        fallback::add(&mut candidates, task.chain());
        fallback::add(&mut candidates, fallback::chain(settings));
        if !is_main {
            fallback::add(&mut candidates, cheap(role, table));
        }
    }
    let timeout = task.value("timeout").and_then(Value::as_f64).and_then(seconds);
    let retries = settings.get("auxiliary.transient_retries").and_then(Value::as_u64).unwrap_or(2);
    Plan {
        candidates,
        auth_falls_back: !explicit,
        retries_max: u32::try_from(retries).unwrap_or(u32::MAX).min(20),
        reconnects_max: None,
        timeout: Some(timeout.unwrap_or(Duration::from_secs(facts.timeout_s))),
        patience: Patience::Side,
    }
}

/// Whoever has a cheap model, the aggregators first. Codex is never chosen by itself, and
/// Anthropic's keys are for what the user chose them for.
fn cheap(role: Role, table: &Table) -> Vec<Wanted> {
    let mut providers: Vec<&Provider> = table
        .providers()
        .iter()
        .filter(|provider| model_for(role, provider).is_some())
        .filter(|provider| !matches!(provider.id.as_str(), "anthropic" | "openai-codex"))
        .collect();
    let first = |id: &str| match id {
        "openrouter" => 0,
        "nous" => 1,
        _ => 2,
    };
    providers.sort_by_key(|provider| first(&provider.id));
    let wanted = providers.into_iter().map(move |provider| Wanted {
        provider: Some(provider.id.clone()),
        model: model_for(role, provider),
        ..Wanted::default()
    });
    wanted.collect()
}

/// The model that a provider would lend to a role.
fn model_for(role: Role, provider: &Provider) -> Option<String> {
    if role == Role::Video {
        // Nobody is known to take films but whom the user names.
        return None;
    }
    if role == Role::Vision {
        // Seeing is not a matter of price: only those known to see are asked.
        let sees = matches!(provider.id.as_str(), "openrouter" | "deepinfra");
        let own = provider.vision_model.clone();
        return own.or(if sees { provider.aux_model.clone() } else { None });
    }
    provider.aux_model.clone()
}

/// One task's settings; a variable overrides the file.
struct Task<'a> {
    settings: &'a Settings,
    key: &'static str,
}

impl Task<'_> {
    fn value(&self, name: &str) -> Option<&Value> {
        self.settings.get(&format!("auxiliary.{}.{name}", self.key))
    }

    fn text(&self, name: &str) -> Option<String> {
        let variable = format!("AUXILIARY_{}_{name}", self.key).to_ascii_uppercase();
        let variable = self.settings.variable(&variable).map(|set| set.value.expose());
        let filled = |text: &&str| !text.trim().is_empty();
        let written = self.value(name).and_then(Value::as_str).filter(filled);
        let text = variable.filter(filled).or(written).or_else(|| self.old_spelling(name))?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// Files of older versions say `compression.summary_model` and the like.
    fn old_spelling(&self, name: &str) -> Option<&str> {
        let key = match (self.key, name) {
            ("compression", "provider") => "compression.summary_provider",
            ("compression", "model") => "compression.summary_model",
            ("compression", "base_url") => "compression.summary_base_url",
            _ => return None,
        };
        self.settings.text(key)
    }

    fn chain(&self) -> Vec<Wanted> {
        let entries = self.value("fallback_chain").and_then(Value::as_array);
        entries.into_iter().flatten().filter_map(Wanted::from_entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn providers(role: Role, values: &Value) -> (Vec<String>, bool) {
        let settings = Settings::from_values(values.as_object().cloned().unwrap());
        let plan = plan(role, &Prompt::default(), &settings, &Table::built_in());
        let names = plan.candidates.into_iter().map(|one| one.provider.unwrap_or("main".into()));
        (names.collect(), plan.auth_falls_back)
    }

    #[test]
    fn a_side_task_follows_main_auto_or_its_own_provider() {
        let chain = json!([{"provider": "zai", "model": "m"}]);
        let main = json!({"auxiliary": {"compression": {"provider": "main"}}, "fallback_providers": chain});
        assert_eq!(providers(Role::Compression, &main), (vec!["main".into(), "zai".into()], true));
        let own = json!({"auxiliary": {"mcp": {"provider": "deepseek", "model": "d",
            "fallback_chain": chain}}, "fallback_providers": [{"provider": "x", "model": "y"}]});
        let expected = vec!["deepseek".to_owned(), "zai".to_owned(), "main".to_owned()];
        assert_eq!(providers(Role::Mcp, &own), (expected, false));
        let address = json!({"auxiliary": {"mcp": {"base_url": "http://127.0.0.1:1/v1"}}});
        assert_eq!(providers(Role::Mcp, &address).0, ["custom", "main"]);
        let (auto, falls) = providers(Role::TitleGeneration, &json!({}));
        assert_eq!((&auto[..2], falls), (&["main".to_owned(), "openrouter".to_owned()][..], true));
        assert!(!auto.iter().any(|name| name == "openai-codex" || name == "anthropic"));
    }

    #[test]
    fn a_side_task_thinks_as_much_as_its_settings_say() {
        let of = |role, values: Value| {
            effort(role, &Settings::from_values(values.as_object().cloned().unwrap()))
        };
        let set = json!({"auxiliary": {"mcp": {"reasoning_effort": "low"},
            "curator": {"reasoning_effort": "none"}, "vision": {"reasoning_effort": "lots"}}});
        assert_eq!(of(Role::Mcp, set.clone()), Some(Effort::Low));
        assert_eq!(of(Role::Curator, set.clone()), Some(Effort::Off));
        assert_eq!((of(Role::Vision, set.clone()), of(Role::Main, set)), (None, None));
    }

    #[test]
    fn the_old_spelling_of_the_summary_model_still_counts_and_the_new_one_wins() {
        let old = json!({"compression": {"summary_provider": "zai", "summary_model": "glm-5.2"}});
        assert_eq!(providers(Role::Compression, &old).0[0], "zai");
        assert_eq!(providers(Role::TitleGeneration, &old).0[0], "main");
        let both = json!({"compression": {"summary_provider": "zai"},
            "auxiliary": {"compression": {"provider": "deepseek"}}});
        assert_eq!(providers(Role::Compression, &both).0[0], "deepseek");
    }

    #[test]
    fn a_model_of_the_user_s_own_naming_is_the_one_it_stands_for() {
        let values = json!({"model_aliases": {"quick": "glm-5.2",
            "far": {"provider": "openrouter", "model": "z-ai/glm-5.2"}}});
        let settings = Settings::from_values(values.as_object().cloned().unwrap());
        let first = |name: &str| {
            let prompt = Prompt { model: Some(name.to_owned()), ..Prompt::default() };
            let plan = plan(Role::Main, &prompt, &settings, &Table::built_in());
            let first = plan.candidates.into_iter().next().unwrap();
            (first.provider, first.model.unwrap())
        };
        assert_eq!(first("Quick"), (None, "glm-5.2".to_owned()));
        assert_eq!(first("far"), (Some("openrouter".to_owned()), "z-ai/glm-5.2".to_owned()));
        assert_eq!(first("glm-5"), (None, "glm-5".to_owned()));
    }

    #[test]
    fn a_side_task_at_another_provider_never_asks_it_for_the_main_model() {
        let first = |role, values: Value| {
            let settings = Settings::from_values(values.as_object().cloned().unwrap());
            let prompt = Prompt { model: Some("main-model".to_owned()), ..Prompt::default() };
            let plan = plan(role, &prompt, &settings, &Table::built_in());
            let first = plan.candidates.into_iter().next().unwrap();
            (first.provider.unwrap_or_default(), first.model.unwrap_or_default())
        };
        let own = json!({"model": "claude-opus-4-6",
            "auxiliary": {"compression": {"provider": "deepseek"}}});
        let (provider, model) = first(Role::Compression, own);
        assert_eq!(provider, "deepseek");
        assert!(model.starts_with("deepseek"), "{model}");
        let zai = json!({"model": {"provider": "zai", "default": "glm-5.2"}});
        assert_eq!(first(Role::Vision, zai).1, "glm-5v-turbo");
        let kimi = json!({"model": {"provider": "kimi-coding", "default": "kimi-k3"}});
        assert_ne!(first(Role::Vision, kimi).1, "main-model", "it cannot see");
    }

    #[test]
    fn the_conversation_has_its_chain_and_subagents_inherit_it_unless_told_otherwise() {
        let chain = json!([{"provider": "zai", "model": "m"}]);
        let values = json!({"fallback_providers": chain});
        assert_eq!(providers(Role::Main, &values).0, ["main", "zai"]);
        assert_eq!(providers(Role::Subagent, &values).0, ["main", "zai"]);
        let off = json!({"fallback_providers": chain, "delegation": {"inherit_fallback": false}});
        assert_eq!(providers(Role::Subagent, &off).0, ["main"]);
    }

    #[test]
    fn subagents_may_have_an_endpoint_of_their_own() {
        let own = json!({"delegation": {"base_url": "http://127.0.0.1:1/v1", "model": "small",
            "api_key": "k", "api_mode": "chat_completions"}});
        let settings = Settings::from_values(own.as_object().cloned().unwrap());
        let plan = plan(Role::Subagent, &Prompt::default(), &settings, &Table::built_in());
        let first = plan.candidates.first().unwrap();
        assert_eq!(first.base_url.as_deref(), Some("http://127.0.0.1:1/v1"));
        assert_eq!(
            (first.provider.as_deref(), first.model.as_deref()),
            (Some("custom"), Some("small"))
        );
        assert_eq!(providers(Role::Main, &own).0, ["main"]);
    }
}
