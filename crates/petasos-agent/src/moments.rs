//! The moments of a conversation that hooks are told of, and what they may change about them.
//!
//! Everything here asks first whether anybody wants the moment; without hooks a turn pays a few
//! integer tests.

use std::collections::BTreeSet;
use std::time::Duration;

use petasos_contract::call::Disposition;
use petasos_contract::hook::{
    ChildEnd, ChildMoment, HookKind, Moment, ReplyMoment, RunMoment, SessionMoment, TurnMoment,
    VerifyMoment,
};
use petasos_contract::message::Message;
use petasos_contract::tool::FileChanges;
use petasos_contract::{CallContext, CallId, SessionId, TurnId, wait};
use petasos_runtime::hooks::HookBus;
use petasos_store::LoadedRow;
use serde_json::Value;

use crate::agent::{Agent, Outcome, TurnError};
use crate::delegate::{Report, Task};
use crate::engine::Engine;
use crate::{history, round};

/// How often a hook may keep a turn going, when nobody says otherwise.
const NUDGES_MAX: u64 = 3;

impl Agent {
    fn hooks(&self) -> &HookBus {
        self.engine.dispatcher.hooks()
    }

    fn model_name(&self) -> &str {
        let configured = || self.choice.settings.text("model.default");
        self.choice.model.as_deref().or_else(configured).unwrap_or_default()
    }

    /// A turn begins: a new session is announced, and hooks may add to what was said, which is the
    /// last row of the transcript.
    pub(crate) async fn announce(&self, said: &str, cx: &CallContext) -> Vec<String> {
        let (hooks, model) = (self.hooks(), self.model_name());
        let earlier = self.transcript.rows().split_last().map_or(&[][..], |(_, earlier)| earlier);
        let is_first_turn = earlier.is_empty();
        if is_first_turn && hooks.wants(HookKind::OnSessionStart) {
            let about = SessionMoment { cx, model, reason: "new_session", old: None, new: None };
            hooks.observe(&Moment::OnSessionStart(&about)).await;
        }
        if !hooks.wants(HookKind::PreLlmCall) {
            return Vec::new();
        }
        let history = history::outgoing(earlier.iter().map(|row| &row.stored));
        let (user_message, history) = (said, history.as_slice());
        let about = TurnMoment { cx, model, user_message, history, is_first_turn, sender: None };
        hooks.additions(&Moment::PreLlmCall(&about)).await
    }

    /// What hooks put in the place of a reply on its way out.
    pub(crate) async fn rephrased(&self, text: &str, cx: &CallContext) -> Option<String> {
        let about = ReplyMoment { cx, model: self.model_name(), text };
        let moment = Moment::TransformLlmOutput(&about);
        let asking = self.hooks().replacement(&moment);
        wait::unless_cancelled(&cx.cancel, wait::LAST_WORDS, asking).await.flatten()
    }

    /// A turn has ended: everyone hears of it. Who interrupts waits for nobody.
    pub(crate) async fn conclude(
        &self,
        ended: &Result<(Outcome, String), TurnError>,
        said: &str,
        cx: &CallContext,
    ) {
        let telling = self.tell_end(ended, said, cx);
        wait::unless_cancelled(&cx.cancel, wait::LAST_WORDS, telling).await;
    }

    async fn tell_end(
        &self,
        ended: &Result<(Outcome, String), TurnError>,
        said: &str,
        cx: &CallContext,
    ) {
        let (hooks, model) = (self.hooks(), self.model_name());
        if let Ok((Outcome::Replied | Outcome::OutOfBudget, text)) = ended
            && hooks.wants(HookKind::PostLlmCall)
        {
            let history = self.transcript.outgoing();
            let is_first_turn = self.turns <= 1;
            let (user_message, history) = (said, history.as_slice());
            let about =
                TurnMoment { cx, model, user_message, history, is_first_turn, sender: None };
            hooks.observe(&Moment::PostLlmCall(&about, text)).await;
        }
        let outcome = ended.as_ref().ok().map(|(outcome, _)| *outcome);
        let about = RunMoment {
            cx,
            model,
            completed: outcome == Some(Outcome::Replied),
            interrupted: outcome == Some(Outcome::Interrupted),
            reason: match outcome {
                Some(Outcome::Replied | Outcome::Interrupted) => None,
                Some(other) => Some(other.as_str()),
                None => Some("failed"),
            },
        };
        hooks.observe(&Moment::OnSessionEnd(&about)).await;
    }

    /// Whether a hook wants the turn to go on, and with which words.
    pub(crate) async fn objection(
        &self,
        final_response: &str,
        attempt: u32,
        cx: &CallContext,
    ) -> Option<String> {
        let hooks = self.hooks();
        if !hooks.wants(HookKind::PreVerify) {
            return None;
        }
        let most = cx.settings.get("agent.max_verify_nudges").and_then(Value::as_u64);
        if u64::from(attempt) >= most.unwrap_or(NUDGES_MAX) {
            return None;
        }
        let changed_paths = self.changed_paths(&cx.turn);
        let (model, changed_paths) = (self.model_name(), changed_paths.as_slice());
        let about = VerifyMoment { cx, model, attempt, final_response, changed_paths };
        let moment = Moment::PreVerify(&about);
        let asking = hooks.objection(&moment);
        wait::unless_cancelled(&cx.cancel, Duration::ZERO, asking).await.flatten()
    }

    /// Files that this turn changed: what was refused or failed changed nothing.
    fn changed_paths(&self, turn: &TurnId) -> Vec<String> {
        let tools = self.engine.dispatcher.registry().seen_by(self.session());
        let edits =
            |tool: &str| tools.find(tool).is_some_and(|entry| entry.changes == FileChanges::Edits);
        changed(self.transcript.rows(), turn, edits)
    }

    /// The session is left for good, perhaps for one that is there already. Surfaces call this when
    /// they end and when the user asks for a fresh session; `reason` is `new_session`, `shutdown`,
    /// `session_expired` or `session_boundary`.
    pub async fn leave(&self, reason: &str, new: Option<&SessionId>, cx: &CallContext) {
        let (hooks, model) = (self.hooks(), self.model_name());
        let own = CallContext { session: self.session().clone(), ..cx.clone() };
        let old = Some(self.session());
        let about = SessionMoment { cx: &own, model, reason, old, new };
        observed(hooks, &Moment::OnSessionFinalize(&about), cx).await;
        if let Some(new) = new {
            self.reset(reason, self.session(), new, cx).await;
        }
    }

    /// This session takes the place of another one that was left before it began.
    pub async fn entered(&self, reason: &str, old: &SessionId, cx: &CallContext) {
        self.reset(reason, old, self.session(), cx).await;
    }

    async fn reset(&self, reason: &str, old: &SessionId, new: &SessionId, cx: &CallContext) {
        let entered = CallContext { session: new.clone(), ..cx.clone() };
        let (model, old, new) = (self.model_name(), Some(old), Some(new));
        let about = SessionMoment { cx: &entered, model, reason, old, new };
        observed(self.hooks(), &Moment::OnSessionReset(&about), cx).await;
    }
}

/// Shows a moment; after an interrupt hooks have a moment to hear of it and no longer.
async fn observed(hooks: &HookBus, moment: &Moment<'_>, cx: &CallContext) {
    wait::unless_cancelled(&cx.cancel, wait::LAST_WORDS, hooks.observe(moment)).await;
}

/// A subagent begins.
pub(crate) async fn child_started(
    engine: &Engine,
    task: &Task,
    child: &SessionId,
    cx: &CallContext,
) {
    let about = child_moment(task, child, cx);
    observed(engine.dispatcher.hooks(), &Moment::SubagentStart(&about), cx).await;
}

/// A subagent has ended.
pub(crate) async fn child_ended(
    engine: &Engine,
    task: &Task,
    report: &Report,
    child: &SessionId,
    cx: &CallContext,
) {
    let about = child_moment(task, child, cx);
    let duration = Duration::from_secs_f64(report.duration_seconds.max(0.0));
    let end = ChildEnd {
        summary: &report.summary,
        status: report.status,
        duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
    };
    observed(engine.dispatcher.hooks(), &Moment::SubagentStop(&about, &end), cx).await;
}

fn child_moment<'a>(task: &'a Task, child: &'a SessionId, cx: &'a CallContext) -> ChildMoment<'a> {
    let role = if task.orchestrator { "orchestrator" } else { "leaf" };
    ChildMoment { cx, child, role, goal: &task.goal }
}

/// The paths of edits in a turn that did their work.
fn changed(rows: &[LoadedRow], turn: &TurnId, edits: impl Fn(&str) -> bool) -> Vec<String> {
    let rows = || rows.iter().filter(|row| row.stored.turn.as_ref() == Some(turn));
    let done: BTreeSet<&CallId> = rows()
        .filter(|row| row.stored.disposition != Some(Disposition::None))
        .filter_map(|row| match &row.stored.message {
            Message::Tool(result) => Some(result).filter(|it| !is_failure(&it.content.text())),
            Message::User { .. } | Message::Assistant(_) => None,
        })
        .map(|result| &result.tool_call_id)
        .collect();
    let mut paths: Vec<String> = Vec::new();
    for row in rows() {
        let Message::Assistant(said) = &row.stored.message else { continue };
        let calls = said.tool_calls.iter();
        let calls = calls.filter(|call| edits(call.name.as_str()) && done.contains(&call.id));
        for path in calls.filter_map(|call| round::path_of(&call.arguments)) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths
}

/// Whether a result says that nothing came of it.
fn is_failure(text: &str) -> bool {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let Some(Ok(Value::Object(first))) = values.next() else { return false };
    let failed = first.get("success") == Some(&Value::Bool(false));
    failed || first.get("error").is_some_and(|error| !error.is_null())
}

#[cfg(test)]
mod tests {
    use petasos_contract::message::{Assistant, Content, RequestedCall, ToolMessage};
    use petasos_store::Stored;

    use super::*;

    #[test]
    fn only_edits_that_did_their_work_count_as_changed() {
        let turn = TurnId::new("t");
        let calls = ["done", "failed", "refused", "read", "open"].map(|name| RequestedCall {
            id: name.into(),
            name: if name == "read" { "read_file" } else { "write_file" }.into(),
            arguments: format!(r#"{{"path":"{name}.txt"}}"#),
            provider_data: None,
        });
        let said = Assistant { tool_calls: calls.to_vec(), ..Assistant::default() };
        let result = |id: &str, text: &str, disposition| Stored {
            disposition: Some(disposition),
            ..Stored::new(Message::Tool(ToolMessage {
                tool_call_id: id.into(),
                name: None,
                content: Content::Text(text.to_owned()),
            }))
        };
        let stored = [
            Stored::new(Message::Assistant(said)),
            result("done", "{\"bytes\":1}\n\nwords of the user", Disposition::Done),
            result("failed", "{\"error\":\"read-only\"}", Disposition::Done),
            result("refused", "no", Disposition::None),
            result("read", "text", Disposition::Done),
        ];
        let row = |stored: Stored| {
            let stored = Stored { turn: Some(turn.clone()), ..stored };
            LoadedRow { seq: 1, at_ms: 0, active: true, stored }
        };
        let rows: Vec<LoadedRow> = stored.into_iter().map(row).collect();
        assert_eq!(changed(&rows, &turn, |name| name == "write_file"), ["done.txt"]);
    }
}
