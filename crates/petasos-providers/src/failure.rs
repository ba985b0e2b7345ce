//! Why a request failed: one taxonomy from status, headers and each provider's own words.
//!
//! Structured fields decide first (codes of the dialect, then the status); wording only tells
//! apart what shares one status. What to do about a failure is decided in `recover`.

mod fault;
mod wording;

use std::time::{Duration, SystemTime};

use petasos_contract::model::{ModelError, Reason};

pub use fault::fault;

use crate::retry::{self, Limits};
use crate::transport::TransportDef;
use crate::transport::decode::{DecodeError, Fault};
use crate::transport::target::Target;

/// How large the question was; a bare refusal means something else for a large one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// Estimated tokens.
    pub tokens: u64,
    /// Messages.
    pub messages: usize,
    /// The model's context, when it is known.
    pub context: Option<u64>,
}

impl Size {
    /// Whether a refusal without words is most likely about the length.
    pub fn is_large(&self) -> bool {
        let context = self.context.unwrap_or(256_000);
        let by_share = self.tokens.saturating_mul(10) > context.saturating_mul(4);
        by_share || (context <= 256_000 && (self.tokens > 80_000 || self.messages > 80))
    }

    /// Whether a cut connection is most likely about the length.
    pub fn is_huge(&self) -> bool {
        let by_share = self
            .context
            .is_some_and(|context| self.tokens.saturating_mul(10) > context.saturating_mul(6));
        by_share || self.tokens > 120_000 || self.messages > 200
    }
}

/// A tool that an error points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolHint {
    /// By its place in the list that was sent.
    Index(usize),
    /// By name.
    Name(String),
}

/// The code of a reply that outgrew its bound.
const ENDLESS: &str = "reply_too_large";

/// A failed request.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The kind.
    pub reason: Reason,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
    /// The provider's own code.
    pub code: Option<String>,
    /// The provider's own words, or ours.
    pub message: String,
    /// How long the provider asks to be left alone.
    pub retry_after: Option<Duration>,
    /// The provider's counters.
    pub limits: Limits,
    /// The context length that it states.
    pub context_length: Option<u64>,
    /// The room for an answer that it states.
    pub room: Option<u32>,
    /// The tool that it points at.
    pub tool: Option<ToolHint>,
    /// The parameter that it points at.
    pub param: Option<String>,
    /// Whether the body was a page for people and not an answer.
    pub is_page: bool,
    /// Whether nothing listens at an address of this machine: waiting for long changes nothing.
    pub is_absent: bool,
    /// What happened, where the reason alone is too coarse.
    pub heading: Option<&'static str>,
    /// What to do about it, where the provider wants something of its own.
    pub advice: Option<String>,
}

/// How much of a provider's own words a person is shown.
const WORDS_MAX: usize = 300;

impl Failure {
    /// A failure of our own making or finding.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            status: None,
            code: None,
            message: message.into(),
            retry_after: None,
            limits: Limits::default(),
            context_length: None,
            room: None,
            tool: None,
            param: None,
            is_page: false,
            is_absent: false,
            heading: None,
            advice: None,
        }
    }

    /// The error that a caller sees.
    pub fn error(&self, target: &Target) -> ModelError {
        let mut error = ModelError::new(self.reason, self.line(target));
        error.detail.clone_from(&self.message);
        error.status = self.status;
        error.retry_after = self.retry_after;
        error.context_length = self.context_length;
        error
    }

    /// What happened, to be read after the provider's name.
    pub fn what(&self) -> String {
        let status = self.status.map(|status| format!(" ({status})")).unwrap_or_default();
        // A key that is known but may not do this is no wrong key.
        let forbidden = self.reason == Reason::Auth && self.status == Some(403);
        let usual = if forbidden { "refused the request" } else { wording::what(self.reason) };
        format!("{}{status}", self.heading.unwrap_or(usual))
    }

    /// The provider's own words, short enough for one line.
    fn words(&self) -> String {
        let words = self.message.split_whitespace().collect::<Vec<_>>().join(" ");
        if words.is_empty() {
            return words;
        }
        let cut: String = words.chars().take(WORDS_MAX).collect();
        let more = if cut.len() < words.len() { "…" } else { "" };
        format!(": {}{more}", cut.trim_end_matches('.'))
    }

    /// Whether the reply was more than is taken: asking again would only bring it again.
    pub fn is_endless(&self) -> bool {
        self.code.as_deref() == Some(ENDLESS)
    }

    /// One line for a person: what happened and what to do.
    pub fn line(&self, target: &Target) -> String {
        let (provider, model) = (target.who(), &target.model);
        let next = match &self.advice {
            Some(own) => format!(": {own}"),
            // More patience does not help where nobody listens.
            None if self.heading == Some(UNREACHED) => {
                "; check its address, and that it is running".to_owned()
            }
            None => advice(self.reason, provider, model),
        };
        let what = self.what();
        let words = if self.advice.is_some() { String::new() } else { self.words() };
        let address = target.address();
        let place = if address.is_empty() { String::new() } else { format!(" at {address}") };
        let wait = self.retry_after.filter(|wait| !wait.is_zero());
        let wait = wait.map(|wait| format!("; it asks to wait {} s", wait.as_secs().max(1)));
        let wait = wait.unwrap_or_default();
        format!("`{provider}`{place} {what} for `{model}`{words}{wait}{next}")
    }
}

/// What is said of an endpoint that takes no connection.
pub(crate) const UNREACHED: &str = "cannot be reached";

fn advice(reason: Reason, provider: &str, model: &str) -> String {
    match reason {
        Reason::Auth => format!("; check its key with `petasos auth status {provider}`"),
        Reason::Billing => {
            "; add credit or choose another provider with `petasos model`".to_owned()
        }
        Reason::ModelNotFound => format!("; list what it has with `petasos models {provider}`"),
        Reason::ContextOverflow => {
            format!("; shorten the conversation, or give `{model}` a larger context")
        }
        Reason::Certificate => {
            "; set `ssl_ca_cert` for this endpoint if the certificate is your own".to_owned()
        }
        Reason::Timeout => {
            "; check that the endpoint is up, or raise `request_timeout_seconds`".to_owned()
        }
        Reason::Refused => format!("; see `petasos provider explain --provider {provider}`"),
        _ => String::new(),
    }
}

/// An answer that is no success.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The status.
    pub status: u16,
    /// The headers, lower case.
    pub headers: &'a [(String, String)],
    /// The body, cut at a bound.
    pub body: &'a [u8],
}

/// Classifies an answer that is no success.
pub fn classify(
    transport: &TransportDef,
    answer: Answer<'_>,
    size: Size,
    now: SystemTime,
) -> Failure {
    let text = String::from_utf8_lossy(answer.body);
    let parsed = serde_json::from_str::<serde_json::Value>(&text);
    let header = |name: &str| {
        let found = answer.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    };
    let is_page = parsed.is_err();
    let mut fault = parsed.as_ref().map(fault).unwrap_or_default();
    if is_page {
        fault.message = fault::page(&text);
    }
    if let Some(kind) = header("x-amzn-errortype") {
        let kind = kind.split(':').next().unwrap_or(kind);
        fault.code = Some(kind.rsplit('#').next().unwrap_or(kind).to_owned());
    }
    let mut failure = of_fault(transport, &fault, Some(answer.status), size);
    failure.is_page = is_page;
    if is_page && answer.status == 404 {
        failure.reason = Reason::InvalidResponse;
    }
    failure.retry_after = retry::after(header, now).or(retry::in_body(parsed.ok().as_ref()));
    failure.limits = Limits::read(header);
    failure
}

/// Classifies an error that a provider put into an answer.
pub fn of_fault(
    transport: &TransportDef,
    fault: &Fault,
    status: Option<u16>,
    size: Size,
) -> Failure {
    let status = status.or(fault.status);
    let by_code = transport.codes.iter().find(|(code, _)| {
        let is = |word: &Option<String>| word.as_deref() == Some(*code);
        is(&fault.code) || is(&fault.kind)
    });
    let base = by_code.map_or_else(|| of_status(status), |(_, reason)| *reason);
    let reason = wording::refine(base, status, fault, size);
    let mut failure = Failure::new(reason, fault.message.clone());
    failure.status = status;
    failure.code = fault.code.clone().or_else(|| fault.kind.clone());
    failure.param.clone_from(&fault.param);
    match reason {
        Reason::ContextOverflow => {
            failure.context_length = wording::context_length(&fault.message);
            failure.room = wording::room(&fault.message);
        }
        Reason::ToolSchema => failure.tool = wording::tool(&fault.message, fault.param.as_deref()),
        Reason::UnsupportedParameter if failure.param.is_none() => {
            failure.param = wording::parameter(&fault.message);
        }
        _ => {}
    }
    failure
}

fn of_status(status: Option<u16>) -> Reason {
    match status {
        Some(401 | 403) => Reason::Auth,
        Some(402) => Reason::Billing,
        Some(408) => Reason::Timeout,
        Some(413) => Reason::PayloadTooLarge,
        Some(429) => Reason::RateLimit,
        Some(503 | 529) => Reason::Overloaded,
        Some(500..=599) => Reason::ServerError,
        Some(300..=399) => Reason::InvalidResponse,
        Some(400..=499) => Reason::Format,
        _ => Reason::Unknown,
    }
}

/// Classifies an answer that could not be read.
pub fn of_decoding(transport: &TransportDef, error: &DecodeError, size: Size) -> Failure {
    match error {
        DecodeError::Fault { fault } => of_fault(transport, fault, None, size),
        DecodeError::Truncated => Failure::new(Reason::Timeout, error.to_string()),
        DecodeError::Malformed { .. } | DecodeError::Empty => {
            Failure::new(Reason::InvalidResponse, error.to_string())
        }
        DecodeError::TooLarge { .. } => Failure {
            code: Some(ENDLESS.to_owned()),
            heading: Some("gave an answer without an end"),
            ..Failure::new(Reason::InvalidResponse, error.to_string())
        },
    }
}

#[cfg(test)]
mod tests;
