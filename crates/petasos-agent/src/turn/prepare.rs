//! The beginning of a turn: tools as they are now, the seat, the budget, the prompt.

use std::collections::BTreeSet;
use std::sync::Arc;

use petasos_contract::context::{CheckContext, Grant, Principal};
use petasos_contract::model::{Definition, Role};
use petasos_contract::reply::Usage;
use petasos_contract::{CallContext, ToolName, TurnId};
use petasos_runtime::definitions::Wanted;
use petasos_runtime::search::is_bridge;
use serde_json::Value;

use super::Turn;
use crate::agent::{Agent, TurnError};
use crate::budget::Budget;
use crate::misbehaviour::Patience;

impl Agent {
    /// The surroundings of a turn: tools as they are at its beginning, the seat, the budget.
    pub(super) async fn prepare(&mut self, cx: &CallContext) -> Result<Turn, TurnError> {
        self.turns += 1;
        let session = self.session().clone();
        let number = self.transcript.rows().len() as u64 + self.turns;
        let id = TurnId::new(format!("{session}-{number}"));
        let mut cx = CallContext {
            session: session.clone(),
            turn: id.clone(),
            seat: Some(Arc::clone(&self.seat) as _),
            events: crate::watch::tee(&cx.events, &self.engine.watchers),
            ..cx.clone()
        };
        if self.choice.role == Role::Subagent {
            cx.principal = Principal::Subagent;
        }
        let wanted = Wanted {
            selection: self.choice.selection.clone(),
            context_tokens: u32::try_from(self.choice.window()).ok(),
            whole: false,
        };
        let check = CheckContext {
            surface: self.choice.surface,
            attended: cx.attended,
            session,
            settings: Arc::clone(&cx.settings),
            ports: Arc::clone(&self.engine.ports),
        };
        let defined = self.engine.catalogue.define(&wanted, &check).await;
        let allowed = |name: &ToolName| cx.grant.allows(name.as_str()) || is_bridge(name.as_str());
        let granted: BTreeSet<ToolName> = defined.granted().into_iter().filter(allowed).collect();
        let shown = defined.tools.iter().filter(|tool| allowed(&tool.name));
        let tools: Arc<[Definition]> = shown.map(definition).collect();
        cx.grant = Arc::new(cx.grant.intersect(&Grant::Only(granted.clone())));
        let system = self.system_prompt(&cx).await?;
        self.seat.delegation.revive(&self.seat, &cx);
        let budget = match (self.choice.requests_max, self.choice.role) {
            (Some(most), _) => Budget::of(most),
            (None, Role::Subagent) => Budget::subagent(&cx.settings),
            (None, _) => Budget::main(&cx.settings),
        };
        Ok(Turn {
            id,
            cx,
            system,
            tools,
            granted,
            budget,
            patience: Patience::default(),
            requests: 0,
            shortened: 0,
            nudge: None,
            verified: 0,
            usage: Usage::default(),
            cost_usd: 0.0,
            ran: Vec::new(),
            earlier: String::new(),
            parts: String::new(),
        })
    }
}

fn definition(tool: &petasos_runtime::definitions::Definition) -> Definition {
    let description = tool.function.get("description").and_then(Value::as_str);
    Definition {
        name: tool.name.clone(),
        description: description.unwrap_or_default().to_owned(),
        parameters: tool.function.get("parameters").cloned().unwrap_or(Value::Null),
    }
}
