//! The answers to a question of approval as a menu: arrows and Enter, a number, or one letter.
//!
//! A question may come up in the middle of a word. Keys count as answers only after a pause; until
//! then they go on with the message that was being typed.

use std::time::{Duration, Instant};

use petasos_contract::approval::Scope;
use petasos_session::QuestionReply;

use crate::draft::{Draft, Key};
use crate::line::{Colour, Line, Style};

/// Nobody answers a question that they have not seen.
const SEEN: Duration = Duration::from_millis(400);

/// An answer that is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Offer {
    /// The key that takes it.
    key: char,
    label: &'static str,
    /// The word that people may go on typing after the key.
    word: &'static str,
    allows: Option<Scope>,
}

const ONCE: Offer = Offer { key: 'y', label: "Yes, once", word: "yes", allows: Some(Scope::Once) };
const SESSION: Offer = Offer {
    key: 's',
    label: "Yes, for this session",
    word: "session",
    allows: Some(Scope::Session),
};
const ALWAYS: Offer =
    Offer { key: 'a', label: "Always", word: "always", allows: Some(Scope::Always) };
const DENY: Offer = Offer { key: 'n', label: "No", word: "no", allows: None };

/// The menu of an open question.
#[derive(Debug)]
pub(super) struct Menu {
    offers: Vec<Offer>,
    selected: usize,
    /// When keys begin to count.
    armed: Instant,
}

/// What a key did.
#[derive(Debug)]
pub(super) enum Pressed {
    /// It answers; the rest of its word may follow.
    Answer(QuestionReply, &'static str),
    /// A reason is typed from here on; the rest of its word may follow.
    Reason(&'static str),
    /// Another answer is selected, or nothing happened.
    Stays,
    /// It is part of the message that was being typed.
    Message,
    /// It is text for the question's own line.
    Line,
}

impl Menu {
    /// With the answers up to this scope. Nothing is agreed to by a mere Enter.
    pub(super) fn new(widest: Scope, now: Instant) -> Self {
        let all = [ONCE, SESSION, ALWAYS, DENY];
        let offers: Vec<Offer> = all
            .into_iter()
            .filter(|offer| offer.allows.is_none_or(|scope| scope <= widest))
            .collect();
        let selected = offers.len() - 1;
        Self { offers, selected, armed: now + SEEN }
    }

    /// Whether keys count.
    pub(super) fn is_armed(&self, now: Instant) -> bool {
        now >= self.armed
    }

    /// What a key does while nothing is typed on the question's own line.
    pub(super) fn press(&mut self, key: &Key, now: Instant) -> Pressed {
        if !self.is_armed(now) {
            self.armed = now + SEEN;
            return Pressed::Message;
        }
        match key {
            Key::Up => self.select(self.selected.checked_sub(1)),
            Key::Down => self.select(Some(self.selected + 1)),
            Key::Enter => self.answer(self.selected, ""),
            Key::Text(text) => self.letter(text),
            _ => Pressed::Line,
        }
    }

    fn select(&mut self, at: Option<usize>) -> Pressed {
        if let Some(at) = at.filter(|at| *at < self.offers.len()) {
            self.selected = at;
        }
        Pressed::Stays
    }

    fn answer(&self, at: usize, rest: &'static str) -> Pressed {
        let Some(offer) = self.offers.get(at) else { return Pressed::Stays };
        let reply = match offer.allows {
            Some(scope) => QuestionReply::Allow(scope),
            None => QuestionReply::Deny { comment: None },
        };
        Pressed::Answer(reply, rest)
    }

    fn letter(&self, text: &str) -> Pressed {
        let mut signs = text.chars();
        let (Some(sign), None) = (signs.next(), signs.next()) else { return Pressed::Line };
        let sign = sign.to_ascii_lowercase();
        if let Some(number) = sign.to_digit(10) {
            let at = usize::try_from(number).unwrap_or_default();
            return at.checked_sub(1).map_or(Pressed::Stays, |at| self.answer(at, ""));
        }
        match sign {
            'd' => return Pressed::Reason("eny "),
            'o' => return self.answer(0, "nce"),
            '/' => return Pressed::Line,
            _ => {}
        }
        match self.offers.iter().position(|offer| offer.key == sign) {
            Some(at) => {
                let rest = self.offers[at].word.get(1..).unwrap_or_default();
                self.answer(at, rest)
            }
            None => Pressed::Stays,
        }
    }

    /// The rows of the menu.
    pub(super) fn rows(&self, now: Instant) -> Vec<Line> {
        if !self.is_armed(now) {
            return Vec::new();
        }
        let mut rows: Vec<Line> = Vec::new();
        for (at, offer) in self.offers.iter().enumerate() {
            let chosen = at == self.selected;
            let style = if chosen { Style::of(Colour::Cyan).bold() } else { Style::PLAIN };
            let sign = if chosen { "❯" } else { " " };
            let mut row = Line::of(style, &format!("{sign} {}. {}", at + 1, offer.label));
            row.push(Style::FAINT, &format!(" ({})", offer.key));
            rows.push(row);
        }
        let hint = "  ↑↓ Enter or a key · d denies with a reason · Esc stops the turn";
        rows.push(Line::of(Style::FAINT, hint));
        rows
    }
}

/// An answer as it stays on the screen.
pub(super) fn said(reply: &QuestionReply) -> String {
    let offers = [ONCE, SESSION, ALWAYS];
    let allowed = |scope: &Scope| offers.iter().find(|offer| offer.allows == Some(*scope));
    match reply {
        QuestionReply::Allow(scope) => allowed(scope).map_or(ONCE, |offer| *offer).label,
        _ => DENY.label,
    }
    .to_lowercase()
}

/// People who are used to typing a word and Enter go on typing after its first letter has answered.
#[derive(Debug, Default)]
pub(super) struct Swallow(&'static str, bool);

impl Swallow {
    /// Expects the rest of a word.
    pub(super) fn expect(rest: &'static str) -> Self {
        Self(rest, false)
    }

    /// Whether this key is part of that word, or the Enter behind it.
    pub(super) fn takes(&mut self, key: &Key) -> bool {
        let rest = match key {
            Key::Text(text) => self.0.strip_prefix(text.as_str()).filter(|_| !text.is_empty()),
            Key::Enter if self.1 => Some(""),
            _ => None,
        };
        let taken = rest.is_some();
        *self = Self(rest.unwrap_or_default(), taken && !matches!(key, Key::Enter));
        taken
    }
}

/// The line of a denial whose reason is being typed.
pub(super) fn reason_line() -> Draft {
    let mut draft = Draft::default();
    draft.put("deny ");
    draft
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Key {
        Key::Text(text.to_owned())
    }

    fn shown(pressed: &Pressed) -> String {
        match pressed {
            Pressed::Answer(QuestionReply::Allow(scope), _) => format!("{scope:?}"),
            Pressed::Answer(..) => "No".to_owned(),
            Pressed::Reason(_) => "reason".to_owned(),
            Pressed::Stays => "stays".to_owned(),
            Pressed::Message => "message".to_owned(),
            Pressed::Line => "line".to_owned(),
        }
    }

    #[test]
    fn one_key_answers_and_nothing_agrees_by_itself() {
        let start = Instant::now();
        let later = start + SEEN;
        let press = |widest: Scope, keys: &[Key]| {
            let mut menu = Menu::new(widest, start);
            keys.iter().map(|key| shown(&menu.press(key, later))).collect::<Vec<_>>().join(" ")
        };
        for (widest, keys, expected) in [
            (Scope::Always, vec![text("y")], "Once"),
            (Scope::Always, vec![text("A")], "Always"),
            (Scope::Session, vec![text("a")], "stays"),
            (Scope::Always, vec![text("2")], "Session"),
            (Scope::Once, vec![text("2")], "No"),
            (Scope::Always, vec![text("n")], "No"),
            (Scope::Always, vec![Key::Enter], "No"),
            (Scope::Always, vec![Key::Up, Key::Enter], "stays Always"),
            (
                Scope::Always,
                vec![Key::Up, Key::Up, Key::Up, Key::Up, Key::Enter],
                "stays stays stays stays Once",
            ),
            (Scope::Always, vec![text("d")], "reason"),
            (Scope::Always, vec![text("x"), text("/")], "stays line"),
            (Scope::Always, vec![text("yes please")], "line"),
        ] {
            assert_eq!(press(widest, &keys), expected, "{keys:?}");
        }
    }

    #[test]
    fn somebody_in_the_middle_of_a_word_answers_nothing() {
        let start = Instant::now();
        let mut menu = Menu::new(Scope::Always, start);
        let mut now = start;
        for _ in 0..10 {
            now += SEEN / 2;
            assert_eq!(shown(&menu.press(&text("y"), now)), "message");
            assert!(menu.rows(now).is_empty());
        }
        assert!(!menu.rows(now + SEEN).is_empty());
        assert_eq!(shown(&menu.press(&text("y"), now + SEEN)), "Once");
    }

    #[test]
    fn the_rest_of_a_typed_word_is_no_message() {
        let mut swallow = Swallow::expect("es");
        assert!(
            swallow.takes(&text("e")) && swallow.takes(&text("s")) && swallow.takes(&Key::Enter)
        );
        assert!(!swallow.takes(&Key::Enter));
        let mut swallow = Swallow::expect("es");
        assert!(!swallow.takes(&text("x")) && !swallow.takes(&text("e")));
        assert!(!Swallow::expect("es").takes(&Key::Enter), "a lone Enter is the person's own");
    }
}
