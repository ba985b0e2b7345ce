//! Questions of approval, put by the chat between its lines.

use std::io;

use petasos_approval::ask::{Console, Input, Look};
use petasos_contract::BoxFuture;
use petasos_tui::{Person, Typed};

/// The person at the chat, as the approver sees them.
#[derive(Debug)]
pub(super) struct ChatConsole {
    person: Person,
    look: Look,
}

impl ChatConsole {
    /// Asks this person.
    pub(super) fn new(person: Person, look: Look) -> Self {
        Self { person, look }
    }
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
