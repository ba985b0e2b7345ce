//! What to do about a failure: one pure decision, the same for every surface and role.
//!
//! The order is always: a repair that makes the request acceptable, the credential, the same
//! provider again, another provider, giving up. Each repair happens once per question, each
//! credential is renewed once, and whatever the provider answers, one question fails at most
//! [`FAILURES_MAX`] times at one candidate.

use std::time::Duration;

use petasos_contract::model::Reason;

use crate::failure::{Failure, ToolHint};
use crate::retry::{self, Backoff};
use crate::transport::target::Repair;

/// Whether a credential can be renewed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Refresh {
    /// It cannot.
    #[default]
    Impossible,
    /// It can, once.
    Possible,
    /// It was.
    Done,
}

/// What was already tried on the way to one reply.
#[derive(Debug, Clone, Default)]
pub struct Tried {
    /// Failed requests to the current provider since it was chosen.
    pub failures: u32,
    /// Waits before the same request went out again.
    pub retries: u32,
    /// Rate limits met on the current credential.
    pub limited: u32,
    /// Pages instead of answers met at the current provider.
    pub pages: u32,
    /// Whether the current credential was or can be renewed.
    pub refresh: Refresh,
    /// Repairs in force.
    pub repairs: std::collections::BTreeSet<Repair>,
}

impl Tried {
    /// Whether a repair is new: each kind is tried once, and tools are left out one by one.
    fn allows(&self, repair: &Repair) -> bool {
        const QUARANTINES_MAX: usize = 16;
        let kind = std::mem::discriminant(repair);
        let count =
            self.repairs.iter().filter(|known| std::mem::discriminant(*known) == kind).count();
        match repair {
            Repair::Quarantine(_) | Repair::DropField(_) => {
                count < QUARANTINES_MAX && !self.repairs.contains(repair)
            }
            _ => count == 0,
        }
    }
}

/// What is still possible.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Whether another credential of the same provider is there.
    pub rotatable: bool,
    /// Whether another provider is there.
    pub has_fallback: bool,
    /// How many retries are allowed.
    pub retries_max: u32,
    /// How many of them after a connection that broke, where the user says so.
    pub reconnects_max: Option<u32>,
    /// Who waits.
    pub patience: Patience,
}

/// Who waits for the answer, and so how long a retry may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Patience {
    /// A conversation.
    #[default]
    Conversation,
    /// A side task, which something else waits for.
    Side,
}

impl Patience {
    fn backoff(self, reason: Reason) -> Backoff {
        match self {
            Self::Side => retry::SIDE,
            Self::Conversation if reason == Reason::InvalidResponse => retry::INVALID,
            Self::Conversation => retry::ERRORS,
        }
    }
}

/// The next move.
#[derive(Debug, Clone, PartialEq)]
pub enum Move {
    /// Change the request and ask again at once.
    Repair(Repair),
    /// Renew the credential and ask again at once.
    Refresh,
    /// Take the next credential and ask again at once.
    Rotate,
    /// Wait and ask again.
    Retry(Duration),
    /// Take the next provider.
    FallBack,
    /// Tell the caller.
    GiveUp,
}

/// A wait longer than this is not worth it while another provider or credential is there.
const WAIT_MAX_WITH_OTHERS: Duration = Duration::from_secs(20);

/// The waits for a server of this machine that is not running: it may be starting this moment, and
/// else somebody has to start it.
const ABSENT_WAITS: [Duration; 2] = [Duration::from_millis(500), Duration::from_millis(1500)];

/// The smallest room for an answer that is worth asking for, in tokens.
const ROOM_MIN: u32 = 512;

/// The most requests of one question that may fail at one candidate: an endless pool or a login
/// that renews but is never accepted must not become a storm.
pub const FAILURES_MAX: u32 = 32;

/// Decides.
pub fn decide(failure: &Failure, tried: &Tried, options: Options, dice: f64) -> Move {
    match choose(failure, tried, options, dice) {
        Move::Repair(_) | Move::Refresh | Move::Rotate | Move::Retry(_)
            if tried.failures >= FAILURES_MAX =>
        {
            on(options)
        }
        chosen => chosen,
    }
}

fn choose(failure: &Failure, tried: &Tried, options: Options, dice: f64) -> Move {
    if let Some(repair) = repair(failure)
        && tried.allows(&repair)
    {
        return Move::Repair(repair);
    }
    match failure.reason {
        Reason::Auth => auth(failure, tried, options),
        Reason::Billing => rotate_or_on(options),
        Reason::RateLimit => limited(failure, tried, options, dice),
        Reason::Timeout if failure.is_absent => match ABSENT_WAITS.get(tried.retries as usize) {
            Some(wait) => Move::Retry(*wait),
            None => on(options),
        },
        Reason::Overloaded | Reason::Timeout => {
            // With somebody else at hand, patience ends one try earlier.
            let spared = u32::from(options.has_fallback);
            let usual = options.retries_max.saturating_sub(spared).max(1);
            let own = options.reconnects_max.filter(|_| failure.reason == Reason::Timeout);
            let retries_max = own.unwrap_or(usual);
            let options = Options { retries_max, ..options };
            again(failure, tried, options, dice)
        }
        Reason::InvalidResponse if failure.is_endless() => on(options),
        Reason::InvalidResponse if failure.status == Some(404) && tried.pages > 1 => on(options),
        Reason::UpstreamRateLimit
        | Reason::ServerError
        | Reason::Unknown
        | Reason::InvalidResponse => again(failure, tried, options, dice),
        Reason::ModelNotFound
        | Reason::Format
        | Reason::ContentPolicy
        | Reason::ToolSchema
        | Reason::UnsupportedParameter
        | Reason::StreamRefused
        | Reason::LongContextTier
        | Reason::ThinkingSignature
        | Reason::EncryptedReasoning
        | Reason::ImageTooLarge
        | Reason::ToolImagesUnsupported
        | Reason::Refused
        | Reason::NotConfigured => on(options),
        // Only the caller can shorten its conversation; asking somebody else would hide that.
        _ => Move::GiveUp,
    }
}

fn auth(failure: &Failure, tried: &Tried, options: Options) -> Move {
    // 403 is about rights, which no new token brings.
    if failure.status == Some(403) {
        return on(options);
    }
    if tried.refresh == Refresh::Possible {
        return Move::Refresh;
    }
    rotate_or_on(options)
}

fn limited(failure: &Failure, tried: &Tried, options: Options, dice: f64) -> Move {
    let used_up = matches!(failure.code.as_deref(), Some("usage_limit_reached"))
        || failure.code.as_deref().is_some_and(|code| code.starts_with("GoUsageLimit"));
    let others = options.rotatable || options.has_fallback;
    let too_long = failure.retry_after.is_some_and(|wait| wait > WAIT_MAX_WITH_OTHERS);
    let leave = used_up || tried.limited > 1 || (others && too_long);
    if leave && others {
        return rotate_or_on(options);
    }
    if used_up {
        return Move::GiveUp;
    }
    again(failure, tried, options, dice)
}

fn again(failure: &Failure, tried: &Tried, options: Options, dice: f64) -> Move {
    if tried.retries >= options.retries_max {
        return on(options);
    }
    let usual = || options.patience.backoff(failure.reason).delay(tried.retries, dice);
    match failure.retry_after {
        // Coming back before it wants us to is a request in vain.
        Some(wait) if wait > retry::WISH_MAX => on(options),
        // A moment that has passed says nothing about when to come back.
        Some(wait) if wait.is_zero() => Move::Retry(usual()),
        Some(wait) => Move::Retry(retry::wish(wait, dice)),
        None => Move::Retry(usual()),
    }
}

fn rotate_or_on(options: Options) -> Move {
    if options.rotatable { Move::Rotate } else { on(options) }
}

fn on(options: Options) -> Move {
    if options.has_fallback { Move::FallBack } else { Move::GiveUp }
}

/// The change that would make the request acceptable, if the failure names one.
fn repair(failure: &Failure) -> Option<Repair> {
    match failure.reason {
        Reason::ThinkingSignature => Some(Repair::DropThinking),
        Reason::EncryptedReasoning => Some(Repair::DropEncryptedReasoning),
        Reason::ImageTooLarge => Some(Repair::DropOldImages),
        Reason::ToolImagesUnsupported => Some(Repair::DropToolImages),
        Reason::LongContextTier => Some(Repair::DropLongContextBeta),
        Reason::StreamRefused => Some(Repair::NoStream),
        Reason::ToolSchema => match &failure.tool {
            Some(ToolHint::Name(name)) => Some(Repair::Quarantine(name.as_str().into())),
            // The client knows which tools it sent and turns a place into a name.
            Some(ToolHint::Index(_)) => None,
            None => Some(Repair::DropPatterns),
        },
        Reason::UnsupportedParameter => match failure.param.as_deref()? {
            "max_tokens" | "max_completion_tokens" => Some(Repair::RenameTokenLimit),
            "model" | "messages" | "input" | "contents" => None,
            field => Some(Repair::DropField(field.to_owned())),
        },
        Reason::ContextOverflow => {
            // With less room an answer would be cut at once: the conversation must shrink.
            let room = failure.room?.checked_sub(64).filter(|room| *room >= ROOM_MIN)?;
            Some(Repair::MaxTokens(room))
        }
        _ => None,
    }
}
