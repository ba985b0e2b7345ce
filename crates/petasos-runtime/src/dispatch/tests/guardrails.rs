//! Repetition without progress: warnings, blocks and the end of a turn.

use std::sync::Arc;

use petasos_contract::TurnId;
use petasos_contract::call::{Status, ToolResult};
use petasos_contract::tool::{Provenance, ToolError};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::guard::Signature;
use crate::probe::{World, body, entry, gives, says, settings};

fn failing() -> World {
    World::of(gives(|| Err(ToolError::new("IoError", "gone"))))
}

fn code(result: &ToolResult) -> Option<String> {
    body(result).get("_guardrail").map(|note| note["code"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn the_second_identical_failure_is_warned_about() {
    let world = failing();
    let mut codes = Vec::new();
    for _ in 0..3 {
        codes.push(code(&world.call("probe", r#"{"a": 1}"#).await));
    }
    let warning = Some("repeated_exact_failure_warning".to_owned());
    assert_eq!(codes, [None, warning.clone(), warning]);
}

#[tokio::test]
async fn the_third_failure_of_one_tool_is_warned_about() {
    let world = failing();
    let mut codes = Vec::new();
    for n in 0..3 {
        codes.push(code(&world.call("probe", &json!({ "a": n }).to_string()).await));
    }
    assert_eq!(codes, [None, None, Some("same_tool_failure_warning".to_owned())]);
}

#[tokio::test]
async fn a_reading_call_that_gives_the_same_again_is_warned_about() {
    let mut reading = entry("probe", "test", says(r#"{"b": 1, "a": 2}"#));
    reading.idempotent = true;
    let world = World::with(vec![reading, entry("writing", "test", says("{}"))]);
    assert_eq!(code(&world.call("probe", "{}").await), None);
    let wanted = Some("idempotent_no_progress_warning".to_owned());
    assert_eq!(code(&world.call("probe", "{}").await), wanted);
    for _ in 0..4 {
        assert_eq!(code(&world.call("writing", "{}").await), None);
    }
}

#[tokio::test]
async fn a_success_clears_the_counts_and_each_turn_has_its_own() {
    let world = World::with(vec![entry(
        "probe",
        "test",
        Arc::new(crate::probe::Scripted::new(|args, _| async move {
            match args.get("fail") {
                Some(_) => Err(ToolError::new("IoError", "gone")),
                None => Ok(petasos_contract::ToolOutput::Text("{}".to_owned())),
            }
        })),
    )]);
    let fail = r#"{"fail": 1}"#;
    let cx = world.cx();
    world.call_in("probe", fail, &cx).await;
    assert!(code(&world.call_in("probe", fail, &cx).await).is_some());
    let mut other = world.cx();
    other.turn = TurnId::new("turn-1");
    assert!(code(&world.call_in("probe", fail, &other).await).is_none());
    world.dispatcher().end_turn(&cx.turn);
    assert!(code(&world.call_in("probe", fail, &cx).await).is_none());
    world.call_in("probe", "{}", &cx).await;
    assert_eq!(code(&world.call_in("probe", r#"{"fail": 2}"#, &cx).await), None);
}

#[tokio::test]
async fn warnings_can_be_switched_off() {
    let mut world = failing();
    world.settings = settings(&json!({ "tool_loop_guardrails": { "warnings_enabled": false } }));
    for _ in 0..4 {
        assert_eq!(code(&world.call("probe", "{}").await), None);
    }
}

#[tokio::test]
async fn hard_stops_block_repeated_failures_and_stale_reads() {
    let stops = json!({ "tool_loop_guardrails": { "hard_stop_enabled": true } });
    let mut world = failing();
    world.settings = settings(&stops);
    for _ in 0..5 {
        assert_eq!(world.call("probe", "{}").await.status, Status::Error);
    }
    let blocked = world.call("probe", "{}").await;
    let note = &body(&blocked)["guardrail"];
    assert_eq!((blocked.status, blocked.error_type), (Status::Blocked, Some("guardrail_block")));
    assert_eq!(note["code"], "repeated_exact_failure_block");
    assert_eq!((&note["action"], &note["count"]), (&json!("block"), &json!(5)));
    assert_eq!(note["signature"]["tool_name"], "probe");
    assert!(note["message"] == body(&blocked)["error"]);
    assert_eq!(world.recorder.counts(), (6, 6));

    let mut reading = entry("probe", "test", says("{}"));
    reading.idempotent = true;
    let mut world = World::with(vec![reading]);
    world.settings = settings(&stops);
    for _ in 0..5 {
        assert_eq!(world.call("probe", "{}").await.status, Status::Ok);
    }
    let blocked = world.call("probe", "{}").await;
    assert_eq!(body(&blocked)["guardrail"]["code"], "idempotent_no_progress_block");
}

#[tokio::test]
async fn hard_stops_end_a_turn_in_which_one_tool_keeps_failing() {
    let mut world = failing();
    world.settings = settings(&json!({ "tool_loop_guardrails": {
        "hard_stop_enabled": true, "hard_stop_after": { "same_tool_failure": 3 },
    }}));
    for n in 0..2 {
        assert!(!world.call("probe", &json!({ "n": n }).to_string()).await.halts_turn);
    }
    let last = world.call("probe", r#"{"n": 9}"#).await;
    assert!(last.halts_turn);
    assert_eq!(code(&last), Some("same_tool_failure_halt".to_owned()));
}

#[tokio::test]
async fn guidance_stands_outside_of_what_strangers_wrote() {
    let mut page = entry("probe", "test", says("a page of more than thirty-two characters"));
    page.idempotent = true;
    page.provenance = Provenance::Foreign;
    let world = World::with(vec![page]);
    world.call("probe", "{}").await;
    let text = world.call("probe", "{}").await.content.text();
    let (label, guidance) = text.split_once("</untrusted_tool_result>").unwrap();
    assert!(label.contains("a page of more"));
    assert!(guidance.contains("[idempotent_no_progress_warning]"), "{guidance}");
}

#[test]
fn signatures_ignore_key_order_and_nothing_else() {
    let of =
        |value: Value| Signature::of(&"tool".into(), &value.as_object().cloned().unwrap().into());
    assert_eq!(
        of(json!({ "a": 1, "b": { "c": 2, "d": 3 } })),
        of(json!({ "b": { "d": 3, "c": 2 }, "a": 1 }))
    );
    let different = [
        json!({ "a": [["x"], "y"] }),
        json!({ "a": [["x", "y"]] }),
        json!({ "a": 1 }),
        json!({ "a": "1" }),
        json!({ "a": null }),
        json!({ "a": "null" }),
        json!({ "a": { "b": {}, "c": 1 } }),
        json!({ "a": { "b": { "c": 1 } } }),
        json!({}),
    ];
    for (at, left) in different.iter().enumerate() {
        for right in &different[at + 1..] {
            assert_ne!(of(left.clone()), of(right.clone()), "{left} {right}");
        }
    }
}

proptest! {
    #[test]
    fn signatures_differ_with_the_arguments(left in "[a-c]{0,3}", right in "[a-c]{0,3}") {
        let of = |text: &str| {
            let object = json!({ "a": text }).as_object().cloned().unwrap();
            Signature::of(&"tool".into(), &object.into())
        };
        prop_assert_eq!(of(&left) == of(&right), left == right);
    }
}
