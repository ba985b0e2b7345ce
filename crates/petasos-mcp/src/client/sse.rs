//! The older HTTP transport: one stream of events from the server, messages posted to the address
//! that its first event names. Gone from the SDK, still served by old installations.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt as _};
use http::{HeaderName, HeaderValue};
use petasos_net::{Method, NetError, Origin, Url};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use sse_stream::Sse;

use super::http::{Head, NetHttp, events};

const EVENT_MAX: usize = 16 * 1024 * 1024;

/// Why the transport does not work.
#[derive(Debug, thiserror::Error)]
pub(super) enum SseFault {
    /// The network.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The server refused.
    #[error("the server answered with status {0}")]
    Status(u16),
    /// No address for messages.
    #[error("the server named no address for messages")]
    NoEndpoint,
    /// An address elsewhere.
    #[error("the server wants messages sent to `{0}`, which is another origin")]
    ForeignEndpoint(String),
    /// A message that cannot be written.
    #[error("a message cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// An open stream and where messages go.
pub(super) struct OldSse {
    http: NetHttp,
    headers: HashMap<HeaderName, HeaderValue>,
    endpoint: Arc<str>,
    stream: BoxStream<'static, Result<Sse, sse_stream::Error>>,
}

impl OldSse {
    /// Opens the stream and waits for the address of messages; the caller owns the deadline.
    pub(super) async fn open(
        http: NetHttp,
        url: &Url,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Self, SseFault> {
        let head = Head { session: None, token: None, headers: headers.clone() };
        let reply = http.send(Method::GET, url.as_str(), head, Bytes::new()).await?;
        if reply.status != 200 {
            return Err(SseFault::Status(reply.status));
        }
        let from = reply.url.clone();
        let mut stream = events(reply, EVENT_MAX, None);
        while let Some(event) = stream.next().await {
            let Ok(event) = event else { break };
            if event.event.as_deref() != Some("endpoint") {
                continue;
            }
            let endpoint = from.join(event.data.unwrap_or_default().trim());
            let endpoint = endpoint.map_err(|_| SseFault::NoEndpoint)?;
            // Headers of the user's go along with every message.
            if Origin::of(&endpoint) != Origin::of(&from) {
                return Err(SseFault::ForeignEndpoint(endpoint.to_string()));
            }
            return Ok(Self { http, headers, endpoint: endpoint.as_str().into(), stream });
        }
        Err(SseFault::NoEndpoint)
    }
}

impl Transport<RoleClient> for OldSse {
    type Error = SseFault;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), SseFault>> + Send + 'static {
        let (http, endpoint) = (self.http.clone(), Arc::clone(&self.endpoint));
        let mut headers = self.headers.clone();
        let json = HeaderValue::from_static("application/json");
        headers.insert(HeaderName::from_static("content-type"), json);
        async move {
            let body = Bytes::from(serde_json::to_vec(&message)?);
            let head = Head { session: None, token: None, headers };
            let reply = http.send(Method::POST, &endpoint, head, body).await?;
            if (200..300).contains(&reply.status) {
                return Ok(());
            }
            Err(SseFault::Status(reply.status))
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let event = self.stream.next().await?.ok()?;
            if event.event.as_deref().is_some_and(|name| name != "message") {
                continue;
            }
            match serde_json::from_str(&event.data.unwrap_or_default()) {
                Ok(message) => return Some(message),
                Err(error) => tracing::debug!(%error, "an event of an MCP server was not read"),
            }
        }
    }

    async fn close(&mut self) -> Result<(), SseFault> {
        self.stream = futures::stream::empty().boxed();
        Ok(())
    }
}
