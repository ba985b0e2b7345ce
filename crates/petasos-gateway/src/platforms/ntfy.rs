//! `ntfy`: a topic as a chat. Everybody who may publish to the topic is the same person.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::{BoxFuture, Secret};
use petasos_net::{Method, Scheme};
use serde_json::Value;

use crate::api::{Api, link_error, of_status, send_error};
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, SendError,
};
use crate::render::{Dialect, Form, Unit};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "ntfy",
    about: "ntfy topics",
    toolset: "hermes-ntfy",
    variables: &["NTFY_TOPIC"],
    form: Form { dialect: Dialect::Plain, limit: 4000, unit: Unit::Bytes },
    rates: Rates { account: Duration::from_millis(500), chat: Duration::ZERO, burst: 10 },
    setup: &[
        "set NTFY_TOPIC, NTFY_SERVER (https://ntfy.sh when absent) and NTFY_TOKEN",
        "a public server without a token needs `ntfy.public_ok: true`: everybody who knows the topic is you",
        "put the topic into NTFY_ALLOWED_USERS",
    ],
    direct: true,
    home_account: true,
    tested_with: "a double built from the published interface",
    open,
    ..PlatformDef::USUAL
};

/// The server says something at least this often.
const IDLE: Duration = Duration::from_mins(2);
/// What we publish carries this, so that we do not answer ourselves.
const TAG: &str = "petasos";

struct Ntfy {
    topic: String,
    api: Api,
}

fn open(opening: &Opening<'_>) -> Opened {
    let settings = opening.settings;
    let Some(topic) = text_of(settings, "NTFY_TOPIC") else { return Ok(Vec::new()) };
    if topic.is_empty()
        || !topic.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    {
        return Err(format!("NTFY_TOPIC `{topic}` is no topic: letters, digits, - and _"));
    }
    let server = text_of(settings, "NTFY_SERVER").unwrap_or_else(|| "https://ntfy.sh".to_owned());
    let token = text_of(settings, "NTFY_TOKEN");
    let public_ok = settings.get("ntfy.public_ok").and_then(Value::as_bool) == Some(true);
    let local = server.starts_with("http://127.0.0.1") || server.starts_with("http://localhost");
    if token.is_none() && !public_ok && !local {
        return Err("a server without a token lets everybody in who knows the topic: set NTFY_TOKEN, or `ntfy.public_ok: true`".to_owned());
    }
    let key = token.map(|token| (Secret::new(token), Scheme::Bearer));
    Ok(vec![Arc::new(Ntfy { api: Api::new(opening.net, &server, key, "ntfy")?, topic })])
}

impl Ntfy {
    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        let since = link.cursor("since").await?.unwrap_or_else(|| "latest".to_owned());
        let path = format!("{}/json?since={since}", self.topic);
        let request = self.api.request(Method::GET, &path).map_err(|error| link_error(&error))?;
        let mut reply = self.api.net().send(request).await.map_err(|error| link_error(&error))?;
        match reply.status {
            200 => {}
            401 | 403 => return Err(LinkError::Fatal("the server refuses the token".to_owned())),
            status => return Err(LinkError::Lost(format!("the server answered {status}"))),
        }
        let mut kept = Vec::new();
        while let Some(piece) = reply.chunk(IDLE).await.map_err(|error| link_error(&error))? {
            link.progress();
            kept.extend_from_slice(&piece);
            if kept.len() > 1_000_000 {
                return Err(LinkError::Lost("a line of the server does not end".to_owned()));
            }
            while let Some(at) = kept.iter().position(|byte| *byte == b'\n') {
                let event: Vec<u8> = kept.drain(..=at).collect();
                self.event(link, &event).await?;
            }
        }
        Ok(())
    }

    async fn event(&self, link: &Link, json: &[u8]) -> Result<(), LinkError> {
        let Ok(event) = serde_json::from_slice::<Value>(json) else { return Ok(()) };
        let text =
            |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        if text("event") != "message" {
            return Ok(());
        }
        let tags = event.get("tags").and_then(Value::as_array);
        let own = tags.is_some_and(|tags| tags.iter().any(|tag| tag.as_str() == Some(TAG)));
        let id = text("id");
        if !own {
            let sent = event.get("time").and_then(Value::as_i64).map(|seconds| seconds * 1000);
            let mut arrival = Arrival::text(&self.topic, &self.topic, &id, &text("message"));
            arrival.sent_ms = sent.unwrap_or(arrival.sent_ms);
            link.take(arrival).await?;
        }
        link.set_cursor("since", &id).await.map_err(LinkError::from)
    }
}

impl Platform for Ntfy {
    fn account(&self) -> &str {
        &self.topic
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(self.read(link))
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let request = self
                .api
                .request(Method::POST, &message.lane.chat)
                .and_then(|it| it.header("tags", TAG));
            let request =
                request.map_err(|error| send_error(&error))?.body(message.text.to_owned());
            let answer = self
                .api
                .answer(request, Duration::from_secs(20))
                .await
                .map_err(|error| send_error(&error))?;
            if answer.is_ok() {
                return Ok(answer
                    .body
                    .get("id")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned());
            }
            let said =
                answer.body.get("error").and_then(Value::as_str).unwrap_or_default().to_owned();
            Err(of_status(&answer, &said))
        })
    }
}
