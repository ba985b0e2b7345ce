//! Who answers a subagent's questions: never the person of the conversation it works for.

use std::sync::Arc;

use petasos_contract::approval::{Answer, ApprovalRequest, Approver, Scope, Who};
use petasos_contract::context::Principal;
use petasos_contract::{BoxFuture, CallContext};
use serde_json::Value;

/// Answers for subagents, who have nobody to ask: no, or yes once where that is configured.
/// Everybody else's questions go to the approver inside.
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
        } else {
            let comment = Some("subagents cannot ask: report it to the agent above".to_owned());
            Answer::Denied { by, comment }
        };
        Box::pin(std::future::ready(answer))
    }
}

impl std::fmt::Debug for ForSubagents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ForSubagents")
    }
}
