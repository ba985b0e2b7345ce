//! How a vendor makes something: at once, or as a job that is submitted, asked about, collected,
//! and cancelled. What was submitted is never submitted again.

use std::time::Duration;

use base64::Engine as _;
use petasos_contract::CallContext;
use serde_json::Value;
use tokio::time::Instant;

use crate::fault::MediaError;
use crate::vendor::{Answer, Body, Outgoing, Vendor, detail};

const ANSWER_BYTES_MAX: usize = 80 << 20;
/// What one question about a job may take.
const LOOK: Duration = Duration::from_secs(30);
/// The wait before the first question; it doubles up to the second.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// So many questions in a row may fail in passing.
const FAILURES_MAX: u32 = 5;
/// A cancel is told to its caller within a second, whatever the vendor says to it.
const CANCEL: Duration = Duration::from_millis(800);

/// What a vendor made.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// The thing, or where it is.
    pub what: What,
    /// What it cost, where the vendor says so.
    pub cents: Option<f64>,
    /// How long a film is, where the vendor says so.
    pub seconds: Option<f64>,
}

/// The thing, or where it is.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// Where it can be fetched.
    Address(String),
}

impl Made {
    /// From base64, perhaps behind the head of a data address.
    pub fn base64(text: &str) -> Result<Self, Nothing> {
        let body = text.split_once(";base64,").map_or(text, |(_, body)| body);
        let bytes = base64::engine::general_purpose::STANDARD.decode(body.trim());
        let bytes = bytes.map_err(|error| Nothing::Unusable(error.to_string()))?;
        Ok(Self { what: What::Bytes(bytes), cents: None, seconds: None })
    }

    /// From an address; a data address is its bytes.
    pub fn at(address: &str) -> Result<Self, Nothing> {
        if address.starts_with("data:") {
            return Self::base64(address);
        }
        let what = What::Address(address.to_owned());
        Ok(Self { what, cents: None, seconds: None })
    }

    /// OpenAI's list: `data[0]` with `b64_json` or `url`.
    pub fn listed(body: &Value) -> Result<Self, Nothing> {
        let first = &body["data"][0];
        if first["respect_moderation"] == Value::Bool(false) {
            return Err(Nothing::Refused("its own check refused what it made".to_owned()));
        }
        match (first["b64_json"].as_str(), first["url"].as_str()) {
            (Some(data), _) => Self::base64(data),
            (None, Some(url)) => Self::at(url),
            (None, None) => Err(Nothing::unusable("`data` holds nothing")),
        }
    }
}

/// What xAI says that an answer cost: ten billion of its ticks are a dollar.
pub fn ticks(body: &Value) -> Option<f64> {
    body["usage"]["cost_in_usd_ticks"].as_f64().map(|ticks| ticks / 100_000_000.0)
}

/// Why an answer gives nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nothing {
    /// It has not the published shape.
    Unusable(String),
    /// The vendor refuses the content.
    Refused(String),
    /// The vendor failed.
    Failed(String),
}

impl Nothing {
    /// An answer of another shape.
    pub fn unusable(what: impl Into<String>) -> Self {
        Self::Unusable(what.into())
    }

    fn told(self, vendor: &Vendor) -> MediaError {
        let (kind, does, why) = match self {
            Self::Unusable(what) => return vendor.unusable(&what),
            Self::Refused(why) => ("blocked_policy", "refuses this content", why),
            Self::Failed(why) => ("upstream", "failed", why),
        };
        let error = MediaError::new(kind, format!("{} {does}", vendor.id));
        let why = detail(&why);
        if why.is_empty() { error } else { error.with("detail", why) }
    }
}

/// What reads a result out of an answer.
pub type Read = fn(&Answer) -> Result<Made, Nothing>;

/// How a vendor makes something.
#[derive(Debug, Clone, Copy)]
pub enum Course {
    /// The answer is the thing.
    Once(Read),
    /// The answer is a ticket.
    Queued(Queue),
}

/// A job at a vendor.
#[derive(Debug, Clone, Copy)]
pub struct Queue {
    /// The ticket of an answer, given what was submitted where.
    pub ticket: fn(&Answer, &str) -> Result<Ticket, String>,
    /// The question about it.
    pub look: fn(&Ticket) -> Outgoing,
    /// How far it is.
    pub state: fn(&Answer) -> Result<State, Nothing>,
    /// What asks for the result, where the state does not hold it.
    pub collect: Option<fn(&Ticket) -> Outgoing>,
    /// The result.
    pub made: Read,
    /// What cancels it.
    pub cancel: Option<fn(&Ticket) -> Outgoing>,
}

/// A submitted job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The vendor's name for it.
    pub id: String,
    /// The path below which it is asked about.
    pub path: String,
}

impl Ticket {
    /// A question about it.
    pub fn get(&self, below: &str) -> Outgoing {
        Outgoing { path: format!("{}{below}", self.path), body: Body::None }
    }
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It waits or runs.
    Waits,
    /// Its result can be had.
    Ended,
}

/// Whom a thing is asked of, and where that stands in the settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shop {
    pub(crate) vendor: Vendor,
    pub(crate) section: &'static str,
    pub(crate) course: Course,
}

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Begun {
    Made(Made),
    Waits(Queue, Ticket),
}

impl Shop {
    /// Asks for it, once.
    pub(crate) async fn begin(
        &self,
        outgoing: Outgoing,
        whole: Duration,
        cx: &CallContext,
    ) -> Result<Begun, MediaError> {
        let path = outgoing.path.clone();
        let limits = (ANSWER_BYTES_MAX, whole);
        let answer = self.vendor.ask(self.section, outgoing, limits, cx).await;
        let answer = answer.map_err(|error| match error.kind {
            "cancelled" => charged(error),
            _ => error,
        })?;
        match self.course {
            Course::Once(made) => {
                made(&answer).map(Begun::Made).map_err(|nothing| nothing.told(&self.vendor))
            }
            Course::Queued(queue) => {
                let ticket = (queue.ticket)(&answer, &path);
                let ticket = ticket.map_err(|what| self.vendor.unusable(&what))?;
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
                if ticket.id.is_empty() || !ticket.id.bytes().all(is_plain) {
                    return Err(self.vendor.unusable("the name of its job cannot be used"));
                }
                Ok(Begun::Waits(queue, ticket))
            }
        }
    }

    /// Waits for a job until then. A cancelled call cancels the job where the vendor lets it.
    pub(crate) async fn end(
        &self,
        (queue, ticket): (Queue, &Ticket),
        until: Instant,
        cx: &CallContext,
    ) -> Result<Made, MediaError> {
        let waiting = Box::pin(self.waited(queue, ticket, cx));
        let ended = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(MediaError::cancelled()),
            ended = tokio::time::timeout_at(until, waiting) => ended.unwrap_or_else(|_| {
                let told = format!("{} has not finished in time", self.vendor.id);
                Err(MediaError::new("timeout", told))
            }),
        };
        match ended {
            Err(error) if error.kind == "cancelled" => {
                self.cancel(queue, ticket, cx).await;
                Err(charged(error).with("request_id", ticket.id.clone()))
            }
            Err(error) => Err(error.with("request_id", ticket.id.clone())),
            made => made,
        }
    }

    async fn waited(
        &self,
        queue: Queue,
        ticket: &Ticket,
        cx: &CallContext,
    ) -> Result<Made, MediaError> {
        let (mut pause, mut failures) = (PAUSES.0, 0);
        let limits = (ANSWER_BYTES_MAX, LOOK);
        let last = loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
            let looked = self.vendor.ask(self.section, (queue.look)(ticket), limits, cx).await;
            let answer = match looked {
                Ok(answer) => answer,
                // A question changes nothing: one that failed in passing is asked again.
                Err(error)
                    if matches!(error.kind, "upstream" | "timeout" | "rate_limited")
                        && failures < FAILURES_MAX =>
                {
                    failures += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            failures = 0;
            let state = (queue.state)(&answer).map_err(|nothing| nothing.told(&self.vendor))?;
            if state == State::Ended {
                break answer;
            }
        };
        let answer = match queue.collect {
            Some(collect) => self.vendor.ask(self.section, collect(ticket), limits, cx).await?,
            None => last,
        };
        (queue.made)(&answer).map_err(|nothing| nothing.told(&self.vendor))
    }

    async fn cancel(&self, queue: Queue, ticket: &Ticket, cx: &CallContext) {
        let Some(cancel) = queue.cancel else { return };
        let sending = self.vendor.sent(self.section, cancel(ticket), (1 << 20, CANCEL), cx);
        match tokio::time::timeout(CANCEL, Box::pin(sending)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, job = %ticket.id, "a job could not be cancelled");
            }
            Err(_) => tracing::warn!(job = %ticket.id, "a cancel was not answered in time"),
        }
    }

    /// The bytes of what was made, and where they were fetched.
    pub(crate) async fn bytes(
        &self,
        made: &Made,
        limits: (usize, Duration),
        cx: &CallContext,
    ) -> Result<(Vec<u8>, Option<String>), MediaError> {
        match &made.what {
            What::Bytes(bytes) if bytes.len() > limits.0 => {
                Err(MediaError::new("too_large", format!("{} made too much", self.vendor.id)))
            }
            What::Bytes(bytes) => Ok((bytes.clone(), None)),
            What::Address(address) => {
                let fetched = self.vendor.fetched(self.section, address, limits, cx).await;
                fetched.map(|bytes| (bytes, Some(address.clone())))
            }
        }
    }
}

fn charged(error: MediaError) -> MediaError {
    let MediaError { kind, message, extra } = error;
    MediaError { kind, message: format!("{message}; what was asked may be charged"), extra }
}
