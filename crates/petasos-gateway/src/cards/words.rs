//! The words of cards: what a typed line answers, what buttons say, how an outcome is told.

use petasos_contract::approval::Scope;
use petasos_session::{Question, QuestionKind, QuestionReply};
use petasos_store::CardButton;

use super::{WHY_CHARS_MAX, card_id};
use crate::render;

/// A line that is an answer and nothing else, and the number it names.
pub(super) fn typed(text: &str) -> Option<(QuestionReply, Option<u32>)> {
    let text = text.trim();
    if text.lines().count() > 1 {
        return None;
    }
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let (number, rest) = match rest.trim().split_once(char::is_whitespace) {
        Some((first, more)) => (first.trim_start_matches('#').parse().ok(), more.trim()),
        None => (rest.trim().trim_start_matches('#').parse().ok(), ""),
    };
    let has_more =
        if number.is_some() { !rest.is_empty() } else { text.contains(char::is_whitespace) };
    let allow = |scope| (!has_more).then_some((QuestionReply::Allow(scope), number));
    match word.to_lowercase().as_str() {
        "yes" | "y" | "ok" | "approve" | "👍" | "once" => allow(Scope::Once),
        "session" => allow(Scope::Session),
        "always" => allow(Scope::Always),
        "no" | "n" | "deny" | "👎" => {
            // With a number, words behind it are the reason; without one they make it a message.
            if number.is_none() && has_more {
                return None;
            }
            let why: String = rest.chars().take(WHY_CHARS_MAX).collect();
            Some((QuestionReply::Deny { comment: Some(why).filter(|why| !why.is_empty()) }, number))
        }
        _ => None,
    }
}

pub(super) fn buttons_of(question: &Question) -> Vec<CardButton> {
    let id = card_id(question);
    let button = |label: &str, data: String| CardButton { label: label.to_owned(), data };
    match &question.kind {
        QuestionKind::Approval(request) => {
            let mut buttons = vec![button("Once", format!("pa:{id}:o"))];
            if request.widest >= Scope::Session {
                buttons.push(button("Session", format!("pa:{id}:s")));
            }
            if request.widest >= Scope::Always {
                buttons.push(button("Always", format!("pa:{id}:w")));
            }
            buttons.push(button("Deny", format!("pa:{id}:d")));
            buttons
        }
        QuestionKind::Choice { choices, .. } => {
            let one = |(at, choice): (usize, &String)| {
                let label: String = render::harmless(choice).chars().take(60).collect();
                button(&label, format!("pc:{id}:{at}"))
            };
            choices.iter().enumerate().map(one).collect()
        }
        QuestionKind::Password { .. } => Vec::new(),
    }
}

pub(super) fn described(reply: &QuestionReply, name: &str) -> String {
    let name = if name.is_empty() { "you" } else { name };
    match reply {
        QuestionReply::Allow(Scope::Once) => format!("allowed once by {name}"),
        QuestionReply::Allow(Scope::Session) => format!("allowed for this session by {name}"),
        QuestionReply::Allow(Scope::Always) => format!("always allowed by {name}"),
        QuestionReply::Deny { .. } => format!("denied by {name}"),
        _ => format!("answered by {name}"),
    }
}

/// The beginning and the end of a long text.
pub(super) fn shortened(text: &str) -> String {
    const WHOLE: usize = 2500;
    const FIRST: usize = 1500;
    const LAST: usize = 500;
    let count = text.chars().count();
    if count <= WHOLE {
        return text.to_owned();
    }
    let first: String = text.chars().take(FIRST).collect();
    let last: String = text.chars().skip(count - LAST).collect();
    format!("{first}\n… {} characters …\n{last}", count - FIRST - LAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s74_only_a_bare_word_is_an_answer() {
        for (text, number) in [
            ("yes", None),
            ("OK", None),
            ("yes 3", Some(3)),
            ("approve #12", Some(12)),
            ("👍", None),
            ("session", None),
            ("no 3 use a branch", Some(3)),
        ] {
            let found = typed(text);
            assert_eq!(found.map(|(_, number)| number), Some(number), "{text}");
        }
        for text in [
            "yes please do it",
            "ok, aber vorher den Test",
            "ja",
            "d'accord ok",
            "okay?",
            "no way that works",
            "yes 3 and 4",
            "yes\nno",
            "si, ok",
            "はい ok",
            "да, ok",
            "tudo ok por aqui",
            "ok ok",
            "not ok",
            "",
        ] {
            assert!(typed(text).is_none(), "{text:?} is a message");
        }
    }
}
