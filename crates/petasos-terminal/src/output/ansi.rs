//! Removes what is meant for a terminal and not for a reader: escape sequences and control
//! characters. Sequences may be cut anywhere between two pieces.

/// Bytes that are looked at before the next branch: the processor does many at once.
const AT_ONCE: usize = 256;

/// Whether there is nothing to remove. The control characters above ASCII all begin with 0xC2.
fn is_plain(bytes: &[u8]) -> bool {
    let is_odd = |byte: u8| {
        let low = byte < b' ' && byte != b'\n' && byte != b'\t';
        u8::from(low) | u8::from(byte == 0x7f) | u8::from(byte == 0xc2)
    };
    bytes.chunks(AT_ONCE).all(|some| some.iter().fold(0, |odd, byte| odd | is_odd(*byte)) == 0)
}

/// A stripper that remembers where in a sequence it is.
#[derive(Debug, Default)]
pub(super) struct Plain {
    state: State,
    after_return: bool,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    #[default]
    Text,
    /// After the escape character.
    Escape,
    /// In `ESC [ …` until a letter.
    Control,
    /// In `ESC ] …` and the like, until BEL or `ESC \`.
    Words,
    /// In such words, after an escape character.
    WordsEscape,
    /// One more character belongs to it: `ESC ( B`.
    OneMore,
}

impl Plain {
    /// Appends the readable part of `text`.
    pub(super) fn strip(&mut self, text: &str, into: &mut String) {
        if matches!(self.state, State::Text) && !self.after_return && is_plain(text.as_bytes()) {
            into.push_str(text);
            return;
        }
        for character in text.chars() {
            self.step(character, into);
        }
    }

    fn step(&mut self, character: char, into: &mut String) {
        self.state = match (self.state, character) {
            (State::Text | State::Control, '\u{1b}') => State::Escape,
            (State::Text, character) if character != '\u{9b}' => {
                self.text(character, into);
                State::Text
            }
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::Words,
            (State::Escape, '(' | ')' | '*' | '+' | '#' | '%' | ' ') => State::OneMore,
            (State::Control, '\u{20}'..='\u{3f}') | (State::Text, _) | (State::Escape, '[') => {
                State::Control
            }
            (State::Escape | State::OneMore | State::Control, _)
            | (State::Words, '\u{7}')
            | (State::WordsEscape, '\\') => State::Text,
            (State::Words | State::WordsEscape, '\u{1b}') => State::WordsEscape,
            (State::Words | State::WordsEscape, _) => State::Words,
        };
    }

    /// A terminal ends lines with two characters; a carriage return alone stays, for it tells
    /// where a progress bar began again.
    fn text(&mut self, character: char, into: &mut String) {
        if std::mem::take(&mut self.after_return) && character != '\n' {
            into.push('\r');
        }
        match character {
            '\r' => self.after_return = true,
            '\n' | '\t' => into.push(character),
            character if character.is_control() => {}
            character => into.push(character),
        }
    }
}
