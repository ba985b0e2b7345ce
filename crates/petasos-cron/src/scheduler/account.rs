//! The plain endings of an occurrence.

use petasos_store::{DeliveryWish, OccurrenceState};
use serde_json::{Map, Value};

use super::Ended;

impl Ended {
    /// Ended like this, with a reason and nothing to send.
    pub fn plain(state: OccurrenceState, why: &str) -> Self {
        let mut detail = Map::new();
        if !why.is_empty() {
            detail.insert("error".to_owned(), Value::from(why));
        }
        Self { state, wish: DeliveryWish::None, deliveries: Vec::new(), detail, hold: None }
    }

    /// Ended before anything was called.
    pub fn interrupted(why: &str) -> Self {
        Self::plain(OccurrenceState::Interrupted, why)
    }

    /// Not run at all.
    pub fn skipped(why: &str) -> Self {
        Self::plain(OccurrenceState::Skipped, why)
    }
}
