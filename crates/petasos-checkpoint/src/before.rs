//! Takes a copy before the first call of a turn that changes files, by whatever tool.
//!
//! It looks at the effects that a call was judged by, so commands and scripts count like edits. What
//! a model asks for is heard before it has come through the door, and looking begins then; a copy
//! gets its name while the call runs. One that cannot be made is told once in a conversation and
//! holds nothing back.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::effect::Effect;
use petasos_contract::event::Event;
use petasos_contract::middleware::{AroundError, AroundMiddleware, Execution, Next};
use petasos_contract::{BoxFuture, CallContext, SessionId, ToolName, ToolOutput, TurnId};
use petasos_shell::reading::only_reads;
use tokio::sync::OnceCell;

use crate::checkpoints::{Checkpoints, Entered};
use crate::error::CheckpointError as Error;
use crate::look::Ahead;
use crate::name::Unnamed;
use crate::orphans;
use crate::take::{Staged, settings, stage};

/// So long before its deadline a call no longer waits for the name of its copy.
const MARGIN: Duration = Duration::from_millis(500);

/// Conversations that are remembered; one that is forgotten gets one more copy.
const SESSIONS_MAX: usize = 1000;

/// The frame around every call.
pub struct Before {
    checkpoints: Arc<Checkpoints>,
    notes: Mutex<Notes>,
}

/// The copy of one turn: made by the first who changes something, waited for by the others.
type Copy = Arc<OnceCell<()>>;

#[derive(Default)]
struct Notes {
    turns: HashMap<SessionId, (TurnId, Copy)>,
    ahead: HashMap<SessionId, Ahead>,
    told: HashSet<(SessionId, String)>,
}

impl fmt::Debug for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Before").finish_non_exhaustive()
    }
}

impl Before {
    /// Copies with these checkpoints.
    pub fn new(checkpoints: Arc<Checkpoints>) -> Self {
        Self { checkpoints, notes: Mutex::default() }
    }

    /// The checkpoints it makes.
    pub fn checkpoints(&self) -> &Arc<Checkpoints> {
        &self.checkpoints
    }

    /// A model asks first for a call that changes files by the definition of its tool, or by this
    /// command. When it needs a copy, the workspace is looked at while the call is on its way
    /// through the door.
    pub async fn foresee(&self, command: Option<&str>, cx: &CallContext) {
        let is_needed = self.needed(|| !command.is_some_and(only_reads), cx).is_some();
        if is_needed && settings(cx).is_ok_and(|settings| settings.enabled) {
            let ahead = Ahead::begin(&self.checkpoints, cx);
            self.notes.lock().ahead.insert(cx.session.clone(), ahead);
            // Git is started before whoever is told goes on and takes the processor.
            tokio::task::yield_now().await;
        }
    }

    /// The copy that must be there before this call may change something.
    fn needed(&self, changes: impl FnOnce() -> bool, cx: &CallContext) -> Option<Copy> {
        let known = |notes: &Notes| {
            let (turn, copy) = notes.turns.get(&cx.session)?;
            (*turn == cx.turn).then(|| Arc::clone(copy))
        };
        let copy = known(&self.notes.lock());
        if copy.is_some_and(|copy| copy.initialized()) {
            return None;
        }
        if !changes() {
            return None;
        }
        let mut notes = self.notes.lock();
        if let Some(copy) = known(&notes) {
            return Some(copy);
        }
        if notes.turns.len() >= SESSIONS_MAX {
            *notes = Notes::default();
        }
        let copy = Copy::default();
        notes.turns.insert(cx.session.clone(), (cx.turn.clone(), Arc::clone(&copy)));
        Some(copy)
    }

    /// The first half of a copy; what is left to do can be done while the call runs.
    async fn copy(
        &self,
        tool: &ToolName,
        ahead: Option<Ahead>,
        cx: &CallContext,
    ) -> Option<(Entered, Unnamed)> {
        match self.staged(tool, ahead, cx).await {
            Ok(Some((entered, Staged::New { unnamed, left_out }))) => {
                if !left_out.is_empty() {
                    self.tell(format!("not in the checkpoint: {}", left_out.join(", ")), cx);
                }
                Some((entered, unnamed))
            }
            Ok(None | Some((_, Staged::Same { .. }))) => None,
            Err(error) => {
                self.tell(format!("no checkpoint was made: {error}"), cx);
                None
            }
        }
    }

    /// Nothing when another session has just made the copy that this one needs.
    async fn staged(
        &self,
        tool: &ToolName,
        ahead: Option<Ahead>,
        cx: &CallContext,
    ) -> Result<Option<(Entered, Staged)>, Error> {
        let line = self.checkpoints.line(cx)?;
        if let Some(late) = line.resting() {
            return Err(late);
        }
        let arrival = line.arrive();
        let mut entered = self.checkpoints.enter(cx).await?;
        if arrival.is_covered(&entered.turn) {
            return Ok(None);
        }
        // Only now: we may have waited in line, and what ran meanwhile may have changed files.
        let seen = match ahead {
            Some(ahead) => ahead.fresh().await,
            None => None,
        };
        // What was seen before others came is no use to them.
        let is_for_all = seen.is_none();
        let begun = line.begin();
        let staged = stage(&entered, &format!("before {tool}"), seen, cx).await;
        line.tried(&staged);
        if staged.is_ok() && is_for_all {
            *entered.turn = begun;
        }
        Ok(Some((entered, staged?)))
    }

    /// The second half.
    async fn name(&self, copy: Option<(Entered, Unnamed)>, cx: &CallContext) {
        let Some((entered, unnamed)) = copy else { return };
        if let Err(error) = unnamed.finish(&entered, cx).await {
            self.tell(format!("no checkpoint was made: {error}"), cx);
        }
        if settings(cx).is_ok_and(|settings| settings.auto_prune) {
            orphans::sweep(cx).await;
        }
    }

    /// Tells people, once in a conversation.
    fn tell(&self, told: String, cx: &CallContext) {
        let is_new = self.notes.lock().told.insert((cx.session.clone(), told.clone()));
        if is_new {
            cx.events.emit(|| Event::Notice { text: told });
        }
    }
}

fn changes_files(effect: &Effect) -> bool {
    match effect {
        Effect::Write(_) | Effect::Code { .. } => true,
        Effect::Command { script, .. } => !only_reads(script),
        _ => false,
    }
}

impl AroundMiddleware for Before {
    fn name(&self) -> &'static str {
        "checkpoints"
    }

    fn around<'a>(
        &'a self,
        call: Execution<'a>,
        next: Next<'a>,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, AroundError>> {
        let Execution { tool, args, effects } = call;
        Box::pin(async move {
            // A look is good for the very next call: what runs now makes all others old.
            let ahead = std::mem::take(&mut self.notes.lock().ahead).remove(&cx.session);
            let mut unnamed = None;
            if settings(cx).map_or(true, |settings| settings.enabled)
                && let Some(copy) = self.needed(|| effects.iter().any(changes_files), cx)
            {
                copy.get_or_init(async || unnamed = self.copy(tool, ahead, cx).await).await;
            }
            let mut naming = pin!(self.name(unnamed, cx));
            let mut call = next(args);
            let output = tokio::select! {
                output = &mut call => {
                    // What came out must not be lost to a slow git: the next copy goes on with it.
                    let last = cx.deadline.checked_sub(MARGIN).unwrap_or(cx.deadline);
                    tokio::select! {
                        () = naming => {}
                        () = cx.cancel.cancelled() => {}
                        () = tokio::time::sleep_until(last.into()) => {}
                    }
                    output
                }
                () = &mut naming => call.await,
            };
            Ok(output?)
        })
    }
}
