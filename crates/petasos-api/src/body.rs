//! The body of a request: so many bytes, in so much time, as JSON of a known shape.

use std::time::Duration;

use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::ApiError;

/// The largest body.
pub(crate) const BODY_MAX: usize = 10_000_000;
/// How long it may take.
const BODY_TIME: Duration = Duration::from_mins(1);

/// Reads it whole.
pub(crate) async fn read(body: Incoming, most: usize) -> Result<Vec<u8>, ApiError> {
    let too_large = || {
        let message = format!("the body has more than {most} bytes");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
    };
    let declared = hyper::body::Body::size_hint(&body).exact();
    if declared.is_some_and(|bytes| bytes > most as u64) {
        return Err(too_large());
    }
    let whole = tokio::time::timeout(BODY_TIME, Limited::new(body, most).collect()).await;
    let slow = |_| {
        let message = "the body did not arrive in time";
        ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", message)
    };
    match whole.map_err(slow)? {
        Ok(whole) => Ok(whole.to_bytes().to_vec()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(error) => Err(ApiError::bad("invalid_body", format!("the body broke off: {error}"))),
    }
}

/// The body as JSON; deep nesting is refused by the parser.
pub(crate) async fn value(headers: &HeaderMap, body: Incoming) -> Result<Value, ApiError> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.map(|kind| kind.split(';').next().unwrap_or_default().trim().to_lowercase());
    if kind.as_deref().is_some_and(|kind| kind != "application/json") {
        let message = "the body must be application/json";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(ApiError::new(status, "unsupported_media_type", message));
    }
    let bytes = read(body, BODY_MAX).await?;
    serde_json::from_slice(&bytes)
        .map_err(|error| ApiError::bad("invalid_json", format!("the body is no JSON: {error}")))
}

/// JSON as a type; says which field does not fit.
pub(crate) fn shaped<T: DeserializeOwned>(value: Value) -> Result<T, ApiError> {
    if !value.is_object() {
        return Err(ApiError::bad("invalid_json", "the body must be a JSON object"));
    }
    serde_json::from_value(value).map_err(|error| {
        ApiError::bad("invalid_request", format!("the body does not fit: {error}"))
    })
}
