//! The mixture of agents: several models give their opinion, one more answers with them in view.
//!
//! A preset of `moa` names them; none is invented. Advisers are asked together, without tools, and
//! billed as `moa_reference`; who answers has the tools and the stream, and is billed as
//! `moa_aggregator`. An adviser that fails is named, and the rest go on.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use petasos_contract::event::Event;
use petasos_contract::message::{Content, Message, Part};
use petasos_contract::model::{ModelError, Prompt, Reason, Reply, Role, Step};
use petasos_contract::{CallContext, SessionId, Settings, TurnId};
use serde_json::Value;

use super::Client;
use crate::fallback::{Wanted, seconds};
use crate::recover::Patience;
use crate::roles::Plan;
use crate::transport::transcript;

/// How long an adviser may think when nobody says otherwise.
const ADVICE_WITHIN: Duration = Duration::from_mins(15);
/// Advice kept for later rounds of the same turn.
const TURNS_MAX: usize = 64;

/// One preset.
#[derive(Debug, Clone, PartialEq)]
struct Preset {
    advisers: Vec<Wanted>,
    aggregator: Wanted,
    advice_within: Duration,
    adviser_temperature: Option<f32>,
    temperature: Option<f32>,
    /// Whether advisers are asked again in every round of a turn, or once for all of them.
    every_round: bool,
}

impl Preset {
    /// The preset with this name; `default` may also be written flat under `moa`.
    fn named(name: &str, settings: &Settings) -> Result<Self, String> {
        let section = settings.get("moa").ok_or(
            "there is no mixture; name `reference_models` and an `aggregator` under \
             `moa.presets.default`",
        )?;
        let presets = section.get("presets").and_then(Value::as_object);
        let usual = section.get("default_preset").and_then(Value::as_str);
        let name = if name == "default" { usual.unwrap_or(name) } else { name };
        let preset = match presets {
            Some(presets) => presets.get(name).ok_or_else(|| {
                let known: Vec<&str> = presets.keys().map(String::as_str).collect();
                format!("`moa.presets` has no `{name}`, but {}", known.join(", "))
            })?,
            None => section,
        };
        Self::of(preset).map_err(|problem| format!("the mixture `{name}` {problem}"))
    }

    fn of(preset: &Value) -> Result<Self, String> {
        let slot = |slot: &Value| {
            let wanted = Wanted::from_entry(slot)
                .ok_or_else(|| "has a model without `provider` or `model`".to_owned())?;
            match wanted.provider.as_deref() {
                Some("moa") => Err("names a mixture inside a mixture".to_owned()),
                _ => Ok(wanted),
            }
        };
        let listed = preset.get("reference_models").and_then(Value::as_array);
        let is_on = |slot: &&Value| slot.get("enabled") != Some(&Value::Bool(false));
        let advisers: Result<Vec<Wanted>, String> =
            listed.into_iter().flatten().filter(is_on).map(slot).collect();
        let advisers = advisers?;
        if advisers.is_empty() {
            return Err("names no `reference_models`".to_owned());
        }
        let aggregator = preset.get("aggregator").ok_or("names no `aggregator`")?;
        let number = |key: &str| preset.get(key).and_then(Value::as_f64);
        #[expect(clippy::cast_possible_truncation, reason = "a temperature has two digits")]
        let temperature = |key: &str| number(key).map(|number| number as f32);
        Ok(Self {
            advisers,
            aggregator: slot(aggregator)?,
            advice_within: number("reference_timeout").and_then(seconds).unwrap_or(ADVICE_WITHIN),
            adviser_temperature: temperature("reference_temperature"),
            temperature: temperature("aggregator_temperature"),
            every_round: preset.get("fanout").and_then(Value::as_str) == Some("per_iteration"),
        })
    }
}

/// Advice given earlier in a turn.
#[derive(Debug, Default)]
pub(super) struct Advice(Mutex<HashMap<(SessionId, String), (TurnId, String)>>);

impl Advice {
    fn held(&self, cx: &CallContext, preset: &str) -> Option<String> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (turn, text) = held.get(&(cx.session.clone(), preset.to_owned()))?;
        (*turn == cx.turn).then(|| text.clone())
    }

    fn keep(&self, cx: &CallContext, preset: &str, text: &str) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() >= TURNS_MAX {
            held.clear();
        }
        let place = (cx.session.clone(), preset.to_owned());
        held.insert(place, (cx.turn.clone(), text.to_owned()));
    }
}

/// Asks the mixture; every step of everybody is added to the path.
pub(super) async fn ask(
    client: &Client,
    prompt: &Prompt,
    name: &str,
    cx: &CallContext,
    path: &mut Vec<Step>,
) -> Result<Reply, Box<ModelError>> {
    let preset = Preset::named(name, &cx.settings)
        .map_err(|line| Box::new(ModelError::new(Reason::NotConfigured, line)))?;
    let held = if preset.every_round { None } else { client.advice.held(cx, name) };
    let advice = match held {
        Some(advice) => advice,
        None => gather(client, prompt, &preset, cx, path).await?,
    };
    client.advice.keep(cx, name, &advice);
    let mut informed = prompt.clone();
    informed.temperature = preset.temperature.or(prompt.temperature);
    add(&mut informed.messages, &advice);
    let plan = plan(&preset.aggregator, None);
    match client.run(&informed, Role::MoaAggregator, cx, &plan).await {
        Ok(mut reply) => {
            path.append(&mut reply.path);
            Ok(reply)
        }
        Err(mut error) => {
            path.append(&mut error.path);
            Err(Box::new(error))
        }
    }
}

/// The opinions of all advisers; an error only when nobody has one.
async fn gather(
    client: &Client,
    prompt: &Prompt,
    preset: &Preset,
    cx: &CallContext,
    path: &mut Vec<Step>,
) -> Result<String, Box<ModelError>> {
    let question = Prompt {
        system: ADVISER.to_owned(),
        messages: vec![Message::user(transcript::of(prompt, &prompt.system))],
        temperature: preset.adviser_temperature,
        effort: prompt.effort,
        ..Prompt::default()
    };
    let plans: Vec<Plan> =
        preset.advisers.iter().map(|adviser| plan(adviser, Some(preset.advice_within))).collect();
    let asked = plans.iter().map(|plan| client.run(&question, Role::MoaReference, cx, plan));
    let answers = futures::future::join_all(asked).await;
    let mut text = String::new();
    let mut last = None;
    for (adviser, answer) in preset.advisers.iter().zip(answers) {
        let who = adviser.model.clone().unwrap_or_default();
        match answer {
            Ok(mut reply) => {
                path.append(&mut reply.path);
                text.extend(["\n\n[", who.as_str(), "]\n", reply.message.text().trim()]);
            }
            Err(mut error) => {
                path.append(&mut error.path);
                let line = format!("`{who}` gave no opinion: {}", error.line);
                cx.events.emit(|| Event::Notice { text: line });
                last = Some(error);
            }
        }
    }
    match last {
        Some(error) if text.is_empty() => Err(Box::new(error)),
        _ => Ok(text),
    }
}

/// Exactly this model: an opinion of somebody else is not the one that was asked for.
fn plan(wanted: &Wanted, timeout: Option<Duration>) -> Plan {
    Plan {
        candidates: vec![wanted.clone()],
        auth_falls_back: false,
        retries_max: 2,
        reconnects_max: None,
        timeout,
        patience: Patience::Side,
    }
}

/// Puts the opinions after what the person said last, so that the conversation before it stays as
/// it was.
fn add(messages: &mut [Message], advice: &str) {
    let text = format!("{OPINIONS}{advice}");
    let asked = messages.iter_mut().rev().find_map(|message| match message {
        Message::User { content } => Some(content),
        Message::Assistant(_) | Message::Tool(_) => None,
    });
    match asked {
        Some(Content::Text(said)) => {
            said.push_str("\n\n");
            said.push_str(&text);
        }
        Some(Content::Parts(parts)) => parts.push(Part::text(text)),
        None => {}
    }
}

const ADVISER: &str = "You are one of several advisers. Another model will act on the conversation \
    below, with tools that you do not have. Say how you would answer or go on: the facts that \
    matter, the plan, the traps. Be brief and definite.";
const OPINIONS: &str = "Opinions of other models on this, which may be wrong; judge them, and do \
    not mention them:";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_preset_says_what_is_missing_and_invents_nobody() {
        let settings = |values: Value| Settings::from_values(values.as_object().cloned().unwrap());
        let slot = |provider: &str| json!({"provider": provider, "model": "m"});
        let preset = |value: Value| settings(json!({"moa": {"presets": {"default": value}}}));
        let problem = |settings: &Settings, name: &str| Preset::named(name, settings).unwrap_err();
        assert!(problem(&settings(json!({})), "default").contains("moa.presets"));
        assert!(problem(&preset(json!({})), "default").contains("reference_models"));
        let alone = preset(json!({"reference_models": [slot("zai")]}));
        assert!(problem(&alone, "default").contains("aggregator"));
        let nested = preset(json!({"reference_models": [slot("moa")], "aggregator": slot("zai")}));
        assert!(problem(&nested, "default").contains("inside"));
        let whole = json!({"aggregator": slot("zai"), "reference_models":
            [slot("a"), {"provider": "b", "model": "m", "enabled": false}]});
        assert!(problem(&preset(whole.clone()), "deep").contains("but default"));
        let found = Preset::named("default", &preset(whole.clone())).unwrap();
        assert_eq!(found.advisers.len(), 1);
        assert_eq!(Preset::named("default", &settings(json!({"moa": whole}))).unwrap(), found);
    }
}
