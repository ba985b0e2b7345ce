//! A proxy on this machine that holds a browser to the address rules.
//!
//! A browser that is told to use it resolves no name and opens no connection by itself: pages,
//! frames, workers, downloads and WebSockets all come through here, are looked up here, checked
//! and only then dialled, to an address that was checked. It passes nothing until it is opened,
//! reaches a private host and port only after that very pair was opened, and remembers what it
//! refused so that a tool can say why a page did not load.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use petasos_contract::wait::{self, Owned};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::Url;

use crate::address::Reach;
use crate::proxy::Proxies;
use crate::sites::SiteRules;

mod dial;
mod metered;
mod peer;

use metered::Metered;

const CONNECTIONS_MAX: usize = 512;
const REFUSED_KEPT: usize = 50;
const HEAD_WAIT: Duration = Duration::from_secs(30);

type Body = BoxBody<Bytes, hyper::Error>;

/// A place that was not reached, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedSite {
    /// The host that was asked for.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The sentence for whoever asked.
    pub why: String,
    /// Whether the address is out of reach (a private network, this machine), and not blocked or
    /// merely unreachable.
    pub is_address: bool,
}

/// What the proxy of one browser context shares with its connections.
#[derive(Debug)]
struct Shared {
    rules: SiteRules,
    proxies: Proxies,
    /// Private pairs that were opened by an explicit navigation.
    opened: Mutex<BTreeSet<(String, u16)>>,
    is_open: AtomicBool,
    bytes: AtomicU64,
    bytes_max: u64,
    refused: Mutex<VecDeque<RefusedSite>>,
}

/// The proxy; it ends with its owner, and its connections with it.
#[derive(Debug)]
pub struct FilterProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _accept: Owned<()>,
}

impl FilterProxy {
    /// Starts one that refuses everything until [`Self::open`] is called. After `bytes_max` bytes it
    /// passes nothing more.
    pub async fn start(rules: SiteRules, proxies: Proxies, bytes_max: u64) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            rules,
            proxies,
            opened: Mutex::default(),
            is_open: AtomicBool::new(false),
            bytes: AtomicU64::new(0),
            bytes_max,
            refused: Mutex::default(),
        });
        let accept = Owned::start(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, _accept: accept })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets public addresses pass from now on.
    pub fn open(&self) {
        self.shared.is_open.store(true, Ordering::Release);
    }

    /// Lets this host and port pass although it is private: a navigation to it was permitted.
    pub fn open_private(&self, host: &str, port: u16) {
        self.shared.opened.lock().insert((plain(host), port));
        self.open();
    }

    /// Whether a pair was opened.
    pub fn is_opened(&self, host: &str, port: u16) -> bool {
        self.shared.opened.lock().contains(&(plain(host), port))
    }

    /// Looks a host up and says why it would be refused, without connecting.
    pub async fn objection(&self, host: &str, port: u16) -> Option<RefusedSite> {
        self.shared.addresses(host, port).await.err()
    }

    /// What was refused so far, the newest last.
    pub fn refused(&self) -> Vec<RefusedSite> {
        self.shared.refused.lock().iter().cloned().collect()
    }

    /// Forgets what was refused.
    pub fn forget_refused(&self) {
        self.shared.refused.lock().clear();
    }

    /// How many bytes went through.
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// Starts the count of bytes again, for a new turn.
    pub fn restart_count(&self) {
        self.shared.bytes.store(0, Ordering::Relaxed);
    }
}

fn plain(host: &str) -> String {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

impl Shared {
    fn reach(&self, host: &str, port: u16) -> Reach {
        let opened = self.opened.lock().contains(&(plain(host), port));
        if opened { Reach::Private } else { self.rules.reach(host, port) }
    }

    fn note(&self, refused: RefusedSite) {
        let mut kept = self.refused.lock();
        if kept.len() >= REFUSED_KEPT {
            kept.pop_front();
        }
        kept.push_back(refused);
    }

    fn is_spent(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) >= self.bytes_max
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= CONNECTIONS_MAX {
            connections.join_next().await;
        }
        match listener.accept().await {
            Ok((stream, from)) if peer::is_ours(from, shared_port(&listener)) => {
                connections.spawn(serve(stream, Arc::clone(&shared)));
            }
            Ok(_) => tracing::warn!("another user's connection to the browser's proxy was refused"),
            Err(error) => {
                tracing::warn!(%error, "the browser's proxy cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

fn shared_port(listener: &TcpListener) -> u16 {
    listener.local_addr().map_or(0, |address| address.port())
}

/// A connection that becomes a tunnel once its answer is sent.
type Tunnel = Arc<Mutex<Option<(OnUpgrade, TcpStream)>>>;

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let tunnel: Tunnel = Arc::default();
    let service = service_fn(|request| answer(request, Arc::clone(&shared), Arc::clone(&tunnel)));
    let served = hyper::server::conn::http1::Builder::new()
        .preserve_header_case(true)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection of the browser's proxy broke");
    }
    let waiting = tunnel.lock().take();
    let Some((upgrade, far)) = waiting else { return };
    let Ok(Ok(near)) = wait::until(Instant::now() + HEAD_WAIT, "a tunnel to open", upgrade).await
    else {
        return;
    };
    let mut far = Metered::new(far, shared);
    let copied = tokio::io::copy_bidirectional(&mut TokioIo::new(near), &mut far).await;
    if let Err(error) = copied {
        tracing::debug!(%error, "a tunnel of the browser's proxy broke");
    }
}

async fn answer(
    request: hyper::Request<Incoming>,
    shared: Arc<Shared>,
    tunnel: Tunnel,
) -> Result<hyper::Response<Body>, hyper::Error> {
    let answered = if request.method() == hyper::Method::CONNECT {
        connect(request, &shared, &tunnel).await
    } else {
        forward(request, &shared).await
    };
    Ok(match answered {
        Ok(response) => response,
        Err(refused) => {
            let text = refused.why.clone();
            shared.note(refused);
            told(403, text)
        }
    })
}

async fn connect(
    request: hyper::Request<Incoming>,
    shared: &Arc<Shared>,
    tunnel: &Tunnel,
) -> Result<hyper::Response<Body>, RefusedSite> {
    let Some((host, port)) =
        request.uri().authority().and_then(|a| Some((a.host(), a.port_u16()?)))
    else {
        return Ok(told(400, "CONNECT needs host:port".to_owned()));
    };
    let far = shared.dial(host, port).await?;
    *tunnel.lock() = Some((hyper::upgrade::on(request), far));
    Ok(told(200, String::new()))
}

/// A plain HTTP request: one connection each, so that no two hosts ever share one.
async fn forward(
    mut request: hyper::Request<Incoming>,
    shared: &Arc<Shared>,
) -> Result<hyper::Response<Body>, RefusedSite> {
    let Some(url) =
        Url::parse(&request.uri().to_string()).ok().filter(|url| url.scheme() == "http")
    else {
        return Ok(told(400, "this is a proxy: ask for a whole http address".to_owned()));
    };
    let (host, port) =
        (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80));
    let far = shared.dial(host, port).await?;
    let unreachable = |error: hyper::Error| RefusedSite {
        host: host.to_owned(),
        port,
        why: format!("{host} broke the connection: {error}"),
        is_address: false,
    };
    let io = TokioIo::new(Metered::new(far, Arc::clone(shared)));
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(io).await.map_err(unreachable)?;
    let driver = Owned::start(connection);
    for name in
        ["proxy-connection", "proxy-authorization", "connection", "keep-alive", "te", "upgrade"]
    {
        request.headers_mut().remove(name);
    }
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    *request.uri_mut() = path.parse().unwrap_or_else(|_| hyper::Uri::from_static("/"));
    let response = sender.send_request(request).await.map_err(unreachable)?;
    Ok(response.map(|body| {
        let kept = (sender, driver);
        body.map_frame(move |frame| {
            // The connection lives as long as its body is read.
            let _kept = &kept;
            frame
        })
        .boxed()
    }))
}

fn told(status: u16, text: String) -> hyper::Response<Body> {
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed();
    let mut response = hyper::Response::new(body);
    *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    response
}
