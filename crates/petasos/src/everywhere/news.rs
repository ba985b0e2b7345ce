//! What happens in chats, told to other programs that want to know: turns that ended, questions that
//! were put and closed. Turns over HTTP are told by whoever serves them, scheduled ones by their
//! scheduler.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::approval::Answer;
use petasos_contract::context::Surface;
use petasos_contract::hook::{
    ApprovalMoment, Directive, Hook, HookError, HookKind, HookSet, Moment, OnFailure, RunMoment,
};
use petasos_contract::{BoxFuture, CallContext, SessionId, Settings};
use petasos_redact::Redactor;
use serde_json::{Value, json};

use super::Everywhere;

/// Where the receivers stand.
const KEY: &str = "gateway.webhooks_out";
const WANTED: [HookKind; 4] = [
    HookKind::PostLlmCall,
    HookKind::OnSessionEnd,
    HookKind::PreApprovalRequest,
    HookKind::PostApprovalResponse,
];

/// Hears what happens in chats.
pub(crate) struct ChatNews {
    everywhere: Arc<Everywhere>,
    /// Whether anybody is to be told anything.
    wanted: bool,
    /// The replies of turns that are about to end.
    said: Mutex<HashMap<SessionId, String>>,
}

impl ChatNews {
    pub(crate) fn new(everywhere: &Arc<Everywhere>, settings: &Settings) -> Self {
        let listed = settings.get(KEY).and_then(Value::as_array);
        let wanted = listed.is_some_and(|listed| !listed.is_empty());
        Self { everywhere: Arc::clone(everywhere), wanted, said: Mutex::default() }
    }

    async fn tell(&self, cx: &CallContext, event: &str, more: Value) {
        let Ok(outgoing) = self.everywhere.outgoing() else { return };
        if !outgoing.is_wanted(event) {
            return;
        }
        let mut data = json!({
            "session_id": cx.session.as_str(), "platform": cx.address.platform.as_str(),
            "chat": cx.address.chat.as_str(),
        });
        if let (Some(data), Value::Object(more)) = (data.as_object_mut(), more) {
            data.extend(more);
        }
        let word = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
        let (output, subject) = (word("output"), word("subject"));
        let text = format!("{}: {output}{subject}", word("status"));
        outgoing.tell(event, &data, &text).await;
    }

    async fn ended(&self, about: &RunMoment<'_>) {
        let said = self.said.lock().remove(&about.cx.session);
        let output = said.map(|said| Redactor::of(&about.cx.settings).text(&said).into_owned());
        let status = match (about.completed, about.interrupted) {
            (true, _) => "completed",
            (_, true) => "interrupted",
            _ => "failed",
        };
        let more = json!({
            "turn_id": about.cx.turn.to_string(), "status": status, "output": output,
            "reason": about.reason,
        });
        self.tell(about.cx, "turn_ended", more).await;
    }

    async fn asked(&self, about: &ApprovalMoment<'_>, answer: Option<&Answer>) {
        let (event, status) = match answer {
            None => ("approval_opened", "open"),
            Some(Answer::Allowed { .. } | Answer::Denied { .. }) => ("approval_closed", "answered"),
            Some(Answer::Expired { .. }) => ("approval_closed", "expired"),
            Some(_) => ("approval_closed", "withdrawn"),
        };
        let more = json!({
            "approval_id": about.request.digest.to_string(), "status": status, "state": status,
            "tool": about.request.tool.as_str(), "subject": about.request.subject,
        });
        self.tell(about.cx, event, more).await;
    }
}

impl Hook for ChatNews {
    fn name(&self) -> &'static str {
        "chat-news"
    }

    fn wants(&self) -> HookSet {
        if self.wanted { HookSet::of(&WANTED) } else { HookSet::EMPTY }
    }

    fn on_failure(&self) -> OnFailure {
        OnFailure::Pass
    }

    fn fire<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        // What subagents do is part of the turn that began them.
        let is_chat = |cx: &CallContext| cx.surface == Surface::Gateway && cx.depth == 0;
        Box::pin(async move {
            match moment {
                Moment::PostLlmCall(about, text) if is_chat(about.cx) => {
                    let session = about.cx.session.clone();
                    self.said.lock().insert(session, (*text).to_owned());
                }
                Moment::OnSessionEnd(about) if is_chat(about.cx) => self.ended(about).await,
                Moment::PreApprovalRequest(about) if is_chat(about.cx) => {
                    self.asked(about, None).await;
                }
                Moment::PostApprovalResponse(about, answer) if is_chat(about.cx) => {
                    self.asked(about, Some(answer)).await;
                }
                _ => {}
            }
            Ok(Directive::Pass)
        })
    }
}
