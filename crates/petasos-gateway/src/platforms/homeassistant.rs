//! `homeassistant`: what happens in a house, and notifications.
//!
//! Nothing is watched unless the settings name it. An event is no person: its turn can ask nobody,
//! an entity begins one at most every half minute, and the house so many an hour.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::{BoxFuture, Secret, Settings};
use petasos_net::{Method, Scheme};
use petasos_store::ChatKind;
use serde_json::{Value, json};

use crate::api::{Api, link_error, of_status, segment, send_error};
use crate::link::Link;
use crate::options::{names, text_of};
use crate::platform::{
    Arrival, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, Repeats,
    SendError, Sender, TargetId,
};
use crate::render::{Dialect, Form, Unit, harmless};
use crate::socket::Socket;

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "homeassistant",
    about: "Home Assistant: events of a house and notifications",
    toolset: "hermes-homeassistant",
    variables: &["HASS_TOKEN"],
    form: Form { dialect: Dialect::Plain, limit: 4096, unit: Unit::Chars },
    rates: Rates { account: Duration::from_millis(100), chat: Duration::ZERO, burst: 10 },
    repeats: Repeats::Dropped,
    unattended: true,
    hint: "This is an event of a house, not a person: nobody can be asked, and the reply becomes a notification.",
    setup: &[
        "create a long-lived access token in your profile, and set HASS_TOKEN and HASS_URL (http://homeassistant.local:8123 when absent)",
        "name what to watch: platforms.homeassistant.watch_domains or watch_entities; nothing is watched otherwise",
    ],
    home_account: true,
    tested_with: "a real Home Assistant",
    direct: true,
    target: |text| {
        let text = text.trim().trim_start_matches("notify.");
        let fits = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        fits.then(|| TargetId::chat(text))
    },
    open,
    ..PlatformDef::USUAL
};

/// The chat whose messages become notifications in the house's own list.
const LIST: &str = "house";
const CALL: Duration = Duration::from_secs(20);
const SILENCE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

struct HomeAssistant {
    token: Secret,
    api: Api,
    watch: Watch,
    begun: Mutex<Begun>,
}

/// What begins a turn.
#[derive(Debug)]
struct Watch {
    domains: BTreeSet<String>,
    entities: BTreeSet<String>,
    ignored: BTreeSet<String>,
    all: bool,
    cooldown: Duration,
    an_hour: usize,
}

impl Watch {
    fn of(settings: &Settings) -> Self {
        let at = |key: &str| settings.get(&format!("platforms.homeassistant.{key}"));
        let number = |key: &str, usual| at(key).and_then(Value::as_u64).unwrap_or(usual);
        Self {
            domains: names(at("watch_domains")),
            entities: names(at("watch_entities")),
            ignored: names(at("ignore_entities")),
            all: at("watch_all").and_then(Value::as_bool) == Some(true),
            cooldown: Duration::from_secs(number("cooldown_seconds", 30)),
            an_hour: usize::try_from(number("max_turns_per_hour", 6)).unwrap_or(6),
        }
    }

    fn is_empty(&self) -> bool {
        !self.all && self.domains.is_empty() && self.entities.is_empty()
    }

    fn wants(&self, entity: &str) -> bool {
        let domain = entity.split('.').next().unwrap_or_default();
        !self.ignored.contains(entity)
            && (self.all || self.domains.contains(domain) || self.entities.contains(entity))
    }
}

/// What began lately.
#[derive(Debug, Default)]
struct Begun {
    entities: HashMap<String, Instant>,
    turns: VecDeque<Instant>,
}

impl Begun {
    /// Whether one more may begin now; it counts when it may.
    fn may(&mut self, entity: &str, watch: &Watch, now: Instant) -> bool {
        self.entities.retain(|_, at| now.duration_since(*at) < watch.cooldown);
        while self.turns.front().is_some_and(|at| now.duration_since(*at) >= HOUR) {
            self.turns.pop_front();
        }
        if self.entities.contains_key(entity) || self.turns.len() >= watch.an_hour {
            return false;
        }
        self.entities.insert(entity.to_owned(), now);
        self.turns.push_back(now);
        true
    }
}

fn open(opening: &Opening<'_>) -> Opened {
    let settings = opening.settings;
    let Some(token) = text_of(settings, "HASS_TOKEN") else { return Ok(Vec::new()) };
    let url = text_of(settings, "HASS_URL");
    let url = url.or_else(|| settings.text("platforms.homeassistant.url").map(str::to_owned));
    let url = url.unwrap_or_else(|| "http://homeassistant.local:8123".to_owned());
    let base = format!("{}/api", url.trim_end_matches('/'));
    let key = Some((Secret::new(token.as_str()), Scheme::Bearer));
    let api = Api::new(opening.net, &base, key, "homeassistant")?;
    Ok(vec![Arc::new(HomeAssistant {
        token: Secret::new(token),
        api,
        watch: Watch::of(settings),
        begun: Mutex::default(),
    })])
}

impl HomeAssistant {
    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        let address = self.api.url("websocket").map_err(|error| link_error(&error))?;
        let mut socket = Socket::open(self.api.net(), address.as_str()).await?;
        socket.next_within(CALL).await?;
        socket.say(&json!({ "type": "auth", "access_token": self.token.expose() })).await?;
        let answer = socket.next_within(CALL).await?.unwrap_or_default();
        match answer.get("type").and_then(Value::as_str) {
            Some("auth_ok") => {}
            Some("auth_invalid") => {
                return Err(LinkError::Fatal("Home Assistant refuses the token".to_owned()));
            }
            _ => {
                return Err(LinkError::Lost("Home Assistant does not answer the login".to_owned()));
            }
        }
        if !self.watch.is_empty() {
            let events =
                json!({ "id": 1, "type": "subscribe_events", "event_type": "state_changed" });
            socket.say(&events).await?;
        }
        link.progress();
        let mut id = 1_u64;
        let mut waiting = false;
        loop {
            let Some(frame) = socket.next_within(SILENCE).await? else {
                if waiting {
                    return Err(LinkError::Lost("Home Assistant gives no sign of life".to_owned()));
                }
                id += 1;
                socket.say(&json!({ "id": id, "type": "ping" })).await?;
                waiting = true;
                continue;
            };
            waiting = false;
            if let Some(arrival) = self.arrival(&frame) {
                link.take(arrival).await?;
            }
        }
    }

    /// A change that is watched and not too soon.
    fn arrival(&self, frame: &Value) -> Option<Arrival> {
        let text = |path: &str| frame.pointer(path).and_then(Value::as_str);
        let entity = text("/event/data/entity_id")?;
        let (before, after) =
            (text("/event/data/old_state/state"), text("/event/data/new_state/state")?);
        if before == Some(after) || !self.watch.wants(entity) {
            return None;
        }
        if !self.begun.lock().may(entity, &self.watch, Instant::now()) {
            tracing::debug!(entity, "a change comes too soon after others");
            return None;
        }
        let changed = text("/event/data/new_state/last_changed").unwrap_or_default();
        let context = text("/event/context/id").unwrap_or_default();
        let name = text("/event/data/new_state/attributes/friendly_name").unwrap_or(entity);
        let said = format!(
            "{} ({entity}) changed from {} to {}",
            harmless(name),
            harmless(before.unwrap_or("nothing")),
            harmless(after)
        );
        Some(Arrival {
            chat_name: "house".to_owned(),
            chat_kind: ChatKind::Dm,
            sender: Sender {
                name: "Home Assistant".to_owned(),
                machine: Some("homeassistant".to_owned()),
                ..Sender::default()
            },
            addressed: true,
            ..Arrival::text(LIST, "", &format!("{context}/{entity}/{changed}"), &said)
        })
    }
}

impl Platform for HomeAssistant {
    fn account(&self) -> &'static str {
        LIST
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(self.read(link))
    }

    /// A service of `notify`, or an entry of the house's own list, which a repeat replaces.
    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let (path, body) = if message.lane.chat == LIST {
                let body = json!({ "title": "Petasos", "message": message.text, "notification_id": message.token });
                ("services/persistent_notification/create".to_owned(), body)
            } else {
                let body = json!({ "title": "Petasos", "message": message.text });
                (format!("services/notify/{}", segment(&message.lane.chat)), body)
            };
            let answer = self.api.call(Method::POST, &path, Some(&body), CALL).await;
            let answer = answer.map_err(|error| send_error(&error))?;
            if !answer.is_ok() {
                let said = answer.body.get("message").and_then(Value::as_str);
                return Err(of_status(&answer, said.unwrap_or("no description")));
            }
            Ok(message.token.to_owned())
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async {
            let answer = self.api.call(Method::GET, "config", None, CALL).await;
            let answer = answer.map_err(|error| link_error(&error))?;
            match answer.status {
                200 => {
                    let text = |key: &str| answer.body.get(key).and_then(Value::as_str);
                    let version = text("version").unwrap_or_default();
                    Ok(format!("{} {version}", text("location_name").unwrap_or("a house")))
                }
                401 => Err(LinkError::Fatal("Home Assistant refuses the token".to_owned())),
                status => Err(LinkError::Lost(format!("config: {status}"))),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s95_nothing_is_watched_by_default_and_an_entity_rests() {
        let nothing = Watch::of(&Settings::from_values(serde_json::Map::new()));
        assert!(nothing.is_empty() && !nothing.wants("light.kitchen"));
        let watch = Watch { all: true, an_hour: 3, ..nothing };
        let (mut begun, now) = (Begun::default(), Instant::now());
        assert!(begun.may("a.b", &watch, now) && !begun.may("a.b", &watch, now));
        assert!(begun.may("a.c", &watch, now), "another entity");
        let later = now + Duration::from_secs(31);
        assert!(begun.may("a.b", &watch, later), "after its rest");
        assert!(!begun.may("a.d", &watch, later), "three an hour");
        assert!(begun.may("a.d", &watch, now + HOUR + Duration::from_secs(1)));
    }
}
