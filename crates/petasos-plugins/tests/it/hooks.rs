//! Shell hooks: both shapes, consent, matcher, deadline, failure, rewriting.

use petasos_contract::call::Status;
use petasos_contract::context::Principal;
use petasos_contract::hook::{HookKind, Moment, RunMoment};
use petasos_plugins::shell::{Allowlist, Consent, listing};
use serde_json::{Value, json};

use crate::stage::{CANARY, Stage};

/// A stage whose hooks are accepted.
fn stage(hooks: Value) -> Stage {
    Stage::new(json!({ "hooks_auto_accept": true, "hooks": hooks }))
}

fn before(entry: Value) -> Stage {
    let stage = stage(json!({ "pre_tool_call": [entry] }));
    stage.shell_hooks();
    stage
}

#[tokio::test]
async fn a_hook_can_refuse_in_every_shape() {
    let rows = [
        r#"echo '{"action":"block","message":"not today"}'"#,
        r#"echo '{"decision":"block","reason":"not today"}'"#,
        r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not today"}}'"#,
        "echo not today >&2; exit 2",
        r#"echo '{"continue":false,"stopReason":"not today"}'; exit 1"#,
    ];
    for script in rows {
        let stage = before(json!({ "command": script, "shell": true }));
        let result = stage.call("echo", json!({})).await;
        assert_eq!(result.error_type, Some("plugin_block"), "{script}");
        assert_eq!(result.content.text(), r#"{"error":"not today"}"#, "{script}");
    }
}

#[tokio::test]
async fn a_hook_reads_the_call_and_sees_no_secret() {
    let stage = before(json!({ "command": "cat > seen; env > env", "shell": true }));
    stage.call("echo", json!({ "text": "hi" })).await;
    let read = |name| std::fs::read_to_string(stage.workspace.path().join(name)).unwrap();
    let seen: Value = serde_json::from_str(&read("seen")).unwrap();
    assert_eq!(seen["hook_event_name"], "pre_tool_call");
    assert_eq!(seen["tool_name"], "echo");
    assert_eq!(seen["tool_input"], json!({ "text": "hi" }));
    assert_eq!(seen["session_id"], "one");
    assert_eq!(seen["extra"]["tool_call_id"], "c1");
    assert_eq!(seen["extra"]["telemetry_schema_version"], "hermes.observer.v1");
    assert!(!read("env").contains(CANARY));
}

#[tokio::test]
async fn the_nested_form_of_claude_code_is_read() {
    let stage = stage(json!({
        "PreToolUse": [{ "matcher": "echo|other", "hooks": [{
            "type": "command",
            "command": "grep -q PreToolUse && echo seen >&2 && exit 2",
            "timeout": 5,
        }]}],
    }));
    assert_eq!(stage.shell_hooks().active.len(), 1);
    assert_eq!(stage.text("echo", json!({})).await, r#"{"error":"seen"}"#);
}

#[tokio::test]
async fn rewritten_arguments_are_fitted_and_judged_again() {
    let rewrite = |args: Value| {
        let answer = json!({ "hookSpecificOutput": { "permissionDecision": "allow", "updatedInput": args } });
        before(json!({ "command": format!("echo '{answer}'"), "shell": true }))
    };
    let stage = rewrite(json!({ "text": "safe", "count": "42" }));
    let result = stage.text("echo", json!({ "text": "forbidden" })).await;
    assert_eq!(result, r#"{"echo":{"text":"safe","count":42}}"#);
    let stage = rewrite(json!({ "text": "forbidden" }));
    let result = stage.call("echo", json!({ "text": "safe" })).await;
    assert_eq!(result.error_type, Some("policy_block"), "policy sees what would run");
}

#[tokio::test]
async fn a_hook_can_send_a_call_to_a_person() {
    let answer = r#"{"action":"approve","message":"are you sure","rule_key":"r"}"#;
    let stage = before(json!({ "command": format!("echo '{answer}'"), "shell": true }));
    assert_eq!(stage.call("echo", json!({})).await.status, Status::Ok);
    assert_eq!(*stage.asked.0.lock(), ["are you sure"]);
}

#[tokio::test]
async fn a_policy_that_cannot_answer_refuses_unless_it_says_otherwise() {
    let broken = ["/no/such/program", "sh -c 'exit 7'", "sh -c 'echo {broken'", "sleep 30"];
    for command in broken {
        let stage = before(json!({ "command": command, "timeout": 1 }));
        let result = stage.call("echo", json!({})).await;
        assert_eq!(result.error_type, Some("plugin_block"), "{command}");
        assert!(result.content.text().contains("policy hook"), "{}", result.content.text());
        let stage = before(json!({ "command": command, "timeout": 1, "on_failure": "allow" }));
        assert_eq!(stage.call("echo", json!({})).await.status, Status::Ok, "{command}");
    }
}

#[tokio::test]
async fn a_matcher_is_for_whole_names() {
    let block = "sh -c 'echo no >&2; exit 2'";
    for (matcher, blocks) in
        [("echo", true), ("ec.*", true), ("ech", false), ("[", false), ("*", true)]
    {
        let stage = before(json!({ "command": block, "matcher": matcher }));
        let blocked = stage.call("echo", json!({})).await.status == Status::Blocked;
        assert_eq!(blocked, blocks, "{matcher}");
    }
}

#[tokio::test]
async fn hooks_see_children_mcp_clients_and_scripts_too() {
    for principal in [Principal::Subagent, Principal::McpClient, Principal::Code, Principal::Person]
    {
        let stage = before(json!({ "command": "sh -c 'echo no >&2; exit 2'" }));
        let mut cx = stage.cx();
        cx.principal = principal.clone();
        let result = stage.call_in("echo", json!({}), &cx).await;
        assert_eq!(result.status, Status::Blocked, "{principal:?}");
    }
}

#[tokio::test]
async fn nothing_runs_without_consent_which_is_given_once() {
    let entry = json!({ "command": "sh -c 'echo no >&2; exit 2'" });
    let stage = Stage::new(json!({ "hooks": { "pre_tool_call": [entry] } }));
    let hooks = stage.shell_hooks();
    assert_eq!((hooks.active.len(), hooks.pending.len()), (0, 1));
    assert_eq!(stage.call("echo", json!({})).await.status, Status::Ok);
    let settings = stage.settings();
    Allowlist::of(&settings).approve(&hooks.pending[0], &settings).unwrap();
    let file = settings.home().join("shell-hooks-allowlist.json");
    let mode = std::os::unix::fs::MetadataExt::mode(&file.metadata().unwrap());
    assert_eq!(mode & 0o777, 0o600, "only its owner reads it");
    let hooks = stage.shell_hooks();
    assert_eq!((hooks.active.len(), hooks.pending.len()), (1, 0));
    assert_eq!(stage.call("echo", json!({})).await.status, Status::Blocked);
    Allowlist::of(&settings).revoke(&hooks.active[0]).unwrap();
    assert_eq!(stage.shell_hooks().pending.len(), 1);
}

#[tokio::test]
async fn a_script_that_changed_since_consent_asks_again_and_its_calls_wait() {
    let mut stage = Stage::new(json!({}));
    let script = stage.file("hook.sh", "exit 0");
    stage.values = json!({ "hooks": { "pre_tool_call": format!("sh {}", script.display()) } });
    let settings = stage.settings();
    let hook = listing(&settings).hooks.remove(0);
    Allowlist::of(&settings).approve(&hook, &settings).unwrap();
    let consent = || Allowlist::of(&settings).consent(&hook, &settings);
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    std::fs::File::options().write(true).open(&script).unwrap().set_modified(later).unwrap();
    assert_eq!(consent(), Consent::Given, "the same words, written again");
    stage.file("hook.sh", "touch ran; exit 0");
    assert_eq!(consent(), Consent::Outdated);
    let hooks = stage.shell_hooks();
    assert_eq!((hooks.active.len(), hooks.changed.len()), (0, 1));
    let refused = stage.call("echo", json!({})).await;
    assert_eq!(refused.status, Status::Blocked);
    let text = refused.content.text();
    assert!(text.contains("has changed") && text.contains("petasos hooks approve"), "{text}");
    assert!(!stage.workspace.path().join("ran").exists());
    Allowlist::of(&settings).approve(&hook, &settings).unwrap();
    assert_eq!(stage.shell_hooks().active.len(), 1);
}

#[tokio::test]
async fn a_hook_that_only_looks_on_may_take_seconds_and_one_that_decides_a_minute() {
    let stage = Stage::new(json!({ "hooks": {
        "post_tool_call": ["a", { "command": "b", "timeout": 90 }], "pre_tool_call": "c",
    }}));
    let hooks = listing(&stage.settings()).hooks;
    let limits = hooks.iter().map(|hook| (hook.command.as_str(), hook.timeout.as_secs()));
    assert_eq!(
        limits.collect::<std::collections::BTreeMap<_, _>>(),
        [("a", 10), ("b", 90), ("c", 60)].into()
    );
}

#[test]
fn what_is_wrong_with_the_section_is_said() {
    let stage = Stage::new(json!({ "hooks": {
        "pre_tool_cal": [{ "command": "x" }],
        "post_tool_call": [{ "matcher": "x" }, { "command": "y", "on_failure": "maybe" }, { "command": "ok", "timeout": 9999 }],
        "output_spill": { "enabled": false },
    }}));
    let listing = listing(&stage.settings());
    assert_eq!(listing.hooks.len(), 1);
    assert_eq!(listing.hooks[0].timeout.as_secs(), 300);
    assert!(listing.problems[0].contains("did you mean `pre_tool_call`"), "{:?}", listing.problems);
    assert_eq!(listing.problems.len(), 3);
}

#[tokio::test]
async fn after_a_call_nothing_can_be_changed_and_its_result_is_told() {
    let stage = stage(json!({ "post_tool_call": [
        { "command": "cat > after; echo '{\"action\":\"block\",\"message\":\"late\"}'; exit 2", "shell": true },
    ]}));
    stage.shell_hooks();
    assert_eq!(stage.call("echo", json!({})).await.status, Status::Ok);
    let text = std::fs::read_to_string(stage.workspace.path().join("after")).unwrap();
    let seen: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(seen["extra"]["status"], "ok");
    assert_eq!(seen["tool_response"], r#"{"echo":{}}"#);
}

#[test]
fn a_moment_that_nobody_wants_allocates_nothing() {
    let stage = Stage::new(json!({}));
    let cx = stage.cx();
    let about =
        RunMoment { cx: &cx, model: "m", completed: true, interrupted: false, reason: None };
    let moment = Moment::OnSessionEnd(&about);
    let mut waiting = std::task::Context::from_waker(std::task::Waker::noop());
    let told = allocation_counter::measure(|| {
        assert!(!stage.hooks.wants(HookKind::PreToolCall));
        let told = std::pin::pin!(stage.hooks.observe(&moment));
        assert!(told.poll(&mut waiting).is_ready());
        let added = std::pin::pin!(stage.hooks.additions(&moment));
        assert!(added.poll(&mut waiting).is_ready());
    });
    assert_eq!(told.count_total, 0, "{told:?}");
}
