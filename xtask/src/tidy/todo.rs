//! A promise in a comment names the open issue that will keep it.
//!
//! Only the form `TODO(#12):` is accepted; the other words people use for it are not.

use crate::finding::Finding;
use crate::house::House;
use crate::source::{is_word, line_of};

const WORDS: &[&str] = &["TODO", "FIXME", "HACK", "XXX"];

/// Looks into the comments of every Rust file.
pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in &house.sources {
        for range in &source.comments {
            let comment = source.text.get(range.clone()).unwrap_or("");
            for at in WORDS.iter().flat_map(|word| loose(comment, word)) {
                found.push(Finding {
                    path: source.path.clone(),
                    line: line_of(&source.text, range.start + at),
                    check: "todo",
                    what: "a promise without an issue".to_owned(),
                    cure: "only `TODO(#issue):` with an open issue is kept; do it or delete it"
                        .to_owned(),
                });
            }
        }
    }
    found
}

/// Where `word` stands as a promise without its issue; quoted in backticks it is only talked about.
fn loose(comment: &str, word: &str) -> Vec<usize> {
    let promises = |at: &usize| {
        let before = comment.get(..*at).unwrap_or("");
        let after = comment.get(at + word.len()..).unwrap_or("");
        let whole = !before.ends_with(is_word) && !after.starts_with(is_word);
        whole && !before.ends_with('`') && !(word == "TODO" && names_issue(after))
    };
    comment.match_indices(word).map(|(at, _)| at).filter(promises).collect()
}

fn names_issue(after: &str) -> bool {
    let number = after.strip_prefix("(#").and_then(|rest| rest.split_once("):"));
    number.is_some_and(|(digits, _)| {
        !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
    })
}
