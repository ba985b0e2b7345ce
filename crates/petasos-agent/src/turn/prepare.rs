//! The beginning of a turn: what was said is stored, then tools as they are now and the prompt.

use std::collections::BTreeSet;
use std::sync::Arc;

use petasos_contract::context::{CheckContext, Grant, Principal};
use petasos_contract::message::{Content, Message, Part};
use petasos_contract::model::{Definition, Role};
use petasos_contract::reply::Usage;
use petasos_contract::{CallContext, ToolName, TurnId};
use petasos_runtime::definitions::Wanted;
use petasos_runtime::search::is_bridge;
use petasos_store::Stored;
use serde_json::Value;

use super::{Input, Turn};
use crate::agent::{Agent, TurnError};
use crate::budget::Budget;
use crate::misbehaviour::Patience;
use crate::steer;

/// A request that failed stays in the conversation and is sent together with the next message: the
/// model is told that these are two, and that nothing came of the first.
const UNANSWERED: &str = "[The message above got no reply, because the request failed. What follows \
                          is the user's next message.]";

impl Agent {
    /// A turn that knows who it is, before anything has happened in it.
    pub(super) fn new_turn(&mut self, named: Option<TurnId>, cx: &CallContext) -> Turn {
        self.turns += 1;
        let session = self.session().clone();
        let number = self.transcript.rows().len() as u64 + self.turns;
        let id = named.unwrap_or_else(|| TurnId::new(format!("{session}-{number}")));
        let mut cx = CallContext {
            session,
            turn: id.clone(),
            seat: Some(Arc::clone(&self.seat) as _),
            words: self.heard_so_far(cx),
            events: crate::watch::tee(&cx.events, &self.engine.watchers),
            ..cx.clone()
        };
        if self.choice.role == Role::Subagent {
            cx.principal = Principal::Subagent;
        }
        let budget = match (self.choice.requests_max, self.choice.role) {
            (Some(most), _) => Budget::hard(most),
            (None, Role::Subagent) => Budget::subagent(&cx.settings),
            (None, _) => Budget::main(&cx.settings),
        };
        Turn {
            id,
            cx,
            system: String::new(),
            tools: Arc::new([]),
            granted: BTreeSet::new(),
            budget,
            patience: Patience::default(),
            requests: 0,
            shortened: 0,
            nudge: None,
            verified: 0,
            usage: Usage::default(),
            cost_usd: 0.0,
            cut_off: false,
            ran: Vec::new(),
            earlier: String::new(),
            parts: String::new(),
            streamed: Arc::default(),
            waiting: None,
        }
    }

    /// What somebody says is stored before anything else happens. What waited in the inbox goes
    /// along; it waits on when the store fails.
    pub(super) async fn open(&mut self, input: Input, turn: &Turn) -> Result<(), TurnError> {
        let words = self.seat.inbox.drain();
        let mut context: Vec<String> = Vec::new();
        context.extend(self.is_unanswered().then(|| UNANSWERED.to_owned()));
        context.extend(words.iter().map(steer::Word::text));
        context.extend(input.context);
        let mut said = input.content;
        self.note_said(&said.text(), &turn.cx);
        let sent = match &mut said {
            _ if context.is_empty() => None,
            Content::Text(text) => {
                context.push(text.clone());
                Some(context.join("\n\n"))
            }
            // What is sent beside images cannot differ from what is stored.
            Content::Parts(parts) => {
                parts.insert(0, Part::Text { text: context.join("\n\n") });
                None
            }
        };
        let message = Message::User { content: said };
        let stored = Stored { sent, turn: Some(turn.id.clone()), ..Stored::new(message) };
        let added = self.transcript.add(vec![stored]).await;
        if added.is_err() {
            self.seat.inbox.restore(words);
        }
        Ok(added?)
    }

    /// Whether the last thing in the conversation is a message that nobody replied to.
    fn is_unanswered(&self) -> bool {
        let last = self.transcript.rows().last();
        last.is_some_and(|row| {
            let summary = row.stored.note.as_deref() == Some("summary");
            matches!(row.stored.message, Message::User { .. }) && !summary
        })
    }

    /// The surroundings of a turn: tools as they are at its beginning, and the prompt.
    pub(super) async fn prepare(&mut self, turn: &mut Turn) -> Result<(), TurnError> {
        let window = self.measure(&turn.cx).await;
        let cx = &mut turn.cx;
        cx.window = Some(window);
        let wanted = Wanted {
            selection: self.choice.selection.clone(),
            context_tokens: u32::try_from(window).ok(),
            whole: false,
        };
        let check = CheckContext {
            surface: self.choice.surface,
            attended: cx.attended,
            session: cx.origin().clone(),
            settings: Arc::clone(&cx.settings),
            ports: Arc::clone(&self.engine.ports),
        };
        let defined = self.engine.catalogue.define(&wanted, &check).await;
        let allowed = |name: &ToolName| cx.grant.allows(name.as_str()) || is_bridge(name.as_str());
        let granted: BTreeSet<ToolName> = defined.granted().into_iter().filter(allowed).collect();
        let shown = defined.tools.iter().filter(|tool| allowed(&tool.name));
        turn.tools = shown.map(definition).collect();
        cx.grant = Arc::new(cx.grant.intersect(&Grant::Only(granted.clone())));
        turn.granted = granted;
        turn.system = self.system_prompt(cx).await?;
        if self.turns == 1 {
            self.recall_shortened().await?;
        }
        self.seat.delegation.revive(&self.seat, cx).await;
        Ok(())
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
