//! What a command's result says of the approval it needed: who agreed, and to what.
//!
//! Decides nothing. Results of tools that run no command have no such key.

use petasos_contract::ToolOutput;
use petasos_contract::approval::{Answer, Finding};
use petasos_contract::effect::{Effect, Effects};
use serde_json::{Map, Value};

/// The exit code of a command that its user cut short.
const INTERRUPTED: i64 = 130;

/// The note for a command that somebody agreed to.
pub(super) fn note(answer: &Answer, findings: &[Finding], effects: &Effects) -> Option<String> {
    let Answer::Allowed { by, .. } = answer else { return None };
    let runs = effects.iter().any(|effect| matches!(effect, Effect::Command { .. }));
    let keys: Vec<&str> = findings.iter().map(|finding| &*finding.key).collect();
    runs.then(|| format!("Approved by {by} ({}).", keys.join(", ")))
}

/// Puts the note into a command's result; any other result stays as it is.
pub(super) fn say(output: ToolOutput, note: Option<String>) -> ToolOutput {
    let (Some(mut note), ToolOutput::Text(text)) = (note, &output) else { return output };
    let Ok(mut result) = serde_json::from_str::<Map<String, Value>>(text) else { return output };
    let Some(code) = result.get("exit_code") else { return output };
    if code.as_i64() == Some(INTERRUPTED) {
        note.push_str(" It was interrupted.");
    }
    result.insert("approval".to_owned(), note.into());
    ToolOutput::Text(Value::Object(result).to_string())
}
