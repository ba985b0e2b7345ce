//! One request of a turn: what is asked, and the pieces of the reply on their way to surfaces.

use std::sync::Arc;
use std::time::Instant;

use petasos_contract::context::CALLER_DEADLINE;
use petasos_contract::event::Event;
use petasos_contract::model::{
    Delta, DeltaSink, DeltaSubscriber, ModelError, Prompt, Reason, Reply, ToolChoice,
};
use petasos_contract::{CallContext, SessionId};
use serde_json::Value;

use super::Turn;
use super::interrupt::Streamed;
use crate::agent::Agent;
use crate::steer::Switch;

impl Agent {
    /// Asks the model. An interrupt closes the connection; what had come is in `turn.streamed`.
    pub(super) async fn ask(
        &self,
        turn: &mut Turn,
        tool_choice: ToolChoice,
    ) -> Result<Reply, ModelError> {
        turn.requests += 1;
        turn.streamed = Arc::default();
        let messages = self.transcript.outgoing_with(turn.nudge);
        let deltas = Deltas {
            cx: turn.cx.clone(),
            session: turn.cx.session.clone(),
            request: turn.requests,
            streamed: Arc::clone(&turn.streamed),
        };
        let configured = turn.cx.settings.get("model.max_tokens").and_then(Value::as_u64);
        let configured = configured.and_then(|most| u32::try_from(most).ok());
        let sampling = self.choice.sampling.clone();
        let chosen = self.seat.inbox.switched().unwrap_or_else(|| Switch {
            model: self.choice.model.clone(),
            provider: self.choice.provider.clone(),
            effort: self.choice.effort(),
        });
        let prompt = Prompt {
            system: turn.system.clone(),
            messages,
            tools: Arc::clone(&turn.tools),
            tool_choice,
            model: chosen.model,
            provider: chosen.provider,
            max_tokens: sampling.max_tokens.or_else(|| turn.patience.room(configured)),
            temperature: sampling.temperature,
            extra: sampling.extra,
            effort: chosen.effort,
            deltas: DeltaSink::to(Arc::new(deltas)),
            ..Prompt::default()
        };
        let cx = CallContext {
            // How long a request may take is said where its provider is configured.
            deadline: Instant::now() + CALLER_DEADLINE,
            cancel: turn.cx.cancel.child_token(),
            ..turn.cx.clone()
        };
        let answer = tokio::select! {
            biased;
            () = turn.cx.cancel.cancelled() => {
                Err(ModelError::new(Reason::Cancelled, "interrupted by the user"))
            }
            answer = self.engine.model.ask(&prompt, self.choice.role, &cx) => answer,
        };
        if answer.is_ok() {
            // It is in the reply now.
            turn.streamed.take();
        }
        answer
    }
}

/// Hands deltas on as events.
struct Deltas {
    cx: CallContext,
    session: SessionId,
    request: u32,
    streamed: Arc<Streamed>,
}

impl DeltaSubscriber for Deltas {
    fn take(&self, attempt: u32, delta: &Delta) {
        if let Delta::Text { text } = delta {
            self.streamed.push(attempt, text);
        }
        self.cx.events.emit(|| Event::Delta {
            session: self.session.clone(),
            request: self.request,
            attempt,
            delta: delta.clone(),
        });
    }
}
