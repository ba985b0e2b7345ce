//! Servers of the specification of March 2025: the sign-in is described at the root of the server's
//! own origin, and its issuer may be a path of that origin. Nothing of another origin is taken.

use petasos_net::{Origin, Url, checked_url};
use rmcp::transport::AuthError;
use rmcp::transport::auth::AuthorizationMetadata;

use super::wire::OverNet;

const DOCUMENT: &str = "/.well-known/oauth-authorization-server";

/// The description at the root of the server's origin, when its issuer is of that origin too.
pub(super) async fn metadata(
    server: &Url,
    issuer: String,
    wire: &OverNet,
) -> Result<AuthorizationMetadata, AuthError> {
    let own = Origin::of(server);
    let is_own = |text: &str| checked_url(text).is_ok_and(|url| Origin::of(&url) == own);
    let mut document = server.clone();
    document.set_query(None);
    document.set_path(DOCUMENT);
    let refused = |issuer: String| AuthError::AuthorizationServerMismatch {
        expected_issuer: server.origin().ascii_serialization(),
        received_issuer: issuer,
    };
    if own.is_none() || !is_own(&issuer) {
        return Err(refused(issuer));
    }
    let body = wire
        .read(&document)
        .await
        .map_err(|error| AuthError::InternalError(format!("`{document}` was not read: {error}")))?;
    let metadata: AuthorizationMetadata = serde_json::from_slice(&body).map_err(|error| {
        AuthError::InternalError(format!("`{document}` describes no sign-in: {error}"))
    })?;
    let endpoints = [&metadata.authorization_endpoint, &metadata.token_endpoint];
    match &metadata.issuer {
        Some(named) if !is_own(named) => Err(refused(named.clone())),
        _ if !endpoints.iter().all(|endpoint| is_own(endpoint)) => Err(refused(issuer)),
        _ => Ok(metadata),
    }
}
