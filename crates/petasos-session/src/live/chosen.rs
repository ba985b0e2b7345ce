//! What a person chose for this conversation: it is stored with it, and holds again after a resume.

use petasos_agent::engine::Choice;
use petasos_contract::SessionId;
use petasos_contract::context::{Phase, Surface};
use petasos_store::{Amend, Chosen, SessionScope, SessionStore, StoreError};

use super::LiveSession;

impl LiveSession {
    /// What is remembered of a conversation that begins here; nothing when all is as configured.
    pub(super) fn chosen(&self) -> Option<Chosen> {
        let Choice { toolsets, model, provider, .. } = self.once.as_ref().unwrap_or(&self.choice);
        let (toolsets, model) = (toolsets.clone(), model.clone());
        let chosen = Chosen { toolsets, model, provider: provider.clone() };
        (is_at_hand(&self.choice) && chosen != Chosen::default()).then_some(chosen)
    }

    /// Something else was chosen in the conversation.
    pub(crate) async fn remember_choice(&self) -> Result<(), String> {
        if !is_at_hand(&self.choice) {
            return Ok(());
        }
        let chosen = Amend::Chosen(self.chosen().unwrap_or_default());
        match self.engine().store.amend(self.id(), chosen).await {
            // One that has not begun is stored with its first message.
            Ok(_) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// How a stored conversation goes on: with what was chosen in it, unless something else is asked for
/// now; one that only planned goes on planning, and one that is asked to plan from here on is
/// remembered so.
pub(crate) async fn recall(
    store: &dyn SessionStore,
    session: &SessionId,
    choice: &mut Choice,
) -> Result<(), StoreError> {
    let head = match store.find(session.as_str(), &SessionScope::Everyone).await {
        Ok(head) => head,
        // Whoever resumes it says so better.
        Err(StoreError::NotFound { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    if choice.phase == Phase::Plan && !head.planning {
        store.amend(session, Amend::Planning(true)).await?;
    }
    if head.planning {
        choice.phase = Phase::Plan;
    }
    if !is_at_hand(choice) {
        return Ok(());
    }
    let Chosen { toolsets, model, provider } = head.chosen;
    if choice.toolsets.is_none() && toolsets.is_some() {
        choice.selection.enabled.clone_from(&toolsets);
        choice.toolsets = toolsets;
    }
    if choice.model.is_none() && choice.provider.is_none() {
        (choice.model, choice.provider) = (model, provider);
    }
    Ok(())
}

/// What was chosen elsewhere holds no longer where a conversation has a choice of its own.
pub(crate) async fn give_way(store: &dyn SessionStore, session: &SessionId, choice: &mut Choice) {
    let Ok(head) = store.find(session.as_str(), &SessionScope::Everyone).await else { return };
    let own = head.chosen;
    if own.toolsets.is_some() {
        choice.toolsets = None;
    }
    if own.model.is_some() || own.provider.is_some() {
        (choice.model, choice.provider) = (None, None);
    }
}

/// Whether the person of the machine chooses. Elsewhere the place says which tools there are, and a
/// conversation must not bring others along.
fn is_at_hand(choice: &Choice) -> bool {
    matches!(choice.surface, Surface::Cli | Surface::OneShot)
}
