//! Agents that work for this one: their own conversation, their own budget, never more tools.
//!
//! Children end with whoever started them: those that are waited for hang below the call's token,
//! those in the background below the agent's. Ending is theirs to do, so that their transcripts
//! stay whole; whoever does not end in time is dropped and repaired on the next load.

mod approver;
mod card;
mod report;
mod revive;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use parking_lot::Mutex;
use petasos_contract::context::{Grant, Phase, Principal};
use petasos_contract::event::{Event, EventSink, Subscriber};
use petasos_contract::model::Role;
use petasos_contract::wait::Owned;
use petasos_contract::{BoxFuture, CallContext, SessionId, TaskId, ToolName};
use petasos_runtime::toolsets::{SUBAGENT_BLOCKED, Selection};
use petasos_store::{Lineage, NewSession};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

pub use self::approver::{ForSubagents, call_above};
use self::card::Dealt;
pub(crate) use self::card::is_carded;
use self::report::cut;
pub use self::report::{Report, Tokens, Trace};
use self::revive::{Seated, Unheard};
use crate::agent::{Agent, Outcome, TurnEnd, TurnError};
use crate::budget::number;
use crate::engine::{AgentTask, Choice, Engine, Sampling};
use crate::moments;
use crate::seat::LoopSeat;

const CHILDREN_MAX: u32 = 3;
const DEPTH_MAX: u32 = 1;
const SUMMARY_CHARS_MAX: usize = 24_000;
const SUMMARY_CHARS_MIN: usize = 2_000;
/// The shortest time a child may be given.
const TIMEOUT_MIN: f64 = 30.0;

/// What a child is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The goal.
    pub goal: String,
    /// What it must know.
    pub context: Option<String>,
    /// Whether it may delegate in turn, where that is allowed at all.
    pub orchestrator: bool,
    /// Another agent program that does it, by its name in the configuration.
    pub agent: Option<String>,
}

/// Those who work for one agent.
#[derive(Debug)]
pub struct Delegation {
    parent: Choice,
    running: Mutex<Vec<Owned<()>>>,
    /// Those who wait for children in the background.
    waiting: Mutex<Vec<Owned<()>>>,
    background: CancellationToken,
    /// Work of an earlier program that nobody has heard of yet.
    unheard: Mutex<Vec<Unheard>>,
}

/// What one child gets: a task, perhaps with an identity, perhaps begun by an earlier program.
struct Assignment {
    task: Task,
    session: Option<SessionId>,
    begun: bool,
}

impl Delegation {
    /// For an agent with this choice.
    pub fn new(parent: Choice) -> Self {
        let background = CancellationToken::new();
        let (running, waiting) = (Mutex::default(), Mutex::default());
        Self { parent, running, waiting, background, unheard: Mutex::default() }
    }

    /// How many children may work at once.
    pub fn children_max(&self) -> usize {
        let most = number(&self.parent.settings, "delegation.max_concurrent_children");
        most.unwrap_or(CHILDREN_MAX) as usize
    }

    /// How deep children may have children.
    pub fn depth_max(&self) -> u32 {
        number(&self.parent.settings, "delegation.max_spawn_depth").unwrap_or(DEPTH_MAX)
    }

    /// How many are at work.
    pub fn running(&self) -> usize {
        let mut running = self.running.lock();
        running.retain(|task| !task.is_finished());
        running.len()
    }

    /// Ends those in the background.
    pub fn stop(&self) {
        self.background.cancel();
    }

    /// Lets children work and waits for all of them.
    pub async fn run(&self, tasks: Vec<Task>, seat: &LoopSeat, cx: &CallContext) -> Vec<Report> {
        // Whoever stops waiting ends them: an interrupt, a deadline, a turn that is dropped.
        let cancel = cx.cancel.child_token();
        let _ended_with_us = cancel.clone().drop_guard();
        let given = |task| Assignment { task, session: None, begun: false };
        let reports = self.start(tasks.into_iter().map(given).collect(), seat, cx, &cancel);
        let reports = join_all(reports).await;
        let mut delegated = seat.delegated.lock();
        for report in &reports {
            *delegated = delegated.plus(&report.usage);
        }
        reports
    }

    /// Lets children work in the background; what they found arrives in the agent's inbox. Gives
    /// the name of it all and the conversations of the children.
    pub fn dispatch(
        &self,
        tasks: Vec<Task>,
        seat: &LoopSeat,
        cx: &CallContext,
    ) -> (String, Vec<String>) {
        let tag = revive::tag();
        let id = format!("delegation-{tag}");
        // Known beforehand, so that the next program finds them if this one dies.
        let named = |(index, task): (usize, Task)| {
            let session = revive::child_session(&seat.session, &tag, index);
            Assignment { task, session: Some(session), begun: false }
        };
        let given: Vec<Assignment> = tasks.into_iter().enumerate().map(named).collect();
        let sessions = given.iter().filter_map(|one| Some(one.session.as_ref()?.to_string()));
        let sessions = sessions.collect();
        self.in_background(&id, given, seat, cx);
        (id, sessions)
    }

    fn in_background(&self, id: &str, given: Vec<Assignment>, seat: &LoopSeat, cx: &CallContext) {
        let cancel = self.background.child_token();
        let reports = self.start(given, seat, cx, &cancel);
        let (inbox, delegated) = (seat.inbox.clone(), Arc::clone(&seat.delegated));
        let name = id.to_owned();
        let collect = Owned::start(async move {
            let reports = join_all(reports).await;
            for report in &reports {
                let mut sum = delegated.lock();
                *sum = sum.plus(&report.usage);
            }
            let text = serde_json::to_string(&reports).unwrap_or_default();
            inbox.news(format!("{}{text}", revive::heard(&name)));
        });
        let mut waiting = self.waiting.lock();
        waiting.retain(|task| !task.is_finished());
        waiting.push(collect);
    }

    fn start(
        &self,
        given: Vec<Assignment>,
        seat: &LoopSeat,
        cx: &CallContext,
        cancel: &CancellationToken,
    ) -> Vec<BoxFuture<'static, Report>> {
        let batch = given.len().max(1);
        let window = cx.window.unwrap_or_else(|| self.parent.window_or(None));
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        let room =
            (window.saturating_mul(4) / 2 / batch).clamp(SUMMARY_CHARS_MIN, SUMMARY_CHARS_MAX);
        let mut reports = Vec::with_capacity(batch);
        let (carded, tag) = (is_carded(&seat.engine, cx), revive::tag());
        for (index, Assignment { task, session, begun }) in given.into_iter().enumerate() {
            let mut choice = self.choice(seat, &task, cx);
            // A card names the conversation that works on it.
            let named = || carded.then(|| revive::child_session(&seat.session, &tag, index));
            choice.new.id = session.or_else(named);
            let child = Child {
                engine: Arc::clone(&seat.engine),
                choice,
                begun,
                carded,
                cx: child_context(&task, cx, cancel, self.depth_max()),
                parent: seat.session.clone(),
                room,
                index,
            };
            let (tell, told) = oneshot::channel();
            let work = Owned::start(async move {
                let report = child.work(&task).await;
                // Nobody may be waiting any more; the child's own transcript has everything.
                drop(tell.send(report));
            });
            self.running.lock().push(work);
            reports.push(Box::pin(async move {
                told.await.unwrap_or_else(|_| Report::failed(index, "it ended without a report"))
            }) as BoxFuture<'static, Report>);
        }
        self.running();
        reports
    }

    fn choice(&self, seat: &LoopSeat, task: &Task, cx: &CallContext) -> Choice {
        let configured = |key: &str| {
            self.parent.settings.text(key).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let role = if task.orchestrator { "You may delegate parts in turn. " } else { "" };
        let system = format!(
            "You are a subagent: another agent gave you one task and sees only your final answer. \
             Work on it alone with your tools; nobody can be asked. {role}End with a summary of \
             what you did, what you found, files you changed and problems that remain.\n\n\
             Working directory: {}",
            cx.workspace.display()
        );
        Choice {
            source: "subagent".to_owned(),
            role: Role::Subagent,
            model: configured("delegation.model").or_else(|| self.parent.model.clone()),
            provider: configured("delegation.provider").or_else(|| self.parent.provider.clone()),
            effort: configured("delegation.reasoning_effort")
                .and_then(|word| Choice::effort_named(&word))
                .or(self.parent.effort),
            sampling: Sampling::default(),
            selection: self.selection(),
            requests_max: None,
            system_prompt: Some(system),
            addition: None,
            new: NewSession {
                parent: Some((seat.session.clone(), Lineage::Subagent)),
                ..NewSession::default()
            },
            ..self.parent.clone()
        }
    }
}

impl Delegation {
    /// The toolsets of a child: its parent's, or those configured; the grant holds either way.
    fn selection(&self) -> Selection {
        let own = self.parent.settings.names("delegation.default_toolsets");
        match own.filter(|names| !names.is_empty()) {
            Some(names) => Selection { enabled: Some(names), ..self.parent.selection.clone() },
            None => self.parent.selection.clone(),
        }
    }
}

/// The surroundings of a child: fewer tools, one deeper, events marked as its own.
fn child_context(
    task: &Task,
    cx: &CallContext,
    cancel: &CancellationToken,
    depth_max: u32,
) -> CallContext {
    let depth = cx.depth.saturating_add(1);
    let enabled = cx.settings.get("delegation.orchestrator_enabled") != Some(&Value::Bool(false));
    let delegates = task.orchestrator && enabled && u32::from(depth) < depth_max;
    let mcp = cx.settings.get("delegation.inherit_mcp_toolsets") != Some(&Value::Bool(false));
    let kept = |tool: &&ToolName| {
        let foreign = !mcp && tool.as_str().starts_with("mcp__");
        let blocked = foreign || SUBAGENT_BLOCKED.contains(&tool.as_str());
        !blocked || (delegates && tool.as_str() == "delegate_task")
    };
    let grant = match &*cx.grant {
        Grant::Only(tools) => Grant::Only(tools.iter().filter(kept).cloned().collect()),
        Grant::All => Grant::Only(BTreeSet::new()),
    };
    CallContext {
        principal: Principal::Subagent,
        root: cx.root.clone().or_else(|| Some(cx.session.clone())),
        depth,
        grant: Arc::new(grant),
        cancel: cancel.child_token(),
        seat: None,
        ..cx.clone()
    }
}

struct Child {
    engine: Arc<Engine>,
    choice: Choice,
    cx: CallContext,
    parent: SessionId,
    room: usize,
    index: usize,
    /// An earlier program began it.
    begun: bool,
    /// It is a card of the board.
    carded: bool,
}

impl Child {
    /// Works, with a card of the board where there is one.
    async fn work(self, task: &Task) -> Report {
        let card = match self.deal(task).await {
            Dealt::Without => return self.alone(task).await,
            Dealt::Elsewhere(report) => return *report,
            Dealt::Ours(card) => card,
        };
        let said = task.context.as_deref().map(|context| format!("{context}\n\n"));
        let context = Some(format!("{}{}", said.unwrap_or_default(), card.words()));
        let told = Task { context, ..task.clone() };
        let (mut report, is_lost) = card.worked(&self.cx.cancel, self.alone(&told)).await;
        if is_lost {
            report.error = Some("its card was taken away, so that it was ended".to_owned());
        }
        card.settle(&mut report, &self.cx.settings).await;
        report
    }

    async fn alone(&self, task: &Task) -> Report {
        let started = Instant::now();
        if let Some(agent) = &task.agent {
            return self.hand_over(agent, task, started).await;
        }
        let (mut agent, words) = match self.seated(task).await {
            Ok(Seated::ToWork(agent, words)) => (*agent, words),
            Ok(Seated::Ended(report)) => return *report,
            Err(error) => return Report::failed(self.index, &error.to_string()),
        };
        let child = agent.session().clone();
        let events = Told { sink: self.cx.events.clone(), child: child.clone() };
        let cx = CallContext {
            task: TaskId::new(child.as_str()),
            events: EventSink::to(Arc::new(events)),
            ..self.cx.clone()
        };
        self.cx.events.emit(|| Event::SubagentStarted {
            session: self.parent.clone(),
            child: child.clone(),
            goal: task.goal.clone(),
        });
        moments::child_started(&self.engine, task, &child, &self.cx).await;
        let (ended, overdue) = self.turn(&mut agent, &words, &cx).await;
        let mut report = self.report(ended, overdue);
        report.duration_seconds = started.elapsed().as_secs_f64();
        report.session_id = Some(child.to_string());
        moments::child_ended(&self.engine, task, &report, &child, &self.cx).await;
        self.cx.events.emit(|| Event::SubagentEnded {
            session: self.parent.clone(),
            child,
            status: report.status.to_owned(),
        });
        report
    }

    /// Another program does it, with tools of its own.
    async fn hand_over(&self, agent: &str, task: &Task, started: Instant) -> Report {
        let Some(agents) = &self.engine.agents else {
            return Report::failed(self.index, "this program knows no other agents");
        };
        // Its tools are its own: nobody here could hold it to reading.
        if self.cx.phase == Phase::Plan {
            let why = "plan mode is on, and another agent cannot be kept from changing things";
            return Report::failed(self.index, why);
        }
        let words = match &task.context {
            Some(context) => format!("{}\n\n{context}", task.goal),
            None => task.goal.clone(),
        };
        let given = AgentTask { agent: agent.to_owned(), words };
        let done = agents.work(&given, &self.cx).await;
        let mut report = match done {
            Ok(text) => Report {
                status: "completed",
                summary: cut(&text, self.room),
                exit_reason: "replied".to_owned(),
                error: None,
                ..Report::failed(self.index, "")
            },
            Err(why) => Report::failed(self.index, &format!("{agent}: {why}")),
        };
        report.model = Some(agent.to_owned());
        report.duration_seconds = started.elapsed().as_secs_f64();
        report
    }

    /// The one turn of a child; when its time is up it is interrupted, not dropped.
    async fn turn(
        &self,
        agent: &mut Agent,
        words: &str,
        cx: &CallContext,
    ) -> (Result<TurnEnd, TurnError>, bool) {
        let seconds = cx.settings.get("delegation.child_timeout_seconds").and_then(Value::as_f64);
        let limit = seconds.map(|seconds| Duration::from_secs_f64(seconds.max(TIMEOUT_MIN)));
        let work = Box::pin(agent.turn(words.into(), cx));
        let Some(limit) = limit else { return (work.await, false) };
        let mut work = work;
        tokio::select! {
            biased;
            ended = &mut work => (ended, false),
            () = tokio::time::sleep(limit) => {
                cx.cancel.cancel();
                (work.await, true)
            }
        }
    }

    fn report(&self, ended: Result<TurnEnd, TurnError>, overdue: bool) -> Report {
        let end = match ended {
            Ok(end) => end,
            Err(error) => return Report::failed(self.index, &error.to_string()),
        };
        let status = match end.outcome {
            _ if overdue => "timeout",
            Outcome::Replied | Outcome::OutOfBudget => "completed",
            Outcome::Interrupted => "interrupted",
            Outcome::Refused | Outcome::Halted => "failed",
        };
        let trace = |(tool, status): &(String, &'static str)| Trace {
            tool: tool.clone(),
            status: (*status).to_owned(),
        };
        Report {
            task_index: self.index,
            status,
            summary: cut(&end.text, self.room),
            api_calls: end.requests,
            duration_seconds: 0.0,
            model: self.choice.model.clone(),
            exit_reason: end.outcome.as_str().to_owned(),
            tokens: Tokens { input: end.usage.prompt(), output: end.usage.output },
            tool_trace: end.tools.iter().map(trace).collect(),
            error: None,
            session_id: None,
            card: None,
            usage: end.usage,
        }
    }
}

/// Marks events as a child's.
struct Told {
    sink: EventSink,
    child: SessionId,
}

impl Subscriber for Told {
    fn take(&self, event: Event) {
        self.sink.emit(|| Event::Subagent { child: self.child.clone(), event: Box::new(event) });
    }
}
