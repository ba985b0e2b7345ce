//! Markdown as words that can be spoken, and cut where a sentence ends.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// The words: code blocks are omitted, links are their text, pictures their description.
pub(crate) fn spoken(markdown: &str) -> String {
    let (mut words, mut in_code) = (String::new(), false);
    for event in Parser::new(markdown) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => {
                in_code = true;
                words.push_str("Code omitted.");
            }
            Event::End(TagEnd::CodeBlock) => {
                in_code = false;
                words.push('\n');
            }
            Event::Text(text) | Event::Code(text) if !in_code => words.push_str(&text),
            Event::SoftBreak | Event::HardBreak => words.push(' '),
            Event::End(
                TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item | TagEnd::BlockQuote(_),
            ) => words.push('\n'),
            _ => {}
        }
    }
    let lines = words.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// The beginning that fits, up to the end of a sentence where one is near, else of a word.
pub(crate) fn cut(text: &str, chars_max: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(chars_max) else { return text };
    let head = text.get(..end).unwrap_or(text);
    let sentence = head
        .char_indices()
        .zip(head.chars().skip(1).chain(std::iter::once('x')))
        .filter(|((_, letter), next)| {
            matches!(letter, '。' | '！' | '？' | '\n')
                || matches!(letter, '.' | '!' | '?') && next.is_whitespace()
        })
        .map(|((at, letter), _)| at + letter.len_utf8())
        .last();
    let word = || head.rfind(char::is_whitespace);
    let at = sentence.filter(|at| *at >= end / 4).or_else(word).unwrap_or(end);
    head.get(..at).unwrap_or(head).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_words() {
        let text = "# Title\n\nSee [the page](https://x.example) and `name`.\n\n```rust\nlet x;\n```\n- one\n- **two**";
        let words = "Title\nSee the page and name.\nCode omitted.\none\ntwo";
        assert_eq!(spoken(text), words);
    }

    #[test]
    fn e131_a_long_text_is_cut_at_a_sentence() {
        assert_eq!(cut("One two. Three four. Five", 22), "One two. Three four.");
        assert_eq!(cut("One two three four", 9), "One two");
        assert_eq!(cut("Short.", 100), "Short.");
        assert_eq!(cut("äöü", 2), "äö");
    }
}
