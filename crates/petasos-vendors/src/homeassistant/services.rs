//! What a house can be told to do, as it describes it itself.

use serde_json::{Map, Value, json};

use super::guard;
use crate::fault::VendorError;
use crate::text::{alike, cut};

/// Without a domain, fields are told only below this length.
const WHOLE_CHARS: usize = 15_000;
const DESCRIPTION_CHARS: usize = 300;

/// Domains with their services, in order, without those that are refused.
pub(super) fn read(listed: &Value) -> Vec<(String, Map<String, Value>)> {
    let mut known: Vec<(String, Map<String, Value>)> = listed
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| {
            let domain = row.get("domain")?.as_str()?;
            let services = row.get("services")?.as_object()?;
            (!guard::is_refused(domain)).then(|| (domain.to_owned(), services.clone()))
        })
        .collect();
    known.sort_by(|a, b| a.0.cmp(&b.0));
    known
}

/// The services as they are told.
pub(super) fn listed(
    known: &[(String, Map<String, Value>)],
    domain: Option<&str>,
) -> Result<Value, VendorError> {
    let wanted: Vec<_> =
        known.iter().filter(|(name, _)| domain.is_none_or(|domain| domain == name)).collect();
    if let Some(domain) = domain.filter(|_| wanted.is_empty()) {
        let near = alike(domain, known.iter().map(|(name, _)| name.as_str()), 5);
        let text = format!("this house has no services of `{domain}`");
        return Err(VendorError::new("not_found", text).with("candidates", near));
    }
    let whole: Vec<Value> =
        wanted.iter().map(|(name, services)| described(name, services)).collect();
    let value = json!({ "count": whole.len(), "domains": whole });
    if domain.is_some() || value.to_string().chars().count() <= WHOLE_CHARS {
        return Ok(value);
    }
    let names: Vec<Value> = wanted
        .iter()
        .map(|(name, services)| json!({ "domain": name, "services": services.keys().collect::<Vec<_>>() }))
        .collect();
    Ok(json!({
        "count": names.len(), "domains": names,
        "hint": "only names, because there are many: ask for one domain to see its fields",
    }))
}

fn described(domain: &str, services: &Map<String, Value>) -> Value {
    let told = services.iter().map(|(name, definition)| {
        let text = |value: &Value, key: &str| {
            cut(value.get(key).and_then(Value::as_str).unwrap_or_default(), DESCRIPTION_CHARS)
        };
        let fields = definition.get("fields").and_then(Value::as_object).into_iter().flatten();
        let fields: Map<String, Value> = fields
            .map(|(field, about)| {
                let mut row = json!({ "description": text(about, "description") });
                if let Some(object) = row.as_object_mut() {
                    for key in ["required", "example"] {
                        if let Some(value) = about.get(key).filter(|value| !value.is_null()) {
                            object.insert(key.to_owned(), value.clone());
                        }
                    }
                }
                (field.clone(), row)
            })
            .collect();
        let mut row = json!({ "description": text(definition, "description"), "fields": fields });
        if let Some(object) = row.as_object_mut().filter(|_| answers(definition)) {
            object.insert("answers".to_owned(), true.into());
        }
        (name.clone(), row)
    });
    json!({ "domain": domain, "services": told.collect::<Map<String, Value>>() })
}

/// The definition of one service.
pub(super) fn find<'a>(
    known: &'a [(String, Map<String, Value>)],
    domain: &str,
    service: &str,
) -> Result<&'a Value, VendorError> {
    let of_domain = known.iter().find(|(name, _)| name == domain);
    if let Some(definition) = of_domain.and_then(|(_, services)| services.get(service)) {
        return Ok(definition);
    }
    let wanted = format!("{domain}.{service}");
    let all: Vec<String> = known
        .iter()
        .flat_map(|(name, services)| services.keys().map(move |key| format!("{name}.{key}")))
        .collect();
    let near = alike(&wanted, all.iter().map(String::as_str), 5);
    let text = format!("this house has no service `{wanted}`");
    Err(VendorError::new("not_found", text).with("candidates", near))
}

/// Whether the service gives an answer.
pub(super) fn answers(definition: &Value) -> bool {
    definition.get("response").is_some_and(|response| !response.is_null())
}
