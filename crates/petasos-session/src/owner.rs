//! The task that owns a session: it takes requests, runs one turn at a time, and hears of jobs, tasks
//! and plugins. While a turn runs, it answers everything else all the same.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use petasos_agent::{Agent, Closing, Input, Outcome, TurnEnd, TurnError};
use petasos_contract::context::{Phase, Principal};
use petasos_contract::event::Event;
use petasos_contract::{CallContext, TurnId};
use petasos_store::{Seq, Stored};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

use crate::command::{self, AfterCommand, CommandOutcome, Page};
use crate::correspondent::Letter;
use crate::event::{SessionEvent, SubmissionId};
use crate::limits::QUEUE_MAX;
use crate::live::{
    Asked, Ended, LiveSession, PLANNING, Queued, arrival, ended, jobs_changed, suggest_title,
};
use crate::offers::{Offer, OfferKind};
use crate::session::{Admission, SessionError, SessionView, TurnHandle, WhenBusy};
use crate::sessions::Sessions;
use crate::shell::{self, Ran};
use crate::state::EndReason;

type Reply<T> = oneshot::Sender<T>;

/// What handles ask of the owner.
pub(crate) enum Request {
    Submit {
        input: Input,
        busy: WhenBusy,
        reply: Reply<Result<Admission, SessionError>>,
    },
    Run {
        command: String,
        reply: Reply<Result<Admission, SessionError>>,
    },
    Command {
        line: String,
        /// Whether a message that follows from it is said at once.
        submits: bool,
        reply: Reply<CommandOutcome>,
    },
    View {
        reply: Reply<Result<SessionView, SessionError>>,
    },
    Offers {
        kind: OfferKind,
        reply: Reply<Result<Vec<Offer>, String>>,
    },
    Recent {
        most: usize,
        reply: Reply<Vec<Stored>>,
    },
    /// A message that waits is not to be said.
    TakeBack {
        id: SubmissionId,
        reply: Reply<Option<String>>,
    },
    /// The conversation goes so far now, whoever made it so.
    Follow {
        last: Option<Seq>,
        messages: u64,
    },
    /// Others need the room: it goes cold if it can.
    Cool,
    End {
        why: EndReason,
        reply: Reply<()>,
    },
}

/// The owner of one session.
pub(crate) struct Owner {
    live: LiveSession,
    requests: mpsc::Receiver<Request>,
    ending: Option<(EndReason, Option<Reply<()>>)>,
    /// The conversation leaves the memory.
    cools: bool,
    service: Weak<Sessions>,
}

/// What ends a wait of the owner.
enum Wake {
    Request(Option<Request>),
    Jobs,
    Aside(Ended),
    Words,
    Injected(String),
    Idle,
}

impl Owner {
    pub(crate) fn new(
        live: LiveSession,
        requests: mpsc::Receiver<Request>,
        service: Weak<Sessions>,
    ) -> Self {
        Self { live, requests, ending: None, cools: false, service }
    }

    /// Until somebody ends the session, it goes cold, or nobody can reach it any more.
    pub(crate) async fn run(mut self) {
        while self.ending.is_none() {
            let cools = std::mem::take(&mut self.cools);
            if cools {
                match self.cool().await {
                    Some(owner) => self = owner,
                    None => return,
                }
            }
            match self.live.queue.pop_front() {
                Some(next) => {
                    let cx = self.begin(&next);
                    self.turn(next, cx).await;
                }
                None => self.idle().await,
            }
        }
        let (why, reply) = self.ending.take().unwrap_or((EndReason::Shutdown, None));
        self.live.leave(&why).await;
        self.live.shared.ring.push(SessionEvent::Ended { why });
        self.live.shared.ring.close();
        if let Some(reply) = reply {
            respond(reply, ());
        }
    }

    /// The conversation leaves the memory, unless somebody came meanwhile. Nobody opens or wakes a
    /// session in the same moment, so that it has one owner or none.
    async fn cool(mut self) -> Option<Self> {
        let service = self.service.upgrade()?;
        let _opening = service.opening(self.live.id()).await;
        if !self.requests.is_empty() || !self.live.may_go_cold() {
            return Some(self);
        }
        self.requests.close();
        let mut late = Vec::new();
        while let Some(request) = self.requests.recv().await {
            late.push(request);
        }
        let shared = Arc::clone(&self.live.shared);
        self.live.go_cold();
        if late.is_empty() {
            return None;
        }
        let mailbox = service.woken(&shared).await.ok()?;
        // No wait from here on: the new owner has taken the place of this one.
        for request in late {
            if mailbox.try_send(request).is_err() {
                warn!(session = %shared.id, "a request came too late");
            }
        }
        None
    }

    /// Waits for one thing to happen while nothing runs.
    async fn idle(&mut self) {
        let live = &mut self.live;
        let (jobs, id) = (live.engine().ports.jobs.clone(), live.id().clone());
        let (inbox, services) = (live.agent.as_ref().map(Agent::inbox), live.services());
        let limits = services.limits();
        let woken = tokio::select! {
            request = self.requests.recv() => Wake::Request(request),
            () = jobs_changed(jobs.as_ref(), &id) => Wake::Jobs,
            Some(ended) = live.asides.ended.recv() => Wake::Aside(ended),
            () = arrival(inbox.as_ref()) => Wake::Words,
            message = services.injected() => Wake::Injected(message),
            () = idle_for(limits.cold_after) => Wake::Idle,
        };
        match woken {
            Wake::Idle => self.cools = self.live.may_go_cold(),
            Wake::Request(request) => self.handle(request).await,
            Wake::Aside(ended) => self.live.finish_aside(&ended).await,
            Wake::Jobs => {
                self.live.take_job_news().await;
                self.queue_waiting_words().await;
            }
            Wake::Words => self.queue_waiting_words().await,
            Wake::Injected(message) => {
                self.live.show(Page::Note(format!("↪ from a plugin: {message}")));
                self.push(message.as_str().into());
            }
        }
    }

    async fn queue_waiting_words(&mut self) {
        let Some(words) = self.live.waiting_words() else { return };
        let letter = Letter::ToModel(words.clone());
        if !self.live.parts.carried(self.live.id(), letter).await {
            self.push(words.as_str().into());
        }
    }

    /// A message of the session itself.
    fn push(&mut self, input: Input) {
        let queued = self.live.accept(Asked::Say(input));
        self.live.queue.push_back(queued);
    }

    /// A request while nothing runs.
    async fn handle(&mut self, request: Option<Request>) {
        let Some(request) = request else {
            self.ending = Some((EndReason::Shutdown, None));
            return;
        };
        let (asked, reply) = match request {
            Request::Submit { input, reply, .. } => (Asked::Say(input), reply),
            Request::Run { command, reply } => (Asked::Run(command), reply),
            request => return self.serve(request).await,
        };
        let (queued, turn) = self.admit(asked);
        // Watchers see the turn begin, and it can be stopped, before the sender hears of it.
        let cx = self.begin(&queued);
        respond(reply, Ok(Admission::Started(turn)));
        self.turn(queued, cx).await;
    }

    fn admit(&mut self, asked: Asked) -> (Queued, TurnHandle) {
        let (sender, end) = oneshot::channel();
        let mut queued = self.live.accept(asked);
        queued.end = Some(sender);
        let turn = TurnHandle { id: queued.id, end };
        (queued, turn)
    }

    /// A message while a turn runs.
    fn admit_busy(&mut self, input: Input, busy: WhenBusy) -> Result<Admission, SessionError> {
        let waiting = self.live.queue.len();
        if busy == WhenBusy::Refuse {
            return Err(SessionError::Busy);
        }
        let inbox = self.live.shared.work().and_then(|work| work.inbox);
        if let (WhenBusy::Steer, Some(inbox)) = (busy, inbox) {
            inbox.steer(input.content.text());
            return Ok(Admission::Steered);
        }
        if waiting >= QUEUE_MAX {
            return Err(SessionError::Full(waiting));
        }
        let (queued, turn) = self.admit(Asked::Say(input));
        if busy == WhenBusy::Interrupt {
            self.live.queue.push_front(queued);
            self.live.shared.interrupt();
            return Ok(Admission::Queued { ahead: 1, turn });
        }
        self.live.queue.push_back(queued);
        Ok(Admission::Queued { ahead: waiting + 1, turn })
    }

    /// A command of the person while something else runs: it waits, because both share a terminal.
    fn run_busy(&mut self, command: String) -> Result<Admission, SessionError> {
        let waiting = self.live.queue.len();
        if waiting >= QUEUE_MAX {
            return Err(SessionError::Full(waiting));
        }
        let (queued, turn) = self.admit(Asked::Run(command));
        self.live.queue.push_back(queued);
        Ok(Admission::Queued { ahead: waiting + 1, turn })
    }

    /// Requests that are the same whether a turn runs or not.
    async fn serve(&mut self, request: Request) {
        match request {
            Request::Submit { input, busy, reply } => {
                let admission = self.admit_busy(input, busy);
                respond(reply, admission);
            }
            Request::Run { command, reply } => {
                let admission = self.run_busy(command);
                respond(reply, admission);
            }
            Request::Command { line, submits, reply } => {
                let outcome = command::run(&mut self.live, &line).await;
                // What a command itself wrote is no news from elsewhere.
                if let Some(agent) = &self.live.agent {
                    self.live.shared.ring.told_until(agent.transcript().last());
                }
                if let (AfterCommand::Submit(text), true) = (&outcome.then, submits) {
                    let context = outcome.context.clone();
                    self.push(Input { context, ..text.as_str().into() });
                }
                respond(reply, outcome);
            }
            Request::View { reply } => {
                let view = self.live.view().await;
                respond(reply, view.map_err(SessionError::from));
            }
            Request::Offers { kind, reply } => {
                let offers = self.live.offers(kind).await;
                respond(reply, offers);
            }
            Request::Recent { most, reply } => {
                let rows = self.live.agent.as_ref().map(|agent| agent.transcript().rows());
                let rows = rows.unwrap_or_default();
                let newest = rows.iter().skip(rows.len().saturating_sub(most));
                respond(reply, newest.map(|row| row.stored.clone()).collect());
            }
            Request::TakeBack { id, reply } => {
                let taken = self.live.take_back(|queued| queued.id == id);
                respond(reply, taken);
            }
            Request::Follow { last, messages } => {
                if let Err(error) = self.live.follow(last, messages).await {
                    warn!(%error, session = %self.live.id(), "other processes were not followed");
                }
            }
            Request::Cool => self.cools = !self.live.is_busy() && self.live.may_go_cold(),
            Request::End { why, reply } => {
                self.live.shared.interrupt();
                self.ending = Some((why, Some(reply)));
            }
        }
    }

    /// From here on the turn of a message runs, and can be stopped.
    fn begin(&self, queued: &Queued) -> CallContext {
        let cx = self.live.call_context();
        self.live.shared.begin(&cx, None);
        self.live.shared.ring.push(SessionEvent::TurnStarted { id: queued.id });
        cx
    }

    /// One turn, from a message to its end, or one command of the person.
    async fn turn(&mut self, queued: Queued, cx: CallContext) {
        let text = queued.text();
        let Queued { id, work, end } = queued;
        let ended = match work {
            Asked::Say(input) => self.converse(Some(input), &text, &cx).await,
            Asked::GoOn => self.converse(None, &text, &cx).await,
            Asked::Run(command) => self.run_own(id, &command, cx).await,
        };
        self.live.shared.rest();
        self.live.shared.desk.withdraw();
        let waiting = self.live.queue.len();
        let event = SessionEvent::TurnEnded { id, end: ended.clone(), waiting };
        self.live.shared.ring.push(event);
        if let Some(end) = end {
            respond(end, ended);
        }
    }

    async fn converse(
        &mut self,
        input: Option<Input>,
        text: &str,
        cx: &CallContext,
    ) -> Result<TurnEnd, TurnError> {
        let live = &mut self.live;
        let mut agent = live.ensure_agent().await?;
        if cx.surface.outlives_turn()
            && let Err(error) = suggest_title(&agent, text).await
        {
            live.show(Page::Warning(error.to_string()));
        }
        if let Err(why) = live.refresh_servers(false, Some(&mut agent)).await {
            live.show(Page::Warning(why));
        }
        let correspondent = live.parts.correspondent.lock().clone();
        agent.close_with(correspondent.map(|it| it as Arc<dyn Closing>));
        live.shared.begin(cx, Some(agent.inbox()));
        let input = input.map(|mut input| {
            input.content = shell::before(&mut live.ran, input.content);
            input.context.append(&mut live.context);
            if cx.phase == Phase::Plan {
                input.context.push(PLANNING.to_owned());
            }
            input
        });
        let ended = {
            let turns = Arc::clone(&self.live.parts.turns);
            let turn = std::pin::pin!(async {
                // First come, first served; a session has one turn at a time.
                let _one = turns.acquire().await;
                match input {
                    Some(input) => agent.turn(input, cx).await,
                    None => agent.go_on(cx).await,
                }
            });
            self.drive(turn).await
        };
        agent.close_with(None);
        self.live.settle(&mut agent);
        if let Some(choice) = self.live.once.take() {
            self.live.choice = choice.clone();
            *agent.choice_mut() = choice;
        }
        self.live.shared.ring.told_until(agent.transcript().last());
        if let Ok(end) = &ended {
            self.live.hand_back(end, &agent);
            self.live.begin_review(end, &agent, cx).await;
        }
        self.live.agent = Some(agent);
        ended
    }

    /// A command of the person, through the same door as every call.
    async fn run_own(
        &mut self,
        id: SubmissionId,
        command: &str,
        cx: CallContext,
    ) -> Result<TurnEnd, TurnError> {
        let call = Ran::call(id, command);
        let turn = TurnId::new(call.id.as_str());
        let cx = CallContext { principal: Principal::Person, turn, ..cx }.for_call(call.id.clone());
        cx.events.emit(|| Event::ToolRequested {
            session: cx.session.clone(),
            call: call.id.clone(),
            tool: call.name.clone(),
            arguments: json!({ "command": command }).to_string(),
        });
        let dispatcher = Arc::clone(&self.live.engine().dispatcher);
        let ran = {
            let run = std::pin::pin!(async {
                let ran = Ran::of(command, &dispatcher.dispatch(call, &cx).await);
                dispatcher.end_turn(&cx.turn);
                ran
            });
            self.drive(run).await
        };
        let stopped = cx.cancel.is_cancelled();
        let outcome = if stopped { Outcome::Interrupted } else { Outcome::Replied };
        let end = ended(outcome, ran.output.clone());
        self.live.shared.ring.push(SessionEvent::Ran(Arc::new(ran.clone())));
        self.live.ran.push(ran);
        Ok(end)
    }

    /// Runs a turn to its end, and everything else beside it.
    async fn drive<T>(&mut self, mut turn: Pin<&mut (impl Future<Output = T> + Send)>) -> T {
        loop {
            let (jobs, id) = (self.live.engine().ports.jobs.clone(), self.live.id().clone());
            let woken = tokio::select! {
                ended = &mut turn => return ended,
                request = self.requests.recv(), if self.ending.is_none() => Wake::Request(request),
                () = jobs_changed(jobs.as_ref(), &id) => Wake::Jobs,
                Some(ended) = self.live.asides.ended.recv() => Wake::Aside(ended),
            };
            match woken {
                Wake::Request(Some(request)) => {
                    let ended = beside(turn.as_mut(), self.serve(request)).await;
                    if let Some(ended) = ended {
                        return ended;
                    }
                }
                Wake::Request(None) => {
                    self.live.shared.interrupt();
                    self.ending = Some((EndReason::Shutdown, None));
                }
                Wake::Aside(ended) => {
                    let ended = beside(turn.as_mut(), self.live.finish_aside(&ended)).await;
                    if let Some(ended) = ended {
                        return ended;
                    }
                }
                Wake::Jobs | Wake::Words | Wake::Injected(_) | Wake::Idle => {
                    let ended = beside(turn.as_mut(), self.live.take_job_news()).await;
                    if let Some(ended) = ended {
                        return ended;
                    }
                }
            }
        }
    }
}

/// Does something while a turn goes on; gives the turn's end when that came meanwhile.
async fn beside<T>(
    mut turn: Pin<&mut (impl Future<Output = T> + Send)>,
    work: impl Future<Output = ()> + Send,
) -> Option<T> {
    let mut work = std::pin::pin!(work);
    let mut ended = None;
    loop {
        tokio::select! {
            () = &mut work => return ended,
            end = &mut turn, if ended.is_none() => ended = Some(end),
        }
    }
}

/// Ends after so much time; never without a limit.
async fn idle_for(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

/// Whoever asked may be gone by now.
fn respond<T>(reply: Reply<T>, answer: T) {
    drop(reply.send(answer));
}
