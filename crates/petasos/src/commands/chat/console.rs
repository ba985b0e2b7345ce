//! Questions of approval, put by the chat between its lines.

use std::io;

use petasos_approval::ask::{Console, Input, Look, TerminalApprover};
use petasos_contract::approval::{Answer, ApprovalRequest, Approver};
use petasos_contract::{BoxFuture, CallContext};
use petasos_tui::{Person, Typed};

/// Asks for approval between other questions: the time to answer begins when it is shown.
#[derive(Debug)]
pub(super) struct ChatApprover {
    person: Person,
    inside: TerminalApprover<ChatConsole>,
}

impl ChatApprover {
    /// Asks this person.
    pub(super) fn new(person: Person, look: Look) -> Self {
        let inside = TerminalApprover::new(ChatConsole { person: person.clone(), look });
        Self { person, inside }
    }
}

impl Approver for ChatApprover {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            match self.person.floor().await {
                Ok(_floor) => self.inside.ask(request, cx).await,
                Err(error) => Answer::Undeliverable { reason: error.to_string() },
            }
        })
    }
}

/// The person at the chat, as the approver sees them.
#[derive(Debug)]
struct ChatConsole {
    person: Person,
    look: Look,
}

impl Console for ChatConsole {
    fn show(&self, text: &str) -> io::Result<()> {
        self.person.show(text)
    }

    fn line(&self) -> BoxFuture<'_, io::Result<Input>> {
        Box::pin(async {
            Ok(match self.person.line().await? {
                Typed::Line(line) => Input::Line(line),
                Typed::End => Input::End,
                Typed::Interrupted => Input::Interrupted,
            })
        })
    }

    fn look(&self) -> Look {
        self.look
    }
}
