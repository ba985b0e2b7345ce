//! Which environment is chosen, its fields and what they are set to. Kept for the home.

use std::collections::BTreeMap;

use petasos_fs::Record as FileRecord;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::fields::Field;
use super::{Environment, Place, Seat, fields, kept, locked};
use crate::trouble::Trouble;

/// What the next run is made of.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Choice {
    #[serde(default)]
    pub(crate) environment: Option<String>,
    #[serde(default)]
    pub(super) fields: BTreeMap<String, Field>,
    #[serde(default)]
    pub(crate) config: Map<String, Value>,
}

impl Choice {
    fn record(place: &Place) -> FileRecord {
        FileRecord::at(place.kept.join("choice.json"))
    }

    /// As it is now.
    pub(crate) fn read(place: &Place) -> Result<Self, Trouble> {
        Self::record(place).read().map_err(|error| kept(&error))
    }

    /// Chooses an environment; its fields are asked of itself.
    pub(crate) async fn select(seat: &Seat<'_>, chosen: &Environment) -> Result<(), Trouble> {
        let fields = fields::ask(seat, chosen).await?;
        let locked = locked::environment(&locked::Servers::of(&seat.cx.settings));
        let free = fields.iter().filter(|(name, _)| !locked.contains_key(*name));
        let mut config: Map<String, Value> =
            free.map(|(name, field)| (name.clone(), field.default.clone())).collect();
        let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
        config.insert("wandb_name".to_owned(), format!("{}-{now}", chosen.name).into());
        let next = Self { environment: Some(chosen.name.clone()), fields, config };
        let changed = Self::record(&seat.place).edit(|kept: &mut Self| *kept = next);
        changed.map_err(|error| kept(&error))
    }

    /// The fields, those that can be changed and those that cannot.
    pub(crate) fn shown(&self, seat: &Seat<'_>) -> Value {
        let locked = locked::environment(&locked::Servers::of(&seat.cx.settings));
        let (mut free, mut fixed) = (Vec::new(), Vec::new());
        for (name, field) in &self.fields {
            let mut row = json!({
                "name": name,
                "type": field.kind,
                "default": field.default,
                "description": field.description,
                "current_value": self.config.get(name).unwrap_or(&field.default),
            });
            match locked.get(name) {
                Some(value) => {
                    row["current_value"] = value.clone();
                    row["locked_value"] = value.clone();
                    fixed.push(row);
                }
                None => free.push(row),
            }
        }
        json!({
            "environment": self.environment,
            "configurable_fields": free,
            "locked_fields": fixed,
        })
    }

    /// Sets one field.
    pub(crate) fn edit(seat: &Seat<'_>, field: &str, value: &Value) -> Result<Value, Trouble> {
        let locked = locked::environment(&locked::Servers::of(&seat.cx.settings));
        let changed = Self::record(&seat.place).edit(|kept: &mut Self| {
            if let Some(locked) = locked.get(field) {
                let why = format!("`{field}` is locked: it belongs to the infrastructure");
                return Err(Trouble::new("denied", why).with("locked_value", locked.clone()));
            }
            if !kept.fields.contains_key(field) && field != "wandb_name" {
                let known: Vec<&String> = kept.fields.keys().collect();
                let why = format!("the environment has no field `{field}`: see `available_fields`");
                return Err(Trouble::new("not_found", why).with("available_fields", json!(known)));
            }
            kept.config.insert(field.to_owned(), value.clone());
            Ok(json!({
                "message": format!("`{field}` is {value} now"),
                "field": field,
                "value": value,
                "config": kept.config,
            }))
        });
        changed.map_err(|error| kept(&error))?
    }
}
