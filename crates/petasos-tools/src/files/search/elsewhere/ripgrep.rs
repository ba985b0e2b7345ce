//! Reads what `rg --json` prints.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::Target;
use crate::files::line;
use crate::files::search::content::{Found, Hit, LINE_CHARS_MAX, excerpt};
use crate::files::search::walk::Walked;

/// Files with their hits, in the order they were printed.
pub(super) fn parsed(target: &Target<'_>, printed: &[u8], walked: &mut Walked) -> Vec<Found> {
    let mut files: Vec<Found> = Vec::new();
    let mut open: Option<Found> = None;
    let mut before: Vec<String> = Vec::new();
    for event in printed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        // The last line may be cut off.
        let Ok(event) = serde_json::from_slice::<Value>(event) else { continue };
        let data = &event["data"];
        match event["type"].as_str() {
            Some("begin") => {
                let inside = target.wanted(&text(&data["path"]), walked);
                open = inside.map(|inside| Found { inside, hits: Vec::new(), count: 0 });
                before.clear();
            }
            Some("match") => {
                let Some(file) = &mut open else { continue };
                file.count += 1;
                let bytes = text(&data["lines"]);
                let at = data["submatches"][0]["start"].as_u64().and_then(|at| at.try_into().ok());
                file.hits.push(Hit {
                    line: data["line_number"].as_u64().unwrap_or(0),
                    text: excerpt(bytes.as_bytes(), at),
                    before: std::mem::take(&mut before),
                    after: Vec::new(),
                });
            }
            Some("context") => {
                let Some(file) = &mut open else { continue };
                let shown = line::decoded(text(&data["lines"]).as_bytes(), LINE_CHARS_MAX).0;
                let number = data["line_number"].as_u64().unwrap_or(0);
                around(file, &mut before, (number, target.context), shown);
            }
            Some("end") => files.extend(open.take().filter(|file| file.count > 0)),
            _ => {}
        }
    }
    files.extend(open.filter(|file| file.count > 0));
    files
}

/// A line near a hit: after the last one while it is near it, else before the next.
pub(super) fn around(
    file: &mut Found,
    before: &mut Vec<String>,
    (number, context): (u64, usize),
    shown: String,
) {
    match file.hits.last_mut() {
        Some(hit) if number <= hit.line + context as u64 => hit.after.push(shown),
        Some(_) | None => before.push(shown),
    }
}

fn text(value: &Value) -> String {
    if let Some(text) = value["text"].as_str() {
        return text.to_owned();
    }
    // What is no text is told in base64.
    let bytes = value["bytes"].as_str().and_then(|text| STANDARD.decode(text).ok());
    let bytes = bytes.unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
