//! A page of a file, or why there is none, as the JSON that the model reads.

use std::path::Path;

use petasos_contract::ToolOutput;
use serde_json::{Map, Value, json};

use super::{Input, Text};
use crate::edit::own_words;
use crate::files::document::Document;
use crate::files::kind::Kind;
use crate::files::open::Unreadable;
use crate::files::site::Site;
use crate::files::window::{Full, Page, Window};

/// From here on, a page of many lines comes with advice.
const LARGE_BYTES: u64 = 512_000;
const LARGE_LINES: u64 = 200;

/// The window, and how to go on.
pub(super) fn told(read: &Text, input: &Input, page: Page) -> Value {
    let Text { window, file_size, .. } = read;
    let next = page.first + window.lines;
    let is_more = window.full.is_some() && (next <= window.total_lines || window.is_partial);
    let mut result = Map::new();
    let mut put = |key: &str, value: Value| {
        result.insert(key.to_owned(), value);
    };
    put("content", json!(window.content));
    put("total_lines", json!(window.total_lines));
    put("file_size", json!(file_size));
    put("truncated", json!(is_more));
    if let Some(full) = window.full.filter(|_| is_more) {
        let by = match full {
            Full::Lines => "lines",
            Full::Chars => "bytes",
            Full::Time => "time",
        };
        put("truncated_by", json!(by));
        put("next_offset", json!(next));
    }
    let hint = hint(window, input, page, is_more);
    if !hint.is_empty() {
        put("hint", json!(hint));
    }
    if let Some(document) = read.document {
        put("extracted_document", json!(document.name()));
    }
    if is_more && *file_size > LARGE_BYTES && page.lines_max > LARGE_LINES {
        put(
            "_hint",
            json!(format!(
                "this file is large ({file_size} bytes): find the place with search_files, then \
                 read a small window around it"
            )),
        );
    }
    Value::Object(result)
}

fn hint(window: &Window, input: &Input, page: Page, is_more: bool) -> String {
    let mut parts = Vec::new();
    let total = window.total_lines;
    if window.full == Some(Full::Time) && window.lines == 0 {
        parts.push(format!("time was over at line {total}, before line {}", page.first));
    } else if is_more {
        let next = page.first + window.lines;
        let of = if window.is_partial { "at least " } else { "" };
        let (first, last) = (page.first, next - 1);
        parts.push(format!("lines {first}-{last} of {of}{total}: go on with offset={next}"));
    } else if window.lines == 0 && total > 0 {
        parts.push(format!("the file has {total} lines: offset={} is past its end", page.first));
    }
    if input.limit.is_some_and(|limit| limit > 0 && limit.cast_unsigned() > page.lines_max) {
        parts.push(format!("`limit` was lowered to {}", page.lines_max));
    }
    if window.lines_cut > 0 {
        parts.push(format!("long lines cut: {}", window.lines_cut));
    }
    if window.is_partial {
        parts.push("counting stopped early, so `total_lines` is the least it can be".to_owned());
    }
    parts.join("; ")
}

/// Why a path cannot be read, and what to do instead.
pub(super) fn unreadable(path: &Path, why: &Unreadable, site: &Site<'_>) -> ToolOutput {
    let name = site.shown(path);
    let message = match why {
        Unreadable::Missing => return missing(path, &name, site),
        Unreadable::Folder => format!(
            "`{name}` is a folder: list it with search_files, target `files`, pattern `*` and \
             this path"
        ),
        Unreadable::Special => format!(
            "`{name}` is a device, pipe or socket, which may never end: only regular files are read"
        ),
        Unreadable::Protected(protected) => format!("`{name}` is not shown: {protected}"),
        Unreadable::System(error) => format!("`{name}` cannot be read: {error}"),
    };
    ToolOutput::plain_error(&message)
}

fn missing(path: &Path, name: &str, site: &Site<'_>) -> ToolOutput {
    let message = match path.parent() {
        Some(folder) if !site.is_folder(folder) => {
            format!("`{name}` does not exist, and neither does the folder `{}`", site.shown(folder))
        }
        Some(_) | None => format!("`{name}` does not exist"),
    };
    let similar: Vec<_> = site.beside(path).iter().map(|path| site.shown(path)).collect();
    let mut extra = Map::new();
    if !similar.is_empty() {
        extra.insert("similar_files".to_owned(), json!(similar));
    }
    ToolOutput::error(message, extra)
}

/// Why a file is not shown as text, and what to do instead.
pub(super) fn not_text(path: &Path, kind: Kind, site: &Site<'_>) -> ToolOutput {
    let name = site.shown(path);
    let message = if kind == Kind::Image && site.cx.grant.allows("vision_analyze") {
        format!("`{name}` is an image: look at it with vision_analyze")
    } else if kind == Kind::Image {
        format!("`{name}` is an image and cannot be shown as text")
    } else {
        format!("`{name}` is a binary file and cannot be shown as text")
    };
    ToolOutput::plain_error(&message)
}

/// Why a document has no text, and what to do instead.
pub(super) fn no_document(path: &Path, kind: Document, why: &str, site: &Site<'_>) -> ToolOutput {
    let name = site.shown(path);
    let kind = match kind {
        Document::Notebook => "a notebook",
        Document::Word => "a Word document",
        Document::Excel => "an Excel workbook",
    };
    ToolOutput::plain_error(&format!(
        "`{name}` cannot be read as {kind}: {why}. Look at it with a program in the terminal"
    ))
}

/// The model has this page already.
pub(super) fn unchanged(path: &str, in_a_row: u32) -> ToolOutput {
    let mut result = json!({
        "status": "unchanged",
        "message": format!(
            "`{path}` is {}: its content is further up in this conversation",
            own_words::UNCHANGED
        ),
        "path": path,
        "dedup": true,
        "content_returned": false,
    });
    if in_a_row >= 3 {
        result["_warning"] = json!(format!(
            "this is the same call for the {in_a_row}rd time in a row: go on with what you have"
        ));
    }
    ToolOutput::json(&result)
}

/// The model keeps asking for a page that it has.
pub(super) fn repeated(path: &str, times: u32) -> ToolOutput {
    ToolOutput::plain_error(&format!(
        "`{path}` was read {times} times and has not changed: use what you have, or read another \
         part of it"
    ))
}
