//! One page of a search as the JSON that the model reads.
//!
//! A page ends at the limit that was asked for or where its text becomes too long, whichever
//! comes first; `next_offset` is where the next one starts.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::Asked;
use crate::files::search::content::{Found, Hit, Keep, Matches};
use crate::files::search::names::Names;
use crate::files::search::walk::Walked;
use crate::files::watch::Ended;

/// Leaves room below the limit of the result for quoting.
const PAGE_CHARS_MAX: usize = 80_000;

/// From so many matches on, naming the file once for all of its lines is shorter.
const GROUPED_FROM: usize = 5;

/// A page of file names.
pub(super) fn names(found: &Names, asked: &Asked, named: impl Fn(&Path) -> String) -> Value {
    let page = Page::cut(found.files.iter().map(|path| named(path)), asked, String::len);
    let files = &page.items;
    finished(
        json!({ "total_count": found.total, "files": files }),
        &page,
        found.total,
        &found.walked,
        asked,
    )
}

/// A page of matching lines, of their files, or of their numbers.
pub(super) fn matches(found: &Matches, asked: &Asked, named: impl Fn(&Path) -> String) -> Value {
    let files = || found.files.iter().map(|file| (named(&file.inside), file));
    match asked.keep {
        Keep::Lines { .. } => {
            let rows = files().flat_map(|(name, file)| {
                file.hits.iter().map(move |hit| Row { file: name.clone(), hit })
            });
            let page = Page::cut(rows, asked, Row::length);
            let shown = lines(&page.items, found.total_lines);
            finished(shown, &page, found.total_lines, &found.walked, asked)
        }
        Keep::Name => {
            let page = Page::cut(files().map(|(name, _)| name), asked, String::len);
            let shown = json!({ "total_count": found.total_files, "files": page.items });
            finished(shown, &page, found.total_files, &found.walked, asked)
        }
        Keep::Count => {
            let rows = files().map(|(name, Found { count, .. })| (name, *count));
            let page = Page::cut(rows, asked, |(name, _)| name.len());
            let counts: Map<_, _> =
                page.items.iter().map(|(name, count)| (name.clone(), json!(count))).collect();
            let shown = json!({ "total_count": found.total_lines, "counts": counts });
            finished(shown, &page, found.total_files, &found.walked, asked)
        }
    }
}

struct Row<'a> {
    file: String,
    hit: &'a Hit,
}

impl Row<'_> {
    fn length(&self) -> usize {
        let Hit { text, before, after, .. } = self.hit;
        let around: usize = before.iter().chain(after).map(|line| line.len() + 8).sum();
        self.file.len() + text.len() + around + 8
    }
}

struct Page<T> {
    items: Vec<T>,
    is_cut: bool,
}

impl<T> Page<T> {
    fn cut(all: impl Iterator<Item = T>, asked: &Asked, length: impl Fn(&T) -> usize) -> Self {
        let mut page = Self { items: Vec::new(), is_cut: false };
        let mut room = PAGE_CHARS_MAX;
        for item in all.skip(asked.offset).take(asked.limit) {
            let length = length(&item);
            if length > room && !page.items.is_empty() {
                page.is_cut = true;
                break;
            }
            room = room.saturating_sub(length);
            page.items.push(item);
        }
        page
    }
}

fn lines(rows: &[Row<'_>], total: u64) -> Value {
    if rows.len() >= GROUPED_FROM {
        return json!({
            "total_count": total,
            "matches_format": "path-grouped",
            "matches_text": grouped(rows),
        });
    }
    let matches: Vec<_> = rows.iter().map(single).collect();
    json!({ "total_count": total, "matches": matches })
}

fn single(row: &Row<'_>) -> Value {
    let Hit { line, text, before, after } = row.hit;
    let mut shown = json!({ "path": row.file, "line": line, "content": text });
    for (key, around) in [("before", before), ("after", after)] {
        if !around.is_empty() {
            shown[key] = json!(around);
        }
    }
    shown
}

/// The file on a line of its own, then `12: text` for a match and `11- text` for its surroundings.
fn grouped(rows: &[Row<'_>]) -> String {
    let mut text = String::new();
    let mut put = |line: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        text.write_fmt(line).unwrap_or_default();
        text.push('\n');
    };
    let mut file = None;
    let mut last = 0;
    for Row { file: name, hit } in rows {
        let first = hit.line - hit.before.len() as u64;
        let has_context = !hit.before.is_empty() || !hit.after.is_empty();
        if file != Some(name) {
            put(format_args!("{name}"));
            file = Some(name);
        } else if has_context && first > last + 1 {
            put(format_args!("--"));
        }
        for (number, around) in (first..).zip(&hit.before) {
            put(format_args!("{number}- {around}"));
        }
        put(format_args!("{}: {}", hit.line, hit.text));
        for (number, around) in (hit.line + 1..).zip(&hit.after) {
            put(format_args!("{number}- {around}"));
        }
        last = hit.line + hit.after.len() as u64;
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

fn finished<T>(shown: Value, page: &Page<T>, total: u64, walked: &Walked, asked: &Asked) -> Value {
    let mut result = shown;
    let next = asked.offset + page.items.len();
    let mut warnings = asked.warnings.clone();
    let is_late = walked.ended == Some(Ended::Late);
    let is_more = !page.items.is_empty() && (next as u64) < total;
    if is_late || is_more {
        result["truncated"] = json!(true);
        let reason = match (is_late, page.is_cut) {
            (true, _) => "timeout",
            (false, true) => "chars",
            (false, false) => "limit",
        };
        result["limit_reason"] = json!(reason);
    }
    if is_more {
        result["next_offset"] = json!(next);
    }
    if is_late {
        warnings.push(
            "time was over before all files were searched: narrow `path` or `file_glob`".into(),
        );
    }
    if page.items.is_empty() && total > 0 {
        warnings.push(format!("there are only {total} results: `offset` is past them"));
    }
    if walked.unreadable > 0 {
        let example = walked.example.as_deref().unwrap_or_default();
        warnings.push(format!("could not be read: {}, such as {example}", walked.unreadable));
    }
    if !warnings.is_empty() {
        result["warning"] = json!(warnings.join("; "));
    }
    if walked.omitted > 0 {
        result["_omitted"] = json!(walked.omitted);
    }
    result
}
