//! Tasks beside the conversation: each is a conversation of its own, and its end is shown in the
//! session that began it. Their questions are put in that session, too.

use std::sync::Arc;

use petasos_agent::{Agent, Input, TurnEnd};
use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_contract::wait::Owned;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{LiveSession, suggest_title};
use crate::command::Page;
use crate::correspondent::Letter;

/// So many run at once.
const ASIDES_MAX: usize = 4;
/// How much of a task is shown to tell it from others.
const SHOWN_CHARS: usize = 60;

/// The tasks of one session.
#[derive(Debug)]
pub(crate) struct Asides {
    running: Vec<Aside>,
    sender: mpsc::UnboundedSender<Ended>,
    pub(crate) ended: mpsc::UnboundedReceiver<Ended>,
    numbered: u32,
}

/// One that runs; it ends when this is dropped.
#[derive(Debug)]
struct Aside {
    number: u32,
    prompt: String,
    session: SessionId,
    cancel: CancellationToken,
    _work: Owned<()>,
}

/// One that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    number: u32,
    end: Result<TurnEnd, String>,
}

impl Default for Asides {
    fn default() -> Self {
        let (sender, ended) = mpsc::unbounded_channel();
        Self { running: Vec::new(), sender, ended, numbered: 0 }
    }
}

impl Asides {
    /// Whether any runs.
    pub(crate) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Those that run, a line each.
    pub(crate) fn listed(&self) -> Vec<String> {
        let line =
            |aside: &Aside| format!("- {} `{}` {}", aside.number, aside.session, aside.prompt);
        self.running.iter().map(line).collect()
    }

    /// Stops one; whether there was one of this number.
    pub(crate) fn stop(&self, number: u32) -> bool {
        let found = self.running.iter().find(|aside| aside.number == number);
        found.inspect(|aside| aside.cancel.cancel()).is_some()
    }

    pub(super) fn stop_all(&self) {
        self.running.iter().for_each(|aside| aside.cancel.cancel());
    }

    pub(super) fn sessions(&self) -> impl Iterator<Item = SessionId> {
        self.running.iter().map(|aside| aside.session.clone())
    }
}

impl LiveSession {
    /// Begins a task beside the conversation; gives its number and conversation.
    pub(crate) async fn begin_aside(&mut self, prompt: &str) -> Result<(u32, SessionId), String> {
        if self.asides.running.len() >= ASIDES_MAX {
            return Err(format!("{ASIDES_MAX} tasks run already: wait for one, or stop it"));
        }
        let mut choice = self.choice.clone();
        choice.new.id = None;
        choice.new.owner = self.owner();
        let begun = Agent::begin(Arc::clone(self.engine()), choice).await;
        let mut agent = begun.map_err(|error| error.to_string())?;
        suggest_title(&agent, prompt).await.map_err(|error| error.to_string())?;
        self.asides.numbered += 1;
        let (number, session) = (self.asides.numbered, agent.session().clone());
        self.parts.questions.admit(session.clone(), &self.shared.desk);
        let cx = self.surroundings(&session);
        // In a chat nobody watches it: what needs a person is refused and not waited for.
        let watched = cx.attended && cx.surface != Surface::Gateway;
        let cx = cx.attended(watched);
        let (cancel, sender) = (cx.cancel.clone(), self.asides.sender.clone());
        let input = Input::from(prompt);
        let work = Owned::start(async move {
            let end = agent.turn(input, &cx).await.map_err(|error| error.to_string());
            agent.leave("session_boundary", None, &cx).await;
            // A session that has ended shows nothing more.
            sender.send(Ended { number, end }).unwrap_or_default();
        });
        let prompt = prompt.chars().take(SHOWN_CHARS).collect();
        let aside = Aside { number, prompt, session: session.clone(), cancel, _work: work };
        self.asides.running.push(aside);
        Ok((number, session))
    }

    /// Shows what came of a task, and carries it to people who do not watch.
    pub(crate) async fn finish_aside(&mut self, ended: &Ended) {
        let place = self.asides.running.iter().position(|aside| aside.number == ended.number);
        let Some(aside) = place.map(|place| self.asides.running.remove(place)) else { return };
        let (number, session) = (ended.number, &aside.session);
        self.parts.questions.dismiss(session);
        self.parts.states.iter().for_each(|state| state.end(session));
        let pages = match &ended.end {
            Ok(end) => {
                let how = end.outcome.as_str();
                vec![
                    Page::Note(format!("⚑ background task {number} ({}): {how}", aside.prompt)),
                    Page::Markdown(end.text.clone()),
                    Page::Note(format!("/resume {session} continues it")),
                ]
            }
            Err(why) => vec![Page::Warning(format!("background task {number} failed: {why}"))],
        };
        let texts: Vec<&str> = pages.iter().map(Page::text).collect();
        let letter = Letter::ToPeople(texts.join("\n\n"));
        for page in pages {
            self.show(page);
        }
        self.parts.carried(self.id(), letter).await;
    }
}
