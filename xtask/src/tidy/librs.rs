//! A `lib.rs` is a map: docs, modules and exports, no code.
//!
//! Each top-level item must be a `mod name;`, a `use` or a `type` that gives a name to something
//! from elsewhere; anything with a body is code.

use crate::finding::Finding;
use crate::house::House;
use crate::source::{closing, item_head_end, line_of};

/// Looks at every `lib.rs`.
pub(super) fn check(house: &House) -> Vec<Finding> {
    let facades = house.sources.iter().filter(|source| source.path.ends_with("/src/lib.rs"));
    let mut found = Vec::new();
    for source in facades {
        for at in bodies(&source.code) {
            found.push(Finding {
                path: source.path.clone(),
                line: line_of(&source.code, at),
                check: "lib.rs",
                what: "code in `lib.rs`".to_owned(),
                cure:
                    "it holds docs, `mod` lines in reading order and exports: move the rest to a \
                       file named after it"
                        .to_owned(),
            });
        }
    }
    found
}

/// Where items begin that are neither a module line nor an export.
fn bodies(code: &str) -> Vec<usize> {
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = next_item(code, at) {
        let head = item_head_end(bytes, start);
        let text = code.get(start..head).unwrap_or("").trim_start_matches("pub");
        // `pub(crate)` and `pub(super)` leave their brackets behind.
        let text =
            if text.starts_with('(') { text.split_once(')').map_or("", |it| it.1) } else { text };
        let word = text.split_whitespace().next().unwrap_or("");
        let has_body = bytes.get(head) == Some(&b'{');
        at = if has_body { closing(bytes, head) + 1 } else { head + 1 };
        match (word, has_body) {
            ("use", true) => at = item_head_end(bytes, at) + 1,
            ("use" | "mod" | "extern" | "type", false) => {}
            _ => found.push(start),
        }
    }
    found
}

/// The next item after white space and attributes.
fn next_item(code: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = code.get(at..)?;
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        if trimmed.is_empty() {
            return None;
        }
        if !trimmed.starts_with('#') {
            return Some(at);
        }
        let mut depth = 0_usize;
        let end = trimmed.bytes().position(|byte| {
            depth += usize::from(byte == b'[');
            depth -= usize::from(byte == b']' && depth > 0);
            byte == b']' && depth == 0
        });
        at += end? + 1;
    }
}
