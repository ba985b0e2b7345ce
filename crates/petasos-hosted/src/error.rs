//! A vendor's call without a good end, told apart by what may have happened.

use std::time::Duration;

use petasos_contract::environment::EnvError;
use petasos_net::NetError;

/// A vendor's call without a good end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VendorError {
    /// It never reached the vendor.
    #[error("{why}")]
    Unsent {
        /// What was in the way.
        why: String,
    },
    /// The vendor asks to come back later, and has done nothing.
    #[error("the vendor limits the rate of calls{}: {why}", asked(*.after))]
    RateLimited {
        /// Its words.
        why: String,
        /// How long it asks to wait.
        after: Option<Duration>,
    },
    /// The credential is missing, wrong or not enough.
    #[error("the vendor refuses the credential: {why}")]
    Credential {
        /// Its words.
        why: String,
    },
    /// What was asked about is not there.
    #[error("not found: {why}")]
    Missing {
        /// Its words.
        why: String,
    },
    /// The vendor said no, and has done nothing.
    #[error("the vendor refused: {why}")]
    Refused {
        /// Its words.
        why: String,
    },
    /// The vendor failed, or its answer did not arrive or cannot be read: it may have acted.
    #[error("{why}")]
    Unknown {
        /// What happened.
        why: String,
    },
}

fn asked(after: Option<Duration>) -> String {
    after.map(|after| format!(" and asks to wait {:.0} s", after.as_secs_f64())).unwrap_or_default()
}

impl VendorError {
    /// Whether the call certainly changed nothing.
    pub(crate) fn did_nothing(&self) -> bool {
        !matches!(self, Self::Unknown { .. })
    }

    /// Whether the same call may fare better soon.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::Unsent { .. } | Self::RateLimited { .. } | Self::Unknown { .. })
    }

    /// As the failure to open or reach a place.
    pub(crate) fn lost(&self, target: &str) -> EnvError {
        EnvError::Lost { target: target.to_owned(), why: self.to_string() }
    }

    /// As the failure to start something: unknown outcomes stay unknown.
    pub(crate) fn starting(&self, what: &str, target: &str) -> EnvError {
        if self.did_nothing() {
            return EnvError::NotStarted { what: what.to_owned(), why: self.to_string() };
        }
        let why = format!("{self}; whether {what} runs there is unknown");
        EnvError::Lost { target: target.to_owned(), why }
    }
}

impl From<NetError> for VendorError {
    fn from(error: NetError) -> Self {
        let why = error.to_string();
        if error.is_unsent() { Self::Unsent { why } } else { Self::Unknown { why } }
    }
}
