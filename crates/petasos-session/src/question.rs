//! A question to a person, and what an answer can be.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::address::Address;
use petasos_contract::approval::{ApprovalRequest, Scope};
use petasos_contract::{CallId, Secret, SessionId, TurnId};
pub use petasos_store::QuestionId;

use crate::questions::AnswerError;

/// A question that is open.
#[derive(Debug, Clone)]
pub struct Question {
    /// Its identity.
    pub id: QuestionId,
    /// Counts the questions of its session, for people; zero when it is not kept.
    pub number: u32,
    /// Who asks: the session, or a task that works beside it.
    pub session: SessionId,
    /// In which turn.
    pub turn: TurnId,
    /// For which call.
    pub call: CallId,
    /// Where it is put.
    pub address: Arc<Address>,
    /// What is asked.
    pub kind: QuestionKind,
    /// How long it stays open.
    pub patience: Duration,
}

/// What is asked.
#[derive(Debug, Clone)]
pub enum QuestionKind {
    /// Whether something may run.
    Approval(ApprovalRequest),
    /// Something that the model wants to know.
    Choice {
        /// The question.
        text: String,
        /// Answers to choose from; none means any answer.
        choices: Vec<String>,
    },
    /// A password, which goes to whoever needs it and nowhere else.
    Password {
        /// For what.
        prompt: String,
    },
}

/// An answer.
#[derive(Debug, Clone)]
pub enum QuestionReply {
    /// It may run, so far.
    Allow(Scope),
    /// It may not.
    Deny {
        /// What the model should know about that.
        comment: Option<String>,
    },
    /// Words.
    Text(String),
    /// The password.
    Password(Secret),
    /// No answer.
    Decline,
}

/// Who answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answerer {
    /// The name that the log and the model are told.
    pub name: Option<String>,
    /// From where: only the chat and thread in which a question was put may answer it. Nobody's for
    /// somebody who sits at the session itself.
    pub address: Option<Address>,
}

impl Answerer {
    /// Whoever sits at the session itself.
    pub fn here() -> Self {
        Self::default()
    }
}

/// How a question was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// With an answer.
    Answered,
    /// Nobody answered in time.
    Expired,
    /// Whoever asked no longer waits.
    Withdrawn,
}

impl Question {
    /// Reads a typed line as an answer; says what could be typed when it is none. Nothing agrees by
    /// itself: an empty line and an unknown word are no answers.
    pub fn read(&self, line: &str) -> Result<QuestionReply, String> {
        if self.is_secret() {
            let skipped = line.is_empty();
            let secret = || QuestionReply::Password(Secret::new(line));
            return Ok(if skipped { QuestionReply::Decline } else { secret() });
        }
        let line = line.trim();
        match &self.kind {
            QuestionKind::Approval(request) => approval(line, request.widest),
            QuestionKind::Choice { choices, .. } => match line.parse::<usize>() {
                _ if line.is_empty() => Err("type an answer, or press Ctrl-C for none".to_owned()),
                Ok(number) => {
                    let chosen = number.checked_sub(1).and_then(|at| choices.get(at));
                    Ok(QuestionReply::Text(chosen.cloned().unwrap_or_else(|| line.to_owned())))
                }
                Err(_) => Ok(QuestionReply::Text(line.to_owned())),
            },
            QuestionKind::Password { .. } => Ok(QuestionReply::Decline),
        }
    }

    /// The answers that can be typed.
    pub fn choices(&self) -> &'static str {
        match &self.kind {
            QuestionKind::Approval(request) => offered(request.widest),
            QuestionKind::Choice { choices, .. } if choices.is_empty() => "Your answer:",
            QuestionKind::Choice { .. } => "A number, or your own words:",
            QuestionKind::Password { .. } => "Password (empty to skip):",
        }
    }

    /// Whether what is typed must not be shown.
    pub fn is_secret(&self) -> bool {
        matches!(self.kind, QuestionKind::Password { .. })
    }

    /// Whether this reply from there answers this question.
    pub(crate) fn admits(&self, reply: &QuestionReply, by: &Answerer) -> Result<(), AnswerError> {
        let place = |address: &Address| {
            let Address { platform, chat, thread, .. } = address.clone();
            (platform, chat, thread)
        };
        if by.address.as_ref().is_some_and(|from| place(from) != place(&self.address)) {
            return Err(AnswerError::Elsewhere);
        }
        if !self.takes(reply) {
            return Err(AnswerError::Unfit { offered: self.choices() });
        }
        Ok(())
    }

    /// Whether a reply answers this question.
    pub(crate) fn takes(&self, reply: &QuestionReply) -> bool {
        match (&self.kind, reply) {
            (_, QuestionReply::Decline)
            | (QuestionKind::Approval(_), QuestionReply::Deny { .. })
            | (QuestionKind::Choice { .. }, QuestionReply::Text(_))
            | (QuestionKind::Password { .. }, QuestionReply::Password(_)) => true,
            (QuestionKind::Approval(request), QuestionReply::Allow(scope)) => {
                *scope <= request.widest
            }
            _ => false,
        }
    }
}

fn offered(widest: Scope) -> &'static str {
    match widest {
        Scope::Once => "[y]es once, [n]o",
        Scope::Session => "[y]es once, [s]ession, [n]o",
        Scope::Always => "[y]es once, [s]ession, [a]lways, [n]o",
    }
}

fn approval(line: &str, widest: Scope) -> Result<QuestionReply, String> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let scope = match word.to_lowercase().as_str() {
        "y" | "yes" | "o" | "once" => Scope::Once,
        "s" | "session" => Scope::Session,
        "a" | "always" => Scope::Always,
        "d" | "deny" | "n" | "no" => {
            let comment = Some(rest.trim().to_owned()).filter(|comment| !comment.is_empty());
            return Ok(QuestionReply::Deny { comment });
        }
        _ => return Err(format!("type {}", offered(widest))),
    };
    if scope > widest || !rest.is_empty() {
        return Err(format!("type {}", offered(widest)));
    }
    Ok(QuestionReply::Allow(scope))
}

#[cfg(test)]
mod tests {
    use petasos_contract::approval::Digest;
    use petasos_contract::context::Surface;

    use super::*;

    fn question(kind: QuestionKind) -> Question {
        let (id, session) = (QuestionId::new("q"), SessionId::new("s"));
        let (turn, call) = (TurnId::new("t"), CallId::new("c"));
        let address = Arc::new(Address::of(Surface::Cli, &session));
        let patience = Duration::from_mins(1);
        Question { id, number: 1, session, turn, call, address, kind, patience }
    }

    fn shown(reply: Result<QuestionReply, String>) -> String {
        match reply {
            Ok(QuestionReply::Allow(scope)) => format!("{scope:?}"),
            Ok(QuestionReply::Deny { comment }) => format!("no {}", comment.unwrap_or_default()),
            Ok(QuestionReply::Text(text)) => text,
            Ok(QuestionReply::Password(_)) => "secret".to_owned(),
            Ok(QuestionReply::Decline) => "declined".to_owned(),
            Err(_) => "?".to_owned(),
        }
    }

    #[test]
    fn only_an_offered_choice_agrees_and_anything_unclear_is_asked_again() {
        let approval = |widest| {
            question(QuestionKind::Approval(ApprovalRequest {
                cwd: None,
                tool: "terminal".into(),
                subject: "rm -rf build".to_owned(),
                findings: Vec::new(),
                edits: Vec::new(),
                digest: Digest([0; 32]),
                widest,
            }))
        };
        for (line, widest, reply) in [
            ("yes", Scope::Always, "Once"),
            (" Session ", Scope::Always, "Session"),
            ("ALWAYS", Scope::Always, "Always"),
            ("always", Scope::Session, "?"),
            ("once more", Scope::Always, "?"),
            ("", Scope::Always, "?"),
            ("ok", Scope::Always, "?"),
            ("\u{1b}[A", Scope::Always, "?"),
            ("deny use a branch", Scope::Once, "no use a branch"),
            ("n", Scope::Once, "no "),
        ] {
            assert_eq!(shown(approval(widest).read(line)), reply, "{line:?}");
        }
        assert!(!approval(Scope::Once).takes(&QuestionReply::Allow(Scope::Always)));
        assert!(!approval(Scope::Once).takes(&QuestionReply::Text("once".to_owned())));
    }

    #[test]
    fn a_number_chooses_and_anything_else_is_the_answer() {
        let choices = vec!["red".to_owned(), "blue".to_owned()];
        let colour = question(QuestionKind::Choice { text: "Which?".to_owned(), choices });
        for (line, reply) in [("2", "blue"), ("0", "0"), ("3", "3"), ("green", "green"), ("", "?")]
        {
            assert_eq!(shown(colour.read(line)), reply, "{line:?}");
        }
        let password = question(QuestionKind::Password { prompt: "sudo".to_owned() });
        assert_eq!(
            (shown(password.read("x")), shown(password.read(""))),
            ("secret".to_owned(), "declined".to_owned())
        );
    }
}
