//! Errors of the SDK, told apart: a sign-in that is wanted, and words without its type names.

use std::error::Error;

use rmcp::service::ServiceError;
use rmcp::transport::AuthError;
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};

use super::state::Fault;

/// The challenge of a refused sign-in, when one is somewhere behind an error.
pub(super) fn sign_in(error: &ServiceError) -> Option<String> {
    let ServiceError::TransportSend(sent) = error else { return None };
    let first: &(dyn Error + 'static) = sent.error.as_ref();
    let mut causes = std::iter::successors(Some(first), |&error| error.source());
    causes.find_map(|cause| {
        if let Some(refused) = cause.downcast_ref::<AuthRequiredError>() {
            return Some(refused.www_authenticate_header.clone());
        }
        if let Some(refused) = cause.downcast_ref::<InsufficientScopeError>() {
            return Some(refused.www_authenticate_header.clone());
        }
        matches!(cause.downcast_ref(), Some(AuthError::AuthorizationRequired)).then(String::new)
    })
}

/// An error in words for people.
pub(super) fn words(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => format!("{} ({})", error.message, error.code.0),
        ServiceError::TransportSend(sent) => {
            let first: &(dyn Error + 'static) = sent.error.as_ref();
            let causes = std::iter::successors(Some(first), |&error| error.source());
            causes.last().map_or_else(String::new, ToString::to_string)
        }
        ServiceError::TransportClosed => "the connection ended".to_owned(),
        other => other.to_string(),
    }
}

/// Why a live server cannot be used.
pub(super) fn fault(error: &ServiceError, doing: &str) -> Fault {
    match sign_in(error) {
        Some(challenge) => Fault::Auth(challenge),
        None => Fault::Passing(format!("{doing}: {}", words(error))),
    }
}
