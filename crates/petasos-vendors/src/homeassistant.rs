//! A house: its states, areas and services over Home Assistant's REST and WebSocket interfaces.

mod areas;
pub mod guard;
mod services;

use petasos_contract::{CallContext, Settings};
use petasos_net::{Method, Scheme};
use serde_json::{Map, Value, json};

pub use self::guard::Order;
use crate::fault::VendorError;
use crate::service::{Answer, Sent, Service, variable};
use crate::text::{alike, cut};

/// What is said when there is no token.
pub const NEEDS: &str =
    "needs HASS_TOKEN (and HASS_URL if it is not http://homeassistant.local:8123)";

const USUAL_URL: &str = "http://homeassistant.local:8123";
const ATTRIBUTES_CHARS: usize = 4000;
const ATTRIBUTE_CHARS: usize = 400;
const STATE_CHARS: usize = 255;
/// What strangers can write into: an invitation, a title of a stream.
const STRANGERS: [&str; 7] =
    ["calendar", "todo", "media_player", "notify", "event", "mailbox", "conversation"];
const SENSOR_CHARS: usize = 64;

/// A house that can be asked.
#[derive(Debug)]
pub struct House {
    service: Service,
    token: petasos_contract::Secret,
}

/// What is told, and whether somebody outside may have written some of it.
#[derive(Debug)]
pub struct Told {
    /// The answer.
    pub value: Value,
    /// Whether it holds words of strangers.
    pub strangers: bool,
}

/// Which entities are wanted.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Of this domain.
    pub domain: Option<String>,
    /// In this area: its name, id or alias.
    pub area: Option<String>,
    /// With these words in id, name or area.
    pub search: Option<String>,
    /// How many.
    pub limit: usize,
    /// How many to pass over.
    pub offset: usize,
}

/// The host that questions go to, where a token is there.
pub fn host(settings: &Settings) -> Option<String> {
    House::open(settings).ok().map(|house| house.service.host().to_owned())
}

/// Whether there is a token.
pub fn is_set_up(settings: &Settings) -> bool {
    variable(settings, "HASS_TOKEN").is_some()
}

impl House {
    /// The house of a snapshot.
    pub fn open(settings: &Settings) -> Result<Self, VendorError> {
        let Some(token) = variable(settings, "HASS_TOKEN") else {
            return Err(VendorError::setup(NEEDS, &["HASS_TOKEN"]));
        };
        let url = variable(settings, "HASS_URL");
        let url = url.as_ref().map_or(USUAL_URL, |url| url.expose().trim());
        let service =
            Service::new("Home Assistant", url, settings)?.with_key(token.clone(), Scheme::Bearer);
        Ok(Self { service, token })
    }

    async fn get(&self, path: &str) -> Result<Value, VendorError> {
        self.asked(Method::GET, path, Sent::default()).await
    }

    async fn asked(&self, method: Method, path: &str, sent: Sent) -> Result<Value, VendorError> {
        let answer = self.service.ask(method, path, sent).await?;
        self.good(&answer)
    }

    fn good(&self, answer: &Answer) -> Result<Value, VendorError> {
        match answer.status {
            200..=299 => self.service.parsed(answer),
            401 => Err(VendorError::new(
                "auth",
                "Home Assistant refuses HASS_TOKEN: make a new long-lived token on the Security \
                 page of your profile there",
            )
            .with("status", 401)),
            _ => Err(self.service.failure(answer)),
        }
    }

    async fn states(&self) -> Result<Vec<Value>, VendorError> {
        match self.get("/api/states").await? {
            Value::Array(states) => Ok(states),
            _ => Err(VendorError::new("upstream", "Home Assistant's list of states is no list")),
        }
    }

    /// Entities as compact rows.
    pub async fn entities(&self, wanted: &Wanted) -> Result<Told, VendorError> {
        if let Some(domain) = &wanted.domain {
            guard::name(domain, "domain")?;
        }
        let (states, areas) = tokio::join!(self.states(), Box::pin(self.areas()));
        let (mut states, mut warnings) = (states?, Vec::new());
        states.sort_by(|a, b| id(a).cmp(id(b)));
        let areas = areas.unwrap_or_else(|error| {
            warnings.push(format!("areas are not known: {error}"));
            areas::Areas::default()
        });
        let inside = match &wanted.area {
            Some(area) => Some(self.inside(area, &areas, &states, &mut warnings).await?),
            None => None,
        };
        let words = wanted.search.as_deref().unwrap_or_default().to_lowercase();
        let words: Vec<&str> = words.split_whitespace().collect();
        let fits = |state: &&Value| {
            let entity = id(state);
            let area = areas.of(entity).unwrap_or_default();
            let text = format!("{entity} {} {area}", friendly(state)).to_lowercase();
            wanted.domain.as_deref().is_none_or(|domain| domain_of(entity) == domain)
                && inside.as_ref().is_none_or(|inside| inside.iter().any(|it| it == entity))
                && words.iter().all(|word| text.contains(word))
        };
        let found: Vec<&Value> = states.iter().filter(fits).collect();
        let page = found.iter().skip(wanted.offset).take(wanted.limit);
        let rows: Vec<Value> = page.clone().map(|state| row(state, areas.of(id(state)))).collect();
        let strangers = page.clone().any(|state| is_strangers(state));
        let mut value = json!({ "count": rows.len(), "total": found.len(), "entities": rows });
        if let Some(object) = value.as_object_mut() {
            let next = wanted.offset + rows.len();
            if next < found.len() && !rows.is_empty() {
                object.insert("next_offset".to_owned(), next.into());
            }
            if !warnings.is_empty() {
                object.insert("warnings".to_owned(), warnings.into());
            }
        }
        Ok(Told { value, strangers })
    }

    /// The ids of an area's entities: by the registries, else by a template, else by name.
    async fn inside(
        &self,
        area: &str,
        areas: &areas::Areas,
        states: &[Value],
        warnings: &mut Vec<String>,
    ) -> Result<Vec<String>, VendorError> {
        if !areas.is_empty() {
            return areas.inside(area).ok_or_else(|| no_area(area, &areas.names()));
        }
        match self.templated(area).await {
            Ok(Some(inside)) => Ok(inside),
            Ok(None) => Err(no_area(area, &[])),
            Err(error) => {
                warnings.push(format!("the area is taken for a word of the name, because {error}"));
                let area = area.to_lowercase();
                let named = states.iter().filter(|state| {
                    format!("{} {}", id(state), friendly(state)).to_lowercase().contains(&area)
                });
                Ok(named.map(|state| id(state).to_owned()).collect())
            }
        }
    }

    /// One entity with everything that is known of it.
    pub async fn state(&self, entity: &str) -> Result<Told, VendorError> {
        guard::entity(entity)?;
        let answer = self
            .service
            .ask(Method::GET, &format!("/api/states/{entity}"), Sent::default())
            .await?;
        if answer.status == 404 {
            return Err(unknown_entity(entity, &self.states().await?));
        }
        let state = self.good(&answer)?;
        let (attributes, left_out) = bounded(state.get("attributes"));
        let mut value = json!({
            "entity_id": entity, "state": shown(&state), "attributes": attributes,
            "last_changed": state.get("last_changed"), "last_updated": state.get("last_updated"),
        });
        if let Some(object) = value.as_object_mut().filter(|_| !left_out.is_empty()) {
            object.insert("attributes_cut".to_owned(), left_out.into());
        }
        Ok(Told { value, strangers: is_strangers(&state) })
    }

    /// The services, with their fields where one domain is asked for or all of them are short.
    pub async fn services(&self, domain: Option<&str>) -> Result<Value, VendorError> {
        if let Some(domain) = domain {
            guard::name(domain, "domain")?;
        }
        let known = services::read(&self.get("/api/services").await?);
        services::listed(&known, domain)
    }

    /// Carries out an order that was looked at by [`guard`].
    pub async fn call(&self, order: &Order, cx: &CallContext) -> Result<Told, VendorError> {
        let (domain, service) = (order.domain(), order.service());
        let (listed, states) = tokio::join!(self.get("/api/services"), self.states());
        let (listed, states) = (services::read(&listed?), states?);
        let definition = services::find(&listed, domain, service)?;
        for entity in order.entities() {
            if !states.iter().any(|state| id(state) == *entity) {
                return Err(unknown_entity(entity, &states));
            }
        }
        if cx.cancel.is_cancelled() {
            return Err(VendorError::new("cancelled", "the call was cancelled before it was made"));
        }
        let answers = services::answers(definition);
        let ask = if answers { "?return_response" } else { "" };
        let path = format!("/api/services/{domain}/{service}{ask}");
        let body = Sent::json(&Value::Object(order.data().clone()));
        let answer = self.service.ask(Method::POST, &path, body).await.map_err(may_have_worked)?;
        if !(200..300).contains(&answer.status) {
            return Err(self.refused(&answer, domain, service, definition));
        }
        let value = self.service.parsed(&answer)?;
        let changed = if answers { value.get("changed_states") } else { Some(&value) };
        let changed = changed.and_then(Value::as_array).cloned().unwrap_or_default();
        let affected: Vec<Value> = changed.iter().map(|state| row(state, None)).collect();
        let mut told = json!({
            "success": true, "service": format!("{domain}.{service}"),
            "affected_entities": affected,
        });
        let response = value.get("service_response").filter(|_| answers);
        if let (Some(object), Some(response)) = (told.as_object_mut(), response) {
            object.insert("response".to_owned(), response.clone());
        }
        let outside = order.entities().iter().any(|it| STRANGERS.contains(&domain_of(it)));
        let strangers = changed.iter().any(is_strangers) || response.is_some() && outside;
        Ok(Told { value: told, strangers })
    }

    fn refused(
        &self,
        answer: &Answer,
        domain: &str,
        service: &str,
        definition: &Value,
    ) -> VendorError {
        if !matches!(answer.status, 400 | 500) {
            return self.good(answer).err().unwrap_or_else(|| self.service.failure(answer));
        }
        let fields: Vec<&String> = definition
            .get("fields")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys)
            .collect();
        let text = format!(
            "Home Assistant does not take these words for {domain}.{service} ({}); its fields are \
             listed here, and `ha_list_services` describes them",
            answer.status
        );
        let kind = if answer.status == 400 { "bad_argument" } else { "upstream" };
        let mut error = VendorError::new(kind, text)
            .with("status", answer.status)
            .with("fields", json!(fields));
        if let Some(detail) = answer.detail() {
            error = error.with("detail", detail);
        }
        error
    }
}

/// A call whose answer was lost may have been carried out.
fn may_have_worked(error: VendorError) -> VendorError {
    if !matches!(error.kind, "timeout" | "upstream") {
        return error;
    }
    error.with("hint", "the service may have been called: look at the state before calling again")
}

fn no_area(area: &str, names: &[String]) -> VendorError {
    let text = format!("there is no area `{area}` in this house");
    VendorError::new("not_found", text).with("areas", names.to_vec())
}

fn unknown_entity(entity: &str, states: &[Value]) -> VendorError {
    let near = alike(entity, states.iter().map(id), 5);
    let text = format!("there is no entity `{entity}` in this house; look for it by `search`");
    VendorError::new("not_found", text).with("candidates", near)
}

fn id(state: &Value) -> &str {
    state.get("entity_id").and_then(Value::as_str).unwrap_or_default()
}

fn domain_of(entity: &str) -> &str {
    entity.split('.').next().unwrap_or_default()
}

fn attribute<'a>(state: &'a Value, name: &str) -> Option<&'a str> {
    state.get("attributes")?.get(name)?.as_str()
}

fn friendly(state: &Value) -> &str {
    attribute(state, "friendly_name").unwrap_or_default()
}

fn shown(state: &Value) -> String {
    cut(state.get("state").and_then(Value::as_str).unwrap_or_default(), STATE_CHARS)
}

/// The words that matter of an entity.
fn row(state: &Value, area: Option<&str>) -> Value {
    let mut row = json!({ "entity_id": id(state), "state": shown(state) });
    let more = [
        ("friendly_name", attribute(state, "friendly_name")),
        ("area", area),
        ("unit", attribute(state, "unit_of_measurement")),
        ("device_class", attribute(state, "device_class")),
    ];
    if let Some(object) = row.as_object_mut() {
        for (name, text) in more {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                object.insert(name.to_owned(), cut(text, STATE_CHARS).into());
            }
        }
    }
    row
}

/// Whether somebody outside may have written what the entity says.
fn is_strangers(state: &Value) -> bool {
    let domain = domain_of(id(state));
    let said = state.get("state").and_then(Value::as_str).unwrap_or_default();
    STRANGERS.contains(&domain) || domain == "sensor" && said.chars().count() > SENSOR_CHARS
}

/// Attributes within the limit, and the names of those that were cut or left out.
fn bounded(attributes: Option<&Value>) -> (Map<String, Value>, Vec<String>) {
    let (mut kept, mut cuts, mut room) = (Map::new(), Vec::new(), ATTRIBUTES_CHARS);
    for (name, value) in attributes.and_then(Value::as_object).into_iter().flatten() {
        let written = value.to_string();
        let value = if written.chars().count() <= ATTRIBUTE_CHARS {
            value.clone()
        } else {
            cuts.push(name.clone());
            let text = value.as_str().map_or(written, str::to_owned);
            Value::String(cut(&text, ATTRIBUTE_CHARS))
        };
        let cost = name.chars().count() + value.to_string().chars().count() + 6;
        match room.checked_sub(cost) {
            Some(left) => {
                room = left;
                kept.insert(name.clone(), value);
            }
            None if cuts.last() == Some(name) => {}
            None => cuts.push(name.clone()),
        }
    }
    (kept, cuts)
}
