//! The server: who is let in, which handler answers, and what every answer carries.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, header};
use hyper::body::Incoming;
use petasos_contract::wait::Owned;
use petasos_net::serve::{ServeLimits, serve};
use petasos_session::Sessions;
use petasos_store::{ApiStore, SessionStore, StoreError};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::answer::{self, Answer};
use crate::conversation::Conversations;
use crate::error::{ApiError, draining};
use crate::host::ApiHost;
use crate::keys::{Caller, KeyRing, NotLetIn};
use crate::options::{ApiOptions, OptionsError};
use crate::outgoing::Outgoing;
use crate::profiles::Profiles;
use crate::rate::Rates;
use crate::routes::{self, Found};
use crate::runs::{RunLimits, Runs, new_id, now_ms};
use crate::{origin, prune};

/// Old runs and sessions are looked for so often.
const TIDY: Duration = Duration::from_mins(10);
/// Answers may end for so long after the end was asked for.
const FAREWELL: Duration = Duration::from_secs(5);

/// What a server is made of.
pub struct ApiParts {
    /// How it is set up.
    pub options: ApiOptions,
    /// Its own rows.
    pub store: Arc<dyn ApiStore>,
    /// Conversations.
    pub conversations: Arc<dyn SessionStore>,
    /// The sessions of the program.
    pub sessions: Arc<Sessions>,
    /// The program.
    pub host: Arc<dyn ApiHost>,
    /// Who is told what happens.
    pub outgoing: Option<Arc<Outgoing>>,
    /// The version that is told.
    pub version: &'static str,
}

impl std::fmt::Debug for ApiParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiParts").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The settings.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The address is not to be had.
    #[error("cannot listen on `{address}`: {error}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// The system's word.
        error: std::io::Error,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What every handler works with.
pub(crate) struct Inner {
    pub(crate) options: ApiOptions,
    pub(crate) keys: KeyRing,
    pub(crate) runs: Arc<Runs>,
    pub(crate) conversations: Conversations,
    pub(crate) host: Arc<dyn ApiHost>,
    pub(crate) version: &'static str,
    pub(crate) since: Instant,
    pub(crate) counted: crate::state::Requests,
    rates: Rates,
    draining: AtomicBool,
}

/// A server that has its address.
pub struct ApiServer {
    inner: Arc<Inner>,
    /// Other profiles of this machine, by name.
    beside: Profiles<Inner>,
    listener: TcpListener,
    address: SocketAddr,
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServer").field("address", &self.address).finish_non_exhaustive()
    }
}

/// One request on its way to its handler.
pub(crate) struct Call {
    pub(crate) server: Arc<Inner>,
    pub(crate) caller: Caller,
    pub(crate) parts: Parts,
    /// The body, until somebody reads it.
    pub(crate) body: Option<Incoming>,
    /// What stands in the places of the path.
    pub(crate) named: Vec<String>,
}

impl Call {
    /// What stands in this place of the path.
    pub(crate) fn place(&self, at: usize) -> &str {
        self.named.get(at).map_or("", String::as_str)
    }

    /// The body as JSON.
    pub(crate) async fn value(&mut self) -> Result<serde_json::Value, ApiError> {
        match self.body.take() {
            Some(body) => crate::body::value(&self.parts.headers, body).await,
            None => Err(crate::error::internal("the body was read before")),
        }
    }

    /// The body as a type; the usual one where nothing was sent.
    pub(crate) async fn optional<T>(&mut self) -> Result<T, ApiError>
    where
        T: serde::de::DeserializeOwned + Default,
    {
        let empty = self.body.as_ref().is_none_or(hyper::body::Body::is_end_stream);
        if empty { Ok(T::default()) } else { crate::body::shaped(self.value().await?) }
    }

    /// A value of the query.
    pub(crate) fn query(&self, key: &str) -> Option<&str> {
        let query = self.parts.uri.query()?;
        query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
    }
}

impl ApiServer {
    /// Takes the address and finds what an earlier process left; nobody is served yet.
    pub async fn bind(parts: ApiParts) -> Result<Self, StartError> {
        Inner::has_key(&parts).await?;
        let address = parts.options.address;
        let failed = |error| StartError::Listen { address, error };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let inner = Inner::new(parts).await;
        Ok(Self { inner, beside: Profiles::default(), listener, address })
    }

    /// Serves another profile below `/p/NAME`, with its own keys, sessions and settings.
    pub async fn add_profile(&mut self, name: &str, parts: ApiParts) -> Result<(), StartError> {
        Inner::has_key(&parts).await?;
        self.beside.add(name, Inner::new(parts).await);
        Ok(())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until somebody cancels.
    pub async fn run(self, stop: CancellationToken) {
        let Self { inner, beside, listener, .. } = self;
        let all: Vec<Arc<Inner>> = [Arc::clone(&inner)].into_iter().chain(beside.all()).collect();
        let beside = Arc::new(beside);
        let tidying = all.clone();
        let _tidy = Owned::start(async move {
            loop {
                for one in &tidying {
                    one.tidy().await;
                }
                tokio::time::sleep(TIDY).await;
            }
        });
        let closing = stop.clone();
        let _told = Owned::start(async move {
            closing.cancelled().await;
            for one in &all {
                one.draining.store(true, Ordering::Release);
            }
        });
        let limits = ServeLimits { farewell: FAREWELL, ..ServeLimits::default() };
        serve(listener, limits, stop, move |mut request, peer| {
            let inner = beside.led(&mut request).unwrap_or_else(|| Arc::clone(&inner));
            async move { inner.answered(request, peer).await }
        })
        .await;
    }
}

/// Goes on with runs of processes that are gone, or says that they are over.
pub(crate) async fn settle(runs: &Arc<Runs>, conversations: &Conversations, least_age: Duration) {
    if let Err(error) = runs.recover(conversations, least_age).await {
        tracing::warn!(error = error.message, "runs of an earlier process are not settled");
    }
}

impl Inner {
    /// Whether anybody could be let in.
    async fn has_key(parts: &ApiParts) -> Result<(), StartError> {
        if parts.options.keys.is_empty() && parts.store.tokens().await?.is_empty() {
            return Err(OptionsError::NoKey.into());
        }
        Ok(())
    }

    /// Finds what an earlier process left.
    async fn new(parts: ApiParts) -> Arc<Self> {
        let ApiParts { options, store, conversations, sessions, host, outgoing, version } = parts;
        let limits = RunLimits { most: options.runs_max, silence: options.silence };
        let runs = Runs::new(store, Arc::clone(&host), outgoing, limits);
        let conversations = Conversations::new(sessions, conversations, Arc::clone(&host));
        settle(&runs, &conversations, Duration::ZERO).await;
        Arc::new(Self {
            keys: KeyRing::new(&options.keys),
            options,
            runs,
            conversations,
            host,
            version,
            since: Instant::now(),
            counted: crate::state::Requests::default(),
            rates: Rates::default(),
            draining: AtomicBool::new(false),
        })
    }

    async fn tidy(&self) {
        self.runs.tidy().await;
        // Those of a process that has died since.
        settle(&self.runs, &self.conversations, TIDY).await;
        prune::prune(&*self.conversations.store, now_ms()).await;
    }

    /// Whether turns may begin.
    pub(crate) fn is_open(&self) -> Result<(), ApiError> {
        if self.draining.load(Ordering::Acquire) {
            return Err(draining());
        }
        match self.host.halted() {
            Some(why) => Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "halted", why)),
            None => Ok(()),
        }
    }

    /// One request, whatever becomes of it.
    async fn answered(self: Arc<Self>, request: Request<Incoming>, peer: SocketAddr) -> Answer {
        let begun = Instant::now();
        let id = new_id("req_").unwrap_or_else(|_| "req_0".to_owned());
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let redact = |text: &str| self.host.redact(text);
        let mut allowed = None;
        let handled = Arc::clone(&self).handled(request, peer, &mut allowed).await;
        let mut answer = handled.unwrap_or_else(|error| answer::error(&error, &redact));
        let status = answer.status();
        self.counted.count(status);
        let took = begun.elapsed().as_millis();
        tracing::info!(%method, path, status = status.as_u16(), took, id, "answered");
        let headers = answer.headers_mut();
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
        ] {
            // A page of our own says more exactly what it may do.
            let name = HeaderName::from_static(name);
            headers.entry(name).or_insert(HeaderValue::from_static(value));
        }
        if let Ok(id) = HeaderValue::from_str(&id) {
            headers.insert(HeaderName::from_static("x-request-id"), id);
        }
        origin::allow(headers, allowed.as_ref(), method == Method::OPTIONS);
        answer
    }

    async fn handled(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: SocketAddr,
        allowed: &mut Option<HeaderValue>,
    ) -> Result<Answer, ApiError> {
        let (parts, body) = request.into_parts();
        let authority = parts.uri.authority().map(http::uri::Authority::as_str);
        *allowed = origin::check(&parts.headers, authority, &self.options)?;
        if parts.method == Method::OPTIONS && allowed.is_some() {
            return Ok(answer::empty(StatusCode::NO_CONTENT));
        }
        let (route, named) = match routes::find(&parts.method, parts.uri.path()) {
            Found::Route(route, named) => (route, named),
            Found::Methods(methods) => {
                let message = format!("this path takes {methods}");
                let error =
                    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message);
                let mut answer = answer::error(&error, &|text| text.to_owned());
                if let Ok(value) = HeaderValue::from_str(&methods) {
                    answer.headers_mut().insert(header::ALLOW, value);
                }
                return Ok(answer);
            }
            Found::Nothing => {
                let path = parts.uri.path();
                let message = match routes::absent(path) {
                    Some(what) => format!("this server does not offer {what}"),
                    None => format!("there is nothing at {path}"),
                };
                return Err(ApiError::not_found("unknown_path", message));
            }
        };
        let caller = match route.scope {
            None => Caller::default(),
            Some(scope) => {
                let caller = self.caller(&parts, peer).await?;
                if !caller.may(scope) {
                    let message = format!("this key lacks the scope `{}`", scope.as_str());
                    let status = StatusCode::FORBIDDEN;
                    return Err(ApiError::new(status, "insufficient_scope", message));
                }
                self.within_rate(&caller)?;
                caller
            }
        };
        (route.run)(Call { server: self, caller, parts, body: Some(body), named }).await
    }

    /// Counts one more request of a key.
    fn within_rate(&self, caller: &Caller) -> Result<(), ApiError> {
        let most = caller.rate.unwrap_or(self.options.rate);
        self.rates.take(&caller.name, most, Instant::now()).map_err(|wait| {
            let message = format!("this key may make {most} requests in a minute: wait");
            let status = StatusCode::TOO_MANY_REQUESTS;
            let error = ApiError::new(status, "rate_limit_exceeded", message);
            error.after(wait.as_secs() + 1)
        })
    }

    async fn caller(&self, parts: &Parts, peer: SocketAddr) -> Result<Caller, ApiError> {
        let mut shown = parts.headers.get_all(header::AUTHORIZATION).iter();
        let (first, second) = (shown.next(), shown.next());
        // Two of them are a disagreement between whoever stands before us and the client.
        let first = first.filter(|_| second.is_none());
        let shown = first.and_then(|value| {
            let (scheme, key) = value.as_bytes().split_at_checked(b"Bearer ".len())?;
            scheme.eq_ignore_ascii_case(b"Bearer ").then_some(key)
        });
        let store = &**self.runs.store();
        match self.keys.caller(shown, peer.ip(), store, now_ms()).await? {
            Ok(caller) => Ok(caller),
            Err(NotLetIn::Wrong(wait)) => {
                tokio::time::sleep(wait).await;
                let message = "no key, or a wrong one: send `Authorization: Bearer …`";
                Err(ApiError::new(StatusCode::UNAUTHORIZED, "invalid_api_key", message))
            }
            Err(NotLetIn::Later(wait)) => {
                let message = "too many wrong keys came from your address: wait";
                let status = StatusCode::TOO_MANY_REQUESTS;
                let error = ApiError::new(status, "rate_limit_exceeded", message);
                Err(error.after(wait.as_secs().max(1)))
            }
        }
    }
}
