//! Which entity is in which area: by Home Assistant's own registries, which only its WebSocket
//! interface shows. An entity's own area counts before its device's.

use std::collections::BTreeMap;
use std::time::Instant;

use petasos_contract::wait;
use petasos_net::websocket::{WebSocketReceiver, WebSocketSender};
use petasos_net::{Method, Request};
use serde_json::{Value, json};

use super::House;
use crate::fault::VendorError;
use crate::service::Sent;

const REGISTRIES: [&str; 3] =
    ["config/area_registry/list", "config/device_registry/list", "config/entity_registry/list"];

/// The areas of a house.
#[derive(Debug, Default)]
pub(super) struct Areas {
    /// Id, and every name: the first is the one that is shown.
    areas: Vec<(String, Vec<String>)>,
    /// The area's id of each entity.
    entities: BTreeMap<String, String>,
}

impl Areas {
    pub(super) fn is_empty(&self) -> bool {
        self.areas.is_empty()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.areas.iter().filter_map(|(_, names)| names.first().cloned()).collect()
    }

    /// The name of the area that an entity is in.
    pub(super) fn of(&self, entity: &str) -> Option<&str> {
        let id = self.entities.get(entity)?;
        let (_, names) = self.areas.iter().find(|(known, _)| known == id)?;
        names.first().map(String::as_str)
    }

    /// The entities of an area, or nothing where there is no such area.
    pub(super) fn inside(&self, area: &str) -> Option<Vec<String>> {
        let wanted = area.trim().to_lowercase();
        let is_named = |(id, names): &&(String, Vec<String>)| {
            id.to_lowercase() == wanted || names.iter().any(|name| name.to_lowercase() == wanted)
        };
        let (id, _) = self.areas.iter().find(is_named)?;
        let inside = self.entities.iter().filter(|(_, area)| *area == id);
        Some(inside.map(|(entity, _)| entity.clone()).collect())
    }

    fn read([areas, devices, entities]: [Value; 3]) -> Self {
        let text = |value: &Value, key: &str| {
            value.get(key).and_then(Value::as_str).filter(|it| !it.is_empty()).map(str::to_owned)
        };
        let rows = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let named = rows(&areas).into_iter().filter_map(|area| {
            let mut names: Vec<String> = text(&area, "name").into_iter().collect();
            let aliases = rows(area.get("aliases").unwrap_or(&Value::Null));
            names.extend(aliases.iter().filter_map(Value::as_str).map(str::to_owned));
            Some((text(&area, "area_id")?, names))
        });
        let named = named.collect();
        let devices: BTreeMap<String, String> = rows(&devices)
            .iter()
            .filter_map(|device| Some((text(device, "id")?, text(device, "area_id")?)))
            .collect();
        let placed = rows(&entities).into_iter().filter_map(|entity| {
            let device = || devices.get(&text(&entity, "device_id")?).cloned();
            Some((text(&entity, "entity_id")?, text(&entity, "area_id").or_else(device)?))
        });
        let entities = placed.collect();
        Self { areas: named, entities }
    }
}

impl House {
    /// The areas, by the registries.
    pub(super) async fn areas(&self) -> Result<Areas, VendorError> {
        let deadline = Instant::now() + self.service.within;
        match wait::until(deadline, "the registries of a house", self.registries()).await {
            Ok(areas) => areas,
            Err(_) => Err(self.service.late()),
        }
    }

    async fn registries(&self) -> Result<Areas, VendorError> {
        // The token travels in the first message, so that the request itself carries none.
        let mut request = Request::new(Method::GET, self.service.url("/api/websocket")?);
        request.follow = petasos_net::Follow::Nowhere;
        let socket = self.service.net().websocket(request, self.service.bytes_max).await?;
        let (mut sender, mut receiver) = socket.split();
        self.enter(&mut sender, &mut receiver).await?;
        for (at, kind) in REGISTRIES.iter().enumerate() {
            let ask = json!({ "id": at + 1, "type": kind }).to_string();
            sender.send(ask, self.service.within).await?;
        }
        let mut found: [Option<Value>; 3] = [None, None, None];
        while found.iter().any(Option::is_none) {
            let message = next(&mut receiver).await?;
            let number = message.get("id").and_then(Value::as_u64).unwrap_or(0);
            let slot =
                usize::try_from(number).ok().and_then(|id| found.get_mut(id.checked_sub(1)?));
            if message.get("success") == Some(&Value::Bool(false)) {
                return Err(VendorError::new("upstream", "the registries may not be read"));
            }
            if let (Some(slot), Some(result)) = (slot, message.get("result")) {
                *slot = Some(result.clone());
            }
        }
        sender.close().await;
        Ok(Areas::read(found.map(Option::unwrap_or_default)))
    }

    async fn enter(
        &self,
        sender: &mut WebSocketSender,
        receiver: &mut WebSocketReceiver,
    ) -> Result<(), VendorError> {
        let hello = next(receiver).await?;
        if kind(&hello) == "auth_required" {
            let auth = json!({ "type": "auth", "access_token": self.token.expose() }).to_string();
            sender.send(auth, self.service.within).await?;
        }
        match kind(&next(receiver).await?) {
            "auth_ok" => Ok(()),
            _ => Err(VendorError::new("auth", "Home Assistant refuses HASS_TOKEN")),
        }
    }

    /// The entities of an area by a template, for servers whose registries cannot be read.
    pub(super) async fn templated(&self, area: &str) -> Result<Option<Vec<String>>, VendorError> {
        let template = "{{ [area_id(area) is not none, area_entities(area)] | to_json }}";
        let body = json!({ "template": template, "variables": { "area": area } });
        let found = self.asked(Method::POST, "/api/template", Sent::json(&body)).await?;
        let known = found.get(0).and_then(Value::as_bool).unwrap_or(false);
        let inside = found.get(1).and_then(Value::as_array).into_iter().flatten();
        let inside = inside.filter_map(Value::as_str).map(str::to_owned).collect();
        Ok(known.then_some(inside))
    }
}

fn kind(message: &Value) -> &str {
    message.get("type").and_then(Value::as_str).unwrap_or_default()
}

async fn next(receiver: &mut WebSocketReceiver) -> Result<Value, VendorError> {
    let broken = |why: String| VendorError::new("upstream", format!("Home Assistant {why}"));
    match receiver.next().await {
        Some(text) => serde_json::from_str(&text?).map_err(|error| broken(error.to_string())),
        None => Err(broken("closed the WebSocket".to_owned())),
    }
}
