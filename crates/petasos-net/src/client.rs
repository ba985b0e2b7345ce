//! Requests and replies: the one client, its redirects and its deadlines.
//!
//! A request names its credential and never carries it in a header of its own making; the header
//! is made per hop by [`Credential::attach`]. The client is built on first use, because reading
//! certificate authorities costs milliseconds that most commands never need.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use petasos_contract::{Settings, wait};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, StatusCode};
use url::Url;

use crate::address::{Gate, Reach};
use crate::fault::NetError;
use crate::origin::{Credential, Origin, checked_url};
use crate::proxy::Proxies;
use crate::sites::SiteRules;

const REDIRECTS_MAX: u8 = 5;
/// In the PEM frame of a key with a password.
const LOCKED: &[u8] = b"ENCRYPTED";

/// A connection with open streams is asked this often whether it still lives, and has as long to
/// answer; a peer that vanished without a word is noticed by nothing else.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// The headers that survive a redirect to another origin. Everything else may identify the user.
const HARMLESS: [&str; 5] =
    ["accept", "accept-encoding", "accept-language", "content-type", "user-agent"];

/// What all requests of one snapshot share.
#[derive(Debug, Clone)]
pub struct NetOptions {
    /// The proxies.
    pub proxies: Proxies,
    /// Sent as `User-Agent` unless a request says otherwise.
    pub user_agent: String,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// What the user excepts and blocks among sites that a model or a page chose.
    pub rules: Arc<SiteRules>,
}

impl NetOptions {
    /// The options of a snapshot.
    pub fn from_settings(settings: &Settings) -> Self {
        let rules = Arc::new(SiteRules::from_settings(settings));
        Self { proxies: Proxies::from_settings(settings), rules, ..Self::default() }
    }
}

impl Default for NetOptions {
    fn default() -> Self {
        Self {
            proxies: Proxies::default(),
            user_agent: concat!("petasos/", env!("CARGO_PKG_VERSION")).to_owned(),
            connect_timeout: Duration::from_secs(10),
            rules: Arc::default(),
        }
    }
}

/// How the other side proves who it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Tls {
    /// One more certificate authority, as a PEM file.
    pub ca_cert: Option<PathBuf>,
    /// Whether certificates are not checked: the user said so for this endpoint.
    pub unverified: bool,
}

/// How we prove who we are, where the other side asks: a certificate with its key, both as PEM.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The certificate, perhaps with its chain.
    pub cert: PathBuf,
    /// The key; in the same file when absent.
    pub key: Option<PathBuf>,
}

/// Which redirects are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// All, without credentials where they leave the origin.
    Anywhere,
    /// None: the body itself is secret.
    Nowhere,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Where to.
    pub url: Url,
    /// Headers, without the credential.
    pub headers: HeaderMap,
    /// The body; sent again when a redirect asks for it.
    pub body: Bytes,
    /// The secret to attach, if the address is in its scope.
    pub credential: Option<Credential>,
    /// How far it may go.
    pub reach: Reach,
    /// Which redirects are followed.
    pub follow: Follow,
    /// How certificates are checked.
    pub tls: Tls,
    /// The certificate that is shown when it is asked for; never to another origin.
    pub identity: Option<Identity>,
    /// Whether HTTP/2 is spoken from the first byte, as gRPC needs it; else it is negotiated.
    pub http2: bool,
    /// Whether the connection is to become another protocol's, which only HTTP/1.1 can.
    pub upgrade: bool,
    /// How long the status line may take, redirects included.
    pub first_byte: Duration,
}

impl Request {
    /// A request to anywhere the user may point to, with a minute for the first byte.
    pub fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            credential: None,
            reach: Reach::Anywhere,
            follow: Follow::Anywhere,
            tls: Tls::default(),
            identity: None,
            http2: false,
            upgrade: false,
            first_byte: Duration::from_mins(1),
        }
    }

    /// Adds a header; one that cannot be written is an error and not dropped.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, NetError> {
        let bad = || NetError::BadHeader { name: name.to_owned() };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let value = HeaderValue::from_str(value).map_err(|_| bad())?;
        self.headers.insert(name, value);
        Ok(self)
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Names the credential.
    pub fn credential(mut self, credential: Option<Credential>) -> Self {
        self.credential = credential;
        self
    }

    /// Sets the deadline of the first byte.
    pub fn first_byte(mut self, within: Duration) -> Self {
        self.first_byte = within;
        self
    }
}

/// Requests of one kind share a client.
type Kind = (Reach, Tls, Option<Identity>, (bool, bool), bool);

/// The way out.
#[derive(Debug, Default)]
pub struct Net {
    options: NetOptions,
    clients: Mutex<HashMap<Kind, reqwest::Client>>,
}

impl Net {
    /// A way out with these options; nothing is built yet.
    pub fn new(options: NetOptions) -> Self {
        Self { options, clients: Mutex::new(HashMap::new()) }
    }

    /// Sends a request and gives the reply as soon as its headers are there.
    ///
    /// Fails when the credential may not go to the address: nothing is sent without it.
    pub async fn send(&self, request: Request) -> Result<Reply, NetError> {
        let deadline = Instant::now() + request.first_byte;
        let host = request.url.host_str().unwrap_or_default().to_owned();
        let walk = self.follow(request);
        match wait::until(deadline, "the first byte of a reply", walk).await {
            Ok(reply) => reply,
            Err(_) => Err(NetError::FirstByteTimeout { host }),
        }
    }

    /// Sends the request and follows redirects; what proves who we are leaves at the first foreign
    /// origin.
    async fn follow(&self, mut request: Request) -> Result<Reply, NetError> {
        let rules = &self.options.rules;
        for _ in 0..=REDIRECTS_MAX {
            let reach = rules.hop(request.reach, &request.url);
            if matches!(reach, Reach::PublicOnly | Reach::Private) {
                rules.check_host(request.url.host_str().unwrap_or_default())?;
            }
            reach.check_literal(&request.url, rules)?;
            let client = self.client(&request, reach)?;
            let response = send_once(&client, &request).await?;
            if request.follow == Follow::Nowhere {
                return Ok(Reply::new(request.url, response));
            }
            let Some(target) = redirect(&response, &request.url)? else {
                return Ok(Reply::new(request.url, response));
            };
            step(&mut request, target, response.status());
        }
        let host = request.url.host_str().unwrap_or_default().to_owned();
        Err(NetError::TooManyRedirects { host })
    }

    fn client(&self, request: &Request, reach: Reach) -> Result<reqwest::Client, NetError> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let (tls, identity) = (request.tls.clone(), request.identity.clone());
        let versions = (request.http2, request.upgrade);
        let key = (reach, tls, identity, versions, self.is_plain(request));
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let client = self.build(request, reach)?;
        clients.insert(key, client.clone());
        Ok(client)
    }

    /// Whether nothing of the request can be encrypted, so that no certificate is ever checked.
    fn is_plain(&self, request: &Request) -> bool {
        let bare = request.tls == Tls::default() && request.identity.is_none();
        bare && request.url.scheme() == "http" && self.options.proxies.is_empty()
    }

    fn build(&self, request: &Request, reach: Reach) -> Result<reqwest::Client, NetError> {
        let (tls, rules) = (&request.tls, Arc::clone(&self.options.rules));
        // Another part of the process may have installed one first; either serves.
        if rustls::crypto::aws_lc_rs::default_provider().install_default().is_err() {
            tracing::debug!("a crypto provider was already installed");
        }
        let proxy_hosts: Arc<[String]> = self.options.proxies.hosts().into();
        let mut builder = reqwest::Client::builder()
            .user_agent(&self.options.user_agent)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .connect_timeout(self.options.connect_timeout)
            .dns_resolver(Gate { reach, rules, proxy_hosts });
        if request.upgrade {
            builder = builder.http1_only();
        }
        if request.http2 {
            builder = builder
                .http2_prior_knowledge()
                .http2_adaptive_window(true)
                .http2_keep_alive_interval(KEEP_ALIVE)
                .http2_keep_alive_timeout(KEEP_ALIVE);
        }
        if !self.options.proxies.is_empty() {
            let proxies = self.options.proxies.clone();
            builder = builder.proxy(reqwest::Proxy::custom(move |url| proxies.of(url).cloned()));
        }
        if self.is_plain(request) {
            // Reading the system's authorities takes longer than a whole request to this machine.
            builder = builder.tls_certs_only([]);
        } else if let Some(path) = &tls.ca_cert {
            builder = builder.tls_certs_merge(authorities(path)?);
        }
        if tls.unverified {
            builder = builder.tls_danger_accept_invalid_certs(true);
        }
        if let Some(identity) = &request.identity {
            builder = builder.identity(shown(identity)?);
        }
        builder.build().map_err(|error| NetError::Build { reason: error.to_string() })
    }
}

fn authorities(path: &Path) -> Result<Vec<reqwest::Certificate>, NetError> {
    let unreadable = |reason: String| NetError::CaCert { path: path.to_owned(), reason };
    let pem = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| unreadable(error.to_string()))
}

/// The certificate and its key in one piece, as the client wants them.
fn shown(identity: &Identity) -> Result<reqwest::Identity, NetError> {
    let unusable = |path: &Path, reason: String| NetError::CaCert { path: path.to_owned(), reason };
    let read = |path: &Path| std::fs::read(path).map_err(|error| unusable(path, error.to_string()));
    let mut pem = read(&identity.cert)?;
    if let Some(key) = &identity.key {
        pem.push(b'\n');
        pem.extend(read(key)?);
    }
    let at = identity.key.as_deref().unwrap_or(&identity.cert);
    if pem.windows(LOCKED.len()).any(|piece| piece == LOCKED) {
        let reason = "its key has a password: `openssl pkey` writes one without".to_owned();
        return Err(unusable(at, reason));
    }
    reqwest::Identity::from_pem(&pem).map_err(|error| unusable(at, crate::fault::root(&error)))
}

async fn send_once(
    client: &reqwest::Client,
    request: &Request,
) -> Result<reqwest::Response, NetError> {
    let mut headers = request.headers.clone();
    if let Some(credential) = &request.credential {
        let (name, value) = credential.attach(&request.url)?;
        headers.insert(name, value);
    }
    let outgoing = client.request(request.method.clone(), request.url.clone()).headers(headers);
    let outgoing =
        if request.body.is_empty() { outgoing } else { outgoing.body(request.body.clone()) };
    outgoing.send().await.map_err(|error| NetError::of_send(&request.url, &error))
}

/// Where a reply redirects to, if it does.
fn redirect(response: &reqwest::Response, from: &Url) -> Result<Option<Url>, NetError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let host = from.host_str().unwrap_or_default().to_owned();
    let bad = |reason: String| NetError::BadRedirect { host: host.clone(), reason };
    let text = location.to_str().map_err(|_| bad("its target is not text".to_owned()))?;
    // The raw text is checked before the parser repairs it; joining alone would hide a backslash.
    if text.contains('\\') || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(bad("its target holds a backslash, space or control character".to_owned()));
    }
    let joined = from.join(text).map_err(|error| bad(error.to_string()))?;
    let target = checked_url(joined.as_str()).map_err(|error| bad(error.to_string()))?;
    if Origin::of(&target).is_none() {
        return Err(bad(format!("it leads to `{}:`", target.scheme())));
    }
    Ok(Some(target))
}

/// Turns the request into the one that a redirect asks for.
fn step(request: &mut Request, target: Url, status: StatusCode) {
    if Origin::of(&request.url) != Origin::of(&target) {
        request.credential = None;
        request.identity = None;
        let harmless = request.headers.iter().filter(|(name, _)| HARMLESS.contains(&name.as_str()));
        request.headers = harmless.map(|(name, value)| (name.clone(), value.clone())).collect();
    }
    let keeps_body = matches!(status.as_u16(), 307 | 308);
    if !keeps_body && request.method != Method::HEAD {
        request.method = Method::GET;
        request.body = Bytes::new();
        request.headers.remove("content-type");
    }
    request.url = target;
}

/// A reply whose headers have arrived.
#[derive(Debug)]
pub struct Reply {
    /// The address that answered, after redirects.
    pub url: Url,
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    response: reqwest::Response,
}

impl Reply {
    fn new(url: Url, mut response: reqwest::Response) -> Self {
        let headers = std::mem::take(response.headers_mut());
        Self { url, status: response.status().as_u16(), headers, response }
    }

    /// The body with its trailers, for whoever frames messages in it.
    pub(crate) fn into_body(self) -> (HeaderMap, reqwest::Body) {
        (self.headers, http::Response::from(self.response).into_body())
    }

    /// The connection itself, once the other side has agreed to speak another protocol on it.
    pub(crate) async fn upgraded(self) -> Result<reqwest::Upgraded, NetError> {
        let host = self.url.host_str().unwrap_or_default().to_owned();
        let broken =
            |error: reqwest::Error| NetError::Broken { host, reason: crate::fault::root(&error) };
        self.response.upgrade().await.map_err(broken)
    }

    /// The next piece of the body, waiting at most `idle`; `None` at its end.
    pub async fn chunk(&mut self, idle: Duration) -> Result<Option<Bytes>, NetError> {
        let host = || self.url.host_str().unwrap_or_default().to_owned();
        let deadline = Instant::now() + idle;
        match wait::until(deadline, "more of a reply", self.response.chunk()).await {
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(error)) => {
                Err(NetError::Broken { host: host(), reason: crate::fault::root(&error) })
            }
            Err(_) => Err(NetError::IdleTimeout { host: host() }),
        }
    }

    /// The whole body, up to `bytes_max`, within `total`.
    pub async fn bytes(mut self, bytes_max: usize, total: Duration) -> Result<Bytes, NetError> {
        let deadline = Instant::now() + total;
        let mut whole = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(piece) = self.chunk(left).await? else { return Ok(Bytes::from(whole)) };
            if whole.len() + piece.len() > bytes_max {
                let host = self.url.host_str().unwrap_or_default().to_owned();
                return Err(NetError::TooLarge { host, bytes_max });
            }
            whole.extend_from_slice(&piece);
        }
    }
}
