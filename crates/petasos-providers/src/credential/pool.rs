//! Several keys for one provider: which one is next, and what a failure does to it.
//!
//! Pure over entries; [`crate::credential::store`] keeps them. Entries borrowed from variables or
//! other programs' files hold no secret at rest, only a fingerprint.

use petasos_contract::{Secret, Settings};
use serde_json::{Map, Value, json};

use crate::credential::login::{Login, RefreshToken, moment};
use crate::credential::usable::usable;
use crate::runtime::{BaseUrl, Expiry};

/// The source of entries whose secret the operating system's keyring keeps.
pub const KEYRING: &str = "keyring";

/// How an entry did last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It works, as far as we know.
    Ok,
    /// It has no quota until a time.
    Exhausted,
    /// It will never work again.
    Dead,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Exhausted => "exhausted",
            Self::Dead => "dead",
        }
    }
}

/// One key of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Six hexadecimal digits.
    pub id: String,
    /// For people.
    pub label: String,
    /// Whether the secret is an access token of a login.
    pub oauth: bool,
    /// Lower goes first.
    pub priority: i64,
    /// Where the secret came from.
    pub source: String,
    /// The secret; none for borrowed entries.
    pub secret: Option<Secret>,
    /// What renews it.
    pub refresh: Option<RefreshToken>,
    /// How it did last.
    pub status: Status,
    /// When it may be tried again.
    pub reset_at_ms: Option<u64>,
    /// When its token ends.
    pub expires_at_ms: Option<u64>,
    /// How often it was used.
    pub request_count: u64,
    /// An endpoint of its own.
    pub base_url: Option<String>,
}

impl Entry {
    /// Reads an entry; one without an id is nothing.
    pub fn from_value(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let secret =
            |name: &str| text(name).and_then(|text| usable(text).ok()).map(|good| good.secret);
        let time = |name: &str| value.get(name).and_then(moment);
        Some(Self {
            id: text("id")?.to_owned(),
            label: text("label").unwrap_or_default().to_owned(),
            oauth: text("auth_type") == Some("oauth"),
            priority: value.get("priority").and_then(Value::as_i64).unwrap_or(0),
            source: text("source").unwrap_or("manual").to_owned(),
            secret: secret("access_token").or_else(|| secret("agent_key")),
            refresh: secret("refresh_token").map(RefreshToken::from),
            status: match text("last_status") {
                Some("exhausted") => Status::Exhausted,
                Some("dead") => Status::Dead,
                _ => Status::Ok,
            },
            reset_at_ms: time("last_error_reset_at"),
            expires_at_ms: time("expires_at_ms").or_else(|| time("expires_at")),
            request_count: value.get("request_count").and_then(Value::as_u64).unwrap_or(0),
            base_url: text("inference_base_url").or_else(|| text("base_url")).map(str::to_owned),
        })
    }

    /// Writes the entry over the object it came from; secrets of borrowed entries stay out.
    pub fn write_into(&self, target: &mut Map<String, Value>) {
        let mut put = |name: &str, value: Value| target.insert(name.to_owned(), value);
        put("id", json!(self.id));
        put("label", json!(self.label));
        put("auth_type", json!(if self.oauth { "oauth" } else { "api_key" }));
        put("priority", json!(self.priority));
        put("source", json!(self.source));
        put("last_status", json!(self.status.name()));
        put("request_count", json!(self.request_count));
        put("last_error_reset_at", json!(self.reset_at_ms));
        if let Some(at) = self.expires_at_ms {
            put("expires_at_ms", json!(at));
        }
        if let Some(url) = &self.base_url {
            put("base_url", json!(url));
        }
        let Some(secret) = &self.secret else { return };
        if self.is_owned() {
            put("access_token", json!(secret.expose()));
            if let Some(refresh) = &self.refresh {
                put("refresh_token", json!(refresh.expose()));
            }
        } else {
            put("secret_fingerprint", json!(crate::credential::usable::fingerprint(secret)));
        }
    }

    /// The endpoint that was kept with it: encrypted, or on this machine.
    pub fn own_endpoint(&self) -> Option<BaseUrl> {
        let url = BaseUrl::parse(self.base_url.as_deref()?).ok()?;
        let is_safe = url.origin().is_some_and(|at| at.is_encrypted() || at.is_loopback());
        is_safe.then_some(url)
    }

    /// Its tokens as a login.
    pub fn into_login(self) -> Login {
        let dead = (self.status == Status::Dead).then(|| "the entry was revoked".to_owned());
        Login {
            access: self.secret,
            refresh: self.refresh,
            expires_at_ms: self.expires_at_ms,
            dead,
            base_url: self.base_url,
            ..Login::default()
        }
    }

    /// Takes over the tokens of a login.
    pub fn take_login(&mut self, login: &Login) {
        self.secret.clone_from(&login.access);
        self.refresh.clone_from(&login.refresh);
        self.expires_at_ms = login.expires_at_ms;
        self.status = if login.dead.is_some() { Status::Dead } else { Status::Ok };
        self.reset_at_ms = None;
    }

    /// Whether the secret is ours to keep. Anything unknown is somebody else's.
    pub fn is_owned(&self) -> bool {
        let source = self.source.as_str();
        source.starts_with("manual") || matches!(source, "hermes_pkce" | "oauth" | "device_code")
    }

    /// Whether the operating system's keyring keeps the secret.
    pub fn is_in_keyring(&self) -> bool {
        self.source == KEYRING
    }

    /// When its token ends and whether it renews itself; none for plain keys.
    pub fn expiry(&self) -> Option<Expiry> {
        let refreshable = self.refresh.is_some();
        let at_ms = self.expires_at_ms;
        (refreshable || at_ms.is_some()).then_some(Expiry {
            at_ms,
            skew_ms: 2 * MINUTE_MS,
            refreshable,
        })
    }

    /// Whether it may be used now.
    pub fn is_available(&self, now_ms: u64) -> bool {
        self.secret.is_some() && self.is_rested(now_ms)
    }

    /// Whether nothing is known against it now, wherever its secret is.
    pub fn is_rested(&self, now_ms: u64) -> bool {
        match self.status {
            Status::Ok => true,
            Status::Exhausted => self.reset_at_ms.is_none_or(|at| now_ms >= at),
            Status::Dead => false,
        }
    }
}

/// How the next entry is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// The lowest priority number until it is exhausted.
    FillFirst,
    /// In turn: the one used least recently, by count and then order.
    RoundRobin,
    /// Any.
    Random,
    /// The one used least.
    LeastUsed,
}

impl Strategy {
    /// The strategy that the configuration names for a pool.
    pub fn of(pool: &str, settings: &Settings) -> Self {
        let map = settings.get("credential_pool_strategies");
        Self::parse(map.and_then(|map| map.get(pool)).and_then(Value::as_str))
    }

    /// Whether it goes by how often an entry was used.
    pub fn counts(self) -> bool {
        matches!(self, Self::RoundRobin | Self::LeastUsed)
    }

    /// Reads the name used in configuration; unknown names mean the default.
    pub fn parse(text: Option<&str>) -> Self {
        match text {
            Some("round_robin") => Self::RoundRobin,
            Some("random") => Self::Random,
            Some("least_used") => Self::LeastUsed,
            _ => Self::FillFirst,
        }
    }
}

/// The entry to use now; `draw` decides for `random`.
pub fn select(entries: &[Entry], strategy: Strategy, now_ms: u64, draw: u64) -> Option<&Entry> {
    let mut able: Vec<&Entry> = entries.iter().filter(|entry| entry.is_available(now_ms)).collect();
    able.sort_by_key(|entry| entry.priority);
    match strategy {
        Strategy::FillFirst => able.first().copied(),
        // A turn is finished when every entry has been used equally often, so both strategies
        // come down to the smallest count; round robin breaks ties by place.
        Strategy::RoundRobin | Strategy::LeastUsed => {
            able.iter().min_by_key(|entry| entry.request_count).copied()
        }
        Strategy::Random => {
            let count = u64::try_from(able.len()).ok().filter(|count| *count > 0)?;
            able.get(usize::try_from(draw % count).ok()?).copied()
        }
    }
}

/// What went wrong with an entry's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Too many requests, for the first time.
    RateLimited,
    /// Too many requests again, or the plan's quota is used up.
    QuotaUsed,
    /// An aggregator passed on that somebody behind it is busy.
    UpstreamBusy,
    /// No money left.
    Unpaid,
    /// The key was not accepted.
    Rejected,
    /// The key was revoked.
    Revoked,
    /// The account may not do this.
    Forbidden,
}

/// What a failure means for the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Try the same key again.
    SameKey,
    /// The key rests: take the next one.
    Rotate,
    /// It is not about the key: leave the pool alone.
    Leave,
}

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

/// Marks an entry after a failure and says what to do. `reset_at_ms` is the provider's own word.
pub fn fail(entry: &mut Entry, trouble: Trouble, now_ms: u64, reset_at_ms: Option<u64>) -> Advice {
    let first_time = entry.status == Status::Ok;
    let mut rest = |status: Status, for_ms: u64| {
        entry.status = status;
        entry.reset_at_ms = reset_at_ms.or(Some(now_ms.saturating_add(for_ms)));
        Advice::Rotate
    };
    match trouble {
        Trouble::RateLimited if first_time => Advice::SameKey,
        Trouble::RateLimited | Trouble::QuotaUsed => rest(Status::Exhausted, HOUR_MS),
        Trouble::Unpaid => rest(Status::Exhausted, 24 * HOUR_MS),
        // A login was renewed before it came to this, so it rests like any other key.
        Trouble::Rejected => rest(Status::Exhausted, 5 * MINUTE_MS),
        Trouble::Revoked => {
            entry.status = Status::Dead;
            entry.reset_at_ms = None;
            Advice::Rotate
        }
        Trouble::UpstreamBusy | Trouble::Forbidden => Advice::Leave,
    }
}

#[cfg(test)]
mod tests;
