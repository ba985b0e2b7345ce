//! What a typed line does: a command, an answer, a message, or guidance for the running turn.

use super::{Busy, Chat, ChatError};
use crate::command::{Meaning, Next, meaning};
use crate::person::Typed;

impl Chat {
    /// A message while nothing runs.
    pub(super) async fn heard(&mut self, line: &str) -> Result<(), ChatError> {
        match self.command(line).await {
            None => self.take_turn(line).await,
            Some(Next::Say(message)) => self.take_turn(&message).await,
            Some(Next::Done) => Ok(()),
            Some(Next::Quit) => {
                self.ending = true;
                Ok(())
            }
        }
    }

    /// A line while a turn runs.
    pub(super) async fn line(&mut self, line: String) {
        let trimmed = line.trim();
        if self.asking.is_some() {
            let answer = translated(trimmed);
            let shown = if answer.is_empty() { "(no answer)" } else { &answer };
            self.remark(&format!("? {shown}"));
            self.answer(Typed::Line(answer));
            return;
        }
        if trimmed.is_empty() {
            return;
        }
        match self.command(trimmed).await {
            None => self.while_busy(trimmed.to_owned()),
            Some(Next::Say(message)) => self.while_busy(message),
            Some(Next::Done) => {}
            Some(Next::Quit) => {
                self.ending = true;
                self.stop();
            }
        }
    }

    fn while_busy(&mut self, message: String) {
        match self.busy {
            Busy::Interrupt => {
                self.remark(&format!("⏹ stopping for: {message}"));
                self.queue.push_front(message);
                self.stop();
            }
            Busy::Queue => {
                self.remark(&format!("⏳ next: {message}"));
                self.queue.push_back(message);
            }
            Busy::Steer => self.steer(&message),
        }
    }

    /// Words for the running turn; without one they are a message.
    pub(crate) fn steer(&mut self, words: &str) {
        match self.working.as_ref().and_then(|working| working.inbox.as_ref()) {
            Some(inbox) => {
                inbox.steer(words);
                self.remark(&format!("↪ for the agent: {words}"));
            }
            None => self.queue.push_back(words.to_owned()),
        }
    }

    /// Runs a command; none when the line is no command.
    async fn command(&mut self, line: &str) -> Option<Next> {
        let done = match meaning(line, &self.extras) {
            Meaning::Words => return None,
            Meaning::Built(slash, words) => (slash.run)(self, &words).await,
            Meaning::Added(extra, words) => match extra.run(&words).await {
                Ok(text) => {
                    self.tell(&text);
                    Ok(Next::Done)
                }
                Err(why) => Err(why),
            },
            Meaning::Unknown(name, Some(near)) => {
                Err(format!("there is no /{name}: did you mean /{near}?"))
            }
            Meaning::Unknown(name, None) => {
                Err(format!("there is no /{name}: /help lists the commands"))
            }
        };
        Some(done.unwrap_or_else(|why| {
            self.complain(&why);
            Next::Done
        }))
    }
}

/// `/approve` and `/deny` answer a question of approval in its own words.
fn translated(line: &str) -> String {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match name {
        "/approve" | "/yes" => match rest.trim() {
            "" | "once" => "once".to_owned(),
            scope => scope.to_owned(),
        },
        "/deny" | "/no" => format!("deny {}", rest.trim()).trim_end().to_owned(),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approve_and_deny_are_answers() {
        for (line, answer) in [
            ("/approve", "once"),
            ("/approve session", "session"),
            ("/deny use a branch", "deny use a branch"),
            ("/deny", "deny"),
            ("always", "always"),
            ("", ""),
        ] {
            assert_eq!(translated(line), answer);
        }
    }
}
