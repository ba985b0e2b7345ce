//! Approval through the client's own user, by elicitation; without it the policy's word stands.

use std::collections::HashMap;
use std::fmt;
use std::fmt::Write as _;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::approval::{Answer, ApprovalRequest, Approver, Scope, Who};
use petasos_contract::{BoxFuture, CallContext, TurnId};
use serde_json::{Value, json};

use super::caller::{AskError, Asked, Caller};

/// How long a person may think, as over chat.
const THINKING: Duration = Duration::from_mins(5);

/// Asks the user of whichever client made the call.
#[derive(Default)]
pub struct ByElicitation {
    /// By the turn of their request: one of several at once is asked about its own calls only.
    callers: Mutex<HashMap<TurnId, Caller>>,
}

/// A caller that can be asked, for as long as this is held.
pub(super) struct Attached<'a> {
    approver: &'a ByElicitation,
    turn: TurnId,
}

impl ByElicitation {
    /// Nobody is connected yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on questions of this turn go to the caller.
    pub(super) fn attach(&self, turn: TurnId, caller: &Caller) -> Attached<'_> {
        self.callers.lock().insert(turn.clone(), caller.clone());
        Attached { approver: self, turn }
    }

    fn caller(&self, turn: &TurnId) -> Option<Caller> {
        self.callers.lock().get(turn).cloned()
    }
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        self.approver.callers.lock().remove(&self.turn);
    }
}

impl Approver for ByElicitation {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let Some(caller) = self.caller(&cx.turn) else {
                return Answer::Undeliverable { reason: "no MCP client is connected".to_owned() };
            };
            let seconds = cx.settings.get("approvals.gateway_timeout").and_then(Value::as_u64);
            let within = seconds.map_or(THINKING, Duration::from_secs);
            match caller.ask(&question(request), form(request.widest), within).await {
                Ok(Asked::Accepted(filled)) => decision(&filled, request.widest),
                Ok(Asked::Declined) => denied(None),
                Ok(Asked::Dismissed) => denied(Some("the question was closed")),
                Err(AskError::Late) => Answer::Expired { after: within },
                Err(error) => Answer::Undeliverable { reason: error.to_string() },
            }
        })
    }
}

fn denied(comment: Option<&str>) -> Answer {
    Answer::Denied { by: Who::Person(None), comment: comment.map(str::to_owned) }
}

fn question(request: &ApprovalRequest) -> String {
    let mut text = format!("`{}` wants to do this:\n\n{}\n", request.tool, request.subject);
    // Writing to a string cannot fail.
    if let Some(cwd) = &request.cwd {
        write!(text, "\nin {}\n", cwd.display()).unwrap_or_default();
    }
    for finding in &request.findings {
        write!(text, "\n- {}: {}", finding.key, finding.why).unwrap_or_default();
        if let Some(stores) = finding.stores.as_ref().filter(|_| request.widest > Scope::Once) {
            write!(text, " (longer than once: {stores})").unwrap_or_default();
        }
    }
    text
}

/// The choices that the findings permit; none of them is taken unless it is chosen.
fn form(widest: Scope) -> Value {
    let mut choices = vec![("once", "Allow once")];
    if widest >= Scope::Session {
        choices.push(("session", "Allow in this session"));
    }
    if widest >= Scope::Always {
        choices.push(("always", "Allow from now on"));
    }
    choices.push(("deny", "Deny"));
    let (values, names): (Vec<_>, Vec<_>) = choices.into_iter().unzip();
    json!({
        "type": "object",
        "properties": {
            "decision": {
                "type": "string", "title": "Decision", "enum": values, "enumNames": names,
            },
        },
        "required": ["decision"],
    })
}

/// Accepting without choosing is a yes for this once; a wider one than was offered is cut.
fn decision(filled: &Value, widest: Scope) -> Answer {
    let scope = match filled.get("decision").and_then(Value::as_str) {
        None | Some("once") => Scope::Once,
        Some("session") => Scope::Session.min(widest),
        Some("always") => Scope::Always.min(widest),
        Some(_) => return denied(None),
    };
    Answer::Allowed { scope, by: Who::Person(None) }
}

impl fmt::Debug for ByElicitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ByElicitation(connected: {})", self.callers.lock().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_never_reaches_further_than_the_findings_permit() {
        let said = |word: &str| json!({ "decision": word });
        let allowed = |scope| Answer::Allowed { scope, by: Who::Person(None) };
        assert_eq!(decision(&json!({}), Scope::Always), allowed(Scope::Once));
        assert_eq!(decision(&said("always"), Scope::Once), allowed(Scope::Once));
        assert_eq!(decision(&said("session"), Scope::Always), allowed(Scope::Session));
        assert_eq!(decision(&said("deny"), Scope::Always), denied(None));
        assert_eq!(decision(&said("anything"), Scope::Always), denied(None));
    }
}
