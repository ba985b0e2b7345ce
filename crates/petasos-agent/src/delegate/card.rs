//! Delegated work as cards of the board, where the conversation has the board's tools: everybody who
//! looks at the board sees who works on what, and one process at a time does.
//!
//! The claim decides. A card is claimed before its child begins, gives signs of life while it works,
//! and is settled with its report. Whoever takes the card away ends the child. When the process
//! dies, the card goes back to the board: to the child that goes on, or to a dispatcher's worker.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::context::Phase;
use petasos_contract::event::Event;
use petasos_contract::hook::{BoardMoment, HookKind, Moment};
use petasos_contract::{CallContext, SessionId};
use petasos_redact::Redactor;
use petasos_store::{
    Actor, BoardError, BoardPlace, BoardStore, Boards, ClaimAsk, Claimed, Completion, NewTask, On,
    Status, TaskFilter, Workspace, board_time,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Child, Report, Task};
use crate::engine::Engine;

/// How often a card that is worked on gives a sign of life.
const BEAT: Duration = Duration::from_secs(10);
/// What groups the cards of delegated work.
const GROUP: &str = "delegation";
const TITLE_CHARS_MAX: usize = 120;
/// Cards that are looked through for the one of a child.
const LOOKED_AT_MAX: usize = 10_000;

/// A card that is claimed.
pub(super) struct Card {
    store: Arc<dyn BoardStore>,
    engine: Arc<Engine>,
    on: On,
    run: i64,
    assignee: String,
}

/// What became of the wish for a card.
pub(super) enum Dealt {
    /// There is none, and the work goes on without.
    Without,
    /// It is ours.
    Ours(Box<Card>),
    /// Somebody else has it, or it is over: what is told instead of work.
    Elsewhere(Box<Report>),
}

/// Whether delegated work of this conversation goes over the board.
pub(crate) fn is_carded(engine: &Engine, cx: &CallContext) -> bool {
    let is_off = cx.settings.get("kanban.delegation") == Some(&Value::Bool(false));
    // Planning changes nothing, and a board is something.
    !is_off
        && cx.phase != Phase::Plan
        && engine.ports.boards.is_some()
        && cx.grant.allows("kanban_create")
}

impl Child {
    /// The card of this child, claimed.
    pub(super) async fn deal(&self, task: &Task) -> Dealt {
        let session = self.choice.new.id.as_ref().filter(|_| self.carded);
        let Some(session) = session else { return Dealt::Without };
        match self.claimed(task, session).await {
            Ok(dealt) => dealt,
            Err(error) => {
                // Work is not refused because a board is out of order.
                let text = format!("delegated work is not on the board: {error}");
                self.cx.events.emit(|| Event::Notice { text });
                Dealt::Without
            }
        }
    }

    async fn claimed(&self, task: &Task, session: &SessionId) -> Result<Dealt, BoardError> {
        let Some(boards) = Boards::of(self.engine.ports.boards.as_ref()) else {
            return Ok(Dealt::Without);
        };
        let (store, place) = (boards.store()?, BoardPlace::of(self.cx.settings.home()));
        let board = place.current(&self.cx.settings);
        let card = if self.begun {
            match known(&*store, &board, session).await? {
                Some(card) => card,
                None => return Ok(Dealt::Without),
            }
        } else {
            store.create_task(self.wish(task, session, &board, &place.profile)).await?.task
        };
        let ask = ClaimAsk {
            board: board.clone(),
            task: Some(card.id.clone()),
            is_own: true,
            at_ms: board_time(),
            ..ClaimAsk::default()
        };
        let Some(claimed) = store.claim_task(ask).await? else {
            let now = store.view_task(&board, &card.id).await?.task;
            return Ok(Dealt::Elsewhere(Box::new(self.elsewhere(&now))));
        };
        let card = Card::new(store, Arc::clone(&self.engine), &claimed, place.profile);
        card.tell(HookKind::KanbanTaskClaimed, None).await;
        Ok(Dealt::Ours(Box::new(card)))
    }

    /// What is put on the board. Nobody else takes it before it is claimed: it begins `scheduled`.
    fn wish(&self, task: &Task, session: &SessionId, board: &str, profile: &str) -> NewTask {
        let redactor = Redactor::of(&self.cx.settings);
        let goal = redactor.text(&task.goal).into_owned();
        let first = goal.lines().next().unwrap_or_default();
        let title: String = first.chars().take(TITLE_CHARS_MAX).collect();
        let body = match &task.context {
            Some(context) => format!("{goal}\n\n{}", redactor.text(context)),
            None => goal.clone(),
        };
        let folder = self.cx.workspace.display().to_string();
        NewTask {
            board: board.to_owned(),
            title,
            body,
            assignee: profile.to_owned(),
            tenant: Some(GROUP.to_owned()),
            workspace: Some(Workspace { kind: "dir".to_owned(), path: Some(folder) }),
            begins: Some(Status::Scheduled),
            by: profile.to_owned(),
            session: Some(session.clone()),
            label: self.cx.label(),
            at_ms: board_time(),
            ..NewTask::default()
        }
    }

    /// A card that is not ours any more, as a report.
    fn elsewhere(&self, card: &petasos_store::Task) -> Report {
        let mut report = Report::failed(self.index, "");
        report.card = Some(card.id.clone());
        if card.status == Status::Done {
            report.status = "completed";
            "replied".clone_into(&mut report.exit_reason);
            let said = card.summary.as_deref().or(card.result.as_deref()).unwrap_or_default();
            report.summary = super::cut(said, self.room);
            report.error = None;
        } else {
            let why = format!(
                "its card is {} on the board by now: kanban_show tells about it",
                card.status
            );
            report.error = Some(why);
        }
        report
    }
}

/// The card that a child was given by an earlier program.
async fn known(
    store: &dyn BoardStore,
    board: &str,
    session: &SessionId,
) -> Result<Option<petasos_store::Task>, BoardError> {
    let filter = TaskFilter {
        board: board.to_owned(),
        tenant: Some(GROUP.to_owned()),
        archived: true,
        limit: LOOKED_AT_MAX,
        ..TaskFilter::default()
    };
    let cards = store.list_tasks(filter).await?;
    Ok(cards.into_iter().find(|card| card.session.as_deref() == Some(session.as_str())))
}

impl Card {
    fn new(
        store: Arc<dyn BoardStore>,
        engine: Arc<Engine>,
        claimed: &Claimed,
        profile: String,
    ) -> Self {
        let by = Actor { profile, lock: Some(claimed.lock.clone()), at_ms: board_time() };
        let task = &claimed.task;
        let on = On { board: task.board.clone(), task: task.id.clone(), by };
        Self { store, engine, on, run: claimed.run_id, assignee: task.assignee.clone() }
    }

    /// What a child is told about it.
    pub(super) fn words(&self) -> String {
        format!(
            "This is card {} of the board `{}`; it is completed for you with your answer. \
             Comments on it are notes for others.",
            self.on.task, self.on.board
        )
    }

    fn on(&self) -> On {
        let by = Actor { at_ms: board_time(), ..self.on.by.clone() };
        On { by, ..self.on.clone() }
    }

    /// Lets the work be done and gives signs of life meanwhile. A card that was taken away ends it.
    pub(super) async fn worked<T>(
        &self,
        cancel: &CancellationToken,
        work: impl Future<Output = T>,
    ) -> (T, bool) {
        let mut work = Box::pin(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return (done, false),
                () = tokio::time::sleep(BEAT) => {}
            }
            match self.store.beat(self.on(), None).await {
                Err(BoardError::ClaimLost { .. } | BoardError::WrongState { .. }) => {
                    cancel.cancel();
                    return (work.await, true);
                }
                Err(error) => tracing::warn!(%error, "a card gave no sign of life"),
                Ok(()) => {}
            }
        }
    }

    /// Writes the report on the card.
    pub(super) async fn settle(&self, report: &mut Report, settings: &petasos_contract::Settings) {
        report.card = Some(self.on.task.clone());
        let redactor = Redactor::of(settings);
        let said = redactor.text(&report.summary).into_owned();
        let settled = if report.status == "completed" {
            let metadata = json!({
                "session_id": report.session_id,
                "api_calls": report.api_calls,
                "tokens": report.tokens,
            });
            let summary = Some(said.clone()).filter(|said| !said.is_empty());
            let summary = summary.or_else(|| Some("it ended without a word".to_owned()));
            let done = Completion { summary, metadata, ..Completion::default() };
            self.store.complete(self.on(), done).await.map(drop)
        } else {
            let why = report.error.clone().unwrap_or_else(|| report.status.to_owned());
            let kind = if report.status == "failed" { "capability" } else { "transient" };
            let why = redactor.text(&why).into_owned();
            self.store.block(self.on(), kind.to_owned(), why).await.map(drop)
        };
        match settled {
            Ok(()) if report.status == "completed" => {
                self.tell(HookKind::KanbanTaskCompleted, Some(&said)).await;
            }
            Ok(()) => self.tell(HookKind::KanbanTaskBlocked, report.error.as_deref()).await,
            // The child settled its card itself, or somebody else did.
            Err(error) => tracing::info!(%error, card = %self.on.task, "a card is settled already"),
        }
    }

    async fn tell(&self, kind: HookKind, note: Option<&str>) {
        let moments = self.engine.ports.moments.as_ref();
        let Some(moments) = moments.filter(|it| it.wants(kind)) else { return };
        let run_id = self.run.to_string();
        let about = BoardMoment {
            task_id: &self.on.task,
            board: &self.on.board,
            assignee: &self.assignee,
            run_id: &run_id,
            profile: &self.on.by.profile,
            note,
        };
        let moment = match kind {
            HookKind::KanbanTaskClaimed => Moment::KanbanTaskClaimed(&about),
            HookKind::KanbanTaskCompleted => Moment::KanbanTaskCompleted(&about),
            _ => Moment::KanbanTaskBlocked(&about),
        };
        moments.tell(&moment).await;
    }
}
