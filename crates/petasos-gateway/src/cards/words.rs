//! The words of cards: what a typed line answers, what buttons say, how an outcome is told.

use petasos_contract::approval::Scope;
use petasos_session::{Question, QuestionKind, QuestionReply};
use petasos_store::CardButton;

use super::{Card, WHY_CHARS_MAX, card_id};
use crate::render::{self, add};

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

/// The words of a card about this.
pub(super) fn card_text(card: &Card, buttons: bool, subject: &str) -> String {
    let number = card.number;
    let minutes = card.question.patience.as_secs().div_ceil(60);
    match &card.question.kind {
        QuestionKind::Approval(request) => {
            let fence = fence_around(subject);
            let mut body = format!(
                "**#{number} needs your consent** ({})\n\n{fence}\n{subject}\n{fence}\n",
                request.tool
            );
            if !buttons {
                let scopes = match request.widest {
                    Scope::Once => format!("yes {number}"),
                    Scope::Session => format!("yes {number} / session {number}"),
                    Scope::Always => {
                        format!("yes {number} / session {number} / always {number}")
                    }
                };
                add(&mut body, format_args!("\nreply: {scopes} / no {number} why"));
            }
            if card.routed {
                add(&mut body, format_args!("\n\nAsked by `{}`.", card.session));
            }
            add(&mut body, format_args!("\n\nOpen for {minutes} minutes."));
            body
        }
        QuestionKind::Choice { text, choices } => {
            let mut body = format!("**#{number}** {}\n", render::harmless(text));
            for (at, choice) in choices.iter().enumerate() {
                add(&mut body, format_args!("\n{}. {}", at + 1, render::harmless(choice)));
            }
            let how = if choices.is_empty() {
                "Your next message is the answer."
            } else {
                "A number, or your own words."
            };
            add(&mut body, format_args!("\n\n{how}"));
            body
        }
        QuestionKind::Password { .. } => format!(
            "**#{number}** A password is wanted. Passwords are not typed into a chat: this is skipped."
        ),
    }
}

/// A fence that nothing in a text ends: what is asked about cannot write words of its own below it.
fn fence_around(text: &str) -> String {
    let mut longest = 2;
    for run in text.split(|sign| sign != '`') {
        longest = longest.max(run.len());
    }
    "`".repeat(longest + 1)
}

/// A long text as its beginning and its end, so that it fits into so many characters.
pub(super) fn shortened(text: &str, room: usize) -> String {
    const FIRST: usize = 1500;
    const LAST: usize = 500;
    let count = text.chars().count();
    if count <= room {
        return text.to_owned();
    }
    let (first, last) = (FIRST.min(room / 2), LAST.min(room / 4));
    let beginning: String = text.chars().take(first).collect();
    let end: String = text.chars().skip(count - last).collect();
    format!("{beginning}\n… {} characters …\n{end}", count - first - last)
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
