//! CSV and JSON as text that a model reads well.

use serde_json::Value;

const ROWS_MAX: usize = 50;

/// The first rows of a CSV text as a table.
pub(crate) fn csv(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let separator =
        [',', ';', '\t'].into_iter().max_by_key(|c| first.matches(*c).count()).unwrap_or(',');
    let rows = rows(text, separator);
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    if columns < 2 {
        return text.to_owned();
    }
    let mut lines = Vec::new();
    for (at, row) in rows.iter().take(ROWS_MAX + 1).enumerate() {
        let mut cells: Vec<String> =
            row.iter().map(|cell| cell.replace('\n', " ").replace('|', "\\|")).collect();
        cells.resize(columns, String::new());
        lines.push(format!("| {} |", cells.join(" | ")));
        if at == 0 {
            lines.push(format!("|{}", " --- |".repeat(columns)));
        }
    }
    if rows.len() > ROWS_MAX + 1 {
        lines.push(format!("\n…and {} more rows", rows.len() - ROWS_MAX - 1));
    }
    lines.join("\n")
}

fn rows(text: &str, separator: char) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut is_quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                cell.push('"');
                letters.next();
            }
            '"' => is_quoted = !is_quoted,
            '\r' if !is_quoted => {}
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c if c == separator && !is_quoted => row.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    rows
}

/// JSON in a fence, with line breaks.
pub(crate) fn json(text: &str) -> String {
    let pretty = serde_json::from_str::<Value>(text).ok();
    let pretty = pretty.and_then(|value| serde_json::to_string_pretty(&value).ok());
    format!("```json\n{}\n```", pretty.as_deref().unwrap_or(text).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_csv_text_becomes_a_table() {
        let table = csv("name;note\n\"a;b\";\"say \"\"hi\"\"\"\nc;d|e\n");
        assert_eq!(table, "| name | note |\n| --- | --- |\n| a;b | say \"hi\" |\n| c | d\\|e |");
    }
}
