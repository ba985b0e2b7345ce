//! gRPC over the one client: one message out, framed messages and a status back.
//!
//! Only what a client of unary and server-streaming calls needs. It knows no message types; the
//! bytes belong to the module that speaks the service.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use petasos_contract::wait;
use reqwest::header::HeaderMap;
use url::Url;

use crate::client::{Follow, Net, Reply, Request};
use crate::fault::{NetError, root};

/// The largest message that is taken; a service that sends more speaks another protocol.
const MESSAGE_MAX: usize = 32 << 20;

/// Flag byte and length before every message.
const PREFIX: usize = 5;

/// How a call ended, in the service's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {message}", name = name(*code))]
pub struct Status {
    /// The code of the gRPC specification; 0 is success.
    pub code: u32,
    /// The text beside it.
    pub message: String,
    /// The `grpc-status-details-bin` trailer as it was sent, which only its service can read.
    pub details: Option<String>,
}

impl Status {
    /// The deadline passed on the way or over there.
    pub const DEADLINE_EXCEEDED: u32 = 4;
    /// What was asked for is not there.
    pub const NOT_FOUND: u32 = 5;
    /// It is there already.
    pub const ALREADY_EXISTS: u32 = 6;
    /// The caller may not do this.
    pub const PERMISSION_DENIED: u32 = 7;
    /// A limit of rate or quota was met.
    pub const RESOURCE_EXHAUSTED: u32 = 8;
    /// The service is not in the state for it.
    pub const FAILED_PRECONDITION: u32 = 9;
    /// There is no such call.
    pub const UNIMPLEMENTED: u32 = 12;
    /// Something broke over there.
    pub const INTERNAL: u32 = 13;
    /// The service does not answer for the moment.
    pub const UNAVAILABLE: u32 = 14;
    /// The credential is missing or wrong.
    pub const UNAUTHENTICATED: u32 = 16;
}

const NAMES: [&str; 17] = [
    "ok",
    "cancelled",
    "unknown",
    "invalid argument",
    "deadline exceeded",
    "not found",
    "already exists",
    "permission denied",
    "resource exhausted",
    "failed precondition",
    "aborted",
    "out of range",
    "unimplemented",
    "internal",
    "unavailable",
    "data loss",
    "unauthenticated",
];

fn name(code: u32) -> &'static str {
    usize::try_from(code).ok().and_then(|code| NAMES.get(code)).copied().unwrap_or("unknown")
}

/// A call without a good end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrpcError {
    /// It did not get through, or its reply broke off.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The service refused it.
    #[error(transparent)]
    Status(#[from] Status),
    /// Something answered that is no gRPC service, or a proxy before one.
    #[error("`{host}` answered HTTP {status} instead of gRPC")]
    Http {
        /// The host.
        host: String,
        /// The status line's number.
        status: u16,
    },
    /// The reply is no sequence of messages.
    #[error("`{host}` does not answer in gRPC: {reason}")]
    Garbage {
        /// The host.
        host: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Net {
    /// Calls a method: `request` names the address `…/package.Service/Method` and the credential.
    ///
    /// Comes back with the headers; messages are then read one by one.
    pub async fn grpc(&self, request: Request, message: &[u8]) -> Result<Messages, GrpcError> {
        let host = request.url.host_str().unwrap_or_default().to_owned();
        let timeout = format!("{}m", request.first_byte.as_millis().min(99_999_999));
        let mut request = request
            .header("content-type", "application/grpc+proto")?
            .header("te", "trailers")?
            .header("grpc-timeout", &timeout)?
            .body(frame(message));
        request.method = reqwest::Method::POST;
        request.http2 = true;
        request.follow = Follow::Nowhere;
        let reply = self.send(request).await?;
        Messages::of(reply, host)
    }
}

/// One message as it travels.
fn frame(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut framed = Vec::with_capacity(PREFIX + message.len());
    framed.push(0);
    framed.extend_from_slice(&length.to_be_bytes());
    framed.extend_from_slice(message);
    Bytes::from(framed)
}

/// The messages of a reply, as they arrive.
pub struct Messages {
    host: String,
    body: reqwest::Body,
    buffer: BytesMut,
    status: Option<Status>,
}

impl std::fmt::Debug for Messages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Messages").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Messages {
    fn of(reply: Reply, host: String) -> Result<Self, GrpcError> {
        let http = reply.status;
        let kind = reply.headers.get("content-type").and_then(|kind| kind.to_str().ok());
        let speaks = kind.is_some_and(|kind| kind.starts_with("application/grpc"));
        // A reply without messages carries its status in the headers.
        let status = status(&reply.headers);
        if http != 200 {
            return Err(GrpcError::Http { host, status: http });
        }
        if !speaks && status.is_none() {
            let reason = format!("its content type is `{}`", kind.unwrap_or("missing"));
            return Err(GrpcError::Garbage { host, reason });
        }
        let (_, body) = reply.into_body();
        Ok(Self { host, body, buffer: BytesMut::new(), status })
    }

    /// The next message, waiting at most `idle`; `None` after a good end.
    pub async fn next(&mut self, idle: Duration) -> Result<Option<Bytes>, GrpcError> {
        let deadline = Instant::now() + idle;
        loop {
            if let Some(message) = self.whole()? {
                return Ok(Some(message));
            }
            if let Some(status) = &self.status {
                return match status.code {
                    0 if self.buffer.is_empty() => Ok(None),
                    0 => Err(self.garbage("its last message is cut")),
                    _ => Err(status.clone().into()),
                };
            }
            match wait::until(deadline, "more of a gRPC reply", self.body.frame()).await {
                Err(_) => return Err(NetError::IdleTimeout { host: self.host.clone() }.into()),
                Ok(None) => return Err(self.garbage("it ended without a status")),
                Ok(Some(Err(error))) => {
                    let reason = root(&error);
                    return Err(NetError::Broken { host: self.host.clone(), reason }.into());
                }
                Ok(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => self.buffer.extend_from_slice(&data),
                    Err(other) => {
                        let trailers = other.into_trailers().unwrap_or_default();
                        let ended = status(&trailers);
                        self.status =
                            Some(ended.ok_or_else(|| self.garbage("its trailers hold no status"))?);
                    }
                },
            }
        }
    }

    /// The only message of a unary call, within `total`.
    pub async fn one(mut self, total: Duration) -> Result<Bytes, GrpcError> {
        let deadline = Instant::now() + total;
        let first = self.next(total).await?;
        let first = first.ok_or_else(|| self.garbage("a message is missing"))?;
        let left = deadline.saturating_duration_since(Instant::now());
        match self.next(left).await? {
            None => Ok(first),
            Some(_) => Err(self.garbage("a second message came")),
        }
    }

    fn garbage(&self, reason: &str) -> GrpcError {
        GrpcError::Garbage { host: self.host.clone(), reason: reason.to_owned() }
    }

    fn whole(&mut self) -> Result<Option<Bytes>, GrpcError> {
        let Some((prefix, _)) = self.buffer.split_first_chunk::<PREFIX>() else { return Ok(None) };
        let [flag, a, b, c, d] = *prefix;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if flag != 0 {
            return Err(self.garbage("a message is compressed, which was not asked for"));
        }
        if length > MESSAGE_MAX {
            return Err(self.garbage("a message is larger than is taken"));
        }
        if self.buffer.len() < PREFIX + length {
            return Ok(None);
        }
        let mut message = self.buffer.split_to(PREFIX + length);
        Ok(Some(message.split_off(PREFIX).freeze()))
    }
}

fn status(headers: &HeaderMap) -> Option<Status> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let code = text("grpc-status")?.parse().ok()?;
    let message = text("grpc-message").map(unescaped).unwrap_or_default();
    Some(Status { code, message, details: text("grpc-status-details-bin").map(str::to_owned) })
}

/// The text of `grpc-message`, whose bytes beyond ASCII travel as `%41`.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escape = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = escape.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            Some(_) | None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The address of a method of a service at `server`.
pub fn method_url(server: &Url, service: &str, method: &str) -> Result<Url, NetError> {
    let path = format!("{}/{service}/{method}", server.path().trim_end_matches('/'));
    let mut url = server.clone();
    url.set_path(&path);
    Ok(crate::origin::checked_url(url.as_str())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_status_are_unescaped() {
        for (sent, meant) in [("plain", "plain"), ("%C3%A9 100%", "é 100%"), ("%zz%2", "%zz%2")] {
            assert_eq!(unescaped(sent), meant);
        }
    }

    #[test]
    fn a_method_is_below_its_server() {
        let server = Url::parse("https://api.example.com").unwrap();
        let url = method_url(&server, "a.B", "C").unwrap();
        assert_eq!(url.as_str(), "https://api.example.com/a.B/C");
    }
}
