//! By which name the server is addressed and from which page: a page that resolves its own name to
//! this machine is turned away by its `Host` and `Origin`.

use std::net::IpAddr;

use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::error::ApiError;
use crate::options::ApiOptions;

/// What pages may do, where any may.
const METHODS: &str = "GET, POST, PATCH, DELETE, OPTIONS";
const HEADERS: &str = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, \
                       X-Hermes-Session-Id, X-Hermes-Session-Key";

/// Checks whom the request was meant for; gives the origin that may read the answer.
pub(crate) fn check(
    headers: &HeaderMap,
    authority: Option<&str>,
    options: &ApiOptions,
) -> Result<Option<HeaderValue>, ApiError> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|value| value.to_str().ok());
    let host = authority.or(host).map(name_of);
    if hosts.next().is_some() || !host.is_some_and(|host| is_ours(&host, options)) {
        let message = "this server is not addressed by that name: see `extra.hosts`";
        return Err(ApiError::new(StatusCode::FORBIDDEN, "host_not_allowed", message));
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(None) };
    let listed = |known: &String| known == "*" || known.as_bytes() == origin.as_bytes();
    if !options.origins.iter().any(listed) {
        let message = "pages of this origin may not use the server: see API_SERVER_CORS_ORIGINS";
        return Err(ApiError::new(StatusCode::FORBIDDEN, "origin_not_allowed", message));
    }
    Ok(Some(origin.clone()))
}

/// The name without its port, in small letters.
fn name_of(host: &str) -> String {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(rest, |(name, _)| name),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.trim_end_matches('.').to_ascii_lowercase()
}

fn is_ours(name: &str, options: &ApiOptions) -> bool {
    let ip = name.parse::<IpAddr>().ok();
    let bound = options.address.ip();
    // Whoever binds every address is addressed by any of them, but not by any name.
    name == "localhost"
        || ip.is_some_and(|ip| ip.is_loopback() || ip == bound || bound.is_unspecified())
        || options.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
}

/// Lets a page of a listed origin read the answer.
pub(crate) fn allow(headers: &mut HeaderMap, origin: Option<&HeaderValue>, preflight: bool) {
    let Some(origin) = origin else { return };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    let shown = "X-Request-Id, X-Hermes-Session-Id, X-Petasos-Ignored, Retry-After";
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(shown));
    if preflight {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(HEADERS));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    }
}
