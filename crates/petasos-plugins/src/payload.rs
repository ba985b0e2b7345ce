//! A moment as the JSON that plugins and shell hooks read.
//!
//! Field names are those of the catalogue, so that hooks written for it need no change.

mod request;

use petasos_contract::CallContext;
use petasos_contract::approval::{Answer, Scope, Who};
use petasos_contract::context::Surface;
use petasos_contract::hook::{
    ApprovalMoment, BoardMoment, ChildMoment, Finished, Moment, SessionMoment, ToolMoment,
    TurnMoment,
};
use petasos_contract::middleware::Rewritten;
use serde_json::{Map, Value, json};

pub use request::{prompt_json, prompt_with, reply_from, reply_json};

/// The version that every payload names.
pub const SCHEMA: &str = "hermes.observer.v1";

/// The named fields of a moment.
pub fn fields(moment: &Moment<'_>) -> Map<String, Value> {
    let mut fields = object(own_fields(moment));
    if let Some(cx) = moment.cx() {
        let common = [
            ("session_id", json!(cx.session)),
            ("task_id", json!(cx.task)),
            ("turn_id", json!(cx.turn)),
            ("platform", json!(platform(cx.surface))),
        ];
        for (name, value) in common {
            fields.entry(name).or_insert(value);
        }
    }
    fields.insert("telemetry_schema_version".to_owned(), json!(SCHEMA));
    fields
}

/// The word for a surface.
pub fn platform(surface: Surface) -> &'static str {
    surface.as_str()
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn own_fields(moment: &Moment<'_>) -> Value {
    match moment {
        Moment::PreToolCall(about) => call(about, true),
        Moment::PostToolCall(about, finished) => with(call(about, true), ended(finished)),
        Moment::TransformToolResult(about, finished) => with(call(about, false), ended(finished)),
        Moment::TransformTerminalOutput(about) => json!({
            "command": about.command, "output": about.output,
            "returncode": about.returncode, "env_type": about.env_type,
        }),
        Moment::TransformLlmOutput(about) => {
            json!({ "response_text": about.text, "model": about.model })
        }
        Moment::PreLlmCall(about) => turn(about),
        Moment::PostLlmCall(about, reply) => {
            with(turn(about), json!({ "assistant_response": reply }))
        }
        Moment::PreVerify(about) => json!({
            "model": about.model, "coding": !about.changed_paths.is_empty(),
            "attempt": about.attempt, "final_response": about.final_response,
            "changed_paths": about.changed_paths,
        }),
        Moment::PreApiRequest(about) => request::before(about),
        Moment::PostApiRequest(about, reply) => request::after(about, reply),
        Moment::ApiRequestError(about, error) => request::failed(about, error),
        Moment::OnSessionStart(about)
        | Moment::OnSessionFinalize(about)
        | Moment::OnSessionReset(about) => border(about),
        Moment::OnSessionEnd(about) => json!({
            "model": about.model, "completed": about.completed,
            "interrupted": about.interrupted, "reason": about.reason,
        }),
        Moment::SubagentStart(about) => child(about),
        Moment::SubagentStop(about, end) => with(
            child(about),
            json!({
                "child_summary": end.summary, "child_status": end.status,
                "duration_ms": end.duration_ms,
            }),
        ),
        Moment::PreGatewayDispatch(about) => {
            json!({ "event": about.event, "platform": about.platform })
        }
        Moment::PreApprovalRequest(about) => question(about),
        Moment::PostApprovalResponse(about, answer) => with(question(about), answered(answer)),
        Moment::KanbanTaskClaimed(about) => board(about, None),
        Moment::KanbanTaskCompleted(about) => board(about, Some("summary")),
        Moment::KanbanTaskBlocked(about) => board(about, Some("reason")),
        _ => json!({}),
    }
}

fn with(first: Value, second: Value) -> Value {
    let mut fields = object(first);
    fields.extend(object(second));
    Value::Object(fields)
}

fn call(about: &ToolMoment<'_>, with_trace: bool) -> Value {
    let mut fields = object(json!({
        "tool_name": about.tool,
        "args": about.args.object(),
        "tool_call_id": about.cx.call,
        "api_request_id": about.cx.turn,
        "principal": principal(about.cx),
        "depth": about.cx.depth,
        "cwd": about.cx.workspace.display().to_string(),
    }));
    if with_trace {
        fields.insert("middleware_trace".to_owned(), trace(about.rewrites));
    }
    Value::Object(fields)
}

fn principal(cx: &CallContext) -> String {
    use petasos_contract::context::Principal;
    match &cx.principal {
        Principal::Model => "model".to_owned(),
        Principal::Subagent => "subagent".to_owned(),
        Principal::Review => "review".to_owned(),
        Principal::Code => "code".to_owned(),
        Principal::Person => "person".to_owned(),
        Principal::McpClient => "mcp_client".to_owned(),
        Principal::Plugin(name) => format!("plugin:{name}"),
        _ => "other".to_owned(),
    }
}

pub(crate) fn trace(rewrites: &[Rewritten]) -> Value {
    rewrites
        .iter()
        .map(|one| json!({ "source": "plugin", "name": one.by, "reason": one.reason }))
        .collect()
}

fn ended(finished: &Finished<'_>) -> Value {
    json!({
        "result": finished.result,
        "duration_ms": finished.duration_ms,
        "status": finished.status.as_str(),
        "error_type": finished.error_type,
        "error_message": finished.error_message,
    })
}

fn turn(about: &TurnMoment<'_>) -> Value {
    json!({
        "user_message": about.user_message, "conversation_history": about.history,
        "is_first_turn": about.is_first_turn, "model": about.model, "sender_id": about.sender,
    })
}

fn border(about: &SessionMoment<'_>) -> Value {
    json!({
        "model": about.model, "reason": about.reason,
        "old_session_id": about.old, "new_session_id": about.new,
    })
}

fn child(about: &ChildMoment<'_>) -> Value {
    json!({
        "parent_session_id": about.cx.session, "parent_turn_id": about.cx.turn,
        "parent_subagent_id": null, "child_session_id": about.child,
        "child_subagent_id": about.child, "child_role": about.role, "child_goal": about.goal,
    })
}

fn question(about: &ApprovalMoment<'_>) -> Value {
    let keys: Vec<&str> = about.request.findings.iter().map(|finding| &*finding.key).collect();
    let why: Vec<&str> = about.request.findings.iter().map(|finding| &*finding.why).collect();
    let surface = match about.cx.surface {
        Surface::Gateway => "gateway",
        _ => "cli",
    };
    json!({
        "command": about.request.subject, "description": why.join("; "),
        "pattern_key": keys.first(), "pattern_keys": keys,
        "session_key": about.cx.session, "surface": surface, "tool_call_id": about.cx.call,
    })
}

fn answered(answer: &Answer) -> Value {
    let (choice, by) = match answer {
        Answer::Allowed { by: Who::Reviewer, .. } => ("smart_approve", Some("aux_llm")),
        Answer::Denied { by: Who::Reviewer, .. } => ("smart_deny", Some("aux_llm")),
        Answer::Allowed { scope: Scope::Once, .. } => ("once", None),
        Answer::Allowed { scope: Scope::Session, .. } => ("session", None),
        Answer::Allowed { scope: Scope::Always, .. } => ("always", None),
        Answer::Expired { .. } => ("timeout", None),
        Answer::Denied { .. }
        | Answer::Undeliverable { .. }
        | Answer::ReviewerUnavailable { .. } => ("deny", None),
    };
    json!({ "choice": choice, "decided_by": by })
}

fn board(about: &BoardMoment<'_>, note: Option<&str>) -> Value {
    let mut fields = object(json!({
        "task_id": about.task_id, "board": about.board, "assignee": about.assignee,
        "run_id": about.run_id, "profile_name": about.profile,
    }));
    if let Some(name) = note {
        fields.insert(name.to_owned(), json!(about.note));
    }
    Value::Object(fields)
}
