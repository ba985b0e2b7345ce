//! A listener for platforms that call us: one address, one path, and an answer only after what came
//! is stored. Where as much is undone as may be it says so, and the platform comes again.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use http::{HeaderMap, Method, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use petasos_contract::wait::Owned;
use petasos_net::Url;
use petasos_net::serve::{ServeLimits, serve};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::link::Link;
use crate::options::text_of;
use crate::platform::{LinkError, Opening};

/// The largest request that is read: files come as addresses.
const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long a platform may take to say what it says.
const BODY_MAX: Duration = Duration::from_secs(20);
/// When a platform should come again after it was told that there is no room.
const AGAIN: &str = "5";

/// Where a platform calls us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListenAt {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
}

impl ListenAt {
    /// From `<P>_HOST`, `<P>_PORT` and `<P>_PATH`: this machine alone unless a host is named.
    pub(crate) fn of(
        opening: &Opening<'_>,
        prefix: &str,
        (port, path): (u16, &str),
    ) -> Result<Self, String> {
        let word = |end: &str| text_of(opening.settings, &format!("{prefix}_{end}"));
        let host = word("HOST").unwrap_or_else(|| "127.0.0.1".to_owned());
        let host: IpAddr = match host.as_str() {
            "localhost" => IpAddr::from([127, 0, 0, 1]),
            other => other
                .parse()
                .map_err(|_| format!("{prefix}_HOST `{other}` is no address: write 127.0.0.1"))?,
        };
        let port = match word("PORT") {
            Some(text) => text.parse().map_err(|_| format!("{prefix}_PORT `{text}` is no port"))?,
            None => port,
        };
        let path = word("PATH").unwrap_or_else(|| path.to_owned());
        let path = if path.starts_with('/') { path } else { format!("/{path}") };
        Ok(Self { address: SocketAddr::new(host, port), path })
    }
}

/// What a platform says to us.
#[derive(Debug)]
pub(crate) struct Hit {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    query: String,
}

impl Hit {
    /// A header, or nothing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// A value of the address.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        pairs(&self.query).into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The body as a form.
    pub(crate) fn form(&self) -> Vec<(String, String)> {
        pairs(std::str::from_utf8(&self.body).unwrap_or_default())
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

fn pairs(text: &str) -> Vec<(String, String)> {
    let url = Url::parse(&format!("http://form/?{text}"));
    let own = |url: Url| url.query_pairs().into_owned().collect();
    url.map(own).unwrap_or_default()
}

/// What it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) body: String,
}

impl Said {
    /// A short text.
    pub(crate) fn text(status: u16, body: impl Into<String>) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: body.into() }
    }

    /// JSON.
    pub(crate) fn json(value: &Value) -> Self {
        Self { status: 200, kind: "application/json", body: value.to_string() }
    }

    /// It is stored, or nothing of it is wanted.
    pub(crate) fn taken() -> Self {
        Self::text(200, "")
    }

    /// It is not stored: the platform must come again.
    pub(crate) fn again() -> Self {
        Self::text(503, "not stored: come again")
    }

    /// Nobody proved who they are.
    pub(crate) fn unsigned() -> Self {
        Self::text(401, "the signature is not good")
    }
}

type Asked = (Hit, oneshot::Sender<Said>);

/// Answers what comes to an address, until something breaks.
pub(crate) async fn listen<F: Future<Output = Said>>(
    at: &ListenAt,
    link: &Link,
    heard: impl Fn(Hit) -> F,
) -> Result<(), LinkError> {
    let listener = TcpListener::bind(at.address).await.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse | ErrorKind::PermissionDenied | ErrorKind::AddrNotAvailable => {
            LinkError::Fatal(format!("cannot listen at {}: {error}", at.address))
        }
        _ => LinkError::Lost(format!("cannot listen at {}: {error}", at.address)),
    })?;
    let (asked, mut asks) = mpsc::channel::<Asked>(64);
    let stop = CancellationToken::new();
    let _ends = stop.clone().drop_guard();
    let path = at.path.clone();
    let served = serve(listener, ServeLimits::default(), stop, move |request, _| {
        let (asked, path) = (asked.clone(), path.clone());
        async move { response(answered(request, &path, &asked).await) }
    });
    let _server = Owned::start(served);
    link.progress();
    let mut open = FuturesUnordered::new();
    loop {
        tokio::select! {
            next = asks.recv() => {
                let Some((hit, reply)) = next else {
                    return Err(LinkError::Lost("the listener ended".to_owned()));
                };
                if link.is_full().await {
                    // Whoever asked may be gone.
                    drop(reply.send(Said::again()));
                    continue;
                }
                let said = heard(hit);
                open.push(async move { drop(reply.send(said.await)) });
            }
            Some(()) = open.next() => {}
        }
    }
}

async fn answered(
    request: http::Request<hyper::body::Incoming>,
    path: &str,
    asked: &mpsc::Sender<Asked>,
) -> Said {
    let (parts, body) = request.into_parts();
    if parts.uri.path() != path {
        return Said::text(404, "nothing is here");
    }
    let read = tokio::time::timeout(BODY_MAX, Limited::new(body, BODY_BYTES_MAX).collect()).await;
    let body = match read {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => return Said::text(413, "too large"),
        Err(_) => return Said::text(408, "too slow"),
    };
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let hit = Hit { method: parts.method, headers: parts.headers, body, query };
    let (reply, said) = oneshot::channel();
    if asked.send((hit, reply)).await.is_err() {
        return Said::again();
    }
    said.await.unwrap_or_else(|_| Said::again())
}

fn response(said: Said) -> Response<Full<Bytes>> {
    let mut builder = Response::builder().status(said.status).header("content-type", said.kind);
    if said.status == 503 {
        builder = builder.header("retry-after", AGAIN);
    }
    let body = Full::new(Bytes::from(said.body));
    builder.body(body).unwrap_or_else(|_| Response::new(Full::new(Bytes::new())))
}
