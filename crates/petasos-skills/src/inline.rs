//! Variables and commands inside the text of a skill.
//!
//! A command is written as an exclamation mark and a text in backticks. It runs only where a
//! person switched that on, only in skills of their own, and through the same door as any call.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::CallContext;
use petasos_contract::call::ToolCall;
use petasos_contract::id::CallId;
use petasos_contract::ports::Door;
use serde_json::{Value, json};

use crate::discover::Skill;

const OUTPUT_CHARS_MAX: usize = 4000;
const COMMANDS_MAX: usize = 20;
const NOT_RUN: &str = "[not run]";

/// Fills in where the skill lies and which session reads it.
pub(crate) fn filled(text: &str, skill: &Skill, cx: &CallContext) -> String {
    let folder = skill.folder.display().to_string();
    let mut text = text.to_owned();
    for name in ["${HERMES_SKILL_DIR}", "${PETASOS_SKILL_DIR}", "${CLAUDE_SKILL_DIR}"] {
        text = text.replace(name, &folder);
    }
    for name in ["${HERMES_SESSION_ID}", "${PETASOS_SESSION_ID}"] {
        text = text.replace(name, cx.session.as_str());
    }
    text
}

/// Runs the commands of a text and puts their output in their place.
pub(crate) async fn run(
    text: &str,
    timeout: Duration,
    door: &Arc<dyn Door>,
    cx: &CallContext,
) -> String {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    let mut count = 0;
    while let Some((before, command, after)) = next(rest) {
        done.push_str(before);
        count += 1;
        if count > COMMANDS_MAX {
            done.push_str(NOT_RUN);
        } else {
            done.push_str(&one(command, timeout, door, cx, count).await);
        }
        rest = after;
    }
    done.push_str(rest);
    done
}

/// The text before the first command, the command, and the text behind it.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("!`")?;
    let (command, after) = rest.split_once('`')?;
    if command.trim().is_empty() || command.contains('\n') {
        // It is no command, and neither is anything that it reaches over.
        let skipped = before.len() + 2;
        let (inner_before, command, after) = next(text.get(skipped..)?)?;
        let before = text.get(..skipped + inner_before.len())?;
        return Some((before, command, after));
    }
    Some((before, command, after))
}

async fn one(
    command: &str,
    timeout: Duration,
    door: &Arc<dyn Door>,
    cx: &CallContext,
    number: usize,
) -> String {
    let seconds = timeout.as_secs().max(1);
    let arguments = json!({ "command": command, "timeout": seconds }).to_string();
    let id = CallId::new(format!("{}-inline-{number}", cx.call.as_str()));
    let call = ToolCall::new(id.clone(), "terminal", arguments);
    let result = door.dispatch(call, &cx.for_call(id)).await;
    let text = result.content.text();
    let Ok(Value::Object(told)) = serde_json::from_str::<Value>(&text) else {
        return NOT_RUN.to_owned();
    };
    match told.get("output").and_then(Value::as_str) {
        Some(output) if result.error_type.is_none() => {
            output.trim_end().chars().take(OUTPUT_CHARS_MAX).collect()
        }
        _ => NOT_RUN.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_between_backticks_on_one_line() {
        assert_eq!(next("a !`ls -l` b"), Some(("a ", "ls -l", " b")));
        assert_eq!(next("no `code` here!"), None);
        assert_eq!(next("!`a\nb` and !`c`d"), Some(("!`a\nb` and ", "c", "d")));
        assert_eq!(next("ends !`open"), None);
    }
}
