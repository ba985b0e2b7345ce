//! The Agent Client Protocol, as the Copilot program speaks it on its pipes.
//!
//! One question is one turn of a session of its own: the conversation as a text, with the images of
//! the last message. The program is offered nothing (no files, no terminal) and every permission it
//! asks for is refused. Tools of ours travel in the text and come back as marked calls (`calls`).

mod calls;
mod fold;

use petasos_contract::model::{Prompt, Reason, ToolChoice};
use serde_json::{Value, json};

use crate::mode::Wire;
use crate::transport::decode::{DecodeError, Fault, Framed};
use crate::transport::program::{Answers, Program, Room, TURN, call};
use crate::transport::target::{Repair, Target};
use crate::transport::{EncodeError, TransportDef, WireRequest, transcript};

/// The dialect.
pub(super) static TRANSPORT: TransportDef = TransportDef {
    wire: Wire::CopilotAcp,
    name: "copilot_acp",
    codes: &[
        ("-32000", Reason::Auth),
        ("-32602", Reason::Format),
        ("-32603", Reason::ServerError),
        (NO_MODEL, Reason::ModelNotFound),
        (OTHER_PROTOCOL, Reason::InvalidResponse),
    ],
    takes: &[],
    encode,
    decoder: |target, framing| Framed::boxed(fold::Turn::new(target), framing),
    program: Some(&PROGRAM),
};

static PROGRAM: Program = Program {
    grants: &[
        "COPILOT_GITHUB_TOKEN",
        "GH_TOKEN",
        "GITHUB_TOKEN",
        "COPILOT_GH_HOST",
        "DBUS_SESSION_BUS_ADDRESS",
    ],
    login: "log in with `copilot login`",
    about_tools: None,
    next,
    refuse,
};

/// The version of the protocol that is spoken here.
const PROTOCOL: u64 = 1;
/// The name that means "whatever the program itself has chosen".
const ITS_OWN: &str = "copilot-acp";
const NO_MODEL: &str = "model_not_found";
const OTHER_PROTOCOL: &str = "protocol_version";

/// The parts of the one prompt.
fn encode(prompt: &Prompt, target: &Target) -> Result<WireRequest, EncodeError> {
    if prompt.messages.is_empty() {
        return Err(EncodeError::Empty);
    }
    if prompt.answer.is_some() {
        return Err(EncodeError::Answer);
    }
    let left_out = |name: &petasos_contract::ToolName| {
        target.repairs.contains(&Repair::Quarantine(name.clone()))
    };
    let tools: Vec<_> = prompt.tools.iter().filter(|tool| !left_out(&tool.name)).collect();
    let offered = if prompt.tool_choice == ToolChoice::Off { &[][..] } else { &tools };
    let instructions = [prompt.system.trim().to_owned(), calls::taught(offered)];
    let instructions: Vec<String> =
        instructions.into_iter().filter(|text| !text.is_empty()).collect();
    let text = transcript::of(prompt, &instructions.join("\n\n"));
    let mut parts = vec![json!({ "type": "text", "text": text })];
    for image in transcript::images(prompt) {
        parts.extend(
            image
                .inline()
                .map(|(kind, data)| json!({ "type": "image", "mimeType": kind, "data": data })),
        );
    }
    let body = serde_json::to_vec(&parts).map_err(|error| EncodeError::Body(error.to_string()))?;
    Ok(WireRequest {
        url: target.base_url.clone(),
        headers: Vec::new(),
        body,
        offered: Vec::new(),
        quarantined: Vec::new(),
    })
}

fn next(room: &Room<'_>, answers: &Answers) -> Result<Vec<Value>, DecodeError> {
    let Some(hello) = answers.get("initialize") else {
        let params = json!({
            "protocolVersion": PROTOCOL,
            "clientCapabilities": {
                "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false,
            },
            "clientInfo": { "name": "petasos", "version": env!("CARGO_PKG_VERSION") },
        });
        return Ok(vec![call("initialize", "initialize", &params)]);
    };
    if hello.get("protocolVersion").and_then(Value::as_u64) != Some(PROTOCOL) {
        let told = hello.get("protocolVersion").unwrap_or(&Value::Null);
        return Err(fault(OTHER_PROTOCOL, format!("it speaks version {told} and not {PROTOCOL}")));
    }
    let Some(session) = answers.get("session") else {
        let params = json!({ "cwd": room.folder, "mcpServers": [] });
        return Ok(vec![call("session", "session/new", &params)]);
    };
    let id = session.get("sessionId").filter(|id| id.is_string());
    let id = id.ok_or_else(|| DecodeError::malformed("a session without an id", ""))?;
    let wanted = room.target.model.as_str();
    if wanted != ITS_OWN && !wanted.is_empty() && answers.get("model").is_none() {
        let known: Vec<&str> = models(session);
        if !known.contains(&wanted) {
            let known = if known.is_empty() { ITS_OWN.to_owned() } else { known.join(", ") };
            return Err(fault(NO_MODEL, format!("it has no model `{wanted}`, but {known}")));
        }
        let params = json!({ "sessionId": id, "modelId": wanted });
        return Ok(vec![call("model", "session/set_model", &params)]);
    }
    if answers.get(TURN).is_some() {
        return Ok(Vec::new());
    }
    let sees = hello.pointer("/agentCapabilities/promptCapabilities/image");
    let sees = sees.and_then(Value::as_bool).unwrap_or(false);
    let parts = room.turn.as_array().into_iter().flatten();
    let parts: Vec<&Value> = parts.filter(|part| sees || part["type"] != "image").collect();
    let params = json!({ "sessionId": id, "prompt": parts });
    Ok(vec![call(TURN, "session/prompt", &params)])
}

fn models(session: &Value) -> Vec<&str> {
    let listed = session.pointer("/models/availableModels").and_then(Value::as_array);
    let ids = listed.into_iter().flatten().filter_map(|model| model.get("modelId")?.as_str());
    ids.collect()
}

fn fault(code: &str, message: String) -> DecodeError {
    DecodeError::Fault { fault: Fault { code: Some(code.to_owned()), message, ..Fault::default() } }
}

/// Nobody was told that this program may do anything, so nobody lets it.
fn refuse(method: &str, params: &Value) -> Result<Value, &'static str> {
    if method != "session/request_permission" {
        return Err("this client offers no files and no terminal");
    }
    let options = params.get("options").and_then(Value::as_array);
    let kind = |word: &'static str| {
        let mut options = options.into_iter().flatten();
        options.find(|option| option.get("kind").and_then(Value::as_str) == Some(word))
    };
    let no = kind("reject_once").or_else(|| kind("reject_always"));
    Ok(match no.and_then(|option| option.get("optionId")) {
        Some(option) => json!({ "outcome": { "outcome": "selected", "optionId": option } }),
        None => json!({ "outcome": { "outcome": "cancelled" } }),
    })
}
