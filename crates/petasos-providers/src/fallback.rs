//! Who else can answer: the chain of candidates, how far a turn has walked it, and who rests.
//!
//! A candidate is taken at most once per turn. The next turn starts at the first again, unless
//! that one is cooling down. Cooldowns belong to one endpoint: the same model on another machine,
//! or under another key, is somebody else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use petasos_contract::clock::Clock;
use petasos_contract::model::{Reason, Role};
use petasos_contract::{Secret, SessionId, Settings, TurnId};
use serde_json::{Map, Value};

use crate::failure::Failure;

/// Somebody to ask, before resolution.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wanted {
    /// The provider; none means the configured one.
    pub provider: Option<String>,
    /// The model; none means the configured or default one.
    pub model: Option<String>,
    /// An address of its own.
    pub base_url: Option<String>,
    /// A key of its own.
    pub api_key: Option<Secret>,
    /// The variable that holds its key.
    pub key_env: Option<String>,
    /// The dialect that its entry names.
    pub api_mode: Option<String>,
    /// Merged into every body.
    pub extra_body: Map<String, Value>,
    /// How long one answer may take.
    pub timeout: Option<Duration>,
}

impl Wanted {
    /// One entry of `fallback_providers` or of a task's `fallback_chain`; none when it names no
    /// provider or no model.
    pub fn from_entry(entry: &Value) -> Option<Self> {
        let text = |key: &str| {
            let text = entry.get(key).and_then(Value::as_str).map(str::trim);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        Some(Self {
            provider: Some(text("provider")?),
            model: Some(text("model")?),
            base_url: text("base_url"),
            api_key: text("api_key").map(Secret::new),
            key_env: text("key_env").or_else(|| text("api_key_env")),
            api_mode: text("api_mode"),
            extra_body: Map::new(),
            timeout: entry.get("timeout").and_then(Value::as_f64).and_then(seconds),
        })
    }

    fn is_same_as(&self, other: &Self) -> bool {
        self.provider == other.provider
            && self.model == other.model
            && self.base_url == other.base_url
    }
}

/// A span from a number of seconds.
pub fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok().filter(|span| !span.is_zero())
}

/// The configured chain: `fallback_providers`, then the older `fallback_model`.
pub fn chain(settings: &Settings) -> Vec<Wanted> {
    let mut chain = Vec::new();
    for key in ["fallback_providers", "fallback_model"] {
        let entries = match settings.get(key) {
            Some(Value::Array(entries)) => entries.as_slice(),
            Some(entry @ Value::Object(_)) => std::slice::from_ref(entry),
            _ => &[],
        };
        add(&mut chain, entries.iter().filter_map(Wanted::from_entry));
    }
    chain
}

/// Adds the candidates that are not there yet.
pub fn add(chain: &mut Vec<Wanted>, entries: impl IntoIterator<Item = Wanted>) {
    for entry in entries {
        if !chain.iter().any(|known| known.is_same_as(&entry)) {
            chain.push(entry);
        }
    }
}

/// One model at one address under one credential.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The provider.
    pub provider: String,
    /// Its address: every endpoint of the user's own has the same provider.
    pub address: String,
    /// A fingerprint of the credential; empty without one.
    pub credential: String,
    /// The model.
    pub model: String,
}

/// Who rests until when.
#[derive(Debug)]
pub struct Cooldowns {
    until: Mutex<HashMap<Endpoint, Instant>>,
    clock: Arc<dyn Clock>,
}

/// After a rate limit or an unpaid bill, when the provider names no time.
const REST: Duration = Duration::from_mins(1);
/// The longest rest that a provider's wish can cause.
const REST_MAX: Duration = Duration::from_hours(1);

impl Cooldowns {
    /// Nobody rests.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { until: Mutex::new(HashMap::new()), clock }
    }

    /// Lets an endpoint rest after a failure that resting can cure.
    pub fn rest(&self, who: Endpoint, failure: &Failure) {
        let cures = matches!(failure.reason, Reason::RateLimit | Reason::Billing);
        if !cures {
            return;
        }
        let span = failure.retry_after.map_or(REST, |wish| wish.clamp(REST, REST_MAX));
        let now = self.clock.now();
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        until.retain(|_, end| *end > now);
        until.insert(who, now + span);
    }

    /// How much longer an endpoint rests.
    pub fn left(&self, who: &Endpoint) -> Option<Duration> {
        let until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.get(who)?.checked_duration_since(self.clock.now())?;
        Some(left).filter(|left| !left.is_zero())
    }

    /// Ends every rest, for `petasos auth reset`.
    pub fn clear(&self) {
        self.until.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// How far each conversation has walked its chain in the current turn, and what it met there.
#[derive(Debug, Default)]
pub struct Turns(Mutex<HashMap<(SessionId, Role), Progress>>);

#[derive(Debug, Clone, Default)]
struct Progress {
    turn: Option<TurnId>,
    at: usize,
    empty: u32,
    broken: u32,
}

/// A reply that is none, or only a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// It was empty.
    Empty,
    /// Its stream broke off after some text.
    Broken,
}

/// Conversations remembered; older ones start at the first candidate, which is always right.
const TURNS_MAX: usize = 4_096;

impl Turns {
    /// The candidate that the turn is at.
    pub fn at(&self, session: &SessionId, role: Role, turn: &TurnId) -> usize {
        let turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = turns.get(&(session.clone(), role));
        known.filter(|known| known.turn.as_ref() == Some(turn)).map_or(0, |known| known.at)
    }

    /// Remembers the candidate that the turn is at.
    pub fn move_to(&self, session: &SessionId, role: Role, turn: &TurnId, at: usize) {
        self.with(session, role, turn, |progress| {
            *progress = Progress { turn: progress.turn.take(), at, empty: 0, broken: 0 };
        });
    }

    /// Counts a mishap at the turn's candidate; gives how many of its kind there were.
    pub fn count(&self, session: &SessionId, role: Role, turn: &TurnId, mishap: Mishap) -> u32 {
        self.with(session, role, turn, |progress| {
            let count = match mishap {
                Mishap::Empty => &mut progress.empty,
                Mishap::Broken => &mut progress.broken,
            };
            *count = count.saturating_add(1);
            *count
        })
    }

    fn with<T>(
        &self,
        session: &SessionId,
        role: Role,
        turn: &TurnId,
        change: impl FnOnce(&mut Progress) -> T,
    ) -> T {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.len() >= TURNS_MAX {
            turns.clear();
        }
        let progress = turns.entry((session.clone(), role)).or_default();
        if progress.turn.as_ref() != Some(turn) {
            *progress = Progress { turn: Some(turn.clone()), ..Progress::default() };
        }
        change(progress)
    }
}

#[cfg(test)]
mod tests {
    use petasos_contract::clock::ManualClock;
    use serde_json::json;

    use super::*;

    fn settings(values: &Value) -> Settings {
        Settings::from_values(values.as_object().cloned().unwrap())
    }

    #[test]
    fn the_chain_drops_what_is_incomplete_or_repeated_and_takes_the_older_key() {
        let named = |chain: Vec<Wanted>| -> Vec<String> {
            chain.into_iter().filter_map(|entry| entry.model).collect()
        };
        let both = settings(&json!({
            "fallback_providers": [{"provider": "a", "model": "m"}, {"provider": "a", "model": "m"},
                {"provider": "b"}, {"model": "x"}, {"provider": " ", "model": "y"}],
            "fallback_model": {"provider": "c", "model": "n", "base_url": "http://127.0.0.1/v1"}}));
        assert_eq!(named(chain(&both)), ["m", "n"]);
        assert_eq!(named(chain(&settings(&json!({})))), [""; 0]);
    }

    #[test]
    fn a_rest_belongs_to_one_endpoint_and_ends() {
        let clock = Arc::new(ManualClock::new());
        let cooldowns = Cooldowns::new(clock.clone());
        let at = |address: &str, credential: &str| Endpoint {
            provider: "custom".to_owned(),
            address: address.to_owned(),
            credential: credential.to_owned(),
            model: "m".to_owned(),
        };
        let who = |credential: &str| at("http://a.test/v1", credential);
        cooldowns.rest(who("one"), &Failure::new(Reason::RateLimit, ""));
        cooldowns.rest(who("two"), &Failure::new(Reason::Timeout, ""));
        assert!(cooldowns.left(&who("one")).is_some());
        assert!(cooldowns.left(&who("two")).is_none());
        assert!(cooldowns.left(&at("http://b.test/v1", "one")).is_none());
        clock.advance(Duration::from_secs(61));
        assert!(cooldowns.left(&who("one")).is_none());
    }

    #[test]
    fn a_new_turn_starts_at_the_first_candidate() {
        let (turns, session) = (Turns::default(), SessionId::from("s"));
        let (one, two) = (TurnId::from("1"), TurnId::from("2"));
        turns.move_to(&session, Role::Main, &one, 2);
        assert_eq!(turns.at(&session, Role::Main, &one), 2);
        assert_eq!(turns.at(&session, Role::Vision, &one), 0);
        assert_eq!(turns.at(&session, Role::Main, &two), 0);
    }
}
