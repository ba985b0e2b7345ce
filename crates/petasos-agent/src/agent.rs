//! An agent: one conversation, and the engine it runs on.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::context::CheckContext;
use petasos_contract::event::Event;
use petasos_contract::message::Message;
use petasos_contract::model::ModelError;
use petasos_contract::reply::{Cost, Usage};
use petasos_contract::{CallContext, Provenance, SessionId};
use petasos_runtime::definitions::Wanted;
use petasos_store::{Amend, LoadedRow, StoreError, WaitingCalls};

use crate::compress::{self, Bench, Compressed, Compressor};
use crate::engine::{Choice, Engine};
use crate::hints::Hints;
use crate::lease::{Held, LeaseWait, PATIENCE};
use crate::memory::Memory;
use crate::prompt;
use crate::seat::LoopSeat;
use crate::steer::Inbox;
use crate::todo::TodoList;
use crate::transcript::Transcript;
use crate::turn::Closing;

/// Why a turn could not be carried through. What is stored is valid in any case.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TurnError {
    /// The store failed: nothing was acted on that is not stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No model answered.
    #[error(transparent)]
    Model(#[from] Box<ModelError>),
    /// The conversation does not fit and could not be shortened.
    #[error(
        "the conversation does not fit the model's window and was not shortened: {why}; start a new session, or fork an earlier point with `petasos sessions fork`"
    )]
    TooLong {
        /// Why it was not shortened.
        why: String,
    },
    /// What stands before the conversation leaves no room for it.
    #[error("the request does not fit the model's window: {0}; {next}", next = .0.next_step())]
    NoRoom(Room),
}

/// What a request holds besides what could be shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// About how many tokens the instructions and the definitions of tools need.
    pub preamble: u64,
    /// About how many were said.
    pub said: u64,
    /// The window.
    pub window: u64,
}

impl Room {
    /// What somebody can do about it.
    pub fn next_step(&self) -> &'static str {
        if self.said > self.preamble {
            return "say less at once, or choose a model or server with a larger window";
        }
        "offer fewer tools (`-t file`, or `platform_toolsets` in config.yaml), or choose a model \
         or server with a larger window (set `model.context_length` if the server allows more)"
    }
}

impl std::fmt::Display for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { preamble, said, window } = *self;
        write!(f, "instructions and tool definitions need about {preamble}")?;
        // Counts are estimates; a window of more than twice as much was only assumed.
        if window < 2 * (preamble + said) {
            write!(f, " of its {window}")?;
        }
        write!(f, " tokens, what was said about {said}, and a reply needs room too")
    }
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// With a reply.
    Replied,
    /// The user interrupted.
    Interrupted,
    /// Its requests were used up; the text sums up.
    OutOfBudget,
    /// A filter stopped the model.
    Refused,
    /// A guardrail stopped it, or the model could not be helped.
    Halted,
}

impl Outcome {
    /// The word in events and exit codes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replied => "replied",
            Self::Interrupted => "interrupted",
            Self::OutOfBudget => "out_of_budget",
            Self::Refused => "refused",
            Self::Halted => "halted",
        }
    }
}

/// A turn that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// How.
    pub outcome: Outcome,
    /// The final text.
    pub text: String,
    /// How many requests it took.
    pub requests: u32,
    /// Tools that ran, in order, with how each ended.
    pub tools: Vec<(String, &'static str)>,
    /// What it used, subagents included.
    pub usage: Usage,
    /// What its own requests cost.
    pub cost_usd: f64,
    /// The last reply ran into the limit of its length.
    pub cut_off: bool,
}

/// One conversation.
#[derive(Debug)]
pub struct Agent {
    pub(crate) engine: Arc<Engine>,
    pub(crate) choice: Choice,
    pub(crate) transcript: Transcript,
    pub(crate) system: Option<String>,
    pub(crate) seat: Arc<LoopSeat>,
    pub(crate) compressor: Compressor,
    pub(crate) turns: u64,
    /// Whose words it took in. A subagent shares its parent's.
    pub(crate) words: Arc<dyn Provenance>,
    /// Folders with instructions that it came to.
    pub(crate) hints: Hints,
    /// What is stored together with the end of a turn.
    pub(crate) closing: Option<Arc<dyn Closing>>,
    /// How long somebody else who works on the conversation is waited for.
    patience: Duration,
}

impl Agent {
    /// Begins a conversation.
    pub async fn begin(engine: Arc<Engine>, choice: Choice) -> Result<Self, TurnError> {
        let head = engine.store.create(choice.session(None)).await?;
        let transcript = Transcript::begin(Arc::clone(&engine.store), head.session());
        Ok(Self::with(engine, choice, transcript, None))
    }

    /// Goes on with a conversation. Gives also what had to be repaired, in words for a person.
    /// Refused while somebody else is at work on it.
    pub async fn resume(
        engine: Arc<Engine>,
        choice: Choice,
        session: &SessionId,
    ) -> Result<(Self, Vec<String>), TurnError> {
        Self::resume_with(engine, choice, session, WaitingCalls::Close).await
    }

    /// The same, but calls of a turn that was cut off may stay open that wait for a person:
    /// [`Agent::go_on`] carries on with them.
    pub async fn resume_with(
        engine: Arc<Engine>,
        choice: Choice,
        session: &SessionId,
        waiting: WaitingCalls,
    ) -> Result<(Self, Vec<String>), TurnError> {
        let held = Held::take(&engine.store, session, "a resume").await?;
        let repairs = engine.store.close_turn(held.lease(), waiting).await?;
        let loaded = engine.store.load(session).await?;
        drop(held);
        let system = loaded.system_prompt.clone();
        let transcript = Transcript::of(Arc::clone(&engine.store), loaded);
        let agent = Self::with(engine, choice, transcript, system);
        agent.seat.todo.lock().recall(agent.transcript.rows());
        agent.seat.delegation.recall(agent.transcript.rows());
        Ok((agent, repairs))
    }

    fn with(
        engine: Arc<Engine>,
        choice: Choice,
        transcript: Transcript,
        system: Option<String>,
    ) -> Self {
        let seat = Arc::new(LoopSeat {
            engine: Arc::clone(&engine),
            session: transcript.session().clone(),
            journal: transcript.journal(),
            todo: parking_lot::Mutex::default(),
            refused_notes: parking_lot::Mutex::default(),
            memory: Memory::of(&choice.settings, choice.notes.as_deref()),
            delegation: crate::delegate::Delegation::new(choice.clone()),
            inbox: Inbox::default(),
            delegated: Arc::default(),
        });
        let compressor = Compressor::new(&choice);
        let words = crate::provenance::recalled(transcript.rows(), &seat.memory);
        Self {
            engine,
            choice,
            transcript,
            system,
            seat,
            compressor,
            turns: 0,
            words,
            hints: Hints::default(),
            closing: None,
            patience: PATIENCE,
        }
    }

    /// From now on this says what is stored together with the end of a turn.
    pub fn close_with(&mut self, closing: Option<Arc<dyn Closing>>) {
        self.closing = closing;
    }

    /// Goes along with a conversation that somebody else is at work on: it is read as it is. What
    /// they leave torn is closed when a turn begins here.
    pub async fn attach(
        engine: Arc<Engine>,
        choice: Choice,
        session: &SessionId,
    ) -> Result<Self, TurnError> {
        let loaded = engine.store.load(session).await?;
        let system = loaded.system_prompt.clone();
        let transcript = Transcript::of(Arc::clone(&engine.store), loaded);
        let agent = Self::with(engine, choice, transcript, system);
        agent.seat.todo.lock().recall(agent.transcript.rows());
        Ok(agent)
    }

    /// Waits so long for somebody else who works on the conversation, instead of refusing.
    pub fn wait_for_others(&mut self, most: Duration) {
        self.patience = most;
    }

    /// Reads what somebody else did to the conversation; gives how many messages there were before.
    pub async fn catch_up(&mut self) -> Result<usize, TurnError> {
        let known = self.transcript.rows().len();
        self.transcript.catch_up().await?;
        let mut list = TodoList::default();
        list.recall(self.transcript.rows());
        *self.seat.todo.lock() = list;
        Ok(known)
    }

    /// Whether somebody works for it in the background.
    pub fn is_delegating(&self) -> bool {
        self.seat.delegation.running() > 0
    }

    /// The conversation's identity.
    pub fn session(&self) -> &SessionId {
        self.transcript.session()
    }

    /// The conversation.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Where guidance and news for the running turn are left.
    pub fn inbox(&self) -> Inbox {
        self.seat.inbox.clone()
    }

    /// Whose words it took in.
    pub fn words(&self) -> &dyn Provenance {
        self.words.as_ref()
    }

    /// What is chosen; another model takes effect with the next turn.
    pub fn choice_mut(&mut self) -> &mut Choice {
        &mut self.choice
    }

    /// Whether a tool is among those that it has now.
    pub async fn is_offered(&self, tool: &str, cx: &CallContext) -> bool {
        let wanted =
            Wanted { selection: self.choice.selection.clone(), context_tokens: None, whole: true };
        let check = CheckContext {
            surface: self.choice.surface,
            attended: cx.attended,
            session: cx.origin().clone(),
            settings: Arc::clone(&cx.settings),
            ports: Arc::clone(&self.engine.ports),
        };
        let defined = self.engine.catalogue.define(&wanted, &check).await;
        cx.grant.allows(tool) && defined.granted().iter().any(|name| name.as_str() == tool)
    }

    /// Summarises now, whatever the size; the focus says what matters most.
    pub async fn compress(
        &mut self,
        focus: Option<&str>,
        cx: &CallContext,
    ) -> Result<Compressed, compress::Stopped> {
        let _lease = self.lease("a summary", cx).await?;
        // What it takes is this conversation's.
        let words = Arc::clone(&self.words);
        let cx = CallContext { session: self.session().clone(), words, ..cx.clone() };
        self.measure(&cx).await;
        let Self { engine, transcript, compressor, seat, .. } = self;
        let bench = Bench { engine, transcript, todo: &seat.todo };
        compressor.now(bench, focus, &cx).await
    }

    /// Finds out the model's window, which may be another one since the last turn.
    pub(crate) async fn measure(&mut self, cx: &CallContext) -> u64 {
        let window = self.choice.window(self.engine.model.as_ref(), cx).await;
        self.compressor.resize(window);
        self.compressor.window()
    }

    /// Takes the conversation for as long as something is added to it. What others added since is
    /// taken over first, and a turn that was cut off is closed.
    pub(crate) async fn lease(
        &mut self,
        purpose: &str,
        cx: &CallContext,
    ) -> Result<Held, StoreError> {
        self.lease_with(purpose, WaitingCalls::Close, cx).await
    }

    /// The same, and calls may stay open that wait for a person.
    pub(crate) async fn lease_with(
        &mut self,
        purpose: &str,
        waiting: WaitingCalls,
        cx: &CallContext,
    ) -> Result<Held, StoreError> {
        let (cancel, events) = (&cx.cancel, &cx.events);
        let wait = LeaseWait { most: self.patience, cancel, events };
        let held = Held::take_after(&self.engine.store, self.session(), purpose, &wait).await?;
        self.transcript.attend(cx.events.clone());
        if self.transcript.is_current(held.lease()) {
            return Ok(held);
        }
        for repair in self.engine.store.close_turn(held.lease(), waiting).await? {
            cx.events.emit(|| Event::Notice { text: format!("repaired: {repair}") });
        }
        let (known, last) = (self.transcript.rows().len(), self.transcript.last());
        self.transcript.catch_up().await?;
        self.seat.todo.lock().recall(self.transcript.rows());
        let count = self.transcript.rows().len();
        for row in self.transcript.rows().iter().filter(|row| Some(row.seq) > last) {
            cx.events.emit(|| row_added(self.session(), row));
        }
        if count != known {
            let text = format!(
                "this conversation went on elsewhere: it had {known} messages here, now it has \
                 {count}"
            );
            cx.events.emit(|| Event::Notice { text });
        }
        Ok(held)
    }

    /// The system prompt: built once, stored, and the same bytes from then on, as long as the model
    /// is the same.
    pub(crate) async fn system_prompt(&mut self, cx: &CallContext) -> Result<String, TurnError> {
        if let Some(system) = &self.system {
            let Some(now) = prompt::renewed(system, &self.choice) else {
                return Ok(system.clone());
            };
            self.transcript.amend(Amend::SystemPrompt(now.clone())).await?;
            self.system = Some(now.clone());
            return Ok(now);
        }
        let system = if let Some(own) = &self.choice.system_prompt {
            own.clone()
        } else {
            let skills = self.engine.ports.skills.as_deref();
            prompt::assemble(&self.choice, &self.seat.memory, skills, cx).await
        };
        self.transcript.amend(Amend::SystemPrompt(system.clone())).await?;
        self.system = Some(system.clone());
        Ok(system)
    }
}

impl Drop for Agent {
    /// Who works for it in the background holds what it shares with them, and must hear of its end.
    fn drop(&mut self) {
        self.seat.delegation.stop();
    }
}

/// What surfaces are told of a row that another process added.
pub fn row_added(session: &SessionId, row: &LoadedRow) -> Event {
    let (role, text, calls) = match &row.stored.message {
        Message::User { content } => ("user", content.text(), Vec::new()),
        Message::Tool(result) => ("tool", result.content.text(), Vec::new()),
        Message::Assistant(said) => {
            let calls = said.tool_calls.iter().map(|call| call.name.clone());
            ("assistant", said.text().to_owned(), calls.collect())
        }
    };
    Event::MessageAdded { session: session.clone(), seq: row.seq, role, text, calls }
}

/// The dollars of a cost, when they are known.
pub(crate) fn dollars(cost: Cost) -> f64 {
    match cost {
        Cost::Actual { usd } | Cost::Estimated { usd } => usd,
        Cost::Included | Cost::Unknown => 0.0,
    }
}
