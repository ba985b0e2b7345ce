//! Who may ask: keys of the settings and tokens of the store, what each may do, and how guessing is
//! made slow.
//!
//! A key is compared by its digest, in constant time; a token is looked up by it. Neither is kept.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use petasos_contract::Secret;
use petasos_store::{ApiDigest, ApiStore, ApiToken, StoreError};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// What a token begins with, so that a leaked one is recognised.
const PREFIX: &str = "pts_";
/// Wrong keys from one address after which nothing unknown is looked at for a while.
const WRONG_MAX: u32 = 10;
/// For so long they are counted.
const WINDOW: Duration = Duration::from_mins(1);
/// A wrong key is answered after so long, and twice as long with each further one.
const SLOW: Duration = Duration::from_millis(50);
const SLOW_MAX: Duration = Duration::from_secs(2);
/// So many addresses and good keys are remembered.
const REMEMBERED: usize = 4096;

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApiScope {
    /// Chat completions and responses.
    Chat,
    /// Runs and their events.
    Runs,
    /// Sessions of the key.
    Sessions,
    /// Schedules.
    Jobs,
    /// Answering what runs ask.
    Approvals,
    /// Numbers and the state of the server.
    Metrics,
    /// Everything.
    Admin,
}

impl ApiScope {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Chat,
        Self::Runs,
        Self::Sessions,
        Self::Jobs,
        Self::Approvals,
        Self::Metrics,
        Self::Admin,
    ];

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Runs => "runs",
            Self::Sessions => "sessions",
            Self::Jobs => "jobs",
            Self::Approvals => "approvals",
            Self::Metrics => "metrics",
            Self::Admin => "admin",
        }
    }

    /// The scope of this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }
}

/// Who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The name of the key: the owner of what it does.
    pub(crate) name: String,
    pub(crate) scopes: Vec<ApiScope>,
    /// The toolsets that its conversations are held to.
    pub(crate) toolsets: Option<Vec<String>>,
    /// How commands of its conversations are confined, where it says so.
    pub(crate) sandbox: Option<String>,
    /// Its requests in a minute, where it has a number of its own.
    pub(crate) rate: Option<u32>,
}

impl Caller {
    pub(crate) fn may(&self, scope: ApiScope) -> bool {
        self.scopes.contains(&ApiScope::Admin) || self.scopes.contains(&scope)
    }
}

/// A key of the settings.
#[derive(Debug, Clone)]
pub struct NamedKey {
    /// What it is called.
    pub name: String,
    /// The key.
    pub key: Secret,
    /// What it may do.
    pub scopes: Vec<ApiScope>,
    /// The toolsets that its conversations are held to.
    pub toolsets: Option<Vec<String>>,
    /// How commands of its conversations are confined, where it says so.
    pub sandbox: Option<String>,
    /// Its requests in a minute, where it has a number of its own.
    pub rate: Option<u32>,
}

/// A token that was just made; nobody can show it again.
#[derive(Debug)]
pub struct NewToken {
    /// What the client must send.
    pub secret: Secret,
    /// What is kept of it.
    pub token: ApiToken,
}

/// Makes a token and keeps its digest; nothing when the name is taken.
pub async fn create_token(
    store: &dyn ApiStore,
    token: ApiToken,
) -> Result<Option<NewToken>, StoreError> {
    let mut bits = [0_u8; 32];
    getrandom::fill(&mut bits).map_err(|error| StoreError::Failed(error.to_string()))?;
    let secret = Secret::new(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bits)));
    let free = store.add_token(token.clone(), digest(secret.expose().as_bytes())).await?;
    Ok(free.then_some(NewToken { secret, token }))
}

pub(crate) fn digest(bytes: &[u8]) -> ApiDigest {
    Sha256::digest(bytes).into()
}

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotLetIn {
    /// The key is wrong; answered so much later.
    Wrong(Duration),
    /// Too many wrong ones came from there.
    Later(Duration),
}

/// The keys of a server.
pub(crate) struct KeyRing {
    named: Vec<(ApiDigest, Caller)>,
    wrong: Mutex<HashMap<IpAddr, Wrong>>,
    /// Keys that were right a moment ago, which somebody else's guesses do not lock out.
    right: Mutex<HashMap<ApiDigest, Instant>>,
}

#[derive(Debug, Clone, Copy)]
struct Wrong {
    count: u32,
    since: Instant,
}

impl KeyRing {
    pub(crate) fn new(keys: &[NamedKey]) -> Self {
        let caller = |key: &NamedKey| {
            let caller = Caller {
                name: key.name.clone(),
                scopes: key.scopes.clone(),
                toolsets: key.toolsets.clone(),
                sandbox: key.sandbox.clone(),
                rate: key.rate,
            };
            (digest(key.key.expose().as_bytes()), caller)
        };
        let named = keys.iter().map(caller).collect();
        Self { named, wrong: Mutex::default(), right: Mutex::default() }
    }

    /// Whose key this is.
    pub(crate) async fn caller(
        &self,
        shown: Option<&[u8]>,
        from: IpAddr,
        store: &dyn ApiStore,
        now_ms: i64,
    ) -> Result<Result<Caller, NotLetIn>, StoreError> {
        let Some(shown) = shown else { return Ok(Err(NotLetIn::Wrong(Duration::ZERO))) };
        let (shown, from) = (digest(shown), network(from));
        if let Some(wait) = self.locked(from)
            && !self.right.lock().contains_key(&shown)
        {
            return Ok(Err(NotLetIn::Later(wait)));
        }
        let caller = match self.named(&shown) {
            Some(caller) => Some(caller),
            None => store.token(shown, now_ms).await?.map(of_token),
        };
        if let Some(caller) = caller {
            remember(&mut self.right.lock(), shown, Instant::now());
            return Ok(Ok(caller));
        }
        self.right.lock().remove(&shown);
        Ok(Err(NotLetIn::Wrong(self.missed(from))))
    }

    /// Every key is compared, so that the time says nothing about which one came near.
    fn named(&self, shown: &ApiDigest) -> Option<Caller> {
        let mut found = None;
        for (digest, caller) in &self.named {
            if bool::from(digest.ct_eq(shown)) {
                found = Some(caller.clone());
            }
        }
        found
    }

    fn locked(&self, from: IpAddr) -> Option<Duration> {
        let wrong = self.wrong.lock();
        let one = wrong.get(&from).filter(|one| one.count >= WRONG_MAX)?;
        WINDOW.checked_sub(one.since.elapsed()).filter(|wait| !wait.is_zero())
    }

    /// One more wrong key; gives how long its answer waits.
    fn missed(&self, from: IpAddr) -> Duration {
        let mut wrong = self.wrong.lock();
        let fresh = Wrong { count: 0, since: Instant::now() };
        let mut one = wrong.get(&from).copied().unwrap_or(fresh);
        if one.since.elapsed() > WINDOW {
            one = fresh;
        }
        one.count += 1;
        // Those whose minute is over make room, so that many guessers do not free each other.
        if wrong.len() >= REMEMBERED {
            wrong.retain(|_, it| it.since.elapsed() <= WINDOW);
        }
        remember(&mut wrong, from, one);
        (SLOW * (1 << (one.count - 1).min(6))).min(SLOW_MAX)
    }
}

/// Whose guesses are counted together: whoever has one address of the sixth version has a whole
/// network of them.
fn network(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

fn of_token(token: ApiToken) -> Caller {
    let scopes = token.scopes.iter().filter_map(|word| ApiScope::named(word)).collect();
    Caller { name: token.name, scopes, toolsets: token.toolsets, ..Caller::default() }
}

fn remember<K: std::hash::Hash + Eq, V>(map: &mut HashMap<K, V>, key: K, value: V) {
    if map.len() >= REMEMBERED && !map.contains_key(&key) {
        map.clear();
    }
    map.insert(key, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_of_one_network_are_counted_together() {
        let ring = KeyRing::new(&[]);
        for number in 0..WRONG_MAX {
            let from: IpAddr = format!("2001:db8:1:2::{number:x}").parse().unwrap();
            assert!(ring.locked(network(from)).is_none());
            ring.missed(network(from));
        }
        let locked = |from: &str| ring.locked(network(from.parse().unwrap())).is_some();
        assert!(locked("2001:db8:1:2:ffff::1"));
        assert!(!locked("2001:db8:1:3::1"));
        for _ in 0..WRONG_MAX {
            ring.missed(network("::ffff:192.0.2.7".parse().unwrap()));
        }
        assert!(locked("192.0.2.7") && !locked("192.0.2.8"));
    }
}
