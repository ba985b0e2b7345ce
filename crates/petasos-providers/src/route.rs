//! The seam between asking and finding out whom to ask.
//!
//! The client walks candidates; a [`Routes`] turns each into a resolved provider, renews its
//! credential and hands out the next one. Tests bring their own.

mod gitlab;
mod vaulted;
mod zai;

use petasos_contract::model::Role;
use petasos_contract::{BoxFuture, CallContext, Settings};

use crate::failure::Failure;
use crate::fallback::Wanted;
use crate::runtime::ProviderRuntime;
pub use vaulted::VaultRoutes;

/// A candidate that cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unroutable {
    /// The provider that was wanted.
    pub provider: String,
    /// A stable word, such as `missing_api_key`.
    pub code: String,
    /// One line that says what to do.
    pub message: String,
}

/// Finds out whom to ask.
pub trait Routes: Send + Sync {
    /// Resolves a candidate, with a credential that is not about to expire.
    fn resolve<'a>(
        &'a self,
        wanted: &'a Wanted,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ProviderRuntime, Unroutable>>;

    /// Whom a candidate leads to, by what is at hand: nobody is asked, nothing is renewed or
    /// counted.
    fn preview<'a>(
        &'a self,
        wanted: &'a Wanted,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Option<ProviderRuntime>>;

    /// Whether the credential in use can be renewed or read again.
    fn can_refresh(&self, runtime: &ProviderRuntime) -> bool;

    /// Renews the credential after it was refused; `None` when there is no other than the
    /// refused one.
    fn refresh<'a>(
        &'a self,
        runtime: &'a ProviderRuntime,
        settings: &'a Settings,
    ) -> BoxFuture<'a, Option<ProviderRuntime>>;

    /// Whether another credential of the same provider is at hand.
    fn can_rotate(&self, runtime: &ProviderRuntime, settings: &Settings) -> bool;

    /// Marks the credential in use as failed and gives the runtime with the next one.
    fn rotate<'a>(
        &'a self,
        runtime: &'a ProviderRuntime,
        failure: &'a Failure,
        settings: &'a Settings,
    ) -> BoxFuture<'a, Option<ProviderRuntime>>;
}
