//! The worked cases as one table, the refusals around them, and what must hold for any input.

mod cases;
mod logins;
mod properties;

use std::path::PathBuf;

use petasos_contract::settings::{Parts, Source as Origin, Variable};
use serde_json::Value;

use super::*;
use crate::credential::VaultView;

/// A time within which the test tokens are alive.
pub(super) const NOW_MS: u64 = 1_700_000_000_000;

/// A snapshot of a configuration and variables.
pub(super) fn settings(config: &Value, variables: &[(&str, &str)]) -> Settings {
    let variable = |(name, value): &(&str, &str)| {
        let source = Origin::Environment { variable: (*name).to_owned() };
        ((*name).to_owned(), Variable { value: Secret::new(*value), source })
    };
    Settings::new(Parts {
        home: PathBuf::from("/nowhere"),
        values: config.as_object().cloned().unwrap_or_default(),
        variables: variables.iter().map(variable).collect(),
        ..Parts::default()
    })
}

/// What a case expects of a success.
#[derive(Debug, PartialEq)]
pub(super) struct Got {
    provider: String,
    base_url: String,
    key: Option<String>,
    source: String,
    mode: &'static str,
}

/// Resolves in an empty vault.
pub(super) fn run(request: &Request, config: &Value, variables: &[(&str, &str)]) -> Resolved {
    resolve(request, &settings(config, variables), &VaultView::empty(NOW_MS))
}

/// The outcome in the words of the table.
pub(super) fn got(resolved: &Resolved) -> Result<Got, &'static str> {
    resolved.outcome.as_ref().map_err(|error| error.code).map(|runtime| {
        let credential = runtime.credential.as_ref();
        // Whatever is in force must really be attachable at the endpoint it came with.
        if let Some(credential) = credential {
            let url = runtime.base_url.at("/x").unwrap();
            assert!(credential.attach(&url).is_ok(), "{} {}", runtime.base_url, credential.scope);
        }
        Got {
            provider: runtime.provider.clone(),
            base_url: runtime.base_url.to_string(),
            key: credential.map(|credential| credential.secret.expose().to_owned()),
            source: runtime.source.to_string(),
            mode: runtime.api_mode.name(),
        }
    })
}
