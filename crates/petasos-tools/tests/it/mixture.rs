//! `mixture_of_agents` with scripted models: failures are isolated, costs are told for each.

use std::sync::Arc;

use petasos_contract::model::{Cost, Model, ModelError, Prompt, Reason, Reply, Role, Served};
use petasos_contract::{BoxFuture, CallContext};
use serde_json::{Value, json};

use crate::bench::Bench;

/// Answers by the name of the model: `broken` fails, `empty` says nothing, others say their name.
#[derive(Debug)]
struct Scripted;

impl Model for Scripted {
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt,
        role: Role,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let name = prompt.model.clone().unwrap_or_default();
            if name.starts_with("broken") {
                return Err(ModelError::new(Reason::Auth, format!("`{name}` wants another key")));
            }
            let text = match (name.as_str(), role) {
                ("empty", _) => String::new(),
                (_, Role::MoaAggregator) => {
                    let seen = prompt.messages.iter().map(|it| format!("{it:?}"));
                    format!("merged by {name}: {}", seen.collect::<Vec<_>>().join(" "))
                }
                _ => format!("I am {name}"),
            };
            let model = if name == "stranger" { "other".to_owned() } else { name };
            let mut reply = Reply::default();
            reply.message.content = Some(text);
            reply.cost = Cost::Estimated { usd: 0.01 };
            reply.served = Served { model, ..Served::default() };
            Ok(reply)
        })
    }
}

fn mixed(references: &[&str], aggregator: &str) -> Value {
    let slot = |model: &&str| json!({ "provider": "p", "model": model });
    let mut bench = Bench::with(&json!({ "moa": { "presets": { "default": {
        "reference_models": references.iter().map(slot).collect::<Vec<_>>(),
        "aggregator": slot(&aggregator),
    } } } }));
    bench.ports.model = Some(Arc::new(Scripted));
    bench.run("mixture_of_agents", &json!({ "user_prompt": "Which is it?" }))
}

// E15: what each of them said is kept where that is wanted, for its owner alone.
#[test]
fn a_trace_has_what_each_model_said() {
    let slot = |model: &str| json!({ "provider": "p", "model": model });
    let mut bench = Bench::with(&json!({ "moa": {
        "save_traces": true, "trace_dir": "traces",
        "presets": { "default": {
            "reference_models": [slot("a"), slot("broken")], "aggregator": slot("judge"),
        } },
    } }));
    bench.ports.model = Some(Arc::new(Scripted));
    let told = bench.run("mixture_of_agents", &json!({ "user_prompt": "Which is it?" }));
    let place = std::path::PathBuf::from(told["trace"].as_str().unwrap());
    assert!(place.starts_with(bench.cx.settings.home().join("traces")), "{told}");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&place).unwrap());
    assert_eq!(mode & 0o777, 0o600);
    let kept: Value = serde_json::from_slice(&std::fs::read(place).unwrap()).unwrap();
    assert_eq!(kept["answers"], json!({ "p/a": "I am a" }), "{kept}");
    assert_eq!(kept["question"], "Which is it?");
    assert_eq!(kept["result"]["failed"][0]["model"], "p/broken");
}

// E19 154
#[test]
fn one_failure_is_named_and_the_others_go_on() {
    let told = mixed(&["a", "broken", "b", "stranger"], "judge");
    assert_eq!(told["success"], json!(true), "{told}");
    assert_eq!(told["models_used"]["reference_models"], json!(["p/a", "p/b"]));
    assert_eq!(told["models_used"]["aggregator_model"], "p/judge");
    let response = told["response"].as_str().unwrap();
    assert!(response.contains("I am a") && response.contains("I am b"), "{response}");
    assert_eq!(told["failed"].as_array().unwrap().len(), 2, "{told}");
    assert!(told["failed"][0]["error"].as_str().unwrap().contains("another key"));
    assert_eq!(told["cost_by_model"].as_object().unwrap().len(), 3);
    assert!((told["cost_cents"].as_f64().unwrap() - 3.0).abs() < 1e-9, "{told}");
    assert!(told["processing_time"].is_number());
}

// E19 154
#[test]
fn nobody_answers_or_the_aggregator_is_silent() {
    let none = mixed(&["broken", "broken2"], "judge");
    assert_eq!((&none["success"], &none["error_type"]), (&json!(false), &json!("upstream")));
    assert_eq!(none["failed"].as_array().unwrap().len(), 2);
    let silent = mixed(&["a"], "empty");
    assert!(silent["error"].as_str().unwrap().contains("said nothing, twice"), "{silent}");
    let broken = mixed(&["a"], "broken");
    assert!(broken["error"].as_str().unwrap().contains("p/broken"), "{broken}");
}
