//! What comes back from a model: deltas while it speaks, one reply, or one typed reason.
//!
//! Nothing here decides what to do about a failure; the provider client does, and the agent loop
//! does for the few reasons (overflow, length) that only it can act on.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::message::Assistant;

/// A piece of a reply, as it arrives.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Delta {
    /// Visible text.
    Text {
        /// The piece.
        text: String,
    },
    /// Visible reasoning.
    Reasoning {
        /// The piece.
        text: String,
    },
    /// A call begins.
    CallStarted {
        /// Its place among the calls of this reply.
        index: usize,
        /// The tool; may still be empty with some servers.
        name: String,
        /// The model's own name of the call; empty while it has given none.
        id: String,
    },
    /// A piece of a call's arguments.
    CallArguments {
        /// Its place among the calls of this reply.
        index: usize,
        /// The piece.
        text: String,
    },
}

/// Receives deltas. Must not block.
pub trait DeltaSubscriber: Send + Sync {
    /// Takes one delta. A higher attempt replaces all that lower ones told.
    fn take(&self, attempt: u32, delta: &Delta);
}

/// Where deltas are told.
#[derive(Clone, Default)]
pub struct DeltaSink(Option<Arc<dyn DeltaSubscriber>>);

impl DeltaSink {
    /// Nobody listens.
    pub fn silent() -> Self {
        Self(None)
    }

    /// Tells this subscriber.
    pub fn to(subscriber: Arc<dyn DeltaSubscriber>) -> Self {
        Self(Some(subscriber))
    }

    /// Whether nobody listens, so that nothing of a reply has been shown.
    pub fn is_silent(&self) -> bool {
        self.0.is_none()
    }

    /// Tells a delta of one attempt.
    pub fn tell(&self, attempt: u32, delta: &Delta) {
        if let Some(subscriber) = &self.0 {
            subscriber.take(attempt, delta);
        }
    }
}

impl fmt::Debug for DeltaSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeltaSink(listening: {})", self.0.is_some())
    }
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Finish {
    /// The model was done.
    #[default]
    Stop,
    /// It asks for calls.
    ToolCalls,
    /// It ran out of room, or its stream broke off after text had been shown.
    Length,
    /// A filter stopped it.
    ContentFilter,
    /// It wants to go on in the next request.
    Incomplete,
}

/// What a request used, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Read, without what came from or went to the cache.
    pub input: u64,
    /// Written, with reasoning.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache.
    pub cache_write: u64,
    /// The part of `output` that was reasoning.
    pub reasoning: u64,
    /// Requests that were answered.
    pub requests: u64,
}

impl Usage {
    /// Everything the model read.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            reasoning: self.reasoning.saturating_add(other.reasoning),
            requests: self.requests.saturating_add(other.requests),
        }
    }
}

/// What a request cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Cost {
    /// The provider said so.
    Actual {
        /// United States dollars.
        usd: f64,
    },
    /// Computed from a price table.
    Estimated {
        /// United States dollars.
        usd: f64,
    },
    /// Part of a subscription.
    Included,
    /// A needed price is not known; a partial sum would mislead.
    #[default]
    Unknown,
}

/// Who answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// The provider.
    pub provider: String,
    /// The model, as asked for.
    pub model: String,
    /// The address.
    pub base_url: String,
    /// The dialect.
    pub api_mode: String,
}

/// One step on the way to a reply.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// A request went out.
    Sent {
        /// To whom.
        provider: String,
        /// For which model.
        model: String,
    },
    /// It failed.
    Failed {
        /// Why.
        reason: Reason,
        /// The HTTP status, when there was one.
        status: Option<u16>,
    },
    /// It waited before the next one.
    Waited {
        /// For so long.
        wait_ms: u64,
    },
    /// The credential was renewed.
    Refreshed,
    /// Another credential of the same provider took over.
    Rotated,
    /// The request was changed so that the provider takes it.
    Repaired {
        /// How.
        repair: String,
    },
    /// Another provider took over.
    FellBack {
        /// To whom.
        provider: String,
        /// Which model.
        model: String,
    },
    /// A candidate was passed over.
    Skipped {
        /// Which.
        provider: String,
        /// Its model.
        model: String,
        /// Why.
        why: String,
    },
    /// Nothing was left to try.
    GaveUp,
}

/// Why a request failed; one taxonomy for every provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// The credential was not accepted.
    Auth,
    /// Payment or credit.
    Billing,
    /// Too many requests for this credential.
    RateLimit,
    /// An aggregator's upstream is limiting it.
    UpstreamRateLimit,
    /// The provider is busy.
    Overloaded,
    /// The provider broke.
    ServerError,
    /// Silence, a reset or a closed connection.
    Timeout,
    /// The conversation does not fit the model's context.
    ContextOverflow,
    /// The request is too large in bytes.
    PayloadTooLarge,
    /// An image is too large.
    ImageTooLarge,
    /// Images in tool results are refused.
    ToolImagesUnsupported,
    /// The signature of a thinking block is refused.
    ThinkingSignature,
    /// Encrypted reasoning is refused.
    EncryptedReasoning,
    /// A tool's schema is refused.
    ToolSchema,
    /// A parameter is not supported.
    UnsupportedParameter,
    /// Streaming is refused.
    StreamRefused,
    /// The tier does not cover a long context.
    LongContextTier,
    /// The model does not exist, or not for this account.
    ModelNotFound,
    /// An account policy excludes the model.
    PolicyBlocked,
    /// A content filter.
    ContentPolicy,
    /// The request is wrong in another way.
    Format,
    /// The answer is not in the dialect: HTML, cut off, empty, lying.
    InvalidResponse,
    /// The server's certificate is not trusted.
    Certificate,
    /// A credential may not go where the request would.
    Refused,
    /// No provider or credential is configured.
    NotConfigured,
    /// The caller ended it.
    Cancelled,
    /// The caller's deadline passed.
    Deadline,
    /// Anything else.
    Unknown,
}

/// One reply.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// What the model said.
    pub message: Assistant,
    /// Why it ended.
    pub finish: Finish,
    /// What it used.
    pub usage: Usage,
    /// What it cost.
    pub cost: Cost,
    /// Who answered.
    pub served: Served,
    /// The model as the provider names it.
    pub model: Option<String>,
    /// The provider's name for the reply.
    pub id: Option<String>,
    /// Why the stream broke off, when `finish` is [`Finish::Length`] for that reason.
    pub broken: Option<String>,
    /// What was done to get it.
    pub path: Vec<Step>,
}

/// Why there is no reply.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{line}")]
pub struct ModelError {
    /// The kind.
    pub reason: Reason,
    /// One line for a person.
    pub line: String,
    /// The provider's own words, for the log; secrets masked.
    pub detail: String,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
    /// When the provider asks to be left alone until.
    pub retry_after: Option<Duration>,
    /// The context length that the provider stated, when it overflowed.
    pub context_length: Option<u64>,
    /// What had arrived before it failed.
    pub partial: Option<Box<Reply>>,
    /// What was tried.
    pub path: Vec<Step>,
}

impl ModelError {
    /// An error with a reason and a line, and nothing else known.
    pub fn new(reason: Reason, line: impl Into<String>) -> Self {
        Self {
            reason,
            line: line.into(),
            detail: String::new(),
            status: None,
            retry_after: None,
            context_length: None,
            partial: None,
            path: Vec::new(),
        }
    }
}
