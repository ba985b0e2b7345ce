//! The server of one connection: frames in, methods run beside each other, answers out.
//!
//! A request never blocks the reading of the next one. When the client goes, turns are stopped and
//! sessions left within two seconds.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    AuthenticateRequest, CancelNotification, CancelRequestNotification, ClientCapabilities, Error,
    InitializeRequest, RequestId,
};
use parking_lot::Mutex;
use petasos_contract::wait::Owned;
use petasos_session::{EndReason, Sessions};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::capabilities;
use crate::editor::EditorSession;
use crate::port::EditorHost;
use crate::prompt::Arrived;
use crate::render::Abilities;
use crate::rpc::{CANCEL, Frame, Peer, told};
use crate::rules::EditorRules;
use crate::wire::{Arrival, FRAME_MAX, Transport};

/// How long sessions may take to be left when the client is gone.
const LEAVING: Duration = Duration::from_millis(1500);

/// So many requests are worked on at once; further ones are turned away.
const RUNNING_MAX: usize = 10_000;
/// A client that has not taken an answer for so long, with so many open, does not listen.
const HEARS: Duration = Duration::from_secs(10);

/// What a server is made of.
#[derive(Clone)]
pub struct ServerParts {
    /// The sessions of the program.
    pub sessions: Arc<Sessions>,
    /// The program around.
    pub host: Arc<dyn EditorHost>,
    /// The rules of its sessions, which are a hook of the door.
    pub rules: Arc<EditorRules>,
    /// The version of the program.
    pub version: &'static str,
}

impl std::fmt::Debug for ServerParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerParts").field("sessions", &self.sessions).finish_non_exhaustive()
    }
}

/// Serves one client until it goes, or until it is told to stop.
pub async fn serve(parts: ServerParts, mut transport: Transport, stop: CancellationToken) {
    let peer = Peer::new(transport.out.clone());
    let server = Arc::new(Server {
        peer,
        parts,
        client: Mutex::new(None),
        open: Mutex::default(),
        running: Mutex::default(),
        opening: tokio::sync::Mutex::default(),
        secret: crate::paging::secret(),
    });
    loop {
        let arrival = tokio::select! {
            () = stop.cancelled() => break,
            () = server.peer.gone().cancelled() => break,
            arrival = transport.lines.recv() => arrival,
        };
        match arrival {
            Some(Arrival::Line(line)) => match Frame::read(&line) {
                Frame::Request { id, .. } | Frame::Invalid { id, .. } if server.is_full() => {
                    if !server.turn_away(&id).await {
                        tracing::warn!("the client asks and does not hear: it is left");
                        break;
                    }
                }
                frame => server.take(frame),
            },
            Some(Arrival::TooLong) => {
                let why = format!("a message is longer than {FRAME_MAX} bytes");
                server.run(RequestId::Null, done(Err(told(Error::invalid_request(), &why))));
            }
            None => break,
        }
    }
    server.leave().await;
}

/// A request that is being answered.
struct Running {
    id: RequestId,
    cancel: CancellationToken,
    work: Owned<()>,
}

pub(crate) struct Server {
    pub(crate) peer: Arc<Peer>,
    pub(crate) parts: ServerParts,
    /// What the client can do; nothing before it was said.
    client: Mutex<Option<ClientCapabilities>>,
    pub(crate) open: Mutex<HashMap<String, Arc<EditorSession>>>,
    running: Mutex<Vec<Running>>,
    /// One session is opened at a time.
    pub(crate) opening: tokio::sync::Mutex<()>,
    /// Signs cursors of lists.
    pub(crate) secret: [u8; 32],
}

type Answer = Result<Value, Error>;

impl Server {
    /// Whether as many requests are worked on as may be.
    fn is_full(&self) -> bool {
        let mut running = self.running.lock();
        if running.len() >= RUNNING_MAX {
            running.retain(|one| !one.work.is_finished());
        }
        running.len() >= RUNNING_MAX
    }

    /// Tells a client that it asks too much; whether it heard. Nothing is read meanwhile.
    async fn turn_away(&self, id: &RequestId) -> bool {
        let why = format!("{RUNNING_MAX} requests are open: wait for their answers");
        let refused = self.peer.respond(id, Err(told(Error::invalid_request(), &why)));
        tokio::time::timeout(HEARS, refused).await.is_ok()
    }

    /// Never waits: a client that does not read must not keep its next frame from being read.
    fn take(self: &Arc<Self>, frame: Frame) {
        match frame {
            Frame::Request { id, method, params } => self.run(id, self.work(&method, params)),
            Frame::Notification { method, params } => self.told(&method, params),
            Frame::Response { id, result } => self.peer.answered(&id, result),
            Frame::Invalid { id, error } => self.run(id, done(Err(error))),
        }
    }

    /// Starts to answer a request.
    fn run(self: &Arc<Self>, id: RequestId, work: petasos_contract::BoxFuture<'static, Answer>) {
        let cancel = CancellationToken::new();
        let (server, asked, withdrawn) = (Arc::clone(self), id.clone(), cancel.clone());
        let work = Owned::start(async move {
            let answer = answered(work, &withdrawn).await;
            server.peer.respond(&asked, answer).await;
        });
        let mut running = self.running.lock();
        running.retain(|one| !one.work.is_finished());
        running.push(Running { id, cancel, work });
    }

    /// What a request asks for. Whatever must happen in the order of the frames happens here.
    fn work(
        self: &Arc<Self>,
        method: &str,
        params: Value,
    ) -> petasos_contract::BoxFuture<'static, Answer> {
        let server = Arc::clone(self);
        if method == "initialize" {
            return done(read(params).and_then(|request| server.initialize(&request)));
        }
        if self.client.lock().is_none() {
            let why = "`initialize` comes first";
            return done(Err(told(Error::invalid_request(), why)));
        }
        if method == "session/prompt" {
            return self.prompt(params);
        }
        let method = method.to_owned();
        Box::pin(async move { server.ask(&method, params).await })
    }

    async fn ask(&self, method: &str, params: Value) -> Answer {
        match method {
            "authenticate" => self.authenticate(&read(params)?).await,
            "logout" => Ok(Value::Object(serde_json::Map::new())),
            "session/new" => give(&self.new_session(read(params)?).await?),
            "session/load" => give(&self.load(read(params)?).await?),
            "session/resume" => give(&self.resume(read(params)?).await?),
            "session/fork" => give(&self.fork(read(params)?).await?),
            "session/list" => give(&self.list(&read(params)?).await?),
            "session/close" => give(&self.close(&read(params)?).await?),
            "session/delete" => give(&self.delete(&read(params)?).await?),
            "session/set_mode" => give(&self.set_mode(&read(params)?).await?),
            "session/set_config_option" => give(&self.set_option(&read(params)?).await?),
            "session/set_model" => self.set_model(&params).await,
            other => Err(told(Error::method_not_found(), &format!("`{other}`"))),
        }
    }

    /// A prompt takes its place at once: what follows may cancel it.
    fn prompt(self: &Arc<Self>, params: Value) -> petasos_contract::BoxFuture<'static, Answer> {
        use agent_client_protocol_schema::v1::PromptRequest;
        let request: PromptRequest = match read(params) {
            Ok(request) => request,
            Err(error) => return done(Err(error)),
        };
        let open = match self.session(&request.session_id.0) {
            Ok(open) => open,
            Err(error) => return done(Err(error)),
        };
        let arrived = Arrived::new(&open);
        let host = Arc::clone(&self.parts.host);
        Box::pin(async move { give(&arrived.run(&request.prompt, host.as_ref()).await?) })
    }

    fn told(&self, method: &str, params: Value) {
        match method {
            "session/cancel" => {
                let Ok(request) = read::<CancelNotification>(params) else { return };
                if let Ok(open) = self.session(&request.session_id.0) {
                    open.cancel();
                }
            }
            CANCEL => {
                let Ok(request) = read::<CancelRequestNotification>(params) else { return };
                let running = self.running.lock();
                let found = running.iter().find(|one| one.id == request.request_id);
                if let Some(one) = found {
                    one.cancel.cancel();
                }
            }
            other => tracing::debug!(method = other, "a notification that is not known"),
        }
    }

    fn initialize(&self, request: &InitializeRequest) -> Answer {
        *self.client.lock() = Some(request.client_capabilities.clone());
        let usable = self.parts.host.providers();
        let hears = self.parts.host.hears();
        give(&capabilities::response(request, &usable, self.parts.version, hears))
    }

    async fn authenticate(&self, request: &AuthenticateRequest) -> Answer {
        let known = self.parts.host.providers();
        let id = &*request.method_id.0;
        if !known.iter().any(|provider| provider.id == id) {
            let why = format!("`{id}` is no method of this program: run `petasos setup`");
            return Err(told(Error::invalid_params(), &why));
        }
        let ready = self.parts.host.ready().await;
        ready.map_err(|why| told(Error::auth_required(), &why))?;
        Ok(Value::Object(serde_json::Map::new()))
    }

    /// What the client can do.
    pub(crate) fn client(&self) -> ClientCapabilities {
        self.client.lock().clone().unwrap_or_default()
    }

    /// Whether the client shows forms.
    pub(crate) fn forms(&self) -> bool {
        self.client().elicitation.is_some_and(|asks| asks.form.is_some())
    }

    pub(crate) fn abilities(&self) -> Abilities {
        let session = self.client().session;
        Abilities {
            notices: session.as_ref().is_some_and(|session| session.notices.is_some()),
            compaction: session.as_ref().is_some_and(|session| session.compaction.is_some()),
        }
    }

    /// A session that is open at this client.
    pub(crate) fn session(&self, id: &str) -> Result<Arc<EditorSession>, Error> {
        self.open.lock().get(id).cloned().ok_or_else(|| unknown(id))
    }

    /// The client is gone.
    async fn leave(&self) {
        let running = std::mem::take(&mut *self.running.lock());
        let open: Vec<Arc<EditorSession>> =
            self.open.lock().drain().map(|(_, open)| open).collect();
        for one in &open {
            one.session.interrupt();
        }
        let left = async {
            for one in &open {
                self.end(one).await;
            }
        };
        if tokio::time::timeout(LEAVING, left).await.is_err() {
            tracing::warn!(
                "sessions were not left in time; their transcripts are repaired when they are opened again"
            );
        }
        drop(running);
        self.peer.close();
    }

    /// Ends a session for this client; the conversation stays stored.
    pub(crate) async fn end(&self, open: &EditorSession) {
        open.session.interrupt();
        let id = open.session.id().clone();
        if let Err(error) = open.session.end(EndReason::Shutdown).await {
            tracing::debug!(%error, "a session had ended already");
        }
        self.parts.rules.dismiss(&id);
        self.parts.host.leave(&id);
    }
}

/// What comes of a request: its answer, or that it was withdrawn, or that a part of the program
/// failed at it. A panic ends one request, not the connection.
async fn answered(
    work: petasos_contract::BoxFuture<'static, Answer>,
    withdrawn: &CancellationToken,
) -> Answer {
    let work = Owned::start(work);
    tokio::select! {
        biased;
        answer = work.join() => answer.unwrap_or_else(|| {
            let why = "a part of the program failed at this; its log says more";
            Err(told(Error::internal_error(), why))
        }),
        () = withdrawn.cancelled() => Err(Error::request_cancelled()),
    }
}

/// A session that nobody knows.
pub(crate) fn unknown(id: &str) -> Error {
    Error::session_not_found(id.to_owned())
}

fn done(answer: Answer) -> petasos_contract::BoxFuture<'static, Answer> {
    Box::pin(std::future::ready(answer))
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    let params = if params.is_null() { Value::Object(serde_json::Map::new()) } else { params };
    serde_json::from_value(params)
        .map_err(|error| told(Error::invalid_params(), &error.to_string()))
}

fn give(answer: &impl Serialize) -> Answer {
    serde_json::to_value(answer).map_err(|error| told(Error::internal_error(), &error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_of_its_request() {
        let withdrawn = CancellationToken::new();
        let broken = Box::pin(async { panic!("a part fails") });
        let error = answered(broken, &withdrawn).await.unwrap_err();
        assert_eq!(i32::from(error.code), -32603);
        let whole = answered(done(Ok(Value::Null)), &withdrawn).await;
        assert_eq!(whole.unwrap(), Value::Null);
        withdrawn.cancel();
        let error = answered(Box::pin(std::future::pending()), &withdrawn).await.unwrap_err();
        assert_eq!(i32::from(error.code), -32800);
    }
}
