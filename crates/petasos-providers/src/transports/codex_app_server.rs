//! The app server of the Codex program: JSON-RPC on its pipes, a thread and one turn a question.
//!
//! The program runs a loop of tools of its own, in a sandbox of its own; what it did is shown as
//! reasoning, what it says is the reply. It logs in by itself: no key of ours reaches it, and what it
//! asks permission for is declined.

mod fold;

use petasos_contract::model::{Effort, Prompt, Reason};
use serde_json::{Value, json};

use crate::mode::Wire;
use crate::transport::decode::{DecodeError, Framed};
use crate::transport::history::clean;
use crate::transport::program::{Answers, Program, Room, TURN, call, note};
use crate::transport::target::Target;
use crate::transport::{EncodeError, TransportDef, WireRequest, transcript};

/// The dialect.
pub(super) static TRANSPORT: TransportDef = TransportDef {
    wire: Wire::CodexAppServer,
    name: "codex_app_server",
    codes: &[
        ("unauthorized", Reason::Auth),
        ("contextWindowExceeded", Reason::ContextOverflow),
        ("usageLimitExceeded", Reason::Billing),
        ("sessionBudgetExceeded", Reason::Billing),
        ("rateLimitExceeded", Reason::RateLimit),
        ("serverOverloaded", Reason::Overloaded),
        ("modelNotFound", Reason::ModelNotFound),
        ("cyberPolicy", Reason::ContentPolicy),
        ("misalignmentPolicyViolation", Reason::ContentPolicy),
        ("internalServerError", Reason::ServerError),
        ("badRequest", Reason::Format),
        ("httpConnectionFailed", Reason::Timeout),
        ("responseStreamConnectionFailed", Reason::Timeout),
        ("responseStreamDisconnected", Reason::Timeout),
        ("-32600", Reason::Format),
    ],
    takes: &[],
    encode,
    decoder: |target, framing| Framed::boxed(fold::Turn::new(target), framing),
    program: Some(&PROGRAM),
};

static PROGRAM: Program = Program {
    grants: &["CODEX_HOME"],
    login: "log in with `codex login`",
    about_tools: Some(
        "Codex works with tools and a sandbox of its own; the tools of this conversation and its \
         approvals do not reach it",
    ),
    next,
    refuse,
};

/// What a turn is made of: the instructions, the input, and how much to think.
fn encode(prompt: &Prompt, target: &Target) -> Result<WireRequest, EncodeError> {
    if prompt.messages.is_empty() {
        return Err(EncodeError::Empty);
    }
    let mut input = vec![json!({ "type": "text", "text": transcript::of(prompt, "") })];
    for image in transcript::images(prompt) {
        input.push(json!({ "type": "image", "url": image.url }));
    }
    let mut body = json!({ "instructions": clean(prompt.system.trim()), "input": input });
    if let Some(effort) = prompt.effort {
        body["effort"] = json!(match effort {
            Effort::Off => "none",
            Effort::Minimal => "minimal",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::Xhigh | Effort::Max | Effort::Ultra => "xhigh",
        });
    }
    if let Some(answer) = &prompt.answer {
        body["outputSchema"] = answer.schema.clone();
    }
    let body = serde_json::to_vec(&body).map_err(|error| EncodeError::Body(error.to_string()))?;
    Ok(WireRequest {
        url: target.base_url.clone(),
        headers: Vec::new(),
        body,
        offered: Vec::new(),
        quarantined: Vec::new(),
    })
}

fn next(room: &Room<'_>, answers: &Answers) -> Result<Vec<Value>, DecodeError> {
    if answers.get("initialize").is_none() {
        let client =
            json!({ "name": "petasos", "title": "Petasos", "version": env!("CARGO_PKG_VERSION") });
        return Ok(vec![call("initialize", "initialize", &json!({ "clientInfo": client }))]);
    }
    let Some(thread) = answers.get("thread") else {
        let sandbox = if room.writes_workspace { "workspace-write" } else { "read-only" };
        let mut params = json!({
            "cwd": room.folder, "sandbox": sandbox, "approvalPolicy": "on-request",
            "ephemeral": true,
        });
        if !room.target.model.is_empty() {
            params["model"] = json!(room.target.model);
        }
        if let Some(text) = room.turn.get("instructions").filter(|text| **text != json!("")) {
            params["developerInstructions"] = text.clone();
        }
        return Ok(vec![note("initialized"), call("thread", "thread/start", &params)]);
    };
    if answers.get(TURN).is_some() {
        return Ok(Vec::new());
    }
    let id = thread.pointer("/thread/id").filter(|id| id.is_string());
    let id = id.ok_or_else(|| DecodeError::malformed("a thread without an id", ""))?;
    let mut params = json!({ "threadId": id, "input": room.turn.get("input") });
    for name in ["effort", "outputSchema"] {
        if let Some(value) = room.turn.get(name) {
            params[name] = value.clone();
        }
    }
    Ok(vec![call(TURN, "turn/start", &params)])
}

/// Nobody is there to be asked: what its sandbox does not allow is declined.
fn refuse(method: &str, _: &Value) -> Result<Value, &'static str> {
    match method {
        "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
            Ok(json!({ "decision": "decline" }))
        }
        "execCommandApproval" | "applyPatchApproval" => Ok(json!({ "decision": "denied" })),
        _ => Err("this client offers no such thing"),
    }
}
