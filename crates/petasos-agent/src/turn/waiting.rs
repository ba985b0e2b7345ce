//! A turn that was cut off while calls of it waited for a person: it goes on with those calls. They
//! come through the door again, so they are judged as things are now; a question that was put
//! before, word for word, is the same question.

use std::time::Instant;

use petasos_contract::CallContext;
use petasos_contract::reply::Usage;
use petasos_store::WaitingCalls;

use crate::agent::{Agent, Outcome, TurnEnd, TurnError};

impl Agent {
    /// Whether calls of the last reply wait for a person since an earlier process.
    pub fn is_waiting(&self) -> bool {
        self.transcript.waiting().is_some()
    }

    /// Goes on with a turn that was cut off while it waited for a person. Ends within a second of
    /// the context's cancellation.
    pub async fn go_on(&mut self, cx: &CallContext) -> Result<TurnEnd, TurnError> {
        Box::pin(async {
            let started = Instant::now();
            let _lease = self.lease_with("a turn", WaitingCalls::Keep, cx).await?;
            let Some((said, id)) = self.transcript.waiting() else {
                // Somebody else has closed it meanwhile.
                return Ok(nothing());
            };
            let mut turn = self.new_turn(id, cx);
            turn.waiting = Some(said);
            Box::pin(self.whole_turn(turn, String::new(), started)).await
        })
        .await
    }
}

fn nothing() -> TurnEnd {
    TurnEnd {
        outcome: Outcome::Replied,
        text: String::new(),
        requests: 0,
        tools: Vec::new(),
        usage: Usage::default(),
        cost_usd: 0.0,
        cut_off: false,
    }
}
