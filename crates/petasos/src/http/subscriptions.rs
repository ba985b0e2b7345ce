//! Routes of webhooks that were subscribed with a command: a file of the home, private to its user.

use std::path::PathBuf;

use petasos_contract::Settings;
use serde_json::{Map, Value};

const FILE: &str = "webhook_subscriptions.json";

fn file(settings: &Settings) -> PathBuf {
    settings.home().join(FILE)
}

/// All of them; none when there is no file that can be read.
pub(crate) fn read(settings: &Settings) -> Map<String, Value> {
    let Ok(text) = std::fs::read_to_string(file(settings)) else { return Map::new() };
    serde_json::from_str(&text).unwrap_or_else(|error| {
        tracing::warn!(%error, "{FILE} holds no routes");
        Map::new()
    })
}

/// Changes them, one change at a time.
pub(crate) fn change<T>(
    settings: &Settings,
    work: impl FnOnce(&mut Map<String, Value>) -> T,
) -> Result<T, String> {
    let file = file(settings);
    let failed = |error: &dyn std::fmt::Display| format!("`{}`: {error}", file.display());
    let _lock =
        petasos_fs::lock_within(&file.with_extension("lock"), std::time::Duration::from_secs(10))
            .map_err(|error| failed(&error))?;
    let mut routes = match std::fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| failed(&error))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Map::new(),
        Err(error) => return Err(failed(&error)),
    };
    let done = work(&mut routes);
    let text = format!("{:#}\n", Value::Object(routes));
    petasos_fs::write(&file, text.as_bytes(), petasos_fs::Mode::Exactly(0o600))
        .map_err(|error| failed(&error))?;
    Ok(done)
}
