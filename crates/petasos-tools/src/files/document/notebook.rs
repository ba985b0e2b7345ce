//! Notebooks as text: each cell with its kind and number, outputs only where they are text.

use std::fmt::Write;

use serde_json::Value;

/// How much of one output is shown.
const OUTPUT_CHARS_MAX: usize = 2000;

/// The text of a notebook; `None` when it is none.
pub(super) fn text(json: &[u8]) -> Option<String> {
    let notebook: Value = serde_json::from_slice(json).ok()?;
    let cells = notebook.get("cells")?.as_array()?;
    let mut text = String::new();
    for (index, cell) in cells.iter().enumerate() {
        let kind = cell.get("cell_type").and_then(Value::as_str).unwrap_or("cell");
        // Writing to a string cannot fail.
        writeln!(text, "# %% [{kind}] {}", index + 1).unwrap_or_default();
        let source = joined(cell.get("source"));
        text.push_str(source.trim_end_matches('\n'));
        text.push_str("\n\n");
        for output in cell.get("outputs").and_then(Value::as_array).into_iter().flatten() {
            let shown = shown(output);
            if !shown.trim().is_empty() {
                let cut: String = shown.chars().take(OUTPUT_CHARS_MAX).collect();
                text.push_str("# output:\n");
                text.push_str(cut.trim_end_matches('\n'));
                text.push_str("\n\n");
            }
        }
    }
    Some(text)
}

fn shown(output: &Value) -> String {
    let plain = output.get("data").and_then(|data| data.get("text/plain"));
    let error = output.get("evalue").and_then(Value::as_str).map(str::to_owned);
    error.unwrap_or_else(|| joined(output.get("text").or(plain)))
}

/// Text, or a list of its lines.
fn joined(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_their_text_outputs_are_shown() {
        let json = r##"{"cells":[{"cell_type":"markdown","source":["# Title\n","text"]},
            {"cell_type":"code","source":"print(1)","outputs":[{"text":["1\n"]},
            {"data":{"image/png":"…"}}]}]}"##;
        let expected =
            "# %% [markdown] 1\n# Title\ntext\n\n# %% [code] 2\nprint(1)\n\n# output:\n1\n\n";
        assert_eq!(text(json.as_bytes()).as_deref(), Some(expected));
        assert_eq!(text(b"{}"), None);
    }
}
