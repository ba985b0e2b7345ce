//! One connection to a server: opened within a deadline, ended with whoever holds it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use petasos_contract::BoxFuture;
use petasos_contract::environment::Ending;
use petasos_contract::processes::HelperHand;
use petasos_contract::wait::{self, Owned};
use petasos_net::{Method, Request};
use rmcp::RoleClient;
use rmcp::service::{ClientInitializeError, Peer, RunningService, serve_client};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use tokio_util::sync::CancellationToken;

use super::answers::Answers;
use super::http::NetHttp;
use super::shared::{Around, Shared};
use super::spec::{Launch, ServerSpec};
use super::sse::OldSse;
use super::state::{Fault, WROTE};
use super::stdio::{Complaints, Program};
use super::{oauth, osv, stdio, vet};
use crate::bounded::{ANSWER_MAX, Bounded};

/// How long a program may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);
/// How long the error output of a program that ended is read on.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long the kind of answer is looked at.
const PREFLIGHT: Duration = Duration::from_secs(5);

/// An open connection.
pub(super) struct Link {
    pub(super) peer: Peer<RoleClient>,
    /// Cancelled when the connection is over, from whichever side.
    pub(super) ended: CancellationToken,
    hand: Option<Arc<dyn HelperHand>>,
    complaints: Complaints,
    _running: Owned<()>,
    _draining: Option<Owned<()>>,
}

impl Link {
    /// Opens a connection; everything until the end of the handshake is within the deadline.
    pub(super) async fn open(shared: &Arc<Shared>, first: bool) -> Result<Self, Fault> {
        let spec = shared.spec();
        let deadline = Instant::now() + spec.connect;
        let opened =
            wait::until(deadline, "an MCP server to start", begin(Arc::clone(shared), first)).await;
        opened.unwrap_or_else(|_| {
            let seconds = spec.connect.as_secs_f64();
            Err(Fault::Passing(format!("it did not start within {seconds} s (`connect_timeout`)")))
        })
    }

    fn over(
        service: RunningService<RoleClient, Answers>,
    ) -> (Peer<RoleClient>, CancellationToken, Owned<()>) {
        let (peer, ended) = (service.peer().clone(), CancellationToken::new());
        let told = ended.clone();
        let running = Owned::start(async move {
            if let Err(error) = service.waiting().await {
                tracing::debug!(%error, "the connection to an MCP server broke");
            }
            told.cancel();
        });
        (peer, ended, running)
    }

    /// Why it broke: this, or how its program ended, and the end of what that complained about.
    pub(super) async fn why(&self, reason: String) -> Fault {
        let ended = match &self.hand {
            Some(hand) => ending(hand.as_ref()).await,
            None => None,
        };
        with_complaints(Fault::Passing(ended.unwrap_or(reason)), &self.complaints)
    }

    /// Ends it: the program's whole tree is gone when this comes back.
    pub(super) async fn close(self) {
        let hand = self.hand.clone();
        drop(self);
        if let Some(hand) = hand
            && let Err(error) = hand.kill(GRACE).await
        {
            tracing::debug!(%error, "an MCP server did not end");
        }
    }
}

type Served = Result<RunningService<RoleClient, Answers>, ClientInitializeError>;

/// The handshake. Boxed, so that the compiler sees here that it may move between threads.
fn serve<T>(shared: &Arc<Shared>, transport: T) -> BoxFuture<'static, Served>
where
    T: Transport<RoleClient> + 'static,
{
    let answers = Answers::new(Arc::clone(shared));
    Box::pin(serve_client(answers, transport))
}

async fn begin(shared: Arc<Shared>, first: bool) -> Result<Link, Fault> {
    let shared = &shared;
    let (spec, around) = (shared.spec(), &shared.around);
    vet::vet(&spec.launch).map_err(|why| Fault::Lasting(format!("refused: {why}")))?;
    if let Some(why) = osv::refused(&spec.launch, &around.settings, &around.net).await {
        return Err(Fault::Lasting(format!("refused: {why}")));
    }
    match &spec.launch {
        Launch::Stdio { command, args, env, cwd } => {
            let cwd = cwd.as_deref();
            let confined = spec.confined;
            let program = Program { server: &spec.name, command, args, env, cwd, confined };
            begin_stdio(shared, &program).await
        }
        Launch::Http { .. } => begin_http(shared, first).await,
    }
}

async fn begin_stdio(shared: &Arc<Shared>, program: &Program<'_>) -> Result<Link, Fault> {
    let around = &shared.around;
    let processes = around.processes.as_ref();
    let processes =
        processes.ok_or_else(|| Fault::Lasting("programs cannot be started here".to_owned()))?;
    let helper = stdio::start(program, &around.settings, processes.as_ref()).await?;
    let complaints = Complaints::default();
    let draining = complaints.drain(program.server, helper.stderr, around.settings.home());
    let transport = AsyncRwTransport::new_client(Bounded::answers(helper.stdout), helper.stdin)
        .with_max_line_length(ANSWER_MAX);
    let served = serve(shared, transport).await;
    let service = match served {
        Ok(service) => service,
        Err(error) => {
            let fault = match ending(helper.hand.as_ref()).await {
                Some(ending) => Fault::Passing(format!("{ending} before it was ready")),
                None => fault(&error),
            };
            if let Err(error) = helper.hand.kill(GRACE).await {
                tracing::debug!(%error, "an MCP server did not end");
            }
            // Its last words are still in the pipe.
            if tokio::time::timeout(LAST_WORDS, draining.join()).await.is_err() {
                tracing::debug!("an MCP server's error output did not end with it");
            }
            return Err(with_complaints(fault, &complaints));
        }
    };
    let (peer, ended, running) = Link::over(service);
    let (hand, draining) = (Some(helper.hand), Some(draining));
    Ok(Link { peer, ended, hand, complaints, _running: running, _draining: draining })
}

/// How a program ended, when it did.
async fn ending(hand: &dyn HelperHand) -> Option<String> {
    let ended = tokio::time::timeout(LAST_WORDS, hand.exited()).await.ok()?.ok()?;
    Some(match ended {
        Ending::Code(code) => format!("it ended with exit status {code}"),
        Ending::Signal(signal) => format!("it was ended by signal {signal}"),
    })
}

fn with_complaints(fault: Fault, complaints: &Complaints) -> Fault {
    let tail = complaints.tail();
    let last = tail.lines().rev().find(|line| !line.trim().is_empty());
    match (fault, last) {
        (Fault::Passing(reason), Some(last)) => Fault::Passing(format!("{reason}{WROTE}{last}")),
        (fault, _) => fault,
    }
}

async fn begin_http(shared: &Arc<Shared>, first: bool) -> Result<Link, Fault> {
    let (spec, around) = (shared.spec(), &shared.around);
    let Launch::Http { url, headers, sse, preflight, oauth, .. } = &spec.launch else {
        return Err(Fault::Lasting("it has no address".to_owned()));
    };
    let http = way_out(spec, around);
    let headers = own_headers(headers)?;
    if *sse && oauth.is_some() {
        let why = "`auth: oauth` needs the newer transport: leave out `transport: sse`, or give a \
                   token in `headers`";
        return Err(Fault::Lasting(why.to_owned()));
    }
    if *sse {
        let transport = OldSse::open(http, url, headers).await;
        let transport = transport.map_err(|error| Fault::Passing(error.to_string()))?;
        let served = serve(shared, transport).await;
        return connected(served);
    }
    if *preflight && first {
        look(&http, url.as_str()).await?;
    }
    let config =
        StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(headers);
    let served = if oauth.is_some() {
        let client: BoxFuture<'static, _> =
            Box::pin(oauth::client(spec.clone(), around.clone(), http));
        serve(shared, StreamableHttpClientTransport::with_client(client.await?, config)).await
    } else {
        serve(shared, StreamableHttpClientTransport::with_client(http, config)).await
    };
    connected(served)
}

/// The way out to a server at an address.
pub(super) fn way_out(spec: &ServerSpec, around: &Around) -> NetHttp {
    let (tls, identity) = match &spec.launch {
        Launch::Http { tls, identity, .. } => (tls.clone(), identity.clone()),
        Launch::Stdio { .. } => (petasos_net::Tls::default(), None),
    };
    // A call waits for its first byte as long as it may take; the start has its own deadline.
    NetHttp {
        net: Arc::clone(&around.net),
        tls,
        identity,
        owner: spec.name.as_str().into(),
        first_byte: spec.call,
    }
}

fn connected(served: Served) -> Result<Link, Fault> {
    let service = served.map_err(|error| fault(&error))?;
    let (peer, ended, running) = Link::over(service);
    let complaints = Complaints::default();
    Ok(Link { peer, ended, hand: None, complaints, _running: running, _draining: None })
}

/// Headers of the user's, written as headers.
fn own_headers(
    headers: &std::collections::BTreeMap<String, String>,
) -> Result<HashMap<HeaderName, HeaderValue>, Fault> {
    let mut own = HashMap::new();
    for (name, value) in headers {
        let bad = || Fault::Lasting(format!("the header `{name}` cannot be sent"));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        own.insert(key, HeaderValue::from_str(value).map_err(|_| bad())?);
    }
    Ok(own)
}

/// A page for people at the address is a mistake that trying again does not mend.
async fn look(http: &NetHttp, url: &str) -> Result<(), Fault> {
    let Ok(url) = petasos_net::checked_url(url) else { return Ok(()) };
    let mut request = Request::new(Method::HEAD, url).first_byte(PREFLIGHT).body(Bytes::new());
    request.tls = http.tls.clone();
    request.identity.clone_from(&http.identity);
    let Ok(reply) = http.net.send(request).await else { return Ok(()) };
    let kind = reply.headers.get("content-type").and_then(|kind| kind.to_str().ok());
    if reply.status == 200 && kind.is_some_and(|kind| kind.starts_with("text/html")) {
        return Err(Fault::Lasting(
            "the address answers with a web page and not with MCP: check `url`".to_owned(),
        ));
    }
    Ok(())
}

fn fault(error: &ClientInitializeError) -> Fault {
    if let Some(challenge) = error.auth_challenge() {
        return Fault::Auth(challenge.to_owned());
    }
    if error.is_authorization_required() {
        return Fault::Auth(String::new());
    }
    let mut reason = match error {
        ClientInitializeError::ConnectionClosed(_) => {
            "it closed the connection during the handshake".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => {
            error.error.source().map_or_else(|| error.error.to_string(), ToString::to_string)
        }
        other => other.to_string(),
    };
    if reason.len() > 500 {
        reason = reason.chars().take(500).collect();
    }
    Fault::Passing(reason)
}
