//! Background work that outlives its program: what was given out and never reported is found in
//! the conversation, and goes on where it stopped.

use std::sync::Arc;

use petasos_contract::event::Event;
use petasos_contract::message::Message;
use petasos_contract::{CallContext, SessionId};
use petasos_store::{LoadedRow, StoreError};
use serde_json::Value;

use super::{Assignment, Child, Delegation, Report, Task, Tokens};
use crate::agent::{Agent, TurnError};
use crate::seat::LoopSeat;
use crate::turn::INTERRUPTED;

const GO_ON: &str = "The program was restarted while you worked on this. Go on with the task; look \
                     at what has been done before you repeat anything.";

/// Work that was given out and never reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unheard {
    id: String,
    sessions: Vec<SessionId>,
}

/// How the news of an ended delegation begins; by it a later program knows that it was heard.
pub(super) fn heard(id: &str) -> String {
    format!("`{id}` has ended: ")
}

/// Tells one delegation from all others of its conversation, also from those that were taken back
/// or summarised since: nothing in the conversation has to be counted for it.
pub(super) fn tag() -> String {
    let random = getrandom::u64().ok();
    let number = random.unwrap_or_else(|| {
        // Without random bytes the clock does: two delegations are not made in one nanosecond.
        let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
        u64::try_from(since.as_nanos() & u128::from(u64::MAX)).unwrap_or_default()
    });
    format!("{:08x}", number & 0xffff_ffff)
}

/// The conversation of a child in the background.
pub(super) fn child_session(parent: &SessionId, tag: &str, index: usize) -> SessionId {
    SessionId::new(format!("{parent}_d{tag}_{index}"))
}

/// A child on its way to work.
pub(super) enum Seated {
    /// With these words.
    ToWork(Box<Agent>, String),
    /// It had ended already.
    Ended(Box<Report>),
}

impl Delegation {
    /// Reads from a conversation what was given out, and what of it was never heard of again. Only
    /// results of `delegate_task` itself count: anybody else could name any conversation.
    pub(crate) fn recall(&self, rows: &[LoadedRow]) {
        let mut unheard: Vec<Unheard> = Vec::new();
        for row in rows {
            let text = match &row.stored.message {
                Message::User { content } => content.text(),
                Message::Assistant(_) => continue,
                Message::Tool(result) => {
                    let text = result.content.text();
                    if result.name.as_ref().is_some_and(|name| *name == "delegate_task") {
                        unheard.extend(dispatched(&text));
                    }
                    text
                }
            };
            let sent = row.stored.sent.as_deref().unwrap_or_default();
            unheard.retain(|one| {
                let news = heard(&one.id);
                !text.contains(&news) && !sent.contains(&news)
            });
        }
        // One that was shortened since stands in the log twice.
        unheard.dedup();
        *self.unheard.lock() = unheard;
    }

    /// Lets the work of an earlier program go on, where somebody will see what comes of it. What
    /// another program is at work on is left to it, and looked at again with the next turn.
    pub(crate) async fn revive(&self, seat: &LoopSeat, cx: &CallContext) {
        if !(cx.attended && cx.surface.outlives_turn()) || cx.depth > 0 {
            return;
        }
        let unheard = std::mem::take(&mut *self.unheard.lock());
        for Unheard { id, sessions } in unheard {
            let own = format!("{}_d", seat.session);
            let sessions: Vec<_> =
                sessions.into_iter().filter(|one| one.as_str().starts_with(&own)).collect();
            if let Some(why) = busy(seat, &sessions).await {
                cx.events.emit(|| Event::Notice { text: format!("`{id}` is left alone: {why}") });
                self.unheard.lock().push(Unheard { id, sessions });
                continue;
            }
            let given = sessions.into_iter().map(|session| {
                // Its own conversation has the goal.
                let task =
                    Task { goal: String::new(), context: None, orchestrator: false, agent: None };
                Assignment { task, session: Some(session), begun: true }
            });
            let given: Vec<Assignment> = given.collect();
            if !given.is_empty() {
                self.in_background(&id, given, seat, cx);
            }
        }
    }
}

/// Who is at work on one of these conversations, or why nobody knows.
async fn busy(seat: &LoopSeat, sessions: &[SessionId]) -> Option<String> {
    for session in sessions {
        match seat.engine.store.holder(session).await {
            Ok(None) => {}
            Ok(Some(holder)) => return Some(format!("`{session}` is in use by {holder}")),
            Err(error) => return Some(error.to_string()),
        }
    }
    None
}

fn dispatched(text: &str) -> Option<Unheard> {
    // A result that carries words of the user behind its JSON is still a result.
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let given = values.next()?.ok()?;
    if given.get("status")?.as_str()? != "dispatched" {
        return None;
    }
    let sessions = given.get("sessions")?.as_array()?.iter();
    let sessions = sessions.filter_map(|id| Some(SessionId::new(id.as_str()?))).collect();
    Some(Unheard { id: given.get("delegation_id")?.as_str()?.to_owned(), sessions })
}

impl Child {
    /// A new conversation for a new task; an old one goes on, unless it had ended.
    pub(super) async fn seated(&self, task: &Task) -> Result<Seated, TurnError> {
        let engine = Arc::clone(&self.engine);
        let session = self.choice.new.id.clone().filter(|_| self.begun);
        let Some(session) = session else {
            let agent = Agent::begin(engine, self.choice.clone()).await?;
            let words = match &task.context {
                Some(context) => format!("{}\n\nContext:\n{context}", task.goal),
                None => task.goal.clone(),
            };
            return Ok(Seated::ToWork(Box::new(agent), words));
        };
        let resumed = Agent::resume(engine, self.choice.clone(), &session).await;
        let (agent, _) = match resumed {
            Err(TurnError::Store(StoreError::NotFound { .. })) => {
                let why = "the program ended before it began";
                return Ok(Seated::Ended(Box::new(Report::failed(self.index, why))));
            }
            resumed => resumed?,
        };
        let last = agent.transcript().rows().last().map(|row| &row.stored);
        let replied = last.is_some_and(|row| row.note.as_deref() != Some(INTERRUPTED));
        Ok(match last.map(|row| &row.message) {
            Some(Message::Assistant(said)) if replied && said.tool_calls.is_empty() => {
                let mut report = Report::failed(self.index, "");
                report.status = "completed";
                "replied".clone_into(&mut report.exit_reason);
                report.summary = super::cut(said.text(), self.room);
                report.error = None;
                report.tokens = Tokens::default();
                report.session_id = Some(session.to_string());
                Seated::Ended(Box::new(report))
            }
            Some(_) => Seated::ToWork(Box::new(agent), GO_ON.to_owned()),
            None => {
                let why = "the program ended before it was told its task";
                Seated::Ended(Box::new(Report::failed(self.index, why)))
            }
        })
    }
}
