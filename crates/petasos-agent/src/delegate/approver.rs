//! Who answers a subagent's questions: the person of the conversation it works for where an editor
//! shows its calls, and nobody elsewhere.

use std::sync::Arc;

use petasos_contract::approval::{Answer, ApprovalRequest, Approver, Scope, Who};
use petasos_contract::context::{Principal, Surface};
use petasos_contract::{BoxFuture, CallContext, CallId, SessionId};
use serde_json::Value;

/// Answers for subagents, who have nobody to ask but in an editor: no, or yes once where that is
/// configured. Everybody else's questions go to the approver inside.
pub struct ForSubagents {
    inside: Arc<dyn Approver>,
}

impl ForSubagents {
    /// Around whoever answers for the main agent.
    pub fn new(inside: Arc<dyn Approver>) -> Self {
        Self { inside }
    }
}

impl Approver for ForSubagents {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        if cx.principal != Principal::Subagent {
            return self.inside.ask(request, cx);
        }
        let key = "delegation.subagent_auto_approve";
        let by = Who::Rule(key.to_owned());
        let answer = if cx.settings.get(key) == Some(&Value::Bool(true)) {
            Answer::Allowed { scope: Scope::Once, by }
        } else if let Some(above) = above(cx) {
            return Box::pin(async move { self.inside.ask(request, &above).await });
        } else {
            let comment = Some("subagents cannot ask: report it to the agent above".to_owned());
            Answer::Denied { by, comment }
        };
        Box::pin(std::future::ready(answer))
    }
}

/// The conversation that a subagent of an editor works for: its question is put there.
fn above(cx: &CallContext) -> Option<CallContext> {
    let root = cx.root.clone().filter(|_| cx.surface == Surface::Acp && cx.attended)?;
    let call = call_above(&cx.session, &cx.call);
    Some(CallContext { session: root, call, principal: Principal::Model, depth: 0, ..cx.clone() })
}

/// The name of a subagent's call in the conversation that it works for: models name calls as they
/// like, and two subagents may use one name at a time.
pub fn call_above(child: &SessionId, call: &CallId) -> CallId {
    CallId::new(format!("{child}/{call}"))
}

impl std::fmt::Debug for ForSubagents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ForSubagents")
    }
}
