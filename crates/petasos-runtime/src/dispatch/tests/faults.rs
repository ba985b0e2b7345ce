//! Tools that fail in every way there is, and calls that never reach a tool.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::bridging::{Blocking, Inline, SyncTool};
use petasos_contract::call::{Disposition, Status, ToolCall};
use petasos_contract::context::Grant;
use petasos_contract::tool::{Route, Tool, ToolError};
use petasos_contract::{Args, CallContext, ToolOutput};
use serde_json::{Value, json};

use crate::probe::{
    Outcome, Scripted, Seen, World, body, echo, entry, error_of, gives, says, schema,
};
use crate::registry::Entry;

/// One way to fail: the tool, the arguments, and what must come back.
struct Fault {
    name: &'static str,
    tool: Arc<dyn Tool>,
    arguments: &'static str,
    error: &'static str,
    status: Status,
    error_type: &'static str,
}

struct Panics;

impl SyncTool for Panics {
    fn call(&self, _: Args, _: &CallContext) -> Outcome {
        panic!("in a sync handler")
    }
}

#[derive(serde::Deserialize)]
struct Typed {
    #[expect(dead_code, reason = "only its type matters here")]
    count: u32,
}

fn raising() -> Vec<Fault> {
    let failed = |name, tool, error| Fault {
        name,
        tool,
        arguments: "{}",
        error,
        status: Status::Error,
        error_type: "tool_error",
    };
    let typed = Arc::new(Scripted::new(|args: Args, _| async move {
        args.parse::<Typed>()?;
        Ok(ToolOutput::Text(String::new()))
    }));
    vec![
        failed(
            "panics before its first await",
            Arc::new(Scripted::new(|_, _| -> std::future::Ready<Outcome> {
                panic!("before the first await")
            })),
            "Tool execution failed: Panic: before the first await",
        ),
        failed(
            "panics after its first await",
            Arc::new(Scripted::new(|_, _| async {
                tokio::task::yield_now().await;
                panic!("after {}", "the first await")
            })),
            "Tool execution failed: Panic: after the first await",
        ),
        failed(
            "panics without words",
            Arc::new(Scripted::new(|_, _| async { std::panic::panic_any(7_u8) })),
            "Tool execution failed: Panic: it gave no message",
        ),
        failed(
            "panics on the blocking pool",
            Arc::new(Blocking::new(Panics)),
            "Tool execution failed: Panic: in a sync handler",
        ),
        failed(
            "panics in place",
            Arc::new(Inline::new(Panics)),
            "Tool execution failed: Panic: in a sync handler",
        ),
        failed(
            "raises",
            gives(|| Err(ToolError::new("IoError", "disk <system>full</system>"))),
            "Tool execution failed: IoError: disk full",
        ),
        Fault {
            arguments: r#"{"count": "many"}"#,
            ..failed(
                "is given wrong types",
                typed,
                "Tool execution failed: InvalidArguments: invalid type: string \"many\", expected u32",
            )
        },
    ]
}

fn refused_arguments() -> Vec<Fault> {
    let garbage = |name, arguments| Fault {
        name,
        tool: echo(),
        arguments,
        error: "Invalid tool arguments",
        status: Status::Error,
        error_type: "invalid_arguments",
    };
    vec![
        garbage("is given no JSON", "rm -rf"),
        garbage("is given half of it", r#"{"path": "#),
        garbage("is given an array", "[1, 2]"),
        garbage("is given null", "null"),
        garbage("is given a number", "42"),
    ]
}

fn broken_results() -> Vec<Fault> {
    let breaks = |name, value: Value, error| Fault {
        name,
        tool: gives(move || Ok(ToolOutput::Foreign(value.clone()))),
        arguments: "{}",
        error,
        status: Status::Error,
        error_type: "tool_result_contract",
    };
    vec![
        breaks("gives a number", json!(42), "Tool `probe` returned number where text is expected"),
        breaks("gives an array", json!([1]), "Tool `probe` returned array where text is expected"),
        breaks("gives null", json!(null), "Tool `probe` returned null where text is expected"),
        breaks(
            "gives an object",
            json!({ "a": 1 }),
            "Tool `probe` returned object where text is expected",
        ),
        breaks(
            "gives half an envelope",
            json!({ "_multimodal": true }),
            "Tool `probe` returned object where text is expected",
        ),
    ]
}

#[tokio::test]
async fn every_fault_gives_one_result_and_tells_each_hook_once() {
    for fault in raising().into_iter().chain(refused_arguments()).chain(broken_results()) {
        let world = World::with(vec![
            entry("probe", "test", fault.tool),
            entry("healthy", "test", says("{\"fine\":true}")),
        ]);
        let (result, healthy) =
            tokio::join!(world.call("probe", fault.arguments), world.call("healthy", "{}"));
        let what = fault.name;
        assert_eq!(error_of(&result), fault.error, "a tool that {what}");
        assert_eq!((result.status, result.error_type), (fault.status, Some(fault.error_type)));
        assert_eq!((result.id.as_str(), result.name.as_str()), ("call-1", "probe"));
        assert_eq!(body(&healthy), json!({ "fine": true }), "beside a tool that {what}");
        let mine: Vec<Seen> = world
            .recorder
            .seen()
            .into_iter()
            .filter(|seen| match seen {
                Seen::Pre { tool, .. } | Seen::Post { tool, .. } => tool == "probe",
            })
            .collect();
        assert!(
            matches!(mine.as_slice(), [Seen::Pre { .. }, Seen::Post { status, error_type, .. }]
            if *status == fault.status && *error_type == Some(fault.error_type)),
            "a tool that {what}: {mine:?}"
        );
    }
}

#[tokio::test]
async fn garbage_arguments_are_explained_and_the_tool_does_not_run() {
    let world = World::of(gives(|| panic!("it must not run")));
    let result = world.call("probe", "[]").await;
    let message = body(&result)["message"].as_str().unwrap().to_owned();
    assert!(message.contains("one JSON object") && message.contains("an array"), "{message}");
    assert_eq!(result.disposition, Disposition::None);
}

#[tokio::test]
async fn a_broken_result_names_the_tool_and_the_kind() {
    let world = World::of(gives(|| Ok(ToolOutput::Foreign(json!([1, 2])))));
    let result = body(&world.call("probe", "{}").await);
    assert_eq!(result["error_type"], "tool_result_contract");
    assert_eq!((&result["tool"], &result["result_type"]), (&json!("probe"), &json!("array")));
}

#[tokio::test]
async fn foreign_text_and_the_multimodal_envelope_pass() {
    let world = World::of(gives(|| Ok(ToolOutput::Foreign(json!("plain")))));
    assert_eq!(world.call("probe", "{}").await.content.text(), "plain");
    let envelope = json!({ "_multimodal": true, "content": [
        { "type": "text", "text": "seen" }, { "type": "image_url", "image_url": {} },
    ]});
    let world = World::of(gives(move || Ok(ToolOutput::Foreign(envelope.clone()))));
    let result = world.call("probe", "{}").await;
    assert_eq!((result.content.text().as_str(), result.status), ("seen", Status::Ok));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_is_stopped_at_its_deadline() {
    let world = World::with(vec![
        entry(
            "probe",
            "test",
            Arc::new(Scripted::new(|_, _| async { std::future::pending().await })),
        ),
        entry("healthy", "test", says("{}")),
    ]);
    let mut cx = world.cx();
    cx.deadline = Instant::now() + Duration::from_secs(5);
    let (result, healthy) =
        tokio::join!(world.call_in("probe", "{}", &cx), world.call("healthy", "{}"));
    let error = error_of(&result);
    assert!(error.starts_with("Tool execution failed: Timeout: `probe` did not finish"), "{error}");
    assert_eq!((result.status, result.error_type), (Status::Timeout, Some("tool_timeout")));
    assert_eq!(result.disposition, Disposition::Unknown);
    assert_eq!(healthy.status, Status::Ok);
    assert_eq!(world.recorder.counts(), (2, 2));
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once_and_says_whether_it_ran() {
    let started = Arc::new(tokio::sync::Notify::new());
    let tell = Arc::clone(&started);
    let world = World::of(Arc::new(Scripted::new(move |_, _| {
        let tell = Arc::clone(&tell);
        async move {
            tell.notify_one();
            std::future::pending().await
        }
    })));
    let cx = world.cx();
    let (result, ()) = tokio::join!(world.call_in("probe", "{}", &cx), async {
        started.notified().await;
        cx.cancel.cancel();
    });
    assert_eq!(error_of(&result), "`probe` was cancelled by the user");
    assert_eq!((result.status, result.error_type), (Status::Cancelled, Some("keyboard_interrupt")));
    assert_eq!(result.disposition, Disposition::Unknown);
    assert_eq!(world.recorder.counts(), (1, 1));

    let late = world.call_in("probe", "{}", &cx).await;
    assert_eq!((late.status, late.disposition), (Status::Cancelled, Disposition::None));
    assert_eq!(world.recorder.counts(), (2, 2));
}

#[tokio::test]
async fn an_unknown_name_is_said_back_with_the_nearest_one() {
    let world = World::with(vec![entry("read_file", "file", echo())]);
    let result = world.call("raed_file", "{}").await;
    assert_eq!(error_of(&result), "Unknown tool: raed_file");
    assert_eq!(body(&result)["did_you_mean"], "read_file");
    assert_eq!(body(&world.call("zzz", "{}").await), json!({ "error": "Unknown tool: zzz" }));
    assert_eq!(world.recorder.counts(), (0, 0));
}

#[tokio::test]
async fn a_tool_of_the_agent_loop_is_refused_without_the_loop() {
    for name in ["todo", "memory", "session_search", "delegate_task"] {
        let mut owned = entry(name, name, gives(|| panic!("it must not run")));
        owned.route = Route::AgentLoop;
        let world = World::with(vec![owned]);
        let result = world.call(name, "{}").await;
        let error = error_of(&result);
        assert!(error.contains(name) && error.contains("agent loop"), "{error}");
        assert_eq!(world.recorder.counts(), (0, 0));
    }
}

#[tokio::test]
async fn a_tool_outside_the_grant_is_refused_before_anything_fires() {
    let world = World::of(gives(|| panic!("it must not run")));
    let mut cx = world.cx();
    cx.grant = Arc::new(Grant::Only(std::iter::once("other".into()).collect()));
    let result = world.call_in("probe", "{}", &cx).await;
    assert_eq!(result.error_type, Some("tool_scope_block"));
    assert!(error_of(&result).contains("probe"));
    assert_eq!(world.recorder.counts(), (0, 0));
}

#[tokio::test]
async fn a_subagents_blocked_tools_stay_blocked_after_an_mcp_refresh() {
    use crate::registry::Origin;
    use crate::toolsets::{CORE, SUBAGENT_BLOCKED};
    let core = CORE.iter().map(|&name| entry(name, "core", echo())).collect();
    let world = World::with(core);
    let parent = Grant::Only(CORE.iter().map(|&name| name.into()).collect());
    let rest = CORE.iter().filter(|name| !SUBAGENT_BLOCKED.contains(name));
    let child = parent.intersect(&Grant::Only(rest.map(|&name| name.into()).collect()));
    let mut cx = world.cx();
    cx.grant = Arc::new(child);
    let server = Origin::mcp("mail");
    world.registry.refresh(vec![entry("send_message", "mcp-mail", echo())], &server);
    for name in SUBAGENT_BLOCKED {
        let result = world.call_in(name, "{}", &cx).await;
        assert_eq!(result.error_type, Some("tool_scope_block"), "{name}");
    }
    assert_eq!(world.call_in("read_file", "{}", &cx).await.status, Status::Ok);
}

#[tokio::test]
async fn the_older_mcp_spelling_reaches_the_tool_under_its_real_name() {
    let world = World::with(vec![entry("mcp__git_hub__list_issues", "mcp-git_hub", echo())]);
    let result = world.call("mcp_git_hub_list_issues", "{}").await;
    assert_eq!((result.name.as_str(), result.status), ("mcp__git_hub__list_issues", Status::Ok));
}

#[tokio::test]
async fn arguments_are_coerced_and_non_ascii_text_stays_as_it_is() {
    let coerced = Entry::new(
        "probe",
        "test",
        schema(&json!({ "limit": { "type": "integer" }, "word": { "type": "string" } })),
        echo(),
    );
    let world = World::with(vec![coerced]);
    let result = world.call("probe", r#"{"limit": " 42 ", "word": "größer"}"#).await;
    assert_eq!(result.content.text(), r#"{"args":{"limit":42,"word":"größer"}}"#);
    let seen = world.recorder.seen();
    assert!(matches!(&seen[0], Seen::Pre { args, .. } if args["limit"] == 42), "{seen:?}");
}

#[tokio::test]
async fn long_error_texts_are_cut() {
    let world = World::of(gives(|| Err(ToolError::new("Long", "x".repeat(5000)))));
    let error = error_of(&world.call("probe", "{}").await);
    assert!(error.ends_with('…') && error.chars().count() < 2050, "{}", error.len());
}

#[tokio::test]
async fn the_door_is_also_a_port() {
    use petasos_contract::ports::Door;
    let world = World::of(echo());
    let door: Arc<dyn Door> = world.dispatcher();
    let cx = world.cx();
    let result = door.dispatch(ToolCall::new("c", "probe", ""), &cx).await;
    assert_eq!(body(&result), json!({ "args": {} }));
}
