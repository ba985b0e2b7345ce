//! Lists of words, written as one text: a table that reads like what it holds.

/// Whether `word` is one of the words of `list`.
pub(crate) fn lists(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split_ascii_whitespace().any(|entry| entry == word)
}

/// Whether `text` begins with one of the words of `list`.
pub(crate) fn begins(list: &str, text: &str) -> bool {
    list.split_ascii_whitespace().any(|entry| text.starts_with(entry))
}

/// Whether `text` ends with one of the words of `list`.
pub(crate) fn ends(list: &str, text: &str) -> bool {
    list.split_ascii_whitespace().any(|entry| text.ends_with(entry))
}

/// Whether one of the words of `list` stands anywhere in `text`.
pub(crate) fn holds(list: &str, text: &str) -> bool {
    list.split_ascii_whitespace().any(|entry| text.contains(entry))
}
