//! One request and its answer: out through the one door, back through the dialect's decoder.

use std::time::{Duration, Instant, SystemTime};

use petasos_contract::CallContext;
use petasos_contract::id::ToolName;
use petasos_contract::model::{Delta, Prompt, Reason, Reply};
use petasos_net::client::{Follow, Reply as Incoming, Request, Tls};
use petasos_net::fault::NetError;
use petasos_net::{HeaderMap, Method, checked_url};

use super::{Client, sign};
use crate::failure::{self, Answer, Failure, Size, ToolHint};
use crate::mode::Wire;
use crate::retry::Limits;
use crate::runtime::ProviderRuntime;
use crate::timeouts::{self, Timeouts};
use crate::transport::decode::{DecodeError, Decoder, Framing};
use crate::transport::target::Target;
use crate::transport::{self, TransportDef, WireRequest};

/// How much of an error's body is read, and for how long.
const ERROR_BYTES_MAX: usize = 256 * 1024;
const ERROR_WITHIN: Duration = Duration::from_secs(10);
/// How long the end marks of an answer that is whole already are waited for.
const SETTLED_IDLE: Duration = Duration::from_secs(3);

/// One request.
pub(super) struct Attempt<'a> {
    pub(super) client: &'a Client,
    pub(super) prompt: &'a Prompt,
    pub(super) runtime: &'a ProviderRuntime,
    pub(super) target: &'a Target,
    pub(super) size: Size,
    pub(super) number: u32,
    pub(super) timeout: Option<Duration>,
    pub(super) cx: &'a CallContext,
}

/// A request without a whole answer.
pub(super) struct Broken {
    pub(super) failure: Failure,
    pub(super) target: Target,
    /// What a person has already seen of the answer.
    pub(super) partial: Option<Reply>,
}

impl Attempt<'_> {
    pub(super) fn broken(&self, mut failure: Failure, partial: Option<Reply>) -> Box<Broken> {
        if let Some(credential) = &self.runtime.credential {
            let secret = &credential.secret;
            failure.message = failure.message.replace(secret.expose(), &secret.masked());
        }
        Box::new(Broken { failure, target: self.target.clone(), partial })
    }

    /// Sends the request and reads the answer. A tool that an error points at by its place is
    /// named by the list that was sent.
    pub(super) async fn run(&self) -> Result<Reply, Box<Broken>> {
        let mut offered = Vec::new();
        let outcome = self.exchange(&mut offered).await;
        outcome.map_err(|mut broken| {
            if let Some(ToolHint::Index(at)) = broken.failure.tool {
                let name = offered.get(at).map(ToString::to_string);
                broken.failure.tool = name.map(ToolHint::Name);
            }
            broken
        })
    }

    async fn exchange(&self, offered: &mut Vec<ToolName>) -> Result<Reply, Box<Broken>> {
        let alone = |failure: Failure| self.broken(failure, None);
        let wire = self.wire();
        let transport = transport::of(wire).ok_or_else(|| alone(no_transport(wire)))?;
        if let Some(program) = transport.program {
            return Box::pin(self.run_program(transport, program)).await;
        }
        let timeouts = self.timeouts();
        let deadline = Instant::now() + timeouts.whole;
        let wire = self.encode(transport)?;
        offered.clone_from(&wire.offered);
        if self.has_socket()
            && let Some(answered) =
                Box::pin(self.over_socket(transport, &wire, (&timeouts, deadline))).await
        {
            return answered;
        }
        let request = self.request(wire, &timeouts)?;
        let sent = self.client.net.send(request).await;
        let mut incoming = sent.map_err(|error| alone(self.of_net(&error)))?;
        let headers = texts(&incoming.headers);
        let limits = Limits::read(|name| find(&headers, name));
        self.client.memory.keep_limits(&self.target.provider, limits);
        if let Some(to) = find(&headers, "location").filter(|_| incoming.status / 100 == 3) {
            return Err(alone(redirect(incoming.status, to)));
        }
        if !(200..300).contains(&incoming.status) {
            let status = incoming.status;
            // A body that breaks off is still a failure with this status.
            let body = incoming.bytes(ERROR_BYTES_MAX, ERROR_WITHIN).await.unwrap_or_default();
            let answer = Answer { status, headers: &headers, body: &body };
            return Err(alone(failure::classify(transport, answer, self.size, SystemTime::now())));
        }
        let framing = framing(&headers, self.is_at_amazon()).ok_or_else(|| alone(page()))?;
        let mut decoder = (transport.decoder)(self.target, framing);
        let read = self.read(&mut incoming, decoder.as_mut(), (&timeouts, deadline)).await;
        self.conclude(transport, decoder.as_mut(), read)
    }

    fn wire(&self) -> Wire {
        self.runtime.wire
    }

    /// Amazon frames its streams in a way of its own, whatever the dialect inside.
    fn is_at_amazon(&self) -> bool {
        self.wire() == Wire::BedrockConverse || self.target.provider == "bedrock"
    }

    pub(super) fn timeouts(&self) -> Timeouts {
        let settings = &self.cx.settings;
        let mut spans = timeouts::of(self.runtime, &self.target.model, self.size.tokens, settings);
        if !self.target.streams()
            && let Some(whole) = timeouts::unstreamed(settings)
        {
            spans.first_byte = whole.min(spans.whole);
        }
        match self.timeout {
            Some(own) => Timeouts {
                whole: own,
                first_byte: spans.first_byte.min(own),
                idle: spans.idle.min(own),
            },
            None => spans,
        }
    }

    fn encode(&self, transport: &TransportDef) -> Result<WireRequest, Box<Broken>> {
        let wire = (transport.encode)(self.prompt, self.target)
            .map_err(|error| self.broken(Failure::new(Reason::Format, error.to_string()), None))?;
        for out in &wire.quarantined {
            let provider = &self.target.provider;
            let text =
                format!("the tool `{}` is not offered to `{provider}`: {}", out.tool, out.why);
            self.client.tell_once(format!("lower {provider} {}", out.tool), &text, self.cx);
        }
        Ok(wire)
    }

    pub(super) fn request(
        &self,
        wire: WireRequest,
        timeouts: &Timeouts,
    ) -> Result<Request, Box<Broken>> {
        let net = |error: &NetError| self.broken(self.of_net(error), None);
        let url = checked_url(&wire.url).map_err(|error| net(&error.into()))?;
        let accept = if self.target.streams() {
            "text/event-stream, application/json"
        } else {
            "application/json"
        };
        let accept = if self.is_at_amazon() { "*/*" } else { accept };
        let WireRequest { headers, body, .. } = wire;
        let mut request = Request::new(Method::POST, url)
            .credential(self.runtime.credential.clone())
            .first_byte(timeouts.first_byte);
        // The body is the conversation: it goes where the user sent it and nowhere else.
        request.follow = Follow::Nowhere;
        request.tls = Tls {
            ca_cert: self.runtime.overrides.ca_cert.clone(),
            unverified: self.runtime.overrides.tls_unverified,
        };
        let own = [("content-type", "application/json"), ("accept", accept)];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        for (name, value) in own.iter().chain(&headers) {
            request = request.header(name, value).map_err(|error| net(&error))?;
        }
        let mut request = request.body(body);
        if let Some(aws) = &self.runtime.aws
            && let Some(keys) = &aws.keys
        {
            sign::sign(&mut request, keys, &aws.region, SystemTime::now())
                .map_err(|error| net(&error))?;
        }
        Ok(request)
    }

    /// Feeds the decoder until the answer ends, is whole, or breaks.
    async fn read(
        &self,
        incoming: &mut Incoming,
        decoder: &mut dyn Decoder,
        spans: (&Timeouts, Instant),
    ) -> Result<(), Box<Failure>> {
        let (timeouts, deadline) = spans;
        let mut deltas = Vec::new();
        while !decoder.is_done() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let line = format!("the answer took longer than {} s", timeouts.whole.as_secs());
                return Err(Box::new(Failure::new(Reason::Timeout, line)));
            }
            let settled = if decoder.is_settled() { SETTLED_IDLE } else { timeouts.idle };
            let idle = settled.min(timeouts.idle);
            match incoming.chunk(idle.min(left)).await {
                Ok(None) => break,
                Ok(Some(bytes)) => {
                    let pushed = decoder.push(&bytes, &mut deltas);
                    self.tell(&mut deltas);
                    if let Err(error) = pushed {
                        return Err(Box::new(self.of_decoding(&error)));
                    }
                }
                // What follows a whole answer is politeness.
                Err(_) if decoder.is_settled() => break,
                Err(error) => return Err(Box::new(self.of_net(&error))),
            }
        }
        Ok(())
    }

    pub(super) fn conclude(
        &self,
        transport: &TransportDef,
        decoder: &mut dyn Decoder,
        read: Result<(), Box<Failure>>,
    ) -> Result<Reply, Box<Broken>> {
        let mut deltas = Vec::new();
        let finished = match read {
            Ok(()) => decoder
                .finish(&mut deltas)
                .map_err(|error| Box::new(failure::of_decoding(transport, &error, self.size))),
            Err(failure) => Err(failure),
        };
        self.tell(&mut deltas);
        finished.map_err(|failure| {
            let mut partial = decoder.rescue();
            partial.served = super::target::served(self.target, self.runtime);
            let seen = !partial.message.text().trim().is_empty();
            self.broken(*failure, if seen { Some(partial) } else { None })
        })
    }

    pub(super) fn tell(&self, deltas: &mut Vec<Delta>) {
        for delta in deltas.drain(..) {
            self.prompt.deltas.tell(self.number, &delta);
        }
    }

    pub(super) fn of_decoding(&self, error: &DecodeError) -> Failure {
        match transport::of(self.wire()) {
            Some(transport) => failure::of_decoding(transport, error, self.size),
            None => Failure::new(Reason::InvalidResponse, error.to_string()),
        }
    }

    pub(super) fn of_net(&self, error: &NetError) -> Failure {
        let reason = match error {
            NetError::Refused(_) | NetError::Address(_) => Reason::Refused,
            NetError::Url(_) | NetError::BadHeader { .. } | NetError::CaCert { .. } => {
                Reason::NotConfigured
            }
            NetError::Tls { .. } => Reason::Certificate,
            // A model that thinks for long is cut off by whoever waits for its first word.
            NetError::Reset { .. } | NetError::Broken { .. }
                if self.size.is_huge() && timeouts::floor(&self.target.model).is_zero() =>
            {
                Reason::ContextOverflow
            }
            NetError::Connect { .. }
            | NetError::ConnectTimeout { .. }
            | NetError::Reset { .. }
            | NetError::FirstByteTimeout { .. }
            | NetError::IdleTimeout { .. }
            | NetError::Broken { .. } => Reason::Timeout,
            _ => Reason::InvalidResponse,
        };
        let heading = match error {
            NetError::Connect { .. } => Some(failure::UNREACHED),
            NetError::ConnectTimeout { .. } => Some("did not accept a connection in time"),
            NetError::FirstByteTimeout { .. } => Some("did not answer in time"),
            NetError::IdleTimeout { .. } => Some("fell silent in its answer"),
            NetError::Reset { .. } | NetError::Broken { .. } => Some("broke the connection"),
            NetError::TooLarge { .. } => Some("gave an answer without an end"),
            _ => None,
        };
        let is_absent = matches!(error, NetError::Connect { host, reason }
            if is_here(host) && reason.to_lowercase().contains("refused"));
        Failure { is_absent, heading, ..Failure::new(reason, error.to_string()) }
    }
}

/// Whether a host is this machine.
fn is_here(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|it| it.is_loopback())
}

/// The conversation goes where the user sent it: a redirect is an answer like a refusal.
fn redirect(status: u16, to: &str) -> Failure {
    let to: String = to.chars().take(200).collect();
    Failure {
        status: Some(status),
        heading: Some("redirects elsewhere, which is not followed"),
        advice: Some(format!("it points to `{to}`; save that as `base_url` if you trust it")),
        ..Failure::new(Reason::Refused, format!("it redirects to `{to}`"))
    }
}

fn page() -> Failure {
    let failure = Failure::new(Reason::InvalidResponse, "the answer is a page for people");
    Failure { is_page: true, ..failure }
}

fn no_transport(wire: Wire) -> Failure {
    let line = format!("{wire:?} has no dialect of its own");
    Failure::new(Reason::NotConfigured, line)
}

/// The framing that the headers announce. Servers that announce nothing are believed to do what
/// they were asked for; a page for people is never an answer.
fn framing(headers: &[(String, String)], at_amazon: bool) -> Option<Framing> {
    let kind = find(headers, "content-type").unwrap_or_default();
    if let Some(framing) = Framing::of(kind) {
        return Some(framing);
    }
    if kind.starts_with("text/html") {
        return None;
    }
    Some(if at_amazon { Framing::AmazonEvents } else { Framing::Events })
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let each = headers.iter().filter_map(|(name, value)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    });
    each.collect()
}
