//! The server over streamable HTTP: a token, and only hosts and origins that were named.
//!
//! Without a token only this machine may connect. A browser page that resolves its own name to
//! this machine is turned away by its `Host` and `Origin`.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use petasos_contract::Secret;
use petasos_net::serve::{ServeLimits, serve};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use subtle::ConstantTimeEq as _;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::handler::Handler;
use crate::offer::Offer;

/// More connections than any host opens; the next one waits.
const CONNECTIONS_MAX: usize = 128;
/// The largest request.
const BODY_MAX: usize = 8 * 1024 * 1024;

/// Where and for whom the server listens.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// The address.
    pub address: SocketAddr,
    /// What a client must show.
    pub token: Option<Secret>,
    /// Names beside those of this machine by which it may be addressed.
    pub hosts: Vec<String>,
    /// Pages that may use it.
    pub origins: Vec<String>,
}

/// The server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Everybody on the network could use it.
    #[error("`{0}` can be reached from other machines: set a token, or listen on 127.0.0.1")]
    Open(SocketAddr),
    /// The address is not to be had.
    #[error("cannot listen on `{address}`: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's word.
        error: io::Error,
    },
}

/// A server that has its address.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    options: HttpOptions,
}

/// Takes the address; nobody is served yet.
pub async fn bind(options: HttpOptions) -> Result<Listening, ServeError> {
    let address = options.address;
    if options.token.is_none() && !address.ip().is_loopback() {
        return Err(ServeError::Open(address));
    }
    let failed = |error| ServeError::Listen { address, error };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok(Listening { listener, address, options })
}

type Service = StreamableHttpService<Handler, LocalSessionManager>;

impl Listening {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for clients.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Serves until somebody cancels.
    pub async fn run(self, offer: Arc<dyn Offer>, stop: CancellationToken) {
        let service = Arc::new(self.service(offer, &stop));
        let gate = Arc::new(Gate { token: self.options.token.clone(), service });
        let limits = ServeLimits { connections: CONNECTIONS_MAX, ..ServeLimits::default() };
        serve(self.listener, limits, stop, move |request, _| {
            let gate = Arc::clone(&gate);
            async move { gate.answer(request).await }
        })
        .await;
    }

    fn service(&self, offer: Arc<dyn Offer>, stop: &CancellationToken) -> Service {
        let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let hosts = own.into_iter().chain(self.options.hosts.iter().cloned());
        let pages = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
        let pages = pages.map(str::to_owned).into_iter();
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts)
            .with_allowed_origins(pages.chain(self.options.origins.iter().cloned()))
            .enforce_origin_validation()
            .with_max_request_body_bytes(BODY_MAX)
            .with_cancellation_token(stop.child_token());
        let make = move || Ok(Handler::new(Arc::clone(&offer)));
        Service::new(make, Arc::new(LocalSessionManager::default()), config)
    }
}

/// The connection on which a request waits for its answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Line(CancellationToken);

impl Line {
    /// The line that a request came on.
    pub(super) fn of(extensions: &rmcp::model::Extensions) -> Option<Self> {
        extensions.get::<http::request::Parts>()?.extensions.get::<Self>().cloned()
    }

    /// Ends the answer on this connection; the session keeps what follows for whoever asks again.
    pub(super) fn let_go(&self) {
        self.0.cancel();
    }
}

/// A body that ends early when its line is let go.
struct UntilLetGo {
    body: BoxBody<Bytes, Infallible>,
    gone: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl UntilLetGo {
    fn new(body: BoxBody<Bytes, Infallible>, line: &Line) -> Self {
        Self { body, gone: Box::pin(line.0.clone().cancelled_owned()) }
    }
}

impl Body for UntilLetGo {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.gone.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

struct Gate {
    token: Option<Secret>,
    service: Arc<Service>,
}

impl Gate {
    fn lets_in(&self, request: &Request<Incoming>) -> bool {
        let Some(token) = &self.token else { return true };
        let shown = request.headers().get(header::AUTHORIZATION);
        // The name of the scheme may be written in any case.
        let shown = shown.and_then(|value| {
            let (scheme, token) = value.as_bytes().split_at_checked(b"Bearer ".len())?;
            scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token)
        });
        shown.is_some_and(|shown| bool::from(shown.ct_eq(token.expose().as_bytes())))
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<BoxBody<Bytes, Infallible>> {
        if !self.lets_in(&request) {
            return refusal(StatusCode::UNAUTHORIZED, "a token is needed");
        }
        if request.uri().path().trim_end_matches('/') != "/mcp" {
            return refusal(StatusCode::NOT_FOUND, "the server is at /mcp");
        }
        let mut request = request;
        let line = Line::default();
        request.extensions_mut().insert(line.clone());
        let response = self.service.handle(request).await;
        response.map(|body| UntilLetGo::new(body, &line).boxed())
    }
}

fn refusal(status: StatusCode, text: &'static str) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *response.status_mut() = status;
    if status == StatusCode::UNAUTHORIZED {
        let scheme = header::HeaderValue::from_static("Bearer");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    }
    response
}
