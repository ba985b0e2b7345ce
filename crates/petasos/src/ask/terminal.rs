//! Asking at a terminal: one question at a time, one typed line, and nothing that agrees by itself.
//!
//! The terminal itself is a [`Console`] that the program supplies. An empty line, the end of input,
//! an interrupt and anything that is not a choice mean no.

use std::io;
use std::time::Duration;

use petasos_contract::approval::{Answer, ApprovalRequest, Approver, Scope, Who};
use petasos_contract::{BoxFuture, CallContext};
use tokio::sync::Semaphore;

use super::show::{Look, shown, stored};
use petasos_approval::settings::Approvals;

const PATIENCE: Duration = Duration::from_mins(1);

/// What came from the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// A line.
    Line(String),
    /// There will be no more.
    End,
    /// The person pressed Ctrl-C.
    Interrupted,
}

/// A terminal with a person at it.
pub(crate) trait Console: Send + Sync {
    /// Writes text at once.
    fn show(&self, text: &str) -> io::Result<()>;

    /// Waits for one line, typed after the call. Dropping the future gives up waiting.
    fn line(&self) -> BoxFuture<'_, io::Result<Input>>;

    /// Whether places are marked in colour.
    fn look(&self) -> Look {
        Look::Plain
    }
}

/// Asks at a console.
#[derive(Debug)]
pub(crate) struct TerminalApprover<C> {
    console: C,
    turn: Semaphore,
}

impl<C: Console> TerminalApprover<C> {
    /// Asks at this console.
    pub(crate) fn new(console: C) -> Self {
        Self { console, turn: Semaphore::new(1) }
    }

    async fn put(&self, request: &ApprovalRequest, cx: &CallContext) -> Answer {
        let patience =
            Approvals::read(&cx.settings).map_or(PATIENCE, |approvals| approvals.timeout);
        let gone = |reason: String| Answer::Undeliverable { reason };
        // Two questions on one screen would take each other's answers.
        let Ok(_turn) = self.turn.acquire().await else {
            return gone("the terminal is closed".to_owned());
        };
        let question = format!(
            "\n{}\n{}{} (no answer within {} s means no)\n> ",
            shown(request, &cx.settings, self.console.look()),
            stored(request, &cx.settings),
            choices(request.widest),
            patience.as_secs()
        );
        if let Err(error) = self.console.show(&question) {
            return gone(format!("the terminal cannot be written to: {error}"));
        }
        match tokio::time::timeout(patience, self.console.line()).await {
            Err(_) => Answer::Expired { after: patience },
            Ok(Err(error)) => gone(format!("the terminal cannot be read: {error}")),
            Ok(Ok(Input::Line(line))) => read(&line, request.widest),
            Ok(Ok(Input::End)) => denied(Some("the input ended")),
            Ok(Ok(Input::Interrupted)) => denied(Some("interrupted")),
        }
    }
}

impl<C: Console> Approver for TerminalApprover<C> {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        Box::pin(self.put(request, cx))
    }
}

fn choices(widest: Scope) -> &'static str {
    match widest {
        Scope::Once => "[y]es once, [n]o",
        Scope::Session => "[y]es once, [s]ession, [n]o",
        Scope::Always => "[y]es once, [s]ession, [a]lways, [n]o",
    }
}

/// Only what was offered agrees, and only alone: a yes with a condition is none. What follows a no
/// is the reason that the model is given.
fn read(line: &str, widest: Scope) -> Answer {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let scope = match word.to_lowercase().as_str() {
        "y" | "yes" | "o" | "once" => Some(Scope::Once),
        "s" | "session" => Some(Scope::Session),
        "a" | "always" => Some(Scope::Always),
        "d" | "deny" | "n" | "no" => return denied(Some(rest.trim()).filter(|it| !it.is_empty())),
        _ => None,
    };
    match scope.filter(|scope| *scope <= widest && rest.is_empty()) {
        Some(scope) => Answer::Allowed { scope, by: Who::Person(None) },
        None => denied(None),
    }
}

fn denied(comment: Option<&str>) -> Answer {
    Answer::Denied { by: Who::Person(None), comment: comment.map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_offered_choice_agrees() {
        let allowed = |line, widest| match read(line, widest) {
            Answer::Allowed { scope, .. } => Some(scope),
            _ => None,
        };
        for (line, scope) in [
            ("o", Scope::Once),
            ("y", Scope::Once),
            ("Yes", Scope::Once),
            (" Session ", Scope::Session),
            ("ALWAYS", Scope::Always),
        ] {
            assert_eq!(allowed(line, Scope::Always), Some(scope), "{line}");
        }
        for line in ["", " ", "n", "no", "ok", "yes but not src", "once more", "\u{1b}[A", "d", "1"]
        {
            assert_eq!(allowed(line, Scope::Always), None, "{line:?}");
        }
        assert_eq!(allowed("always", Scope::Session), None);
        assert_eq!(allowed("session", Scope::Once), None);
        let told =
            Answer::Denied { by: Who::Person(None), comment: Some("use a branch".to_owned()) };
        assert_eq!(read("deny use a branch", Scope::Once), told);
        assert_eq!(read("n use a branch", Scope::Once), told);
    }
}
