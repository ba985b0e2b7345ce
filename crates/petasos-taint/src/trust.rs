//! Whom the user's own settings trust.

use std::path::Path;

use petasos_contract::Settings;
use serde_json::Value;

/// Whether a host, a server or a folder is among those that the user trusts.
pub fn is_trusted(place: &str, settings: &Settings) -> bool {
    let Some(Value::Array(trusted)) = settings.get("security.taint_trust") else { return false };
    let host = place.split(':').next().unwrap_or_default();
    trusted.iter().filter_map(Value::as_str).any(|name| {
        let below = Path::new(place).starts_with(name);
        name == place || name.starts_with('/') && below || !name.contains(':') && name == host
    })
}

/// The host of an address, or a path as it is; cut where it is long.
pub fn place_of(address: &str) -> String {
    let host = address.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#']).next());
    host.flatten().unwrap_or(address).chars().take(100).collect()
}
