//! The body of a request: so many bytes, in so much time, as JSON of a known shape.

use std::time::Duration;

use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::ApiError;

/// The largest body.
pub(crate) const BODY_MAX: usize = 10_000_000;
/// How long it may take.
const BODY_TIME: Duration = Duration::from_mins(1);

/// Reads it whole.
pub(crate) async fn read<B>(body: B, most: usize) -> Result<Vec<u8>, ApiError>
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    read_within(body, most, BODY_TIME).await
}

/// The same in less time.
pub(crate) async fn read_within<B>(
    body: B,
    most: usize,
    time: Duration,
) -> Result<Vec<u8>, ApiError>
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let too_large = || {
        let message = format!("the body has more than {most} bytes");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
    };
    let declared = body.size_hint().exact();
    if declared.is_some_and(|bytes| bytes > most as u64) {
        return Err(too_large());
    }
    let whole = tokio::time::timeout(time, Limited::new(body, most).collect()).await;
    match whole.map_err(|_| slow())? {
        Ok(whole) => Ok(whole.to_bytes().to_vec()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(error) => Err(ApiError::bad("invalid_body", format!("the body broke off: {error}"))),
    }
}

/// A body that did not come in time.
pub(crate) fn slow() -> ApiError {
    let message = "the body did not arrive in time";
    ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", message)
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use futures::stream::{self, StreamExt as _};
    use http_body_util::StreamBody;
    use hyper::body::Frame;

    use super::*;

    /// A body whose second half comes so much later.
    fn after(pause: Duration) -> impl Body<Data = Bytes, Error = Infallible> {
        let piece = |text: &'static str| Ok(Frame::data(Bytes::from_static(text.as_bytes())));
        let late = stream::once(async move {
            tokio::time::sleep(pause).await;
            piece("}")
        });
        StreamBody::new(stream::iter([piece("{")]).chain(late).boxed())
    }

    #[tokio::test(start_paused = true)]
    async fn s110_a_body_may_take_a_minute_and_no_longer() {
        let whole = read(after(Duration::from_secs(59)), 10).await.unwrap();
        assert_eq!(whole, b"{}");
        let slow = read(after(Duration::from_secs(61)), 10).await.unwrap_err();
        assert_eq!((slow.status, &*slow.code), (StatusCode::REQUEST_TIMEOUT, "body_timeout"));
        let large = read(after(Duration::ZERO), 1).await.unwrap_err();
        assert_eq!(large.code, "body_too_large");
    }
}
