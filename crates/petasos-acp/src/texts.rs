//! What a person reads of a call: what it printed, what came of it, the list of tasks.

use agent_client_protocol_schema::v1::{
    Content, ContentBlock, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate,
    TextContent, ToolCallContent, ToolCallLocation,
};
use serde_json::Value;

use crate::render::FileDiff;

/// So much of what a command prints is shown while it runs.
const OUTPUT_CHARS: usize = 16_000;

/// Adds to what was printed; of much only the end is kept.
pub(crate) fn printed(all: &mut String, text: &str) {
    all.push_str(text);
    let count = all.chars().count();
    if count > OUTPUT_CHARS * 2 {
        *all = all.chars().skip(count - OUTPUT_CHARS).collect();
    }
}

/// Text as an editor shows what a program printed, whatever fences are in it.
pub(crate) fn fenced(text: &str) -> ToolCallContent {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let count = text.chars().count();
    let shown: String = text.chars().skip(count.saturating_sub(OUTPUT_CHARS)).collect();
    plain(&format!("{fence}\n{}\n{fence}", shown.trim_end()))
}

pub(crate) fn plain(text: &str) -> ToolCallContent {
    ToolCallContent::Content(Content::new(ContentBlock::Text(TextContent::new(text))))
}

/// What a person reads of a result.
pub(crate) fn told(tool: &str, output: &Value, has_diff: bool) -> Option<ToolCallContent> {
    let field = |key: &str| output.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
    if let Some(error) = field("error") {
        return Some(plain(error));
    }
    match tool {
        "todo" => None,
        _ if has_diff => None,
        "terminal" | "execute_code" | "process" => field("output").map(fenced),
        "read_file" => field("content").map(fenced),
        "patch" | "skill_manage" if field("diff").is_some() => field("diff").map(fenced),
        _ => match output {
            Value::String(text) if !text.trim().is_empty() => Some(fenced(text)),
            Value::String(_) | Value::Null => None,
            other => serde_json::to_string_pretty(other).ok().as_deref().map(fenced),
        },
    }
}

/// The whole list of tasks, as the `todo` tool gives it back.
pub(crate) fn plan(output: &Value) -> Option<Plan> {
    let todos = output.get("todos")?.as_array()?;
    let entries = todos.iter().filter_map(|todo| {
        let text = |key: &str| todo.get(key).and_then(Value::as_str);
        let status = match text("status").unwrap_or_default() {
            "in_progress" => PlanEntryStatus::InProgress,
            // The protocol has no word for what was given up: it is done with.
            "completed" | "cancelled" => PlanEntryStatus::Completed,
            _ => PlanEntryStatus::Pending,
        };
        let content = text("content").filter(|content| !content.is_empty()).or(text("id"))?;
        Some(PlanEntry::new(content, PlanEntryPriority::Medium, status))
    });
    Some(Plan::new(entries.collect()))
}

/// A call without what makes it too long for a message; nothing for what is no call.
pub(crate) fn shortened(update: SessionUpdate) -> Option<SessionUpdate> {
    let instead = || vec![plain("[too long to be shown here]")];
    match update {
        SessionUpdate::ToolCall(mut call) => {
            (call.content, call.raw_input, call.raw_output) = (instead(), None, None);
            Some(SessionUpdate::ToolCall(call))
        }
        SessionUpdate::ToolCallUpdate(mut update) => {
            let fields = &mut update.fields;
            (fields.raw_input, fields.raw_output) = (None, None);
            fields.content = Some(instead());
            Some(SessionUpdate::ToolCallUpdate(update))
        }
        _ => None,
    }
}

/// The places that an edit has changed, each with its first line that is another.
pub(crate) fn places(diffs: &[FileDiff]) -> Vec<ToolCallLocation> {
    let place = |diff: &FileDiff| {
        let old = diff.old.as_deref().unwrap_or_default();
        let same = old.lines().zip(diff.new.lines()).take_while(|(old, new)| old == new).count();
        ToolCallLocation::new(diff.path.clone()).line(u32::try_from(same + 1).ok())
    };
    diffs.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_followed_to_its_first_changed_line() {
        let line = |old: Option<&str>, new: &str| {
            let (old, new) = (old.map(str::to_owned), new.to_owned());
            places(&[FileDiff { path: "/w/a".into(), old, new }]).first().and_then(|it| it.line)
        };
        assert_eq!(line(Some("a\nb\nc\n"), "a\nB\nc\n"), Some(2));
        assert_eq!(line(Some("a\nb\n"), "a\nb\nc\n"), Some(3));
        assert_eq!(line(None, "a\n"), Some(1));
        assert_eq!(line(Some("a\nb\n"), ""), Some(1));
    }
}
