//! Typed gRPC calls: which address, which credential, how long, and whether again.
//!
//! Both services of the vendor are spoken through it: the control plane with the user's token,
//! and the router of one machine with a token of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_net::grpc::method_url;
use petasos_net::{Credential, GrpcError, Messages, Method, Net, Request, Status, Tls, Url};
use prost::Message;

use super::messages::{RpcRetryPolicy, StatusDetails};
use crate::{Repeat, VendorError, with_retry};
use petasos_terminal::ids;

/// One attempt of a short call.
const ATTEMPT: Duration = Duration::from_secs(15);

/// One service at one address.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    pub(super) net: Arc<Net>,
    pub(super) server: Url,
    pub(super) service: &'static str,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) credential: Credential,
    pub(super) tls: Tls,
}

/// How a call is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// All attempts together.
    pub(super) within: Duration,
    /// What doing it twice would mean.
    pub(super) repeat: Repeat,
}

impl Manner {
    /// A call that may be repeated.
    pub(super) const fn harmless(within: Duration) -> Self {
        Self { within, repeat: Repeat::Harmless }
    }

    /// A call that must not happen twice.
    pub(super) const fn once(within: Duration) -> Self {
        Self { within, repeat: Repeat::OnlyUnacted }
    }
}

impl Wire {
    /// A call with one answer.
    pub(super) async fn call<A: Message + Default>(
        &self,
        method: &str,
        question: &impl Message,
        manner: Manner,
    ) -> Result<A, VendorError> {
        let body = question.encode_to_vec();
        let deadline = Instant::now() + manner.within;
        // The same for all attempts: the vendor answers a known key with its first answer.
        let key = ids::hex(16);
        let (body, key) = (&body, &key);
        with_retry(deadline, manner.repeat, |left| async move {
            // A hanging attempt may be followed by another only where that is harmless.
            let attempt = match manner.repeat {
                Repeat::Harmless => left.min(ATTEMPT.max(manner.within / 2)),
                Repeat::OnlyUnacted => left,
            };
            let request = self.request(method, attempt)?;
            let request = request.header("x-idempotency-key", key)?;
            let messages = self.net.grpc(request, body).await.map_err(told)?;
            let answer = messages.one(attempt).await.map_err(told)?;
            A::decode(answer).map_err(|error| unreadable(method, &error))
        })
        .await
    }

    /// A call with a stream of answers; one attempt, because only its reader knows where it was.
    pub(super) async fn stream<A: Message + Default>(
        &self,
        method: &'static str,
        question: &impl Message,
        within: Duration,
    ) -> Result<Stream<A>, VendorError> {
        let request = self.request(method, within)?;
        let body = question.encode_to_vec();
        let messages = self.net.grpc(request, &body).await.map_err(told)?;
        Ok(Stream { messages, method, answer: std::marker::PhantomData })
    }

    fn request(&self, method: &str, within: Duration) -> Result<Request, VendorError> {
        let url = method_url(&self.server, self.service, method)?;
        let mut request = Request::new(Method::POST, url).first_byte(within);
        for (name, value) in &self.headers {
            request = request.header(name, value)?;
        }
        request.tls = self.tls.clone();
        Ok(request.credential(Some(self.credential.clone())))
    }
}

/// Answers as they come.
#[derive(Debug)]
pub(super) struct Stream<A> {
    messages: Messages,
    method: &'static str,
    answer: std::marker::PhantomData<fn() -> A>,
}

impl<A: Message + Default> Stream<A> {
    /// The next answer, waiting at most `idle`; `None` after a good end.
    pub(super) async fn next(&mut self, idle: Duration) -> Result<Option<A>, VendorError> {
        match self.messages.next(idle).await.map_err(told)? {
            None => Ok(None),
            Some(bytes) => {
                A::decode(bytes).map(Some).map_err(|error| unreadable(self.method, &error))
            }
        }
    }
}

fn unreadable(method: &str, error: &prost::DecodeError) -> VendorError {
    VendorError::Unknown { why: format!("the answer to `{method}` cannot be read: {error}") }
}

/// What a failed call means for whoever made it.
fn told(error: GrpcError) -> VendorError {
    let why = error.to_string();
    match error {
        GrpcError::Net(error) => error.into(),
        GrpcError::Http { status: 429, .. } => VendorError::RateLimited { why, after: None },
        GrpcError::Http { status: 401 | 403, .. } => VendorError::Credential { why },
        GrpcError::Http { .. } | GrpcError::Garbage { .. } => VendorError::Unknown { why },
        GrpcError::Status(status) => match status.code {
            Status::NOT_FOUND => VendorError::Missing { why },
            Status::RESOURCE_EXHAUSTED => VendorError::RateLimited { why, after: asked(&status) },
            Status::UNAUTHENTICATED | Status::PERMISSION_DENIED => VendorError::Credential { why },
            // Cancelled, unknown, deadline, aborted, internal, unavailable, data loss.
            1
            | 2
            | Status::DEADLINE_EXCEEDED
            | 10
            | Status::INTERNAL
            | Status::UNAVAILABLE
            | 15 => {
                match asked(&status) {
                    // A vendor that says when to come back has turned the call away.
                    Some(after) => VendorError::RateLimited { why, after: Some(after) },
                    None => VendorError::Unknown { why },
                }
            }
            _ => VendorError::Refused { why },
        },
    }
}

/// How long the vendor asks to wait, from the details of a status.
fn asked(status: &Status) -> Option<Duration> {
    let details = base64_bytes(status.details.as_deref()?)?;
    let details = StatusDetails::decode(details.as_slice()).ok()?;
    let policy = details.details.iter().find(|any| any.type_url.ends_with("RPCRetryPolicy"))?;
    let policy = RpcRetryPolicy::decode(policy.value.as_slice()).ok()?;
    Duration::try_from_secs_f32(policy.retry_after_secs).ok()
}

fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    let text = text.trim_end_matches('=');
    base64::engine::general_purpose::STANDARD_NO_PAD.decode(text).ok()
}
