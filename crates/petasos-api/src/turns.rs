//! From a request to a run: headers that say how, idempotency keys, room.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::HeaderMap;
use petasos_contract::SessionId;
use petasos_contract::message::Content;
use petasos_session::{Input, SessionError, WhenBusy};
use petasos_store::{ApiDigest, Once, OnceRequest};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::answer::{Answer, with_header};
use crate::conversation::{From, Request, checked_name};
use crate::error::ApiError;
use crate::keys::{Caller, digest};
use crate::run::{Held, Life, Run, RunFacts, RunReader};
use crate::runs::{ONCE, ms, new_id, now_ms};
use crate::server::Inner;

const SESSION: &str = "x-hermes-session-id";
const MEMORY: &str = "x-hermes-session-key";
const ONCE_KEY: &str = "idempotency-key";
/// The longest idempotency key.
const ONCE_KEY_MAX: usize = 255;
/// How long a request waits for the one that came before it to begin.
const BEGINNING: Duration = Duration::from_secs(30);

/// What the headers of a request say about its turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Manner {
    pub(crate) session: Option<String>,
    pub(crate) memory: Option<String>,
    once: Option<String>,
    queue: bool,
    detach: bool,
}

impl Manner {
    pub(crate) fn read(headers: &HeaderMap) -> Result<Self, ApiError> {
        // Two values of one name are read differently by whoever stands before us: neither counts.
        let text = |name: &str| {
            let mut values = headers.get_all(name).iter();
            let value = values.next()?.to_str().ok().filter(|_| values.next().is_none());
            Some(value.unwrap_or("\u{0}").to_owned())
        };
        let named =
            |name: &'static str| text(name).map(|value| checked_name(&value, name)).transpose();
        let flag = |name: &str| text(name).is_some_and(|value| value == "1" || value == "true");
        let once = text(ONCE_KEY);
        let odd = |key: &String| {
            key.is_empty() || key.len() > ONCE_KEY_MAX || key.contains(char::is_control)
        };
        if once.as_ref().is_some_and(odd) {
            let message = format!("one idempotency key has 1 to {ONCE_KEY_MAX} characters");
            return Err(ApiError::field(ONCE_KEY, message));
        }
        Ok(Self {
            session: named(SESSION)?,
            memory: named(MEMORY)?,
            once,
            queue: flag("x-petasos-queue"),
            detach: flag("x-petasos-detach"),
        })
    }

    /// The history that the headers ask for.
    pub(crate) fn from(&self) -> From {
        self.session.clone().map_or(From::Fresh, From::Named)
    }

    fn place(&self, caller: &Caller, endpoint: &str, key: &str) -> ApiDigest {
        let (session, memory) = (self.session.as_deref(), self.memory.as_deref());
        let parts = [
            caller.name.as_str(),
            endpoint,
            session.unwrap_or_default(),
            memory.unwrap_or_default(),
            key,
        ];
        let mut all = Sha256::new();
        for part in parts {
            all.update(digest(part.as_bytes()));
        }
        all.finalize().into()
    }

    /// Says which session answered, and what was dropped.
    pub(crate) fn mark(&self, answer: Answer, run: &Run, ignored: &[String]) -> Answer {
        let mut answer = with_header(answer, SESSION, run.facts.session.as_str());
        answer = with_header(answer, "x-petasos-run-id", &run.facts.id);
        if let Some(memory) = &self.memory {
            answer = with_header(answer, MEMORY, memory);
        }
        if ignored.is_empty() {
            return answer;
        }
        with_header(answer, "x-petasos-ignored", &ignored.join(", "))
    }
}

/// What is asked, besides its words.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) endpoint: &'static str,
    /// The body as it came.
    pub(crate) body: Value,
    /// What clients call the model.
    pub(crate) model: String,
    /// Whether the run has a name of its own and goes on without its client.
    pub(crate) own: bool,
}

impl Inner {
    /// Begins a run, or joins the one that does the same already.
    pub(crate) async fn begin(
        &self,
        caller: &Caller,
        manner: &Manner,
        asked: Asked,
        request: Request,
    ) -> Result<RunReader, ApiError> {
        self.is_open()?;
        let id = new_id(if asked.own { "run_" } else { "turn_" })?;
        let Some(key) = &manner.once else {
            return self.started(caller, manner, &asked, (id, request)).await;
        };
        let place = manner.place(caller, asked.endpoint, key);
        let at_ms = now_ms();
        let once = OnceRequest { place, body: fingerprint(&asked.body), run: id.clone(), at_ms };
        match self.runs.store().once(once, at_ms - ms(ONCE)).await? {
            Once::New => {
                let started = self.started(caller, manner, &asked, (id, request)).await;
                if started.is_err() {
                    self.runs.store().forget_once(place).await?;
                }
                started
            }
            Once::Same(run) => self.joined(&run, caller).await,
            Once::Other => {
                let message = "another request was made under this idempotency key";
                let status = http::StatusCode::UNPROCESSABLE_ENTITY;
                Err(ApiError::new(status, "idempotency_mismatch", message))
            }
        }
    }

    async fn started(
        &self,
        caller: &Caller,
        manner: &Manner,
        asked: &Asked,
        (id, request): (String, Request),
    ) -> Result<RunReader, ApiError> {
        let place = self.runs.place()?;
        let (session, input) = self.conversations.open(request, caller).await?;
        if !manner.queue && self.conversations.is_held_elsewhere(session.id()).await? {
            return Err(SessionError::Busy.into());
        }
        let input = self.with_skill(input, session.id()).await?;
        let alone = asked.own || manner.detach;
        let facts = RunFacts {
            id,
            owner: caller.name.clone(),
            session: session.id().clone(),
            created_ms: now_ms(),
            model: asked.model.clone(),
            life: if alone { Life::OnItsOwn } else { Life::WhileRead },
            kept: asked.own || manner.once.is_some(),
            deadline: None,
            held: Held::of(caller, manner.memory.clone()),
            to: None,
        };
        let busy = if manner.queue { WhenBusy::Queue } else { WhenBusy::Refuse };
        let run = self.runs.begin(place, facts, (session, input), busy).await?;
        Ok(run.read(0, Arc::clone(self.runs.store())))
    }

    /// `/name words` calls a skill, as everywhere: its text comes before the words. Words that mean
    /// none stay what they are.
    async fn with_skill(&self, mut input: Input, session: &SessionId) -> Result<Input, ApiError> {
        let Content::Text(line) = &input.content else { return Ok(input) };
        let called = self.conversations.sessions.called_skill(session, line).await;
        if let Some(called) = called {
            let called = called.map_err(|why| ApiError::field("input", why))?;
            input.content = Content::Text(called.words);
            input.context.push(called.context);
        }
        Ok(input)
    }

    /// Reads a run from its beginning that another request began.
    async fn joined(&self, run: &str, caller: &Caller) -> Result<RunReader, ApiError> {
        let until = Instant::now() + BEGINNING;
        while Instant::now() < until {
            if let Some(reader) = self.runs.reader(run, &caller.name, 0).await? {
                return Ok(reader);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let message = "the request under this idempotency key has not begun: ask again";
        Err(ApiError::conflict("session_busy", message))
    }
}

/// The digest of a body, whatever the order of its fields.
fn fingerprint(body: &Value) -> ApiDigest {
    digest(sorted(body).to_string().as_bytes())
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> =
                fields.iter().map(|(key, it)| (key.clone(), sorted(it))).collect();
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
