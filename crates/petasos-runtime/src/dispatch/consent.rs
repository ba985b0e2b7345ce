//! What a command's result says of the approval it needed: who agreed, and to what.
//!
//! Decides nothing. Results of tools that run no command have no such key.

use petasos_contract::ToolOutput;
use petasos_contract::approval::{Answer, Finding, Who};
use petasos_contract::effect::{Effect, Effects};
use serde_json::{Map, Value};

/// The exit code of a command that its user cut short.
const INTERRUPTED: i64 = 130;

/// Who agreed to a command, and to what.
pub(super) struct Consent {
    note: String,
    /// The key that says whose word it was.
    by: &'static str,
}

/// The note for a command that somebody agreed to.
pub(super) fn note(answer: &Answer, findings: &[Finding], effects: &Effects) -> Option<Consent> {
    let Answer::Allowed { by, .. } = answer else { return None };
    let runs = effects.iter().any(|effect| matches!(effect, Effect::Command { .. }));
    let keys: Vec<&str> = findings.iter().map(|finding| &*finding.key).collect();
    runs.then(|| Consent {
        note: format!("Approved by {by} ({}).", keys.join(", ")),
        by: if *by == Who::Reviewer { "smart_approved" } else { "user_approved" },
    })
}

/// Puts the note into a command's result; any other result stays as it is.
pub(super) fn say(output: ToolOutput, consent: Option<Consent>) -> ToolOutput {
    let (Some(consent), ToolOutput::Text(text)) = (consent, &output) else { return output };
    let Consent { mut note, by } = consent;
    let Ok(mut result) = serde_json::from_str::<Map<String, Value>>(text) else { return output };
    let Some(code) = result.get("exit_code") else { return output };
    if code.as_i64() == Some(INTERRUPTED) {
        note.push_str(" It was interrupted.");
    }
    result.insert("approval".to_owned(), note.into());
    result.insert(by.to_owned(), true.into());
    ToolOutput::Text(Value::Object(result).to_string())
}
