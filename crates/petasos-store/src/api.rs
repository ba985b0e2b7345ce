//! What the HTTP interface keeps: tokens, runs and their events, responses, and what was seen once.
//!
//! Times are the caller's, in milliseconds since 1970, so that a test moves them. A token is never
//! kept, only its digest.

use petasos_contract::id::SessionId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sessions::{Later, Seq};

/// The digest of a token or of a request.
pub type ApiDigest = [u8; 32];

/// A token as people see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiToken {
    /// What it is called; the owner of what is done with it.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// The toolsets that its conversations are held to, where there is such a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolsets: Option<Vec<String>>,
    /// When it was made.
    pub created_ms: i64,
    /// When it ends to be good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<i64>,
    /// When it was last used, to the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_ms: Option<i64>,
}

/// A request that makes a turn, whichever interface it came by.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// Its name.
    pub id: String,
    /// Whose it is.
    pub owner: String,
    /// Its conversation.
    pub session: SessionId,
    /// How it is.
    pub status: String,
    /// What is needed to go on with it.
    pub about: Value,
    /// When it came.
    pub created_ms: i64,
    /// When it ended.
    pub ended_ms: Option<i64>,
}

/// Events of a run, each with its number.
pub type RunEvents = Vec<(i64, Value)>;

/// A request that must be done once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnceRequest {
    /// Who asks, where, and under which key: one digest.
    pub place: ApiDigest,
    /// What is asked.
    pub body: ApiDigest,
    /// The run that does it, if it is new.
    pub run: String,
    /// When it came.
    pub at_ms: i64,
}

/// What a request turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Once {
    /// Nobody asked before.
    New,
    /// The same was asked before; this run does it or did it.
    Same(String),
    /// Something else was asked under that key.
    Other,
}

/// A response that can be gone on from.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseRow {
    /// Its name.
    pub id: String,
    /// Whose it is.
    pub owner: String,
    /// Its conversation.
    pub session: SessionId,
    /// The last row of the conversation when it was given.
    pub seq: Option<Seq>,
    /// The response as the client saw it.
    pub body: Value,
}

/// Keeps what the HTTP interface must not forget.
pub trait ApiStore: Send + Sync {
    /// Keeps a token; whether its name was free.
    fn add_token(&self, token: ApiToken, digest: ApiDigest) -> Later<'_, bool>;

    /// The token of a digest, unless it has expired.
    fn token(&self, digest: ApiDigest, now_ms: i64) -> Later<'_, Option<ApiToken>>;

    /// All of them, the oldest first.
    fn tokens(&self) -> Later<'_, Vec<ApiToken>>;

    /// Removes one; whether it was there.
    fn revoke_token<'a>(&'a self, name: &'a str) -> Later<'a, bool>;

    /// Whether a request is new. One that was seen is remembered for as long as it may come again.
    fn once(&self, request: OnceRequest, forget_before_ms: i64) -> Later<'_, Once>;

    /// A request that did not begin may come again.
    fn forget_once(&self, place: ApiDigest) -> Later<'_, ()>;

    /// Keeps a run.
    fn put_run(&self, run: RunRow) -> Later<'_, ()>;

    /// One run.
    fn run<'a>(&'a self, id: &'a str) -> Later<'a, Option<RunRow>>;

    /// Adds events and says how the run is by then; with an end when it is over.
    fn add_run_events<'a>(
        &'a self,
        id: &'a str,
        events: RunEvents,
        status: &'a str,
        ended_ms: Option<i64>,
    ) -> Later<'a, ()>;

    /// Events behind this number, the first of them first.
    fn run_events<'a>(&'a self, id: &'a str, after: i64) -> Later<'a, RunEvents>;

    /// Runs without an end. Requests from before this that never became a run are forgotten.
    fn open_runs(&self, unbegun_before_ms: i64) -> Later<'_, Vec<RunRow>>;

    /// Removes runs that ended before this, unless a request that is still remembered led to them.
    fn forget_runs(&self, ended_before_ms: i64, once_before_ms: i64) -> Later<'_, u32>;

    /// Keeps a response; beyond so many, those that were not used for longest leave.
    fn put_response(&self, response: ResponseRow, most: u32, now_ms: i64) -> Later<'_, ()>;

    /// A response of this owner; it counts as used now.
    fn response<'a>(
        &'a self,
        id: &'a str,
        owner: &'a str,
        now_ms: i64,
    ) -> Later<'a, Option<ResponseRow>>;

    /// Removes one; whether it was there.
    fn delete_response<'a>(&'a self, id: &'a str, owner: &'a str) -> Later<'a, bool>;

    /// Whether a delivery of a webhook comes for the first time.
    fn first_delivery<'a>(
        &'a self,
        route: &'a str,
        delivery: &'a str,
        now_ms: i64,
        forget_before_ms: i64,
    ) -> Later<'a, bool>;

    /// A delivery that was not worked on may come again.
    fn forget_delivery<'a>(&'a self, route: &'a str, delivery: &'a str) -> Later<'a, ()>;
}
