//! What people are shown of a result: how long it is, how it ends, and the task list it may be.
//!
//! Surfaces get this instead of the result, which may be megabytes and is written for a model.

use petasos_contract::event::{ResultView, TaskView};
use serde_json::Value;

/// Lines at the end of a result that a surface may show.
const TAIL_LINES: usize = 10;
/// Longer lines are cut.
const LINE_CHARS: usize = 300;
/// Fields whose text is worth showing, in this order.
const SHOWN_FIELDS: &[&str] = &["error", "output", "summary", "message"];

/// The status of a file that was read again; its message is for the model.
const UNCHANGED: &str = "unchanged";

/// What is shown of a result.
pub(crate) fn of(result: &str) -> ResultView {
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(result) else {
        return text(result);
    };
    let tasks = fields.get("todos").and_then(Value::as_array).map(|all| tasks(all));
    if let Some(tasks) = tasks {
        return ResultView { tasks, ..ResultView::default() };
    }
    if fields.get("status").and_then(Value::as_str) == Some(UNCHANGED) {
        return text("unchanged since the agent last read it");
    }
    let said = |key: &str| fields.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
    let exit_code = fields.get("exit_code").and_then(Value::as_i64).filter(|code| *code != 0);
    let mut view = SHOWN_FIELDS.iter().find_map(|key| said(key)).map(text).unwrap_or_default();
    if view.lines == 0 {
        // What was read is for the model; people have the file.
        view.lines = said("content").map_or(0, |content| content.lines().count());
    }
    ResultView { exit_code, ..view }
}

fn text(text: &str) -> ResultView {
    let text = text.trim_end();
    let lines = text.lines().count();
    let tail = text.lines().skip(lines.saturating_sub(TAIL_LINES)).map(cut).collect();
    ResultView { lines, tail, ..ResultView::default() }
}

fn cut(line: &str) -> String {
    let mut shown: String = line.chars().take(LINE_CHARS).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown
}

fn tasks(all: &[Value]) -> Vec<TaskView> {
    let field = |entry: &Value, key: &str| entry.get(key)?.as_str().map(str::to_owned);
    let task = |entry: &Value| {
        let text = field(entry, "content")?;
        Some(TaskView { text, status: field(entry, "status").unwrap_or_default() })
    };
    all.iter().filter_map(task).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_is_its_length_and_its_end() {
        let output: Vec<String> = (1..=20_000).map(|number| number.to_string()).collect();
        let result = serde_json::json!({ "output": output.join("\n"), "exit_code": 0 });
        let view = of(&result.to_string());
        assert_eq!(view.lines, 20_000);
        assert_eq!(view.tail.last().map(String::as_str), Some("20000"));
        assert_eq!(view.tail.len(), TAIL_LINES);
    }

    #[test]
    fn a_task_list_keeps_its_states_and_plain_text_its_lines() {
        let list = r#"{"todos":[{"id":"1","content":"read","status":"completed"},
            {"id":"2","content":"write","status":"pending"}],"summary":{}}"#;
        let task = |text: &str, status: &str| TaskView { text: text.into(), status: status.into() };
        assert_eq!(of(list).tasks, [task("read", "completed"), task("write", "pending")]);
        assert_eq!(of("a\nb\n").lines, 2);
        let again = r#"{"status":"unchanged","message":"go on with what you have"}"#;
        assert_eq!(of(again).tail, ["unchanged since the agent last read it"]);
        assert_eq!(of(r#"{"success":true}"#), ResultView::default());
    }
}
