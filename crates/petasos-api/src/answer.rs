//! Answers: JSON, errors, and streams of events.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use serde::Serialize;

use crate::error::{ApiError, ErrorFrame};

/// A comment keeps a silent stream open.
pub(crate) const SILENCE: Duration = Duration::from_secs(15);
pub(crate) const KEEPALIVE: &str = ": keepalive\n\n";

pub(crate) type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    let text = serde_json::to_vec(value).unwrap_or_default();
    plain(status, "application/json", text)
}

pub(crate) fn plain(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(text.into()).boxed_unsync());
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

pub(crate) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::new()).boxed_unsync());
    *answer.status_mut() = status;
    answer
}

pub(crate) fn error(error: &ApiError, redact: &dyn Fn(&str) -> String) -> Answer {
    let mut answer = json(error.status, &ErrorFrame { error: error.body(redact) });
    let headers = answer.headers_mut();
    if error.begun {
        headers.insert(RETRY, HeaderValue::from_static("false"));
    }
    if let Some(seconds) = error.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if error.status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    answer
}

/// The official clients obey this where they would ask again by themselves.
const RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// A stream of events; `frames` are whole ones.
pub(crate) fn events(frames: impl Stream<Item = String> + Send + 'static) -> Answer {
    use futures::StreamExt as _;
    let frames = frames.map(|text| Ok::<_, Infallible>(Frame::data(Bytes::from(text))));
    let mut answer = Response::new(BodyExt::boxed_unsync(StreamBody::new(frames)));
    let headers = answer.headers_mut();
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    headers.insert(unbuffered, HeaderValue::from_static("no"));
    answer
}

/// Adds a header whose value may hold anything; what no header can hold is left out.
pub(crate) fn with_header(mut answer: Answer, name: &'static str, value: &str) -> Answer {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(HeaderName::from_static(name), value);
    }
    answer
}

/// A frame with one line of JSON.
pub(crate) fn data(value: &impl Serialize) -> String {
    format!("data: {}\n\n", serde_json::to_string(value).unwrap_or_default())
}

/// The same with a name.
pub(crate) fn named(event: &str, value: &impl Serialize) -> String {
    format!("event: {event}\n{}", data(value))
}
