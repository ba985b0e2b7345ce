//! One line that says what a call is about, and one that says what came of it.
//!
//! Results are shown from a preview that may be cut in the middle of its JSON, so fields are looked
//! for in the text where it does not parse.

use std::fmt::Write as _;

use serde_json::Value;

/// Arguments that say the most, in this order.
const TELLING: &[&str] = &[
    "command",
    "path",
    "pattern",
    "query",
    "url",
    "urls",
    "goal",
    "tasks",
    "question",
    "session_id",
    "name",
    "action",
    "code",
    "text",
];
/// Fields of results that say the most, in this order.
const RESULT: &[&str] = &[
    "error",
    "output",
    "summary",
    "message",
    "user_response",
    "content",
    "result",
    "status",
    "matches",
    "total_lines",
];
/// What a model reads, and what a person wants to know instead.
const FOR_PEOPLE: &[(&str, &str)] =
    &[("dispatched", "runs in the background"), ("Background process started", "/jobs lists it")];
const LONG: usize = 160;

/// What a call is about.
pub(super) fn arguments(text: &str) -> String {
    let Ok(Value::Object(arguments)) = serde_json::from_str(text) else { return one_line(text) };
    let told = TELLING.iter().find_map(|key| arguments.get(*key));
    let told = told.or_else(|| arguments.values().find(|value| value.is_string()));
    told.map(self::told).unwrap_or_default()
}

/// One argument, in one line.
pub(super) fn told(value: &Value) -> String {
    one_line(&said(value))
}

/// What came of it.
pub(super) fn result(preview: &str) -> String {
    let told = told_result(preview);
    // The kind of an error is for the model, and for the log.
    let plain = told.strip_prefix("Tool execution failed: ").and_then(|it| it.split_once(": "));
    let told = plain.map_or(told.as_str(), |(_, why)| why);
    let said = FOR_PEOPLE.iter().find(|(model, _)| *model == told);
    said.map_or(told, |(_, person)| person).to_owned()
}

fn told_result(preview: &str) -> String {
    match serde_json::from_str::<Value>(preview) {
        Ok(Value::Object(fields)) => {
            let code = fields.get("exit_code").and_then(Value::as_i64).filter(|code| *code != 0);
            let told =
                RESULT.iter().find_map(|key| Some((key, fields.get(*key).filter(|it| says(it))?)));
            let told = told.map(|(key, value)| one_line(&found(key, value))).unwrap_or_default();
            match code {
                Some(code) => format!("exit {code} {told}").trim_end().to_owned(),
                None => told,
            }
        }
        Ok(value) => one_line(&said(&value)),
        Err(_) => {
            let found = RESULT.iter().find_map(|key| field(preview, key));
            one_line(&found.unwrap_or_else(|| preview.to_owned()))
        }
    }
}

/// A field of a result; a list of matches is told by how many there are.
fn found(key: &str, value: &Value) -> String {
    match value {
        Value::Array(all) if key == "matches" && all.len() == 1 => "1 match".to_owned(),
        Value::Array(all) if key == "matches" => format!("{} matches", all.len()),
        value => said(value),
    }
}

fn says(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        _ => true,
    }
}

fn said(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => match all.first().map(|first| first.get("goal").unwrap_or(first)) {
            Some(Value::String(first)) if all.len() == 1 => first.clone(),
            Some(Value::String(first)) => format!("{first} and {} more", all.len() - 1),
            _ if all.len() == 1 => "1 entry".to_owned(),
            _ => format!("{} entries", all.len()),
        },
        other => other.to_string(),
    }
}

/// The text of a field in JSON that is cut off.
fn field(text: &str, key: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("\"{key}\":"))?;
    let rest = rest.trim_start().strip_prefix('"')?;
    let mut out = String::new();
    let mut signs = rest.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '"' => break,
            '\\' => match signs.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => break,
            },
            sign => out.push(sign),
        }
    }
    (!out.trim().is_empty()).then_some(out)
}

/// The first line that says something, and how many follow.
fn one_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let more = lines.count();
    let mut line: String = first.chars().take(LONG).collect();
    if line.len() < first.len() {
        line.push('…');
    } else if more > 0 {
        let s = if more == 1 { "" } else { "s" };
        write!(line, " (+{more} line{s})").unwrap_or_default();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_telling_argument_is_shown() {
        for (arguments_text, shown) in [
            (r#"{"timeout": 3, "command": "ls\nrm x"}"#, "ls (+1 line)"),
            (r#"{"path": "a.txt", "content": "long"}"#, "a.txt"),
            (r#"{"urls": ["a", "b"]}"#, "a and 1 more"),
            (r#"{"todos": []}"#, ""),
            ("not json", "not json"),
        ] {
            assert_eq!(arguments(arguments_text), shown);
        }
    }

    #[test]
    fn a_result_is_one_line_even_when_it_is_cut() {
        for (preview, shown) in [
            (r#"{"output":"a\nb\n","exit_code":0}"#, "a (+1 line)"),
            (r#"{"output":"","exit_code":3}"#, "exit 3"),
            (r#"{"error":"no such file","output":""}"#, "no such file"),
            (r#"{"error":"Tool execution failed: InvalidArguments: no `path`"}"#, "no `path`"),
            (r#"{"output":"one\ntwo\nthr"#, "one (+2 lines)"),
            (r#"{"status":"ok"}"#, "ok"),
            (r#"{"matches":[{"line":1}]}"#, "1 match"),
            (r#"{"matches":[]}"#, "0 matches"),
            (r#"{"status":"dispatched"}"#, "runs in the background"),
            (r#"{"status":"dispatched","mess"#, "runs in the background"),
            ("plain text", "plain text"),
            ("", ""),
        ] {
            assert_eq!(result(preview), shown, "{preview}");
        }
    }
}
