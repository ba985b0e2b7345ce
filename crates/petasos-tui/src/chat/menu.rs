//! The answers to a question as a menu: arrows and Enter, a number, or one letter.
//!
//! A question may come up in the middle of a word. Keys count as answers only after a pause; until
//! then they go on with the message that was being typed, and so does a letter that answers nothing.
//! What would be stored needs an Enter behind its key: the first letter of a sentence grants nothing.

use std::time::{Duration, Instant};

use petasos_contract::approval::Scope;
use petasos_session::{QuestionKind, QuestionReply};

use crate::draft::{Draft, Key};
use crate::line::{Colour, Line, Style};

/// Nobody answers a question that they have not seen.
const SEEN: Duration = Duration::from_millis(400);
/// So many choices have a number that is one key.
const NUMBERED_MAX: usize = 9;

/// An answer that is offered.
#[derive(Debug, Clone)]
struct Offer {
    /// The letter that takes it.
    key: Option<char>,
    label: String,
    /// The word that people may go on typing after the letter.
    word: &'static str,
    reply: QuestionReply,
}

/// The answers to a question of approval: letter, label, word and scope.
const APPROVALS: [(char, &str, &str, Option<Scope>); 4] = [
    ('y', "Yes, once", "yes", Some(Scope::Once)),
    ('s', "Yes, for this session", "session", Some(Scope::Session)),
    ('a', "Always", "always", Some(Scope::Always)),
    ('n', "No", "no", None),
];

/// The menu of an open question.
#[derive(Debug)]
pub(super) struct Menu {
    offers: Vec<Offer>,
    selected: usize,
    /// Words of the person's own are an answer, too.
    free: bool,
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
    /// An answer is selected that Enter gives; the rest of its word may follow.
    Selected(&'static str),
    /// Another answer is selected, or nothing happened.
    Stays,
    /// It is part of the message that was being typed.
    Message,
    /// It is text for the question's own line.
    Line,
}

impl Menu {
    /// The menu of this question; none where words have to be typed anyway.
    pub(super) fn of(kind: &QuestionKind, now: Instant) -> Option<Self> {
        match kind {
            QuestionKind::Approval(request) => Some(Self::approval(request.widest, now)),
            QuestionKind::Choice { choices, .. } if (1..=NUMBERED_MAX).contains(&choices.len()) => {
                let offer = |label: &String| Offer {
                    key: None,
                    label: label.clone(),
                    word: "",
                    reply: QuestionReply::Text(label.clone()),
                };
                let offers = choices.iter().map(offer).collect();
                Some(Self { offers, selected: 0, free: true, armed: now + SEEN })
            }
            _ => None,
        }
    }

    /// With the answers up to this scope. Nothing is agreed to by a mere Enter.
    fn approval(widest: Scope, now: Instant) -> Self {
        let offered = APPROVALS.iter().filter(|(.., scope)| scope.is_none_or(|it| it <= widest));
        let offers: Vec<Offer> = offered
            .map(|(key, label, word, scope)| Offer {
                key: Some(*key),
                label: (*label).to_owned(),
                word,
                reply: scope.map_or(QuestionReply::Deny { comment: None }, QuestionReply::Allow),
            })
            .collect();
        Self { selected: offers.len() - 1, offers, free: false, armed: now + SEEN }
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
            Key::Text(text) => self.letter(text, now),
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
        match self.offers.get(at) {
            Some(offer) => Pressed::Answer(offer.reply.clone(), rest),
            None => Pressed::Stays,
        }
    }

    /// A key for this answer: it answers, unless something would be stored.
    fn take(&mut self, at: usize, rest: &'static str) -> Pressed {
        if !self.is_wide(at) {
            return self.answer(at, rest);
        }
        self.selected = at;
        Pressed::Selected(rest)
    }

    /// Whether the answer reaches further than this call.
    fn is_wide(&self, at: usize) -> bool {
        let reply = self.offers.get(at).map(|offer| &offer.reply);
        matches!(reply, Some(QuestionReply::Allow(scope)) if *scope != Scope::Once)
    }

    fn letter(&mut self, text: &str, now: Instant) -> Pressed {
        let mut signs = text.chars();
        let (Some(sign), None) = (signs.next(), signs.next()) else { return Pressed::Line };
        let sign = sign.to_ascii_lowercase();
        if let Some(number) = sign.to_digit(10) {
            let at = usize::try_from(number).unwrap_or_default().checked_sub(1);
            return match at.filter(|at| *at < self.offers.len()) {
                Some(at) => self.take(at, ""),
                None if self.free => Pressed::Line,
                None => Pressed::Stays,
            };
        }
        match sign {
            _ if self.free => return Pressed::Line,
            'd' => return Pressed::Reason("eny "),
            'o' => {
                self.selected = 0;
                return Pressed::Selected("nce");
            }
            '/' => return Pressed::Line,
            _ => {}
        }
        if let Some(at) = self.offers.iter().position(|offer| offer.key == Some(sign)) {
            let rest = self.offers[at].word.get(1..).unwrap_or_default();
            return self.take(at, rest);
        }
        self.armed = now + SEEN;
        Pressed::Message
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
            if let Some(key) = offer.key {
                row.push(Style::FAINT, &format!(" ({key})"));
            }
            rows.push(row);
        }
        let hint = if self.free {
            "  ↑↓ Enter or a number · or type an answer · Esc stops"
        } else if self.is_wide(self.selected) {
            "  Enter allows and remembers it · ↑↓ another answer · Esc stops"
        } else {
            "  ↑↓ Enter or a key · d: no, with a reason · Esc stops"
        };
        rows.push(Line::of(Style::FAINT, hint));
        rows
    }
}

/// An answer as it stays on the screen.
pub(super) fn said(reply: &QuestionReply) -> String {
    let allows = |wanted: Option<Scope>| APPROVALS.iter().find(|(.., scope)| *scope == wanted);
    let label =
        |wanted| allows(wanted).map_or(String::new(), |(_, label, ..)| label.to_lowercase());
    match reply {
        QuestionReply::Allow(scope) => label(Some(*scope)),
        QuestionReply::Text(text) => text.clone(),
        _ => label(None),
    }
}

/// People who are used to typing a word and Enter go on typing after its first letter has answered.
#[derive(Debug, Default)]
pub(super) struct Swallow {
    rest: &'static str,
    /// Whether an Enter behind the word belongs to it, too.
    enter: bool,
    /// Whether something of the word was typed.
    begun: bool,
}

impl Swallow {
    /// Expects the rest of a word, and perhaps an Enter.
    pub(super) fn expect(rest: &'static str) -> Self {
        Self { rest, enter: true, begun: false }
    }

    /// Expects the rest of a word; the Enter behind it is an answer.
    pub(super) fn expect_letters(rest: &'static str) -> Self {
        Self { rest, enter: false, begun: false }
    }

    /// Whether this key is part of that word, or the Enter behind it.
    pub(super) fn takes(&mut self, key: &Key) -> bool {
        let rest = match key {
            Key::Text(text) => self.rest.strip_prefix(text.as_str()).filter(|_| !text.is_empty()),
            Key::Enter if self.enter && self.begun => Some(""),
            _ => None,
        };
        let taken = rest.is_some();
        self.rest = rest.unwrap_or_default();
        self.begun = taken && !matches!(key, Key::Enter);
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
            Pressed::Answer(QuestionReply::Text(text), _) => text.clone(),
            Pressed::Answer(..) => "No".to_owned(),
            Pressed::Reason(_) => "reason".to_owned(),
            Pressed::Selected(_) => "selected".to_owned(),
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
            let mut menu = Menu::approval(widest, start);
            keys.iter().map(|key| shown(&menu.press(key, later))).collect::<Vec<_>>().join(" ")
        };
        for (widest, keys, expected) in [
            (Scope::Always, vec![text("y")], "Once"),
            (Scope::Always, vec![text("A"), Key::Enter], "selected Always"),
            (Scope::Always, vec![text("a"), text("y")], "selected Once"),
            (Scope::Session, vec![text("a")], "message"),
            (Scope::Always, vec![text("2"), Key::Enter], "selected Session"),
            (Scope::Always, vec![text("o"), Key::Enter], "selected Once"),
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
            (Scope::Always, vec![text("/")], "line"),
            (Scope::Always, vec![text("w"), text("a"), Key::Enter], "message message message"),
            (Scope::Always, vec![text("yes please")], "line"),
        ] {
            assert_eq!(press(widest, &keys), expected, "{keys:?}");
        }
    }

    #[test]
    fn a_choice_is_one_key_and_other_words_are_an_answer_too() {
        let start = Instant::now();
        let later = start + SEEN;
        let choices = |many: usize| QuestionKind::Choice {
            text: "which?".to_owned(),
            choices: (1..=many).map(|number| format!("choice {number}")).collect(),
        };
        let press = |keys: &[Key]| {
            let mut menu = Menu::of(&choices(3), start).expect("a menu");
            keys.iter().map(|key| shown(&menu.press(key, later))).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(press(&[text("2")]), "choice 2");
        assert_eq!(press(&[Key::Enter]), "choice 1");
        assert_eq!(press(&[Key::Down, Key::Enter]), "stays choice 2");
        assert_eq!(press(&[text("7")]), "line");
        assert_eq!(press(&[text("d")]), "line");
        assert!(Menu::of(&choices(0), start).is_none());
        assert!(Menu::of(&choices(10), start).is_none(), "1 might be the beginning of 10");
    }

    #[test]
    fn somebody_in_the_middle_of_a_word_answers_nothing() {
        let start = Instant::now();
        let mut menu = Menu::approval(Scope::Always, start);
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
