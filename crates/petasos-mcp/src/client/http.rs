//! Streamable HTTP over `petasos-net`: what the SDK's transport needs, with our rules on the way
//! out. A token is a credential with the server's origin as its scope, so it goes nowhere else.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt as _};
use http::{HeaderName, HeaderValue};
use petasos_contract::Secret;
use petasos_net::{
    Credential, Identity, Method, Net, NetError, Origin, Reply, Request, Scheme, Scope, Tls,
    checked_url,
};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use serde_json::Value;
use sse_stream::{Sse, SseStream};

use crate::bounded::refused_answer;

const SESSION: &str = "mcp-session-id";
/// How long a stream may be silent; servers send a sign of life every few seconds.
const SILENCE: Duration = Duration::from_mins(5);
/// The largest body that is read whole.
const BODY_MAX: usize = 16 * 1024 * 1024;

/// The way out to one server.
#[derive(Clone)]
pub(super) struct NetHttp {
    pub(super) net: Arc<Net>,
    pub(super) tls: Tls,
    pub(super) identity: Option<Identity>,
    pub(super) owner: Arc<str>,
    pub(super) first_byte: Duration,
}

type Fault = StreamableHttpError<NetError>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// What a request carries beside its body.
pub(super) struct Head {
    pub(super) session: Option<Arc<str>>,
    pub(super) token: Option<String>,
    pub(super) headers: HashMap<HeaderName, HeaderValue>,
}

impl NetHttp {
    /// Sends a request; the token may go to the origin of the address and nowhere else.
    pub(super) async fn send(
        &self,
        method: Method,
        uri: &str,
        head: Head,
        body: Bytes,
    ) -> Result<Reply, NetError> {
        let url = checked_url(uri)?;
        let mut request = Request::new(method, url.clone()).first_byte(self.first_byte).body(body);
        request.tls = self.tls.clone();
        request.identity.clone_from(&self.identity);
        request = request.header("accept", "application/json, text/event-stream")?;
        for (name, value) in &head.headers {
            request.headers.insert(name.clone(), value.clone());
        }
        if let Some(session) = &head.session {
            request = request.header(SESSION, session)?;
        }
        let credential = head.token.map(|token| Credential {
            owner: self.owner.to_string(),
            secret: Secret::new(token),
            scope: Origin::of(&url).map_or_else(|| Scope::new([]), Scope::exactly),
            scheme: Scheme::Bearer,
        });
        self.net.send(request.credential(credential)).await
    }
}

/// The events of a reply, each of at most `event_max` bytes. A larger one ends them; where they
/// answer a request, it is told what the limit is.
pub(super) fn events(reply: Reply, event_max: usize, asked: Option<Value>) -> Events {
    let outgrown = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&outgrown);
    let begun = (reply, 0_usize, outgrown);
    let pieces = futures::stream::unfold(begun, move |(mut reply, held, outgrown)| async move {
        if outgrown.load(Ordering::Relaxed) {
            return None;
        }
        match reply.chunk(SILENCE).await {
            Ok(Some(piece)) => {
                let held = held_after(held, &piece);
                if held > event_max {
                    let host = reply.url.host_str().unwrap_or_default().to_owned();
                    tracing::warn!(
                        host,
                        limit = event_max,
                        "an event of an MCP server is too large"
                    );
                    let fault = NetError::TooLarge { host, bytes_max: event_max };
                    outgrown.store(true, Ordering::Relaxed);
                    return Some((Err(fault), (reply, 0, outgrown)));
                }
                Some((Ok(piece), (reply, held, outgrown)))
            }
            Ok(None) => None,
            Err(fault) => Some((Err(fault), (reply, 0, outgrown))),
        }
    });
    let told = move |event: Result<Sse, SseError>| match (&asked, event) {
        (Some(id), Err(_)) if seen.load(Ordering::Relaxed) => {
            let data = Some(refused_answer(id, event_max).to_string());
            Ok(Sse { data, ..Sse::default() })
        }
        (_, event) => event,
    };
    SseStream::from_bytes_stream(pieces).map(told).boxed()
}

/// How many bytes of an unfinished event there are after this piece: an empty line ends one.
fn held_after(held: usize, piece: &Bytes) -> usize {
    let end = piece.windows(2).rposition(|pair| matches!(pair, b"\n\n" | b"\r\r" | b"\n\r"));
    end.map_or(held + piece.len(), |end| piece.len() - end)
}

fn header(reply: &Reply, name: &str) -> Option<String> {
    reply.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// A refusal of the server's that asks for a sign-in, or for more rights.
fn challenge(reply: &Reply) -> Option<Fault> {
    let asked = header(reply, "www-authenticate");
    match (reply.status, asked) {
        (401, asked) => {
            Some(Fault::AuthRequired(AuthRequiredError::new(asked.unwrap_or_default())))
        }
        (403, Some(asked)) => {
            let scope = parameter(&asked, "scope");
            Some(Fault::InsufficientScope(InsufficientScopeError::new(asked, scope)))
        }
        _ => None,
    }
}

/// A quoted parameter of a challenge.
pub(super) fn parameter(challenge: &str, name: &str) -> Option<String> {
    let (_, rest) = challenge.split_once(&format!("{name}=\""))?;
    Some(rest.split('"').next()?.to_owned())
}

impl StreamableHttpClient for NetHttp {
    type Error = NetError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        self.post_message_with_max_sse_event_size(uri, message, session, token, headers, BODY_MAX)
            .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        mut headers: HashMap<HeaderName, HeaderValue>,
        event_max: usize,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let json = HeaderValue::from_static("application/json");
        headers.insert(HeaderName::from_static("content-type"), json);
        let body = Bytes::from(serde_json::to_vec(&message)?);
        let in_session = session.is_some();
        let head = Head { session, token, headers };
        let reply = self.send(Method::POST, &uri, head, body).await.map_err(Fault::Client)?;
        if let Some(challenge) = challenge(&reply) {
            return Err(challenge);
        }
        match reply.status {
            202 | 204 => return Ok(StreamableHttpPostResponse::Accepted),
            404 if in_session => return Err(Fault::SessionExpired),
            _ => {}
        }
        let asked = match &message {
            JsonRpcMessage::Request(request) => Some(serde_json::to_value(&request.id)?),
            _ => None,
        };
        answer(reply, asked, event_max).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Fault> {
        let head = Head { session: Some(session), token, headers };
        let sent = self.send(Method::DELETE, &uri, head, Bytes::new()).await;
        sent.map(drop).map_err(Fault::Client)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Fault> {
        self.get_stream_with_max_sse_event_size(uri, session, last, token, headers, BODY_MAX).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        mut headers: HashMap<HeaderName, HeaderValue>,
        event_max: usize,
    ) -> Result<Events, Fault> {
        if let Some(last) = last.and_then(|last| HeaderValue::from_str(&last).ok()) {
            headers.insert(HeaderName::from_static("last-event-id"), last);
        }
        let head = Head { session, token, headers };
        let sent = self.send(Method::GET, &uri, head, Bytes::new()).await;
        let reply = sent.map_err(Fault::Client)?;
        if let Some(challenge) = challenge(&reply) {
            return Err(challenge);
        }
        match reply.status {
            200..300 => {}
            404 | 405 => return Err(Fault::ServerDoesNotSupportSse),
            status => return Err(HttpStatusError::new(status, None).into()),
        }
        let kind = header(&reply, "content-type");
        if !kind.as_deref().is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return Err(Fault::UnexpectedContentType(kind));
        }
        Ok(events(reply, event_max, None))
    }
}

/// What a reply to a message holds: a stream, one message, or nothing.
async fn answer(
    reply: Reply,
    asked: Option<Value>,
    event_max: usize,
) -> Result<StreamableHttpPostResponse, Fault> {
    let session = header(&reply, SESSION);
    let kind = header(&reply, "content-type");
    let is = |wanted: &str| kind.as_deref().is_some_and(|kind| kind.starts_with(wanted));
    let good = (200..300).contains(&reply.status);
    if good && is("text/event-stream") {
        return Ok(StreamableHttpPostResponse::Sse(events(reply, event_max, asked), session));
    }
    if asked.is_none() && good {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    let status = reply.status;
    let retry_after = header(&reply, "retry-after");
    if !is("application/json") {
        if good {
            return Err(Fault::UnexpectedContentType(kind));
        }
        return Err(HttpStatusError::new(status, retry_after).into());
    }
    let body = reply.bytes(BODY_MAX, SILENCE).await.map_err(Fault::Client)?;
    let message: Result<ServerJsonRpcMessage, _> = serde_json::from_slice(&body);
    match message {
        Ok(message) if good => Ok(StreamableHttpPostResponse::Json(message, session)),
        // A refusal that says why is worth more than its number.
        Ok(message @ JsonRpcMessage::Error(_)) => {
            Ok(StreamableHttpPostResponse::Json(message, session))
        }
        Err(error) if good => Err(Fault::Deserialize(error)),
        _ => Err(HttpStatusError::new(status, retry_after).into()),
    }
}
