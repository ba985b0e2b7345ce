//! Which session a chat leads to, what the chat chose, who may write, how far was read.

use petasos_contract::SessionId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ChatKey, InboxStore, Lane, Later, OutboxStore};

/// Where a chat leads.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRoute {
    /// The chat.
    pub key: ChatKey,
    /// The session.
    pub session: SessionId,
    /// What was chosen in the chat: busy mode, model, voice.
    pub choices: Map<String, Value>,
    /// When somebody last wrote, in milliseconds since 1970.
    pub used_ms: i64,
}

/// Keeps where chats lead.
pub trait RouteStore: Send + Sync {
    /// Where a chat leads.
    fn route<'a>(&'a self, key: &'a ChatKey) -> Later<'a, Option<ChatRoute>>;

    /// The chat leads to this session from now on; what was chosen there stays.
    fn bind<'a>(&'a self, key: &'a ChatKey, session: &'a SessionId) -> Later<'a, ()>;

    /// Binds a chat that leads nowhere; gives where it leads now. Two callers get one answer.
    fn bind_first<'a>(&'a self, key: &'a ChatKey, session: &'a SessionId) -> Later<'a, SessionId>;

    /// Somebody wrote.
    fn touch<'a>(&'a self, key: &'a ChatKey) -> Later<'a, ()>;

    /// Remembers a choice of the chat, or forgets it.
    fn choose<'a>(&'a self, key: &'a ChatKey, name: &'a str, value: Option<Value>)
    -> Later<'a, ()>;

    /// The chat has another identity: routes, waiting messages and deliveries move with it.
    fn rekey<'a>(
        &'a self,
        platform: &'a str,
        account: &'a str,
        from: &'a str,
        to: &'a str,
    ) -> Later<'a, u32>;

    /// The chats that lead to a session.
    fn routes_to<'a>(&'a self, session: &'a SessionId) -> Later<'a, Vec<ChatRoute>>;

    /// Every route of a platform, the newest first.
    fn routes_of<'a>(&'a self, platform: &'a str, limit: u32) -> Later<'a, Vec<ChatRoute>>;

    /// Forgets routes that nobody used since; gives how many.
    fn forget_routes(&self, before_ms: i64) -> Later<'_, u32>;
}

/// Somebody who asked to be let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingRequest {
    /// The platform.
    pub platform: String,
    /// Who.
    pub user: String,
    /// What they call themselves.
    pub name: String,
    /// Makes equal codes look different.
    pub salt: [u8; 16],
    /// The digest of salt and code.
    pub digest: [u8; 32],
    /// When, in milliseconds since 1970.
    pub asked_ms: i64,
}

/// How many may ask, and how long a request holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairingLimits {
    /// How long a code holds, in milliseconds.
    pub life_ms: i64,
    /// How many may be open on a platform.
    pub open_max: u32,
    /// How long one person waits between requests, in milliseconds.
    pub pause_ms: i64,
    /// How many wrong codes lock a platform.
    pub wrong_max: u32,
    /// For how long, in milliseconds.
    pub lock_ms: i64,
}

/// What asking to be let in came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairingReceipt {
    /// The request is stored.
    Asked,
    /// The same person asked a moment ago.
    TooSoon,
    /// Too many wait.
    TooMany,
    /// Too many wrong codes were tried.
    Locked,
}

/// Somebody who was let in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paired {
    /// The platform.
    pub platform: String,
    /// Who.
    pub user: String,
    /// What they call themselves.
    pub name: String,
    /// Whether everything belongs to them.
    pub owner: bool,
    /// Since when, in milliseconds since 1970.
    pub since_ms: i64,
}

/// A place that messages can be sent to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownTarget {
    /// Where.
    pub lane: Lane,
    /// What people call it.
    pub name: String,
    /// Whether it is the platform's home.
    pub home: bool,
    /// Why nothing arrives there, if so.
    pub unreachable: Option<String>,
}

/// Keeps who was let in, and which places are known.
pub trait AccessStore: Send + Sync {
    /// Somebody asks to be let in.
    fn ask_pairing<'a>(
        &'a self,
        request: &'a PairingRequest,
        limits: PairingLimits,
    ) -> Later<'a, PairingReceipt>;

    /// Requests that hold now. Empty while the platform is locked.
    fn open_pairings<'a>(
        &'a self,
        platform: &'a str,
        now_ms: i64,
        limits: PairingLimits,
    ) -> Later<'a, Vec<PairingRequest>>;

    /// Lets somebody in who asked; the very first one owns everything. `None` when the request is
    /// gone.
    fn admit<'a>(
        &'a self,
        platform: &'a str,
        user: &'a str,
        now_ms: i64,
    ) -> Later<'a, Option<Paired>>;

    /// A wrong code was tried; gives until when the platform is locked, if it is.
    fn wrong_code<'a>(
        &'a self,
        platform: &'a str,
        now_ms: i64,
        limits: PairingLimits,
    ) -> Later<'a, Option<i64>>;

    /// Whoever was let in, on one platform or on all.
    fn paired<'a>(&'a self, platform: Option<&'a str>) -> Later<'a, Vec<Paired>>;

    /// Takes it back; whether there was something to take.
    fn unpair<'a>(&'a self, platform: &'a str, user: &'a str) -> Later<'a, bool>;

    /// Remembers a place by its name, and that messages arrive there.
    fn know_target<'a>(&'a self, lane: &'a Lane, name: &'a str) -> Later<'a, ()>;

    /// Nothing arrives at a place, or something does again.
    fn set_unreachable<'a>(&'a self, lane: &'a Lane, why: Option<&'a str>) -> Later<'a, ()>;

    /// Makes a place the home of its platform.
    fn set_home<'a>(&'a self, lane: &'a Lane, name: &'a str) -> Later<'a, ()>;

    /// The places that are known.
    fn targets<'a>(&'a self, platform: Option<&'a str>) -> Later<'a, Vec<KnownTarget>>;
}

/// Keeps how far a platform was read.
pub trait CursorStore: Send + Sync {
    /// Where reading goes on.
    fn cursor<'a>(
        &'a self,
        platform: &'a str,
        account: &'a str,
        name: &'a str,
    ) -> Later<'a, Option<String>>;

    /// Reading goes on here from now on.
    fn set_cursor<'a>(
        &'a self,
        platform: &'a str,
        account: &'a str,
        name: &'a str,
        value: &'a str,
    ) -> Later<'a, ()>;
}

/// Everything that a gateway keeps.
pub trait GatewayStore: InboxStore + OutboxStore + RouteStore + AccessStore + CursorStore {}

impl<T: InboxStore + OutboxStore + RouteStore + AccessStore + CursorStore> GatewayStore for T {}
