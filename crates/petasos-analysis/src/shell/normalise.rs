//! Removes what a terminal would not show: escape sequences, NUL and carriage
//! returns before a newline. Compatibility letters are folded later, word by word,
//! because folding whole text would turn data into syntax.

use super::source::Source;
use unicode_normalization::UnicodeNormalization;

/// Stands for "some text we do not know" inside a value. A noncharacter, so no
/// sane input has it; input that does has it replaced.
pub(crate) const UNKNOWN: char = '\u{10FFFE}';

/// The command as a source, with offsets kept when bytes had to be dropped.
pub(crate) fn source(command: &str) -> Source {
    let plain = |byte: &u8| (*byte >= 0x20 && *byte < 0x7f) || *byte == b'\n' || *byte == b'\t';
    if command.as_bytes().iter().all(plain) || !needs_cleaning(command) {
        return Source::original(command);
    }
    let mut text = String::with_capacity(command.len());
    let mut map = Vec::with_capacity(command.len() + 1);
    let mut rest = command.char_indices().peekable();
    // Dropped bytes belong to the character after them, so that a span shows them.
    let mut dropped = None;
    while let Some((at, letter)) = rest.next() {
        let here = u32::try_from(at).unwrap_or(u32::MAX);
        let offset = *dropped.get_or_insert(here);
        let kept = match letter {
            '\0' => continue,
            '\u{1b}' => {
                skip_escape(&mut rest);
                continue;
            }
            '\u{9b}' => {
                skip_control_sequence(&mut rest);
                continue;
            }
            '\r' if rest.peek().is_some_and(|(_, next)| *next == '\n') => continue,
            UNKNOWN => '\u{fffd}',
            other => other,
        };
        dropped = None;
        text.push(kept);
        map.resize(text.len(), offset);
    }
    map.push(u32::try_from(command.len()).unwrap_or(u32::MAX));
    Source::mapped(text, map)
}

fn needs_cleaning(command: &str) -> bool {
    command.contains(['\0', '\u{1b}', '\u{9b}', '\r', UNKNOWN])
}

type Letters<'a> = std::iter::Peekable<std::str::CharIndices<'a>>;

fn skip_escape(rest: &mut Letters<'_>) {
    match rest.peek().map(|(_, letter)| *letter) {
        Some('[') => {
            rest.next();
            skip_control_sequence(rest);
        }
        // Operating system command, device control string, and their kin: up to BEL or ST.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            while let Some((_, letter)) = rest.next() {
                if letter == '\u{7}' || letter == '\u{9c}' {
                    break;
                }
                if letter == '\u{1b}' {
                    rest.next_if(|(_, next)| *next == '\\');
                    break;
                }
            }
        }
        Some('(' | ')' | '#' | '%' | ' ') => {
            rest.next();
            rest.next();
        }
        Some(letter) if ('\u{30}'..='\u{7e}').contains(&letter) => {
            rest.next();
        }
        _ => {}
    }
}

fn skip_control_sequence(rest: &mut Letters<'_>) {
    while rest.next_if(|(_, letter)| ('\u{20}'..='\u{3f}').contains(letter)).is_some() {}
    rest.next_if(|(_, letter)| ('\u{40}'..='\u{7e}').contains(letter));
}

/// Characters that take no room on the screen or turn its direction.
fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The plain spelling of a word: compatibility forms folded, invisible and control
/// characters dropped. `None` when the word is plain already.
pub(crate) fn plain_spelling(word: &str) -> Option<String> {
    if word.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return None;
    }
    let folded: String = word
        .nfkc()
        .filter(|letter| !is_invisible(*letter) && (!letter.is_control() || *letter == '\n'))
        .collect();
    (folded != word).then_some(folded)
}

/// Whether a command name mixes Latin letters with look-alikes of another script.
pub(crate) fn mixes_scripts(name: &str) -> bool {
    let alike = |letter: char| matches!(letter, '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{13a0}'..='\u{13ff}');
    name.chars().any(alike)
        && name.chars().all(|letter| letter.is_ascii() || alike(letter))
        && name.chars().any(|letter| letter.is_ascii_alphabetic())
        || (name.chars().any(alike) && name.chars().count() <= 3)
}
