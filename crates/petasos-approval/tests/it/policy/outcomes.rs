//! Denied, expired, undeliverable, unavailable, blocked: told apart by the model and by the log,
//! through the one door.

use std::sync::Arc;
use std::time::Duration;

use petasos_approval::Engine;
use petasos_approval::log::{self, DecisionOutcome};
use petasos_contract::approval::{Answer, Approver, Nobody, Scope, Who};
use petasos_contract::bridging::{PlannedTool, Planning};
use petasos_contract::call::{Status, ToolCall};
use petasos_contract::tool::ToolError;
use petasos_contract::{Args, CallContext, Plan, ToolOutput};
use petasos_runtime::registry::{Entry, Intent, Origin};
use petasos_runtime::{Dispatcher, Registry};
use serde_json::{Value, json};

use super::{Place, Says, empty, yes};

/// Says that it would run its command, and only says that it did.
struct Shell;

impl PlannedTool for Shell {
    type Work = ();

    fn plan(&self, args: Args, cx: &CallContext) -> Result<(Plan, ()), ToolError> {
        let script = args.text("command").unwrap_or_default();
        let effects = super::command(script, cx);
        Ok((Plan::new(args).with_effects(effects), ()))
    }

    fn call(&self, (): (), _: &CallContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::json(&json!({"output": "ran"})))
    }
}

fn dispatcher(engine: Arc<Engine>, approver: Arc<dyn Approver>) -> Dispatcher {
    let registry = Arc::new(Registry::default());
    let schema = json!({
        "description": "Runs nothing.",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
    });
    let schema = schema.as_object().cloned().unwrap();
    let entry = Entry::new("terminal", "terminal", schema, Arc::new(Planning::new(Shell)));
    registry.register(entry, &Origin::core(), Intent::Add).unwrap();
    Dispatcher::new(registry, engine, approver)
}

async fn outcome(approver: Arc<dyn Approver>, script: &str) -> (Value, DecisionOutcome, Status) {
    let place = Place::new();
    let cx = place.cx(&empty());
    let dispatcher = dispatcher(Arc::new(Engine::default()), approver);
    let call = ToolCall::new("call-1", "terminal", json!({"command": script}).to_string());
    let result = dispatcher.dispatch(call, &cx).await;
    let shown = serde_json::from_str(&result.content.text()).unwrap();
    let entry = log::read(&place.home(), 1).unwrap().pop().unwrap();
    (shown, entry.outcome, result.status)
}

#[tokio::test]
async fn each_way_of_not_running_is_told_apart() {
    let denied = Answer::Denied { by: Who::Person(None), comment: Some("use git".to_owned()) };
    let expired = Answer::Expired { after: Duration::from_mins(1) };
    let reason = "503".to_owned();
    let cases: Vec<(Arc<dyn Approver>, &str, DecisionOutcome, &str)> = vec![
        (Arc::new(Says(denied)), "rm -r x", DecisionOutcome::Denied, "denied"),
        (Arc::new(Says(expired)), "rm -r x", DecisionOutcome::Expired, "timeout"),
        (Arc::new(Nobody), "rm -r x", DecisionOutcome::Undeliverable, "undeliverable"),
        (
            Arc::new(Says(Answer::ReviewerUnavailable { reason })),
            "rm -r x",
            DecisionOutcome::ReviewerUnavailable,
            "reviewer_unavailable",
        ),
        (Arc::new(Says(yes(Scope::Once))), "rm -rf /", DecisionOutcome::Blocked, "blocked"),
    ];
    let mut texts = std::collections::BTreeSet::new();
    for (approver, script, logged, told) in cases {
        let (shown, outcome, status) = outcome(approver, script).await;
        assert_eq!(outcome, logged, "{shown}");
        assert_eq!(shown["outcome"], told, "{shown}");
        assert_eq!(status, Status::Blocked, "{shown}");
        assert!(texts.insert(shown["error"].to_string()), "{shown}");
    }
    let (shown, outcome, status) = outcome(Arc::new(Says(yes(Scope::Once))), "rm -r x").await;
    assert_eq!((outcome, status), (DecisionOutcome::Allowed, Status::Ok), "{shown}");
}

#[tokio::test]
async fn a_denial_quotes_the_person_and_forbids_another_way() {
    let denied = Answer::Denied { by: Who::Person(None), comment: Some("use git".to_owned()) };
    let (shown, ..) = outcome(Arc::new(Says(denied)), "rm -r x").await;
    let text = shown["error"].as_str().unwrap();
    assert!(text.contains("use git") && text.contains("Do not retry"), "{text}");
    assert_eq!(shown["user_consent"], false);
    assert_eq!(shown["pattern_keys"], json!(["recursive delete"]));
}

#[tokio::test]
async fn a_session_answer_through_the_door_silences_the_next_question() {
    let place = Place::new();
    let engine = Arc::new(Engine::default());
    let cx = place.cx(&empty());
    let call = |id: &str| ToolCall::new(id, "terminal", json!({"command": "rm -r x"}).to_string());
    let first = dispatcher(engine.clone(), Arc::new(Says(yes(Scope::Session))));
    assert_eq!(first.dispatch(call("a"), &cx).await.status, Status::Ok);
    let second = dispatcher(engine, Arc::new(Nobody));
    assert_eq!(second.dispatch(call("b"), &cx).await.status, Status::Ok);
}
