//! Directives in a reply: files that are sent, and whether a reply is silence.

/// A line of a reply that asks for something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directive {
    /// Sends this file.
    Media(String),
}

/// The longest reply that can be a word for silence.
const SILENCE_CHARS_MAX: usize = 64;
const SILENCE: [&str; 3] = ["silent", "no_reply", "no reply"];

/// Takes directives out of a reply. Lines inside code are text.
pub fn directives(reply: &str) -> (String, Vec<Directive>) {
    let (mut kept, mut found, mut fence) = (Vec::new(), Vec::new(), None::<&str>);
    for line in reply.lines() {
        let trimmed = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        let indented = line.starts_with("    ") || line.starts_with('\t');
        let path = trimmed.strip_prefix("MEDIA:").map(str::trim);
        match path.filter(|path| fence.is_none() && !indented && path.starts_with('/')) {
            Some(path) => found.push(Directive::Media(path.to_owned())),
            None if matches!(trimmed, "[[audio_as_voice]]" | "[[as_document]]")
                && fence.is_none() => {}
            None => kept.push(line),
        }
    }
    (kept.join("\n").trim().to_owned(), found)
}

/// Whether a whole reply says that nothing is to be said.
pub(crate) fn is_silence(reply: &str) -> bool {
    let trimmed = reply.trim();
    if trimmed.chars().count() > SILENCE_CHARS_MAX {
        return false;
    }
    let inner = trimmed.trim_matches(|c: char| c.is_ascii_punctuation() && c != '_');
    SILENCE.contains(&inner.to_lowercase().as_str())
}

/// Whether a text that still grows may become a word for silence.
pub(crate) fn may_be_silence(words: &str) -> bool {
    let begun = words.trim().trim_start_matches(|c: char| c.is_ascii_punctuation() && c != '_');
    let begun = begun.to_lowercase();
    let begun = begun.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '_');
    SILENCE.iter().any(|word| word.starts_with(begun))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s55_a_file_is_asked_for_on_a_line_of_its_own_outside_code() {
        let reply = "See:\nMEDIA:/tmp/a.png\n```\nMEDIA:/etc/passwd\n```\nand MEDIA:/x inline\n    MEDIA:/y\n{\"a\": \"MEDIA:/z\"}\nMEDIA:relative";
        let (text, found) = directives(reply);
        assert_eq!(found, [Directive::Media("/tmp/a.png".to_owned())]);
        assert!(text.contains("MEDIA:/etc/passwd") && text.contains("MEDIA:relative"));
    }

    #[test]
    fn s49_silence_is_a_whole_reply_and_nothing_less() {
        for silent in ["[SILENT]", "silent", " NO_REPLY. ", "No reply", "**[SILENT]**"] {
            assert!(is_silence(silent), "{silent}");
        }
        for said in ["[SILENT] but", "The word is SILENT", "", "NO_REPLY NO_REPLY"] {
            assert!(!is_silence(said), "{said}");
        }
    }
}
