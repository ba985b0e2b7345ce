//! What a model may order in a house, by shape and by name, before anything is asked of it.
//!
//! The ids in `data` count as much as the argument: a lock is a lock wherever it is named.

use serde_json::{Map, Value};

use crate::fault::VendorError;

const DATA_BYTES_MAX: usize = 16 << 10;
const NAME_CHARS_MAX: usize = 128;

/// Domains that run programs or reach the machine itself.
const REFUSED: [&str; 6] =
    ["shell_command", "command_line", "python_script", "pyscript", "hassio", "rest_command"];
/// Domains that people are kept safe by, as service and as entity.
const GUARDED: [&str; 5] = ["lock", "alarm_control_panel", "cover", "valve", "siren"];
/// Further services that are asked about each time.
const GUARDED_SERVICES: [&str; 7] = [
    "homeassistant.stop",
    "homeassistant.restart",
    "update.install",
    "camera.record",
    "camera.snapshot",
    "device_tracker.see",
    "automation.turn_off",
];
/// What names many things at once.
const WIDE: [&str; 4] = ["area_id", "device_id", "floor_id", "label_id"];
/// Services of this domain act on entities of every other.
const GENERIC: &str = "homeassistant";

/// Whether a domain is never called.
pub(super) fn is_refused(domain: &str) -> bool {
    REFUSED.contains(&domain)
}

/// An order that is fit to be given, with what it moves.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    domain: String,
    service: String,
    data: Map<String, Value>,
    entities: Vec<String>,
    guarded: bool,
}

impl Order {
    /// Reads the arguments of a call, refusing what must not be ordered.
    pub fn read(
        domain: &str,
        service: &str,
        entity: Option<&str>,
        data: Option<&Value>,
    ) -> Result<Self, VendorError> {
        name(domain, "domain")?;
        name(service, "service")?;
        refuse(domain)?;
        let mut data = object(data)?;
        let entity = entity.map(str::trim).filter(|entity| !entity.is_empty());
        let named = targets(&data)?;
        if let Some(wanted) = entity {
            self::entity(wanted)?;
            if let Some(other) = named.iter().find(|it| it.as_str() != wanted) {
                return Err(VendorError::argument(format!(
                    "`entity_id` says `{wanted}` and `data` says `{other}`: name each once"
                )));
            }
            data.insert("entity_id".to_owned(), wanted.into());
        }
        let entities =
            if named.is_empty() { entity.map(str::to_owned).into_iter().collect() } else { named };
        let whole = Value::Object(data.clone());
        let mut guarded = is_guarded_service(domain, service);
        let wide = WIDE.iter().any(|key| holds_key(&whole, key));
        guarded |= wide && domain == GENERIC;
        for word in words(&whole) {
            if let Some((head, _)) = word.split_once('.') {
                // Scripts carry the services that they call in their data.
                refuse(head)?;
                guarded |= is_id(&word) && is_guarded_entity(&word, domain, service);
            }
        }
        let (domain, service) = (domain.to_owned(), service.to_owned());
        Ok(Self { domain, service, data, entities, guarded })
    }

    /// Its domain.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// Its service.
    pub fn service(&self) -> &str {
        &self.service
    }

    /// What is sent along.
    pub fn data(&self) -> &Map<String, Value> {
        &self.data
    }

    /// The entities that it names.
    pub fn entities(&self) -> &[String] {
        &self.entities
    }

    /// Whether people are kept safe by what it moves.
    pub fn is_guarded(&self) -> bool {
        self.guarded
    }

    /// What it moves, for policy: its entities, or the service where it names none.
    pub fn moved(&self) -> Vec<String> {
        if self.entities.is_empty() {
            return vec![format!("{}.{}", self.domain, self.service)];
        }
        self.entities.clone()
    }
}

fn refuse(domain: &str) -> Result<(), VendorError> {
    if !is_refused(domain) {
        return Ok(());
    }
    let text = format!("services of `{domain}` run programs on that machine and are never called");
    Err(VendorError::new("blocked_policy", text))
}

fn is_guarded_service(domain: &str, service: &str) -> bool {
    let whole = format!("{domain}.{service}");
    GUARDED.contains(&domain)
        || domain == "backup"
        || whole == "automation.toggle"
        || whole.starts_with("recorder.purge")
        || GUARDED_SERVICES.contains(&whole.as_str())
}

/// A lock in a generic service, a scene or a script is still a lock.
fn is_guarded_entity(id: &str, domain: &str, service: &str) -> bool {
    let of = id.split('.').next().unwrap_or_default();
    let name = id.rsplit('.').next().unwrap_or_default();
    let stops = of == "automation" && domain == GENERIC && matches!(service, "turn_off" | "toggle");
    GUARDED.contains(&of) || stops || is_guarded_service(of, name)
}

/// The name of a domain or service.
pub(super) fn name(text: &str, what: &str) -> Result<(), VendorError> {
    let mut letters = text.chars();
    let fits = letters.next().is_some_and(|c| c.is_ascii_lowercase())
        && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && text.len() <= NAME_CHARS_MAX;
    if fits {
        return Ok(());
    }
    Err(VendorError::argument(format!(
        "`{what}` is a word of small letters, digits and `_`, such as `light`"
    )))
}

/// The id of an entity.
pub(super) fn entity(text: &str) -> Result<(), VendorError> {
    if is_id(text) {
        return Ok(());
    }
    Err(VendorError::argument(
        "an entity is named like `light.kitchen`: a domain, a dot and a name of small letters, \
         digits and `_`; `all` is not taken",
    ))
}

fn is_id(text: &str) -> bool {
    let Some((domain, name)) = text.split_once('.') else { return false };
    let small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty()
        && text.len() <= 2 * NAME_CHARS_MAX
        && domain.chars().next().is_some_and(|c| c.is_ascii_lowercase() || c == '_')
        && domain.chars().all(small)
        && name.chars().all(small)
}

fn object(data: Option<&Value>) -> Result<Map<String, Value>, VendorError> {
    let broken = || VendorError::argument("`data` is a JSON object, such as {\"brightness\": 120}");
    let read = match data {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(Value::String(text)) if text.trim().is_empty() => Value::Object(Map::new()),
        Some(Value::String(text)) => {
            if text.len() > DATA_BYTES_MAX {
                return Err(too_large());
            }
            serde_json::from_str(text).map_err(|_| broken())?
        }
        Some(other) => other.clone(),
    };
    if read.to_string().len() > DATA_BYTES_MAX {
        return Err(too_large());
    }
    match read {
        Value::Object(object) => Ok(object),
        _ => Err(broken()),
    }
}

fn too_large() -> VendorError {
    VendorError::new("too_large", "`data` is larger than 16 KB; send less at once")
}

/// The entities that `data` names, each once.
fn targets(data: &Map<String, Value>) -> Result<Vec<String>, VendorError> {
    let target = data.get("target").and_then(Value::as_object);
    let places = [data.get("entity_id"), target.and_then(|target| target.get("entity_id"))];
    let mut named: Vec<String> = Vec::new();
    for place in places.into_iter().flatten() {
        let ids: Vec<&str> = match place {
            Value::String(text) => text.split(',').map(str::trim).collect(),
            Value::Array(many) => many.iter().map(|it| it.as_str().unwrap_or_default()).collect(),
            Value::Null => Vec::new(),
            _ => vec![""],
        };
        for id in ids {
            entity(id)?;
            if !named.iter().any(|known| known == id) {
                named.push(id.to_owned());
            }
        }
    }
    Ok(named)
}

/// Every word of a value: its texts and its keys, at any depth; lists within a text apart.
fn words(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![value];
    let mut add = |text: &str| {
        let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
        found.extend(parts.filter(|part| !part.is_empty()).map(str::to_lowercase));
    };
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) => add(text),
            Value::Array(many) => left.extend(many),
            Value::Object(object) => {
                for (key, value) in object {
                    add(key);
                    left.push(value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}

fn holds_key(value: &Value, wanted: &str) -> bool {
    match value {
        Value::Array(many) => many.iter().any(|it| holds_key(it, wanted)),
        Value::Object(object) => {
            object.iter().any(|(key, value)| key == wanted || holds_key(value, wanted))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn order(
        domain: &str,
        service: &str,
        entity: Option<&str>,
        data: &Value,
    ) -> Result<Order, VendorError> {
        Order::read(domain, service, entity, Some(data))
    }

    /// E19 138: shapes, refused domains, ids smuggled in `data`.
    #[test]
    fn what_must_not_be_ordered_is_refused() {
        for (domain, service, entity, data, kind) in [
            ("shell_command", "x", None, json!({}), "blocked_policy"),
            ("Light", "turn_on", None, json!({}), "bad_argument"),
            ("light", "turn_on/../x", None, json!({}), "bad_argument"),
            ("light", "turn_on", Some("all"), json!({}), "bad_argument"),
            ("light", "turn_on", Some("light.a"), json!({"entity_id": "lock.b"}), "bad_argument"),
            (
                "light",
                "turn_on",
                Some("light.a"),
                json!({"target": {"entity_id": ["light.b"]}}),
                "bad_argument",
            ),
            ("light", "turn_on", None, json!({"entity_id": "all"}), "bad_argument"),
            ("light", "turn_on", None, json!({"entity_id": 7}), "bad_argument"),
            ("light", "turn_on", None, json!("[1]"), "bad_argument"),
            ("light", "turn_on", None, json!("no json"), "bad_argument"),
            ("light", "turn_on", None, json!({"x": "y".repeat(20_000)}), "too_large"),
            (
                "script",
                "turn_on",
                None,
                json!({"variables": {"do": [{"service": "shell_command.x"}]}}),
                "blocked_policy",
            ),
            ("script", "run", None, json!("{\"action\": \"HASSIO.addon_stop\"}"), "blocked_policy"),
        ] {
            let error = order(domain, service, entity, &data).unwrap_err();
            assert_eq!(error.kind, kind, "{domain}.{service} {entity:?} {data}: {error}");
        }
        let fine =
            order("light", "turn_on", Some("light.a"), &json!("{\"brightness\": 9}")).unwrap();
        assert_eq!(fine.data()["entity_id"], "light.a");
        assert!(!fine.is_guarded());
    }

    #[test]
    fn a_lock_is_guarded_wherever_it_is_named() {
        for (domain, service, entity, data) in [
            ("lock", "unlock", Some("lock.a"), json!({})),
            ("homeassistant", "turn_off", None, json!({"entity_id": ["light.a", "cover.b"]})),
            ("homeassistant", "toggle", Some("automation.night"), json!({})),
            ("homeassistant", "turn_on", None, json!({"area_id": "hall"})),
            ("scene", "apply", None, json!({"entities": {"lock.a": "unlocked"}})),
            ("script", "open", None, json!({"variables": {"what": "do lock.a now"}})),
            ("script", "open", None, json!({"sequence": [{"action": "homeassistant.restart"}]})),
            ("recorder", "purge_entities", None, json!({})),
            ("automation", "toggle", Some("automation.x"), json!({})),
        ] {
            assert!(
                order(domain, service, entity, &data).unwrap().is_guarded(),
                "{domain}.{service} {data}"
            );
        }
        for (domain, service, entity) in
            [("light", "turn_on", "light.lock"), ("automation", "turn_on", "automation.x")]
        {
            assert!(!order(domain, service, Some(entity), &json!({})).unwrap().is_guarded());
        }
    }
}
