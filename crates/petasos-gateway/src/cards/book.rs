//! The cards of all chats: which are open where, and what became of the others.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::SessionId;
use petasos_session::Question;
use petasos_store::Lane;

use super::card_id;

/// So many cards are remembered after they were closed, to say so.
const CLOSED_MAX: usize = 500;

/// A card in a chat.
#[derive(Clone)]
pub(crate) struct Card {
    pub(super) number: u32,
    pub(super) session: SessionId,
    pub(super) lane: Lane,
    /// Where it was asked, whatever the chat is called by now.
    pub(super) asked_in: Lane,
    pub(super) requester: String,
    pub(super) question: Arc<Question>,
    pub(super) opened_ms: i64,
    pub(super) closed: Option<String>,
    /// It is about a turn that no chat began.
    pub(super) routed: bool,
}

/// The cards of all chats.
#[derive(Default)]
pub(crate) struct Cards(Mutex<HashMap<String, Card>>);

impl Cards {
    pub(super) fn open(&self, lane: &Lane) -> Vec<Card> {
        let cards = self.0.lock();
        let own = |card: &&Card| card.closed.is_none() && card.lane == *lane;
        let mut found: Vec<Card> = cards.values().filter(own).cloned().collect();
        found.sort_by_key(|card| card.number);
        found
    }

    /// Whether a card is open in a chat.
    pub(crate) fn is_open_in(&self, lane: &Lane) -> bool {
        !self.open(lane).is_empty()
    }

    /// Whether a card of a session is open.
    pub(crate) fn is_open_for(&self, session: &SessionId) -> bool {
        self.0.lock().values().any(|card| card.closed.is_none() && card.session == *session)
    }

    /// The numbers of the open cards of a chat.
    pub(crate) fn open_numbers(&self, lane: &Lane) -> Vec<u32> {
        self.open(lane).iter().map(|card| card.number).collect()
    }

    pub(super) fn insert(&self, card: Card) {
        let mut cards = self.0.lock();
        if cards.len() > CLOSED_MAX {
            let oldest = cards.iter().filter(|(_, card)| card.closed.is_some());
            let oldest = oldest.min_by_key(|(_, card)| card.opened_ms).map(|(id, _)| id.clone());
            oldest.map(|id| cards.remove(&id));
        }
        cards.insert(card_id(&card.question), card);
    }

    /// A chat has another identity now.
    pub(crate) fn rekey(&self, (platform, account): (&str, &str), from: &str, to: &str) {
        for card in self.0.lock().values_mut() {
            let lane = &mut card.lane;
            if lane.platform == platform && lane.account == account && lane.chat == from {
                to.clone_into(&mut lane.chat);
            }
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<Card> {
        self.0.lock().get(id).cloned()
    }

    pub(super) fn close(&self, id: &str, outcome: &str) -> Option<Card> {
        let mut cards = self.0.lock();
        let card = cards.get_mut(id).filter(|card| card.closed.is_none())?;
        card.closed = Some(outcome.to_owned());
        Some(card.clone())
    }

    /// What became of a card of a chat.
    pub(super) fn outcome(&self, number: u32, lane: &Lane) -> Option<String> {
        let cards = self.0.lock();
        let found = cards.values().find(|card| card.number == number && card.lane == *lane)?;
        found.closed.clone()
    }
}
