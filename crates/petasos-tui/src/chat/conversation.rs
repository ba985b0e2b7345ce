//! The conversation of a chat: begun with the first message, taken up again, branched, left.

use std::sync::Arc;

use petasos_agent::Agent;
use petasos_contract::SessionId;
use petasos_contract::message::Message;
use petasos_contract::store::{Amend, SessionHead, StoreError};

use super::{Chat, ChatError};
use crate::line::{Colour, Line, Style};
use crate::view;

/// How much of a first message becomes a title.
const TITLE_CHARS: usize = 60;

impl Chat {
    /// The conversation, for commands: not while a turn runs.
    pub(crate) fn quiet(&mut self) -> Result<Option<&mut Agent>, String> {
        if self.working.is_some() {
            return Err("the agent works: /stop it first, or wait".to_owned());
        }
        Ok(self.agent.as_mut())
    }

    /// The conversation that must be there.
    pub(crate) fn begun(&mut self) -> Result<&mut Agent, String> {
        self.quiet()?.ok_or_else(|| "nothing has been said yet".to_owned())
    }

    /// What the store knows about the conversation.
    pub(crate) async fn head(&self) -> Result<Option<SessionHead>, String> {
        let Some(agent) = &self.agent else { return Ok(None) };
        let head = self.engine.store.find(agent.session().as_str()).await;
        head.map(Some).map_err(|error| error.to_string())
    }

    /// Begins the conversation if there is none.
    pub(super) async fn ensure_agent(&mut self) -> Result<Agent, ChatError> {
        if let Some(agent) = self.agent.take() {
            return Ok(agent);
        }
        let agent = Agent::begin(Arc::clone(&self.engine), self.choice.clone()).await?;
        if let Some(old) = self.left.take() {
            let cx = self.backstage.context(agent.session());
            agent.entered("new_session", &old, &cx).await;
        }
        Ok(agent)
    }

    /// The conversation is left, perhaps for another: hooks hear of it.
    pub(crate) async fn leave(&mut self, reason: &str, new: Option<&SessionId>) {
        let Some(agent) = &self.agent else { return };
        let cx = self.backstage.context(agent.session());
        agent.leave(reason, new, &cx).await;
    }

    /// A conversation that has no title is called by its first words.
    pub(super) async fn suggest_title(
        &self,
        agent: &Agent,
        message: &str,
    ) -> Result<(), StoreError> {
        if !agent.transcript().rows().is_empty() {
            return Ok(());
        }
        let line = message.lines().next().unwrap_or_default();
        let title: String = line.chars().take(TITLE_CHARS).collect();
        if !title.trim().is_empty() {
            agent.transcript().amend(Amend::SuggestTitle(title.trim().to_owned())).await?;
        }
        Ok(())
    }

    /// Goes on with another conversation, and shows where it stood.
    pub(crate) async fn adopt(&mut self, session: &SessionId) -> Result<(), ChatError> {
        let resumed = Agent::resume(Arc::clone(&self.engine), self.choice.clone(), session).await?;
        let (agent, repairs) = resumed;
        for repair in repairs {
            self.complain(&format!("repaired: {repair}"));
        }
        self.leave("session_boundary", Some(session)).await;
        self.left = None;
        self.agent = Some(agent);
        self.recap();
        Ok(())
    }

    /// The last exchange, so that one knows where one is.
    fn recap(&mut self) {
        let Some(agent) = &self.agent else { return };
        let rows = agent.transcript().rows();
        let count = rows.len();
        let name = agent.session().clone();
        let last = rows.iter().rposition(|row| matches!(row.stored.message, Message::User { .. }));
        let canvas = self.screen.canvas();
        let mut lines =
            vec![Line::of(Style::FAINT, &format!("── {name}, {count} messages so far ──"))];
        for row in rows.iter().skip(last.unwrap_or(count)) {
            match &row.stored.message {
                Message::User { content } => lines.extend(quoted(&content.text(), canvas.columns)),
                Message::Assistant(said) if !said.text().is_empty() => {
                    lines.extend(view::page(said.text(), canvas));
                }
                _ => {}
            }
        }
        lines.push(Line::new());
        self.put(&lines);
    }

    /// The next message begins a new conversation.
    pub(crate) async fn forget(&mut self) {
        self.leave("new_session", None).await;
        if let Some(agent) = self.agent.take() {
            self.left = Some(agent.session().clone());
        }
        self.context.clear();
    }
}

/// The person's own words.
pub(crate) fn quoted(text: &str, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for (at, part) in text.lines().enumerate() {
        for (row, wrapped) in
            Line::of(Style::BOLD, part).wrapped(columns.saturating_sub(2)).into_iter().enumerate()
        {
            let sign = if at == 0 && row == 0 { "❯ " } else { "  " };
            let mut line = Line::of(Style::of(Colour::Cyan), sign);
            line.extend(&wrapped);
            lines.push(line);
        }
    }
    lines
}
