//! Separates an inline `<think>…</think>` at the head of an answer from the text after it.
//!
//! Local servers without a reasoning parser leave the tags in the text. Only the head counts: a
//! tag in the middle of an answer may be the answer.

/// What a piece of text turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Visible text.
    Text(String),
    /// Reasoning.
    Reasoning(String),
}

const OPEN: &str = "<think>";
/// Ends the thinking.
pub const CLOSE: &str = "</think>";

/// Reads text in pieces.
#[derive(Debug, Default)]
pub struct Splitter {
    state: State,
    held: String,
    opened: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but white space so far.
    #[default]
    Head,
    Inside,
    /// Just after the closing tag: white space before the answer is nobody's.
    Gap,
    Outside,
}

impl Splitter {
    /// Takes a piece; what cannot be told yet is held back.
    pub fn push(&mut self, text: &str) -> Vec<Piece> {
        if self.state == State::Outside {
            return vec![Piece::Text(text.to_owned())];
        }
        let mut pieces = Vec::new();
        if self.state == State::Gap {
            let text = text.trim_start();
            if !text.is_empty() {
                self.state = State::Outside;
                pieces.push(Piece::Text(text.to_owned()));
            }
            return pieces;
        }
        self.held.push_str(text);
        if self.state == State::Head {
            let body = self.held.trim_start();
            if let Some(rest) = body.strip_prefix(OPEN) {
                self.held = rest.to_owned();
                self.state = State::Inside;
                self.opened = true;
            } else if OPEN.starts_with(body) {
                return pieces;
            } else {
                self.state = State::Outside;
                pieces.push(Piece::Text(std::mem::take(&mut self.held)));
                return pieces;
            }
        }
        if let Some((inside, after)) = self.held.split_once(CLOSE) {
            let (inside, after) = (inside.to_owned(), after.trim_start().to_owned());
            self.held.clear();
            self.state = if after.is_empty() { State::Gap } else { State::Outside };
            push(&mut pieces, Piece::Reasoning(inside));
            push(&mut pieces, Piece::Text(after));
            return pieces;
        }
        let keep = (1..CLOSE.len())
            .rev()
            .find(|length| CLOSE.get(..*length).is_some_and(|head| self.held.ends_with(head)));
        let keep = self.held.len() - keep.unwrap_or(0);
        let kept = self.held.split_off(keep);
        push(&mut pieces, Piece::Reasoning(std::mem::replace(&mut self.held, kept)));
        pieces
    }

    /// Whether the answer did not begin with an opening tag.
    pub fn was_outside(&self) -> bool {
        !self.opened
    }

    /// What was held back, when nothing follows.
    pub fn finish(&mut self) -> Option<Piece> {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return None;
        }
        Some(match self.state {
            State::Inside => Piece::Reasoning(held),
            State::Head | State::Gap | State::Outside => Piece::Text(held),
        })
    }
}

fn push(pieces: &mut Vec<Piece>, piece: Piece) {
    let (Piece::Text(text) | Piece::Reasoning(text)) = &piece;
    if !text.is_empty() {
        pieces.push(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&str]) -> (String, String) {
        let mut splitter = Splitter::default();
        let mut seen: Vec<Piece> = pieces.iter().flat_map(|piece| splitter.push(piece)).collect();
        seen.extend(splitter.finish());
        let mut joined = (String::new(), String::new());
        for piece in seen {
            match piece {
                Piece::Reasoning(text) => joined.0.push_str(&text),
                Piece::Text(text) => joined.1.push_str(&text),
            }
        }
        joined
    }

    #[test]
    fn reasoning_at_the_head_is_split_off_whatever_the_cuts() {
        let cases = [
            ("<think>a<b</think>\n\nc", "a<b", "c"),
            ("  <think>never closed", "never closed", ""),
            ("<thin air", "", "<thin air"),
            ("x <think>y</think>", "", "x <think>y</think>"),
        ];
        for (input, reasoning, text) in cases {
            for (at, _) in input.char_indices() {
                let (left, right) = input.split_at(at);
                let split = split(&[left, right]);
                assert_eq!(split, (reasoning.to_owned(), text.to_owned()), "{input} at {at}");
            }
        }
    }
}
