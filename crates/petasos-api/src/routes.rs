//! Every endpoint with what it takes and gives: the table that requests are led by, and that the
//! OpenAPI document is made from.

use http::Method;
use petasos_contract::BoxFuture;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::answer::Answer;
use crate::error::ApiError;
use crate::keys::ApiScope;
use crate::server::Call;
use crate::{
    approvals, boards, chat, jobs, models, openapi, responses, run_routes, sessions, state,
};

/// What a handler comes to.
pub(crate) type Handled = BoxFuture<'static, Result<Answer, ApiError>>;

/// The shape of a body.
pub(crate) type Shape = fn(&mut SchemaGenerator) -> Schema;

/// One endpoint.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    /// The path; `{…}` stands for one part.
    pub(crate) path: &'static str,
    /// What a key needs; nothing where everybody may ask.
    pub(crate) scope: Option<ApiScope>,
    pub(crate) about: &'static str,
    pub(crate) takes: Option<Shape>,
    pub(crate) gives: Option<Shape>,
    pub(crate) run: fn(Call) -> Handled,
}

fn shape<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const fn get(
    path: &'static str,
    scope: ApiScope,
    about: &'static str,
    run: fn(Call) -> Handled,
) -> Route {
    Route { method: "GET", path, scope: Some(scope), about, takes: None, gives: None, run }
}

impl Route {
    const fn with(self, method: &'static str) -> Self {
        Self { method, ..self }
    }

    const fn taking(self, takes: Shape) -> Self {
        Self { takes: Some(takes), ..self }
    }

    const fn giving(self, gives: Shape) -> Self {
        Self { gives: Some(gives), ..self }
    }

    const fn open(self) -> Self {
        Self { scope: None, ..self }
    }
}

use ApiScope::{Approvals, Chat, Jobs, Metrics, Runs, Sessions};

// One endpoint a line reads as a table.
#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    get("/health", Metrics, "Whether the server is there", state::health).open().giving(shape::<state::Health>),
    get("/v1/health", Metrics, "Whether the server is there", state::health).open().giving(shape::<state::Health>),
    get("/ready", Metrics, "Whether turns can be made", state::ready).giving(shape::<state::Ready>),
    get("/health/detailed", Metrics, "Whether turns can be made", state::ready).giving(shape::<state::Ready>),
    get("/metrics", Metrics, "Numbers for Prometheus", state::metrics),
    get("/openapi.json", Metrics, "This document", openapi::serve).open(),
    get("/v1/models", Chat, "The names of models", models::list).giving(shape::<models::ModelList>),
    get("/v1/models/{model}", Chat, "One model", models::one).giving(shape::<models::Model>),
    get("/v1/capabilities", Chat, "What the server can do", state::capabilities),
    get("/v1/toolsets", Chat, "The toolsets of conversations here", state::toolsets),
    get("/v1/skills", Chat, "The skills of this home", jobs::skills),
    get("/v1/chat/completions", Chat, "One turn", chat::create).with("POST").taking(shape::<chat::ChatRequest>),
    get("/v1/responses", Chat, "One turn that can be gone on from", responses::create).with("POST").taking(shape::<responses::ResponseRequest>),
    get("/v1/responses/{response}", Chat, "A stored response", responses::one),
    get("/v1/responses/{response}", Chat, "Forgets a stored response", responses::remove).with("DELETE"),
    get("/v1/runs", Runs, "Begins a run", run_routes::create).with("POST").taking(shape::<run_routes::RunRequest>).giving(shape::<run_routes::RunView>),
    get("/v1/runs/{run}", Runs, "How a run is", run_routes::one).giving(shape::<run_routes::RunView>),
    get("/v1/runs/{run}/events", Runs, "What happens in a run, as events", run_routes::events).giving(shape::<crate::run::RunEvent>),
    get("/v1/runs/{run}/stop", Runs, "Stops a run", run_routes::stop).with("POST").giving(shape::<run_routes::RunView>),
    get("/v1/runs/{run}/approval", Approvals, "Answers what a run asks to be approved", approvals::decide).with("POST").taking(shape::<approvals::Decision>).giving(shape::<approvals::Decided>),
    get("/v1/runs/{run}/answer", Approvals, "Answers what a run wants to know", approvals::answer).with("POST").taking(shape::<approvals::TextAnswer>).giving(shape::<approvals::Decided>),
    get("/v1/approvals", Approvals, "Everything that waits for an answer", approvals::list).giving(shape::<approvals::ApprovalList>),
    get("/v1/approvals/{approval}", Approvals, "Answers one request", approvals::decide_one).with("POST").taking(shape::<approvals::Decision>).giving(shape::<approvals::Decided>),
    get("/api/sessions", Sessions, "The sessions of this key", sessions::list).giving(shape::<sessions::SessionList>),
    get("/api/sessions", Sessions, "Begins a session", sessions::create).with("POST").taking(shape::<sessions::NewSessionBody>).giving(shape::<sessions::SessionBody>),
    get("/api/sessions/{session}", Sessions, "One session", sessions::one).giving(shape::<sessions::SessionBody>),
    get("/api/sessions/{session}", Sessions, "Changes its title, or sets it aside", sessions::change).with("PATCH").taking(shape::<sessions::Change>).giving(shape::<sessions::SessionBody>),
    get("/api/sessions/{session}", Sessions, "Removes it for good", sessions::remove).with("DELETE"),
    get("/api/sessions/{session}/messages", Sessions, "What was said", sessions::messages).giving(shape::<sessions::MessageList>),
    get("/api/sessions/{session}/fork", Sessions, "A new session that begins like this one", sessions::fork).with("POST").taking(shape::<sessions::ForkBody>).giving(shape::<sessions::SessionBody>),
    get("/api/sessions/{session}/chat", Sessions, "One turn in a session", sessions::chat).with("POST").taking(shape::<run_routes::RunRequest>).giving(shape::<run_routes::RunView>),
    get("/api/sessions/{session}/chat/stream", Sessions, "One turn in a session, as events", sessions::chat_stream).with("POST").taking(shape::<run_routes::RunRequest>).giving(shape::<crate::run::RunEvent>),
    get("/api/jobs", Jobs, "The schedules of this home", jobs::list),
    get("/api/jobs", Jobs, "Makes a job", jobs::create).with("POST").taking(shape::<jobs::JobFields>),
    get("/api/jobs/{job}", Jobs, "One job", jobs::one),
    get("/api/jobs/{job}", Jobs, "Changes a job; what is absent stays", jobs::change).with("PATCH").taking(shape::<jobs::JobFields>),
    get("/api/jobs/{job}", Jobs, "Forgets a job; its outputs stay", jobs::remove).with("DELETE"),
    get("/api/jobs/{job}/pause", Jobs, "Lets a job rest", jobs::pause).with("POST").taking(shape::<jobs::PauseBody>),
    get("/api/jobs/{job}/resume", Jobs, "Lets a job run again", jobs::resume).with("POST"),
    get("/api/jobs/{job}/run", Jobs, "Runs a job now, beside its schedule", jobs::run).with("POST"),
    get("/api/jobs/{job}/runs", Jobs, "What became of its runs", jobs::runs),
    get("/kanban", Jobs, "A page that shows the boards of this home", boards::page).open(),
    get("/api/boards", Jobs, "The boards of this home", boards::list),
    get("/api/boards/{board}", Jobs, "The tasks of a board", boards::one),
];

/// Paths of OpenAI's interface that we do not have, and why.
const ABSENT: &[(&str, &str)] = &[
    ("/v1/embeddings", "embeddings"),
    ("/v1/audio", "audio"),
    ("/v1/images", "images"),
    ("/v1/files", "files"),
    ("/v1/uploads", "uploads"),
    ("/v1/completions", "completions without a chat"),
    ("/v1/moderations", "moderations"),
    ("/v1/fine_tuning", "fine tuning"),
];

/// What a path leads to.
pub(crate) enum Found {
    Route(&'static Route, Vec<String>),
    /// Other methods.
    Methods(String),
    Nothing,
}

/// What OpenAI offers under this path and we do not.
pub(crate) fn absent(path: &str) -> Option<&'static str> {
    let under = |(start, _): &&(&str, &str)| {
        path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    ABSENT.iter().find(under).map(|(_, what)| *what)
}

/// Leads a request.
pub(crate) fn find(method: &Method, path: &str) -> Found {
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    let mut methods = Vec::new();
    for route in ROUTES {
        let Some(named) = matched(route.path, path) else { continue };
        let head = method == Method::HEAD && route.method == "GET";
        if method.as_str() == route.method || head {
            return Found::Route(route, named);
        }
        methods.push(route.method);
    }
    if methods.is_empty() { Found::Nothing } else { Found::Methods(methods.join(", ")) }
}

fn matched(pattern: &str, path: &str) -> Option<Vec<String>> {
    let (mut named, mut parts) = (Vec::new(), path.split('/'));
    for piece in pattern.split('/') {
        let part = parts.next()?;
        if piece.starts_with('{') {
            named.push(decoded(part).filter(|part| !part.is_empty())?);
        } else if piece != part {
            return None;
        }
    }
    parts.next().is_none().then_some(named)
}

/// A part of a path without its `%` escapes.
pub(crate) fn decoded(part: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), part.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}
