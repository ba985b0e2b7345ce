//! `mixture_of_agents`: several models answer one hard question, and one more merges them.

mod trace;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::message::Message;
use petasos_contract::model::{Cost, Model, Prompt, Reason, Role};
use petasos_contract::tool::Example;
use petasos_contract::wait;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Settings, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_redact::Redactor;
use serde_json::{Map, Value, json};

use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "mixture_of_agents",
    toolset: "moa",
    description: "Let several models answer, and one merge them",
    emoji: "🧠",
    check: Some(&MOA),
    schema,
    examples: &[Example {
        title: "several models, one answer",
        args: r#"{"user_prompt":"What is the next prime after 7919?"}"#,
        shows: r#""models_used":"#,
    }],
    build: |ports| Arc::new(Mixture(ports.model.clone())),
    ..ToolDef::USUAL
};

const NEEDS: &str = "needs an aggregator and one reference model that resolve: see moa.presets";
/// So many opinions at most.
const REFERENCES_MAX: usize = 8;
const REFERENCE_TEMPERATURE: f32 = 0.6;
const AGGREGATOR_TEMPERATURE: f32 = 0.4;
const MAX_TOKENS: u32 = 4096;
/// How often a model is asked that is busy, and how long it is left alone in between.
const TRIES_MAX: u32 = 6;
const PAUSE: Duration = Duration::from_secs(2);
const PAUSE_MAX: Duration = Duration::from_mins(1);
/// The whole call.
const WHOLE: Duration = Duration::from_mins(15);
/// A model whose price is not known counts as this much.
const CENTS_UNKNOWN: u32 = 10;

static MOA: CheckDef = CheckDef {
    id: "moa",
    scope: CheckScope::Profile,
    probe: |cx| {
        Box::pin(async move {
            let is_there = cx.ports.model.is_some() && Preset::of(&cx.settings).is_ok();
            Availability::when(is_there, NEEDS)
        })
    },
};

fn schema() -> Value {
    json!({
        "description": "Send one hard question to several models at once and let another merge \
            their answers. Slow and dear: for problems where a single answer is not trusted.",
        "parameters": {
            "type": "object",
            "properties": {
                "user_prompt": { "type": "string", "description": "The question, with all it needs" }
            },
            "required": ["user_prompt"],
        },
    })
}

/// A model of a preset.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Slot {
    provider: String,
    model: String,
}

impl Slot {
    fn of(value: &Value) -> Option<Self> {
        let text = |key: &str| {
            let text = value.get(key)?.as_str()?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let slot = Self { provider: text("provider")?, model: text("model")? };
        (slot.provider != "moa").then_some(slot)
    }

    fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }
}

#[derive(Debug)]
struct Preset {
    references: Vec<Slot>,
    aggregator: Slot,
    max_tokens: u32,
    /// Entries that cannot be asked, and why.
    skipped: Vec<Value>,
}

impl Preset {
    /// The preset that the settings choose; `auxiliary.moa` is the older place.
    fn of(settings: &Settings) -> Result<Self, String> {
        let section = settings.get("moa").or_else(|| settings.get("auxiliary.moa"));
        let section = section.ok_or("there is no `moa.presets`")?;
        let name = section.get("default_preset").and_then(Value::as_str).unwrap_or("default");
        let preset = match section.get("presets") {
            Some(presets) => {
                presets.get(name).ok_or_else(|| format!("`moa.presets` has no `{name}`"))?
            }
            None => section,
        };
        let is_off = |value: &Value| value.get("enabled") == Some(&Value::Bool(false));
        if is_off(preset) {
            return Err(format!("the preset `{name}` of `moa.presets` is switched off"));
        }
        let listed = preset.get("reference_models").and_then(Value::as_array);
        let listed: Vec<&Value> = listed.into_iter().flatten().filter(|it| !is_off(it)).collect();
        let mut skipped = Vec::new();
        let mut references = Vec::new();
        for entry in listed {
            match Slot::of(entry) {
                Some(slot) if references.len() < REFERENCES_MAX => references.push(slot),
                Some(slot) => skipped.push(json!({ "model": slot.name(), "why": "one too many" })),
                None => {
                    skipped.push(json!({ "model": entry, "why": "names no provider or model" }));
                }
            }
        }
        if references.is_empty() {
            return Err(format!("the preset `{name}` of `moa.presets` names no reference model"));
        }
        let aggregator = preset.get("aggregator").and_then(Slot::of);
        let aggregator = aggregator
            .ok_or_else(|| format!("the preset `{name}` of `moa.presets` names no aggregator"))?;
        let max_tokens = preset.get("max_tokens").and_then(Value::as_u64);
        let max_tokens = max_tokens.and_then(|most| u32::try_from(most).ok()).unwrap_or(MAX_TOKENS);
        Ok(Self { references, aggregator, max_tokens, skipped })
    }
}

struct Mixture(Option<Arc<dyn Model>>);

impl Tool for Mixture {
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let models = Preset::of(&cx.settings).map_or(0, |preset| preset.references.len() + 1);
        let cents = u32::try_from(models).unwrap_or(0) * CENTS_UNKNOWN;
        let effects =
            if cents == 0 { Effects::none() } else { Effects::one(Effect::Spend { cents }) };
        Box::pin(std::future::ready(Ok(Plan::new(args).with_effects(effects))))
    }

    fn time_limit(&self, _: &Args, _: &CallContext) -> Option<Duration> {
        Some(WHOLE + Duration::from_secs(10))
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let question = cleared.args().text("user_prompt").unwrap_or_default().to_owned();
            let began = Instant::now();
            let mixed = async {
                let model = self.0.as_ref();
                let model = model.ok_or_else(|| Trouble::new("missing_setup", NEEDS))?;
                let preset = Preset::of(&cx.settings)
                    .map_err(|why| Trouble::new("missing_setup", format!("{why}: {NEEDS}")))?;
                if question.trim().is_empty() {
                    let why = "there is no question: `user_prompt` is empty";
                    return Err(Trouble::new("bad_argument", why));
                }
                let mix = mix(&**model, &preset, &question, cx);
                let late = |_| Trouble::new("timeout", "the models took longer than 15 minutes");
                wait::until(began + WHOLE, "a mixture of models", mix).await.map_err(late)?
            };
            let mut value = mixed.await.unwrap_or_else(Trouble::unsuccessful);
            value["processing_time"] = json!(began.elapsed().as_secs_f64());
            Redactor::of(&cx.settings).value(&mut value);
            Ok(ToolOutput::json(&value))
        })
    }
}

/// An answer of one model, and what it cost in dollars where that is known.
struct Opinion {
    text: String,
    usd: Option<f64>,
}

async fn mix(
    model: &dyn Model,
    preset: &Preset,
    question: &str,
    cx: &CallContext,
) -> Result<Value, Trouble> {
    let prompt = Prompt {
        messages: vec![Message::user(question)],
        temperature: Some(REFERENCE_TEMPERATURE),
        max_tokens: Some(preset.max_tokens),
        ..Prompt::default()
    };
    let asked =
        preset.references.iter().map(|slot| asked(model, slot, &prompt, Role::MoaReference, cx));
    let answers = join_all(asked).await;
    let (mut used, mut failed, mut costs) = (Vec::new(), Vec::new(), Map::new());
    let (mut opinions, mut said) = (String::new(), Map::new());
    for (slot, answer) in preset.references.iter().zip(answers) {
        match answer {
            Ok(opinion) => {
                opinions.extend(["\n\n[", &slot.name(), "]\n", opinion.text.trim()]);
                costs.insert(slot.name(), cents(opinion.usd));
                said.insert(slot.name(), opinion.text.into());
                used.push(slot.name());
            }
            Err(why) => failed.push(json!({ "model": slot.name(), "error": why })),
        }
    }
    if used.is_empty() {
        let why =
            "no reference model answered; `failed` says why, `petasos provider test` asks one";
        return Err(Trouble::new("upstream", why).with("failed", failed));
    }
    let merged = merge(model, preset, question, &opinions, cx).await;
    let merged = merged.map_err(|why| {
        let why = format!("the aggregator `{}` gave no answer: {why}", preset.aggregator.name());
        Trouble::new("upstream", why).with("failed", failed.clone())
    })?;
    costs.insert(preset.aggregator.name(), cents(merged.usd));
    let total = costs.values().map(Value::as_f64).sum::<Option<f64>>();
    let mut told = json!({
        "success": true,
        "response": merged.text,
        "models_used": {
            "reference_models": used,
            "aggregator_model": preset.aggregator.name(),
        },
        "cost_cents": total,
        "cost_by_model": costs,
    });
    for (key, list) in [("failed", failed), ("skipped", preset.skipped.clone())] {
        if !list.is_empty() {
            told[key] = list.into();
        }
    }
    let whole = json!({ "question": question, "answers": said, "result": told });
    if let Some(place) = trace::keep(whole, cx).await {
        told["trace"] = place.into();
    }
    Ok(told)
}

fn cents(usd: Option<f64>) -> Value {
    usd.map_or(Value::Null, |usd| json!(usd * 100.0))
}

/// The answer of the aggregator; an empty one is asked for once more.
async fn merge(
    model: &dyn Model,
    preset: &Preset,
    question: &str,
    opinions: &str,
    cx: &CallContext,
) -> Result<Opinion, String> {
    let prompt = Prompt {
        system: MERGE.to_owned(),
        messages: vec![Message::user(format!("{question}\n\nAnswers of other models:{opinions}"))],
        temperature: Some(AGGREGATOR_TEMPERATURE),
        max_tokens: Some(preset.max_tokens),
        ..Prompt::default()
    };
    for _ in 0..2 {
        let answer = asked(model, &preset.aggregator, &prompt, Role::MoaAggregator, cx).await?;
        if !answer.text.trim().is_empty() {
            return Ok(answer);
        }
    }
    Err("it said nothing, twice".to_owned())
}

const MERGE: &str = "You are given a question and what several models answered. Judge their \
    answers critically: some may be wrong. Give the one best answer, complete and well ordered, \
    without speaking of the others.";

/// Asks one model, and this one only; a busy one is asked again after a pause.
async fn asked(
    model: &dyn Model,
    slot: &Slot,
    prompt: &Prompt,
    role: Role,
    cx: &CallContext,
) -> Result<Opinion, String> {
    let prompt = Prompt {
        provider: Some(slot.provider.clone()),
        model: Some(slot.model.clone()),
        ..prompt.clone()
    };
    let mut pause = PAUSE;
    for attempt in 1..=TRIES_MAX {
        match model.ask(&prompt, role, cx).await {
            Ok(reply) => {
                let served = &reply.served;
                if !served.model.is_empty() && served.model != slot.model {
                    let who = format!("{}/{}", served.provider, served.model);
                    return Err(format!("`{who}` answered in its place, which was not asked for"));
                }
                let usd = match reply.cost {
                    Cost::Actual { usd } | Cost::Estimated { usd } => Some(usd),
                    Cost::Included => Some(0.0),
                    Cost::Unknown => None,
                };
                return Ok(Opinion { text: reply.message.text().to_owned(), usd });
            }
            Err(error) if attempt < TRIES_MAX && is_passing(error.reason) => {
                let left = error.retry_after.unwrap_or(pause).min(PAUSE_MAX);
                tokio::time::sleep(left).await;
                pause = (pause * 2).min(PAUSE_MAX);
            }
            Err(error) => return Err(error.line),
        }
    }
    Err("it was busy each time".to_owned())
}

fn is_passing(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::RateLimit | Reason::UpstreamRateLimit | Reason::Overloaded | Reason::ServerError
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_says_what_is_missing_and_what_is_left_out() {
        let of =
            |value: Value| Preset::of(&Settings::from_values(value.as_object().unwrap().clone()));
        assert!(of(json!({})).unwrap_err().contains("moa.presets"));
        let slot = |name: &str| json!({ "provider": name, "model": "m" });
        let whole = json!({ "moa": { "default_preset": "deep", "presets": { "deep": {
            "reference_models": [slot("a"), slot("moa"), { "provider": "b" }, slot("c")],
            "aggregator": slot("d"),
        } } } });
        let preset = of(whole).unwrap();
        assert_eq!(preset.references.iter().map(Slot::name).collect::<Vec<_>>(), ["a/m", "c/m"]);
        assert_eq!((preset.skipped.len(), preset.max_tokens), (2, 4096));
        let older = json!({ "auxiliary": { "moa": {
            "reference_models": [slot("a")], "aggregator": slot("d") } } });
        assert!(of(older).is_ok());
        let none = json!({ "moa": { "presets": { "default": {
            "reference_models": [], "aggregator": slot("d") } } } });
        assert!(of(none).unwrap_err().contains("no reference model"));
    }
}
