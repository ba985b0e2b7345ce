//! Another agent in the place of a model: it answers a conversation, with tools of its own.
//!
//! Each conversation has a program of its own, which keeps what was said; after a restart, or when
//! somebody else answered in between, it is told what came before. What it asks permission for is
//! judged and asked as for any call of ours; its calls are shown, and stay out of the transcript.

mod ear;
mod words;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_acp::rpc::PeerError;
use petasos_acp::{AgentConnection, AgentEnd};
use petasos_contract::message::Assistant;
use petasos_contract::model::{
    Cost, Finish, Model, ModelError, Prompt, Reason, Reply, Role, Served, Sight, Usage,
};
use petasos_contract::wait::Owned;
use petasos_contract::{BoxFuture, CallContext, SessionId};
use petasos_session::SessionState;
use tokio::sync::oneshot;

use super::{AgentLife, ForeignAgents, PROVIDER, StartedAgent, WORK_MAX, chosen};
use ear::Ear;
use words::Told;

/// What an agent is taken to remember while it has not said more.
const WINDOW: u64 = 1_000_000;
/// How long an agent may take to begin.
const BEGINS: Duration = Duration::from_mins(2);
/// How long a cancelled turn may take to end before its agent is begun anew.
const STOPS: Duration = Duration::from_secs(10);

/// Answers by other agents where one is chosen, by the model inside otherwise.
pub(crate) struct AgentModel {
    inside: Arc<dyn Model>,
    agents: Arc<ForeignAgents>,
    seats: Mutex<HashMap<SessionId, Arc<tokio::sync::Mutex<Option<Seat>>>>>,
}

impl fmt::Debug for AgentModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentModel")
            .field("seats", &self.seats.lock().len())
            .finish_non_exhaustive()
    }
}

/// The agent that answers one conversation.
struct Seat {
    agent: String,
    session: String,
    connection: Arc<AgentConnection>,
    ear: Arc<Ear>,
    life: AgentLife,
    told: Told,
    /// The turn that it was asked for last.
    turn: Option<Owned<()>>,
}

impl AgentModel {
    /// Around the model that answers otherwise.
    pub(crate) fn around(inside: Arc<dyn Model>, agents: &Arc<ForeignAgents>) -> Arc<Self> {
        Arc::new(Self { inside, agents: Arc::clone(agents), seats: Mutex::default() })
    }

    async fn answered(
        &self,
        name: &str,
        prompt: &Prompt,
        cx: &CallContext,
    ) -> Result<Reply, ModelError> {
        let seat = Arc::clone(self.seats.lock().entry(cx.session.clone()).or_default());
        let mut seat = seat.lock().await;
        // Another agent was chosen, or what it remembers is not what was said.
        seat.take_if(|seat| seat.agent != name || !seat.told.covers(&prompt.messages));
        if let Some(before) = seat.as_mut().and_then(|here| here.turn.take())
            && tokio::time::timeout(STOPS, before.join()).await.is_err()
        {
            *seat = None;
        }
        let here = match &mut *seat {
            Some(here) => here,
            none => none.insert(self.seated(name, cx).await?),
        };
        let (text, pictures) = here.told.rest(&prompt.messages);
        here.told = Told::of(&prompt.messages);
        let heard = here.ear.listen(&prompt.deltas, cx);
        let end = here.say(text, pictures).await;
        let heard = heard.end();
        match end {
            Ok(end) => reply(name, heard, end),
            Err(error) => {
                let error = here.failed(&error);
                *seat = None;
                Err(error)
            }
        }
    }

    async fn seated(&self, name: &str, cx: &CallContext) -> Result<Seat, ModelError> {
        let lost = |why: String| ModelError::new(Reason::NotConfigured, why);
        let StartedAgent { transport, mode, life } =
            self.agents.start(name, cx).await.map_err(lost)?;
        let ear = Arc::new(Ear::new(self.agents.judge(name)));
        let opened = async {
            let version = env!("CARGO_PKG_VERSION");
            let connection =
                AgentConnection::open(transport, Arc::clone(&ear) as _, version).await?;
            let session = connection.begin(&cx.workspace, mode.as_deref()).await?;
            Ok::<_, PeerError>((connection, session))
        };
        let opened = tokio::time::timeout(BEGINS, opened).await;
        let opened = opened.map_err(|_| lost(format!("the agent `{name}` does not begin")))?;
        let (connection, session) = opened.map_err(|error| {
            lost(life.complaint.with(&format!("the agent `{name}` cannot answer: {error}")))
        })?;
        let (agent, connection) = (name.to_owned(), Arc::new(connection));
        Ok(Seat { agent, session, connection, ear, life, told: Told::default(), turn: None })
    }
}

impl Seat {
    /// One turn. Where nobody waits for it any more, it is told to stop, and its end is waited for
    /// before the next one.
    async fn say(&mut self, text: String, pictures: Vec<String>) -> Result<AgentEnd, PeerError> {
        let (ended, end) = oneshot::channel();
        let (connection, session) = (Arc::clone(&self.connection), self.session.clone());
        self.turn = Some(Owned::start(async move {
            let end = connection.prompt(&session, &text, &pictures, WORK_MAX).await;
            // Whoever asked may have given up.
            drop(ended.send(end));
        }));
        let stop = Stop { connection: &self.connection, session: &self.session, armed: true };
        let end = end.await.unwrap_or(Err(PeerError::Gone));
        stop.disarm();
        end
    }

    fn failed(&self, error: &PeerError) -> ModelError {
        let why = format!("the agent `{}` did not answer: {error}", self.agent);
        ModelError::new(Reason::ServerError, self.life.complaint.with(&why))
    }
}

/// An agent whose answer nobody waits for any more is told to stop.
struct Stop<'a> {
    connection: &'a AgentConnection,
    session: &'a str,
    armed: bool,
}

impl Stop<'_> {
    fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.connection.stop(self.session);
        }
    }
}

fn reply(name: &str, heard: ear::Heard, end: AgentEnd) -> Result<Reply, ModelError> {
    let mut text = heard.text.trim().to_owned();
    let finish = match end {
        AgentEnd::Done => Finish::Stop,
        AgentEnd::CutOff => {
            text.push_str("\n\n[the agent ran out of its budget]");
            Finish::Stop
        }
        AgentEnd::Refused => Finish::ContentFilter,
        AgentEnd::Cancelled => {
            return Err(ModelError::new(Reason::Cancelled, "the agent was stopped"));
        }
    };
    let reasoning = Some(heard.thought).filter(|thought| !thought.is_empty());
    Ok(Reply {
        message: Assistant { content: Some(text), reasoning, ..Assistant::default() },
        finish,
        usage: Usage { input: heard.used, requests: 1, ..Usage::default() },
        cost: Cost::Included,
        served: Served {
            provider: PROVIDER.to_owned(),
            model: name.to_owned(),
            api_mode: PROVIDER.to_owned(),
            ..Served::default()
        },
        ..Reply::default()
    })
}

/// The agent that answers a prompt of this kind; side tasks are no conversations.
fn wanted<'a>(prompt: &'a Prompt, role: Role, cx: &'a CallContext) -> Option<&'a str> {
    let talks = matches!(role, Role::Main | Role::Subagent);
    let name = || chosen(prompt.model.as_deref(), prompt.provider.as_deref(), &cx.settings);
    talks.then(name).flatten()
}

impl Model for AgentModel {
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        match wanted(prompt, role, cx) {
            Some(name) => Box::pin(self.answered(name, prompt, cx)),
            None => self.inside.ask(prompt, role, cx),
        }
    }

    fn window<'a>(
        &'a self,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Option<u64>> {
        if wanted(prompt, role, cx).is_none() {
            return self.inside.window(prompt, role, cx);
        }
        let seat = self.seats.lock().get(&cx.session).cloned();
        let known = seat.and_then(|seat| seat.try_lock().ok()?.as_ref()?.ear.window());
        Box::pin(std::future::ready(Some(known.unwrap_or(WINDOW))))
    }

    fn sight<'a>(&'a self, cx: &'a CallContext) -> BoxFuture<'a, Sight> {
        self.inside.sight(cx)
    }
}

impl SessionState for AgentModel {
    /// Its program ends with it.
    fn end(&self, session: &SessionId) {
        self.seats.lock().remove(session);
    }
}
