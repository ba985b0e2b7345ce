//! What the owner of a session owns: the agent, what it chooses, what waits. Slash commands work on
//! this.

mod aside;
mod chosen;
pub(crate) mod follow;
mod jobs;
mod review;
mod waiting;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use petasos_agent::engine::{Choice, Engine};
use petasos_agent::{Agent, Input, Switch, TurnEnd, TurnError};
use petasos_contract::address::Address;
use petasos_contract::context::{CALLER_DEADLINE, Phase, Surface};
use petasos_contract::event::EventSink;
use petasos_contract::jobs::{JobStatus, JobView};
use petasos_contract::{CallContext, SessionId};
use petasos_store::{Amend, SessionHead, SessionScope, StoreError};
use tokio::sync::oneshot;

use crate::command::Page;
use crate::event::{SessionEvent, SubmissionId};
use crate::services::Services;
use crate::session::{SessionView, Shared};
use crate::sessions::Parts;
use crate::shell::Ran;
use crate::state::EndReason;
pub(crate) use aside::{Asides, Ended};
pub(crate) use chosen::{give_way, recall};
pub(crate) use jobs::{arrival, jobs_changed};
pub(crate) use waiting::ended;

/// What the model reads before a message while nothing may be changed.
pub(crate) const PLANNING: &str = "Plan mode is on: look at whatever you need, but change nothing. \
    Calls that would write, send, spend or run more than plain reading are refused. End with a \
    concrete plan; the user decides whether and when it is carried out.";

/// How much of a first message becomes a title.
const TITLE_CHARS: usize = 60;

/// What is to be done.
pub(crate) enum Asked {
    /// A message.
    Say(Input),
    /// A turn that was cut off goes on.
    GoOn,
    /// A command of the person's own.
    Run(String),
}

/// Something that was asked for and has not been done yet.
pub(crate) struct Queued {
    pub(crate) id: SubmissionId,
    pub(crate) work: Asked,
    pub(crate) end: Option<oneshot::Sender<Result<TurnEnd, TurnError>>>,
}

impl Asked {
    fn text(&self) -> String {
        match self {
            Self::Say(input) => input.content.text(),
            Self::GoOn => String::new(),
            Self::Run(command) => format!("!{command}"),
        }
    }
}

impl Queued {
    /// What it says.
    pub(crate) fn text(&self) -> String {
        self.work.text()
    }
}

/// A session, from inside.
pub(crate) struct LiveSession {
    pub(crate) shared: Arc<Shared>,
    pub(crate) parts: Arc<Parts>,
    pub(crate) choice: Choice,
    /// The toolsets that it began with.
    pub(crate) chosen_at_first: Option<Vec<String>>,
    /// What to go back to after the next turn.
    pub(crate) once: Option<Choice>,
    /// What the model reads before the next message.
    pub(crate) context: Vec<String>,
    /// What the person ran since the last message.
    pub(crate) ran: Vec<Ran>,
    pub(crate) queue: VecDeque<Queued>,
    pub(crate) asides: Asides,
    /// Who looks over the last long turn.
    review: Option<review::Review>,
    /// Not there before the first message, and while a turn runs.
    pub(crate) agent: Option<Agent>,
    /// The session whose place this one takes.
    pub(crate) after: Option<SessionId>,
}

impl std::fmt::Debug for LiveSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveSession").field("id", &self.shared.id).finish_non_exhaustive()
    }
}

impl LiveSession {
    pub(crate) fn new(shared: Arc<Shared>, parts: Arc<Parts>, choice: Choice) -> Self {
        parts.questions.admit(shared.id.clone(), &shared.desk);
        Self {
            shared,
            parts,
            chosen_at_first: choice.selection.enabled.clone(),
            choice,
            once: None,
            context: Vec::new(),
            ran: Vec::new(),
            queue: VecDeque::new(),
            asides: Asides::default(),
            review: None,
            agent: None,
            after: None,
        }
    }

    /// Its identity.
    pub(crate) fn id(&self) -> &SessionId {
        &self.shared.id
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.parts.engine
    }

    pub(crate) fn services(&self) -> Arc<dyn Services> {
        Arc::clone(&self.parts.services)
    }

    /// The surroundings of a turn; its events are the session's.
    pub(crate) fn call_context(&self) -> CallContext {
        let mut cx = self.surroundings(self.id());
        cx.events = EventSink::to(Arc::clone(&self.shared.ring) as _);
        cx
    }

    /// What holds for every conversation that is held here, or that works beside it.
    fn surroundings(&self, session: &SessionId) -> CallContext {
        CallContext { phase: self.choice.phase, ..self.parts.services.context(session) }
    }

    /// Whether it only plans so far; counts from the next turn on, and again after a resume.
    pub(crate) async fn set_phase(&mut self, phase: Phase) -> Result<(), String> {
        let planning = Amend::Planning(phase == Phase::Plan);
        match self.engine().store.amend(self.id(), planning).await {
            // One that has not begun is stored with its first message.
            Ok(_) | Err(StoreError::NotFound { .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
        self.choice.phase = phase;
        if let Some(before) = &mut self.once {
            before.phase = phase;
        }
        if let Some(agent) = &mut self.agent {
            agent.choice_mut().phase = phase;
        }
        Ok(())
    }

    /// Who answers was chosen anew: it counts from the next request on, of a running turn too.
    pub(crate) fn switch(&mut self) {
        let Choice { model, provider, effort, .. } = self.choice.clone();
        if let Some(before) = &mut self.once {
            (before.model, before.provider) = (model.clone(), provider.clone());
            before.effort = effort;
        }
        if let Some(agent) = &mut self.agent {
            *agent.choice_mut() = self.choice.clone();
        }
        if let Some(inbox) = self.shared.work().and_then(|work| work.inbox) {
            inbox.switch(Switch { model, provider, effort: self.choice.effort() });
        }
    }

    /// An agent comes back from its turn, during which somebody else may have been chosen.
    pub(crate) fn settle(&self, agent: &mut Agent) {
        if agent.inbox().settle() {
            let choice = agent.choice_mut();
            choice.model.clone_from(&self.choice.model);
            choice.provider.clone_from(&self.choice.provider);
            choice.effort = self.choice.effort;
        }
    }

    /// The window of the chosen model, in tokens.
    pub(crate) async fn window(&self) -> u64 {
        self.choice.window(self.engine().model.as_ref(), &self.call_context()).await
    }

    async fn known_window(&self) -> Option<u64> {
        self.choice.known_window(self.engine().model.as_ref(), &self.call_context()).await
    }

    /// The same for people, who are told what is only assumed.
    pub(crate) async fn window_told(&self) -> String {
        match self.known_window().await {
            Some(window) => format!("{window} tokens"),
            None => format!("{} tokens (assumed; nobody has said it yet)", self.window().await),
        }
    }

    /// Whether something runs.
    pub(crate) fn is_busy(&self) -> bool {
        self.shared.work().is_some()
    }

    /// The agent, for commands: not while a turn runs.
    pub(crate) fn quiet(&mut self) -> Result<Option<&mut Agent>, String> {
        if self.is_busy() {
            return Err("the agent works: /stop it first, or wait".to_owned());
        }
        Ok(self.agent.as_mut())
    }

    /// The agent that must be there.
    pub(crate) fn begun(&mut self) -> Result<&mut Agent, String> {
        self.quiet()?.ok_or_else(|| "nothing has been said yet".to_owned())
    }

    /// What the store knows about the conversation.
    pub(crate) async fn head(&self) -> Result<Option<SessionHead>, StoreError> {
        match self.engine().store.find(self.id().as_str(), &SessionScope::Everyone).await {
            Ok(head) => Ok(Some(head)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn view(&self) -> Result<SessionView, StoreError> {
        Ok(SessionView {
            id: self.id().clone(),
            busy: self.is_busy(),
            waiting: self.queue.len(),
            jobs: self.running_jobs(),
            choice: self.choice.clone(),
            window: self.window().await,
            is_window_known: self.known_window().await.is_some(),
            head: self.head().await?,
        })
    }

    fn running_jobs(&self) -> usize {
        let Some(jobs) = &self.engine().ports.jobs else { return 0 };
        jobs.list(&self.call_context()).iter().filter(|job| job.exit_code.is_none()).count()
    }

    /// Whose a conversation that begins here is: the chat's, or of whoever sits at the machine.
    pub(crate) fn owner(&self) -> Option<Address> {
        let cx = self.parts.services.context(self.id());
        let in_chat = cx.surface == Surface::Gateway;
        self.choice.new.owner.clone().or_else(|| in_chat.then(|| (*cx.address).clone()))
    }

    /// Which conversations the people of this one may see.
    pub(crate) async fn scope(&self) -> Result<SessionScope, StoreError> {
        let owner = match self.head().await? {
            // A conversation that was brought into a chat sees what the chat sees.
            Some(head) => head.owner.or_else(|| self.owner()),
            None => self.owner(),
        };
        // Whoever sits at the machine may see everything that is kept on it.
        Ok(owner.map_or(SessionScope::Everyone, SessionScope::Chat))
    }

    /// Shows something to everybody who watches.
    pub(crate) fn show(&self, page: Page) {
        self.shared.ring.push(SessionEvent::Page(page));
    }

    /// Accepts a message; gives its place in the queue.
    pub(crate) fn accept(&mut self, work: Asked) -> Queued {
        let id = SubmissionId(self.shared.submitted.fetch_add(1, Ordering::Relaxed) + 1);
        self.shared.ring.push(SessionEvent::Submitted { id, text: work.text() });
        Queued { id, work, end: None }
    }

    /// A turn that was cut off while it waited for a person goes on before anything else.
    pub(crate) fn go_on(&mut self) {
        if self.agent.as_ref().is_some_and(Agent::is_waiting) {
            self.show(Page::Note("Going on with the turn that was cut off.".to_owned()));
            let queued = self.accept(Asked::GoOn);
            self.queue.push_front(queued);
        }
    }

    /// Begins the conversation if it has not begun.
    pub(crate) async fn ensure_agent(&mut self) -> Result<Agent, TurnError> {
        let wished = self.shared.wished.lock().take();
        let anew = wished.is_some();
        if let Some(wished) = wished {
            let Choice { model, provider, effort, sampling, .. } = *wished;
            self.choice = Choice { model, provider, effort, sampling, ..self.choice.clone() };
        }
        if let Some(mut agent) = self.agent.take() {
            if anew {
                *agent.choice_mut() = self.choice.clone();
            }
            return Ok(agent);
        }
        let mut choice = self.choice.clone();
        choice.new.id = Some(self.id().clone());
        choice.new.owner = self.owner();
        let planning = choice.phase == Phase::Plan;
        let mut agent = Agent::begin(Arc::clone(self.engine()), choice).await?;
        if planning {
            agent.transcript().amend(Amend::Planning(true)).await?;
        }
        if let Some(chosen) = self.chosen() {
            agent.transcript().amend(Amend::Chosen(chosen)).await?;
        }
        agent.wait_for_others(CALLER_DEADLINE);
        if let Some(old) = self.after.take() {
            agent.entered("new_session", &old, &self.call_context()).await;
        }
        Ok(agent)
    }

    /// Tools come and go between turns only; whether anything was done.
    pub(crate) async fn refresh_servers(
        &mut self,
        asked: bool,
        agent: Option<&mut Agent>,
    ) -> Result<bool, String> {
        let services = self.services();
        let Some(done) = services.refresh_servers(asked, &self.choice).await? else {
            return Ok(false);
        };
        if let Some(agent) = agent {
            agent.choice_mut().selection.enabled.clone_from(&done.enabled);
        }
        self.choice.selection.enabled = done.enabled;
        self.show(Page::Note(done.summary));
        Ok(true)
    }

    /// Whether nothing would be lost if the conversation left the memory now.
    pub(crate) fn may_go_cold(&self) -> bool {
        let Some(agent) = &self.agent else { return false };
        let cx = self.parts.services.context(self.id());
        let works = |view: &JobView| view.status == JobStatus::Running;
        let jobs = self.engine().ports.jobs.as_ref();
        let jobs = jobs.is_some_and(|jobs| jobs.list(&cx).iter().any(works));
        let told = !self.context.is_empty() || !self.ran.is_empty();
        let waits = !self.queue.is_empty() || told || self.once.is_some();
        let beside = self.asides.is_running() || self.is_reviewing();
        let busy = self.is_busy() || beside || agent.is_delegating();
        !(jobs || waits || busy || !agent.inbox().is_empty())
    }

    /// The conversation leaves the memory; the next request brings it back.
    pub(crate) fn go_cold(mut self) {
        self.agent = None;
        self.parts.questions.dismiss(self.id());
        self.shared.ring.forget();
        *self.shared.cold.lock() = Some(Box::new(self.choice));
    }

    /// Hooks and engines hear that the session is over.
    pub(crate) async fn leave(&mut self, why: &EndReason) {
        let new = match why {
            EndReason::Switched(new) => Some(new),
            _ => None,
        };
        if let Some(agent) = &self.agent {
            agent.leave(why.as_str(), new, &self.call_context()).await;
        }
        self.asides.stop_all();
        for session in self.asides.sessions().chain([self.id().clone()]) {
            self.parts.questions.dismiss(&session);
            for state in &self.parts.states {
                state.end(&session);
            }
        }
    }
}

/// A conversation that has no title is called by its first words.
pub(crate) async fn suggest_title(agent: &Agent, message: &str) -> Result<(), StoreError> {
    if !agent.transcript().rows().is_empty() {
        return Ok(());
    }
    let line = message.lines().next().unwrap_or_default();
    let title: String = line.chars().take(TITLE_CHARS).collect();
    if !title.trim().is_empty() {
        agent.transcript().amend(Amend::SuggestTitle(title.trim().to_owned())).await?;
    }
    Ok(())
}
