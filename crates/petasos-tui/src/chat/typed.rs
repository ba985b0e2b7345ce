//! What a typed line does: answers a question, runs a command, or is said to the agent.

use std::sync::Arc;

use petasos_session::command::split;
use petasos_session::{
    Admission, AfterCommand, Input, Offer, OfferKind, Replay, SwitchTo, WhenBusy, attach,
};

use super::{Chat, Doing, Done, Next, RECAP};
use crate::picker::Picker;
use crate::{command, status};

impl Chat {
    /// Acts on the next line that waits, unless something is being waited for.
    pub(super) fn act(&mut self) {
        while self.doing.is_none() {
            let Some(line) = self.lines.pop_front() else { return };
            self.doing = self.begin(&line);
        }
    }

    /// A line that was just typed. Answers and stops wait for nothing.
    pub(super) fn line(&mut self, line: &str) {
        let trimmed = line.trim();
        if self.question.is_some() {
            return self.answer(line);
        }
        match split(trimmed) {
            Some((name, _)) if matches!(name.as_str(), "stop" | "interrupt") => self.stop(),
            _ if trimmed.is_empty() => {}
            _ => self.lines.push_back(trimmed.to_owned()),
        }
    }

    fn answer(&mut self, line: &str) {
        let Some(asking) = &self.question else { return };
        let (secret, line) = (asking.question.is_secret(), translated(line));
        match asking.question.read(&line) {
            Ok(reply) => {
                self.note(&format!("? {}", if secret { "•••" } else { line.trim() }));
                self.reply(reply);
            }
            Err(hint) => self.note(&hint),
        }
    }

    fn begin(&mut self, line: &str) -> Option<Doing> {
        if let Some(command) = line.strip_prefix('!') {
            return self.run_own(command.trim());
        }
        // What people type to leave every other program.
        let line = if matches!(line, "exit" | "quit" | ":q") { "/quit" } else { line };
        let Some((name, words)) = split(line) else { return Some(self.submit(line)) };
        let Some(slash) = command::find(&name) else { return Some(self.ask(line)) };
        (slash.run)(self, words).unwrap_or_else(|why| {
            self.complain(&why);
            None
        })
    }

    /// Runs a command of the session.
    pub(crate) fn ask(&mut self, line: &str) -> Doing {
        let (session, line) = (self.session.clone(), line.to_owned());
        if !self.is_working() {
            self.view.begin(&line);
        }
        Box::pin(async move { Done::Command(session.command(&line).await) })
    }

    /// A list to choose from where one can be shown; words that were given are the choice.
    pub(crate) fn pick_or_ask(
        &mut self,
        name: &str,
        words: &str,
        title: &'static str,
        kind: OfferKind,
    ) -> Doing {
        if !words.is_empty() || !self.screen.look().live {
            return self.ask(format!("/{name} {words}").trim_end());
        }
        let session = self.session.clone();
        if !self.is_working() {
            self.view.begin("looking");
        }
        Box::pin(async move { Done::Offers(title, session.offers(kind).await) })
    }

    /// Whether a command that throws something away asks first.
    pub(crate) fn asks_before_loss(&self) -> bool {
        let asks = self.settings.get("approvals.destructive_slash_confirm");
        asks.and_then(serde_json::Value::as_bool).unwrap_or(true)
    }

    fn offered(&mut self, title: &str, offers: Result<Vec<Offer>, String>) {
        match offers {
            Ok(offers) if offers.is_empty() => {
                self.note(&format!("No {} to choose from yet.", title.to_lowercase()));
            }
            // Somebody is asked something more urgent.
            Ok(_) if self.question.is_some() => {}
            Ok(offers) => self.picker = Some(Picker::new(title, offers)),
            Err(why) => self.complain(&why),
        }
    }

    /// Runs a command of the person's own in the session's terminal.
    fn run_own(&mut self, command: &str) -> Option<Doing> {
        if command.is_empty() {
            self.note("!COMMAND runs a command; the model reads its output with your next message");
            return None;
        }
        let (session, command) = (self.session.clone(), command.to_owned());
        if !self.is_working() {
            self.view.begin(&command);
        }
        Some(Box::pin(async move {
            let admission = session.run(&command).await;
            Done::Run { command, admission }
        }))
    }

    fn submit(&mut self, text: &str) -> Doing {
        let (session, text, busy) = (self.session.clone(), text.to_owned(), self.busy);
        let input = self.with_attachments(&text);
        let is_plain = input.content.text() == text;
        if !self.is_working() {
            self.view.forget_changes();
            self.view.begin("thinking");
        }
        Box::pin(async move {
            let admission = match busy {
                WhenBusy::Steer if is_plain => session.steer(&text).await,
                _ => session.submit(input, busy).await,
            };
            Done::Submit { text, admission }
        })
    }

    /// The message and the files that it mentions; what cannot be attached is named.
    fn with_attachments(&mut self, text: &str) -> Input {
        let settings = Arc::clone(&self.settings);
        let files = attach::mentions(text, settings.workspace(), settings.user_home());
        let missing = attach::missing(text, settings.workspace(), settings.user_home());
        if !missing.is_empty() {
            let names = missing.join(", ");
            self.note(&format!("⚠ not attached, because there is no such file: {names}"));
        }
        if files.is_empty() {
            return text.into();
        }
        match attach::content(vec![text.to_owned()], &files) {
            Ok(content) => {
                let names: Vec<String> = files
                    .iter()
                    .map(|file| status::folder(file, Some(settings.user_home())))
                    .collect();
                self.note(&format!("📎 {}", names.join(", ")));
                Input { content, ..text.into() }
            }
            Err(error) => {
                self.complain(&format!("not attached: {error}"));
                text.into()
            }
        }
    }

    /// What the session answered.
    pub(super) fn done(&mut self, done: Done) {
        self.doing = None;
        // What happened before the answer is seen before it.
        self.catch_up();
        match done {
            Done::Command(Ok(outcome)) => {
                self.outcome(&outcome);
                self.follow(outcome.then);
            }
            Done::Submit { text, admission: Ok(admission) } => match admission {
                Admission::Started(_) => {}
                Admission::Steered => self.note(&format!("↪ for the agent: {text}")),
                Admission::Queued { .. } if self.busy == WhenBusy::Interrupt => {
                    self.waits("⏹ stopping for", &text);
                    self.view.doing("stopping");
                }
                Admission::Queued { .. } => self.waits("⏳ next", &text),
            },
            Done::Run { command, admission: Ok(Admission::Queued { .. }) } => {
                self.waits("⏳ next", &format!("!{command}"));
            }
            Done::Run { admission: Ok(_), .. } => {}
            Done::Switch(Ok((session, recent))) => {
                self.events = Some(session.events(Replay::Since(0)));
                self.session = session;
                self.used = 0;
                if self.next == Next::Switch {
                    self.next = Next::Stay;
                }
                self.recap(&recent);
            }
            Done::Offers(title, offers) => self.offered(title, offers),
            Done::TakenBack(Ok(None)) => self.note("Its turn has begun already; Esc stops it."),
            Done::Copy(Ok(text)) => self.copy(&text),
            Done::Copy(Err(why)) => self.complain(&why),
            Done::Spoken(Err(why)) => {
                self.complain(&why);
                if std::mem::take(&mut self.speaks) {
                    self.note("🎙 voice mode is off");
                }
            }
            // What is said is no command; who types meanwhile goes before it.
            Done::Spoken(Ok(text)) if self.speaks && self.lines.is_empty() => {
                self.lines.push_back(text.trim_start_matches(['/', '!']).trim().to_owned());
            }
            // The person sees what was heard or taken back, and sends it or not.
            Done::Spoken(Ok(text)) | Done::TakenBack(Ok(Some(text))) => self.draft.put(&text),
            Done::Switch(Err(error)) => {
                // A session that has ended for one that cannot be opened leaves nothing to chat in.
                self.next = if self.events.is_some() { Next::Stay } else { Next::Leave };
                self.complain(&error.to_string());
            }
            Done::Command(Err(error))
            | Done::TakenBack(Err(error))
            | Done::Submit { admission: Err(error), .. }
            | Done::Run { admission: Err(error), .. } => {
                self.complain(&error.to_string());
            }
        }
    }

    /// The newest message that waits comes back into the line.
    pub(super) fn take_back(&mut self) {
        let Some(id) = self.queued.last_key_value().map(|(id, _)| *id) else { return };
        if self.doing.is_none() {
            let session = self.session.clone();
            let taken = async move { Done::TakenBack(session.take_back(id).await) };
            self.doing = Some(Box::pin(taken));
        }
    }

    /// A live screen shows what waits as long as it does.
    fn waits(&mut self, how: &str, text: &str) {
        if !self.screen.look().live {
            self.note(&format!("{how}: {text}"));
        }
    }

    fn follow(&mut self, then: AfterCommand) {
        let to = match then {
            AfterCommand::Nothing | AfterCommand::Submit(_) => return,
            AfterCommand::New => SwitchTo::New,
            AfterCommand::Switch(session) => SwitchTo::Stored(session),
        };
        self.next = Next::Switch;
        let (from, service) = (self.session.clone(), Arc::clone(self.session.service()));
        self.doing = Some(Box::pin(async move {
            let switched = async {
                let session = service.switch(&from, to).await?;
                let recent = session.recent(RECAP).await?;
                Ok((session, recent))
            };
            Done::Switch(switched.await)
        }));
    }

    fn copy(&mut self, text: &str) {
        if self.screen.copy(text) {
            self.note(&format!("copied {} characters", text.chars().count()));
        } else {
            let why = "this terminal has no clipboard for programs; /save FILE writes a file";
            self.complain(why);
        }
    }
}

/// `/approve` and `/deny` answer a question of approval in its own words.
fn translated(line: &str) -> String {
    match split(line) {
        Some((name, rest)) => match name.as_str() {
            "approve" | "yes" if rest.is_empty() => "once".to_owned(),
            "approve" | "yes" => rest.to_owned(),
            "deny" | "no" => format!("deny {rest}").trim_end().to_owned(),
            _ => line.to_owned(),
        },
        None => line.to_owned(),
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
