//! Errors of the SDK, told apart: a sign-in that is wanted, and words without its type names.

use std::error::Error;

use petasos_net::NetError;
use rmcp::service::ServiceError;
use rmcp::transport::AuthError;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, StreamableHttpError,
};

use super::sse::SseFault;
use super::state::Fault;

/// What became of a request that failed on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The server never got it, or answered that it did not begin it.
    Unsent,
    /// The server answered with this status.
    Status(u16),
    /// The server answered something that cannot be taken.
    Unreadable,
    /// It may have been carried out.
    Unknown,
}

/// The fate of a request.
pub(super) fn fate(error: &ServiceError) -> Fate {
    let ServiceError::TransportSend(sent) = error else { return Fate::Unknown };
    let first: &(dyn Error + 'static) = sent.error.as_ref();
    let mut causes = std::iter::successors(Some(first), |&error| error.source());
    causes.find_map(fate_of).unwrap_or(Fate::Unknown)
}

fn fate_of(cause: &(dyn Error + 'static)) -> Option<Fate> {
    if let Some(error) = cause.downcast_ref::<StreamableHttpError<NetError>>() {
        return match error {
            StreamableHttpError::Client(error) => Some(fate_of_net(error)),
            StreamableHttpError::HttpStatus(error) => Some(Fate::Status(error.status)),
            StreamableHttpError::SessionExpired
            | StreamableHttpError::ReinitializationFailed(_)
            | StreamableHttpError::TransportChannelClosed => Some(Fate::Unsent),
            StreamableHttpError::Deserialize(_)
            | StreamableHttpError::UnexpectedContentType(_)
            | StreamableHttpError::UnexpectedServerResponse(_) => Some(Fate::Unreadable),
            _ => None,
        };
    }
    if let Some(error) = cause.downcast_ref::<SseFault>() {
        return Some(match error {
            SseFault::Net(error) => fate_of_net(error),
            SseFault::Status(status) => Fate::Status(*status),
            SseFault::NoEndpoint | SseFault::ForeignEndpoint(_) | SseFault::Json(_) => Fate::Unsent,
        });
    }
    // A pipe that did not take the whole line: no program acts on half of one.
    cause.downcast_ref::<std::io::Error>().map(|_| Fate::Unsent)
}

fn fate_of_net(error: &NetError) -> Fate {
    match error {
        NetError::TooLarge { .. } => Fate::Unreadable,
        error if error.is_unsent() => Fate::Unsent,
        _ => Fate::Unknown,
    }
}

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
