//! Receivers of the settings: where they are, what they want to know, and what is refused.

use std::collections::BTreeSet;

use petasos_contract::{Secret, Settings};
use petasos_net::{Reach, Url};
use serde_json::Value;

use super::{EVENTS, KEY};
use crate::options::OptionsError;

/// Somebody who is told.
#[derive(Debug, Clone)]
pub(super) struct Receiver {
    pub(super) name: String,
    pub(super) url: Url,
    pub(super) secret: Secret,
    pub(super) events: BTreeSet<String>,
    /// Words for people instead of the event.
    pub(super) text: bool,
    pub(super) reach: Reach,
}

fn wrong(what: impl Into<String>) -> OptionsError {
    OptionsError::Setting { key: KEY.to_owned(), what: what.into() }
}

/// All of them, each name once.
pub(super) fn all(settings: &Settings) -> Result<Vec<Receiver>, OptionsError> {
    let listed = settings.get(KEY).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut receivers: Vec<Receiver> = Vec::new();
    for entry in &listed {
        let one = receiver(entry, settings)?;
        if receivers.iter().any(|known| known.name == one.name) {
            return Err(wrong(format!("two are named `{}`", one.name)));
        }
        receivers.push(one);
    }
    Ok(receivers)
}

fn receiver(entry: &Value, settings: &Settings) -> Result<Receiver, OptionsError> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let name = text("name").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| wrong("every entry has a `name`"))?.to_owned();
    let url = text("url").and_then(|url| petasos_net::checked_url(url).ok());
    let url = url.ok_or_else(|| wrong(format!("`{name}` has no address that can be used")))?;
    let here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if url.scheme() != "https" && !here {
        return Err(wrong(format!("`{name}` must be an https: address")));
    }
    let variable = text("secret_env").ok_or_else(|| {
        wrong(format!("`{name}` has no `secret_env`: name the variable that holds its secret"))
    })?;
    let secret = settings.variable(variable).map(|it| it.value.clone());
    let secret = secret.ok_or_else(|| wrong(format!("{variable} of `{name}` is not set")))?;
    let listed = entry.get("events").and_then(Value::as_array).cloned().unwrap_or_default();
    let events: BTreeSet<String> =
        listed.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    if let Some(strange) = events.iter().find(|it| !EVENTS.contains(&it.as_str())) {
        return Err(wrong(format!("`{strange}` is not told; there are {}", EVENTS.join(", "))));
    }
    let usual = || EVENTS.iter().map(|it| (*it).to_owned()).collect();
    let events = if events.is_empty() { usual() } else { events };
    // The user wrote the address, but what answers for its name may be anybody.
    let reach = if here { Reach::Anywhere } else { Reach::PublicOnly };
    let text = text("format") == Some("text");
    Ok(Receiver { name, url, secret, events, text, reach })
}
