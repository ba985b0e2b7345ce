//! The user's own endpoints: `providers:` (a map, looked at first) and `custom_providers:` (a
//! list).

use petasos_contract::Settings;
use serde_json::{Map, Value};

use super::saved::{normal, pairs};
use crate::runtime::{Channel, Overrides};

/// One custom entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CustomEntry<'a> {
    /// The name as written.
    pub(crate) name: &'a str,
    fields: &'a Map<String, Value>,
}

impl<'a> CustomEntry<'a> {
    /// Every entry that has an endpoint.
    pub(crate) fn all(settings: &'a Settings) -> impl Iterator<Item = Self> {
        let map = settings.values().get("providers").and_then(Value::as_object);
        let from_map = map.into_iter().flatten().filter_map(|(key, value)| {
            let fields = value.as_object()?;
            let name = fields.get("name").and_then(Value::as_str).unwrap_or(key);
            Some(Self { name, fields })
        });
        let list = settings.values().get("custom_providers").and_then(Value::as_array);
        let from_list = list.into_iter().flatten().filter_map(|value| {
            let fields = value.as_object()?;
            Some(Self { name: fields.get("name")?.as_str()?, fields })
        });
        from_map.chain(from_list).filter(|entry| entry.url().is_some())
    }

    /// The entry with this name; names are compared without case, spaces as hyphens.
    pub(crate) fn find(settings: &'a Settings, name: &str) -> Option<Self> {
        let name = normal(name);
        Self::all(settings).find(|entry| normal(entry.name) == name)
    }

    /// The endpoint as written.
    pub(crate) fn url(&self) -> Option<&'a str> {
        self.text(&["base_url", "url", "api"])
    }

    /// The inline secret.
    pub(crate) fn api_key(&self) -> Option<&'a str> {
        self.text(&["api_key"])
    }

    /// The variable that holds the secret.
    pub(crate) fn key_env(&self) -> Option<&'a str> {
        self.text(&["key_env", "api_key_env", "apiKeyEnv", "keyEnv"])
    }

    /// The dialect as written.
    pub(crate) fn api_mode(&self) -> Option<&'a str> {
        self.text(&["api_mode", "transport"])
    }

    /// The entry's own model.
    pub(crate) fn model(&self) -> Option<&'a str> {
        self.text(&["model", "default_model"])
    }

    /// Whether it is switched off.
    pub(crate) fn is_disabled(&self) -> bool {
        self.fields.get("enabled") == Some(&Value::Bool(false))
    }

    /// Headers of every request.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        pairs(self.fields.get("extra_headers"))
    }

    /// Headers whose values are in variables: the header and the variable's name.
    pub(crate) fn env_headers(&self) -> Vec<(String, String)> {
        pairs(self.fields.get("env_headers"))
    }

    /// Query parameters of every request.
    pub(crate) fn query(&self) -> Vec<(String, String)> {
        pairs(self.fields.get("query_params"))
    }

    /// Everything that is written.
    pub(crate) fn fields(&self) -> &'a Map<String, Value> {
        self.fields
    }

    fn text(&self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|name| {
            let text = self.fields.get(*name)?.as_str()?.trim();
            (!text.is_empty()).then_some(text)
        })
    }
}

/// The changes that an object asks for.
pub(crate) fn overrides(fields: &Map<String, Value>) -> Overrides {
    let whole = |names: &[&str]| names.iter().find_map(|name| fields.get(*name)?.as_u64());
    let number = |name: &str| fields.get(name).and_then(Value::as_f64);
    let path = fields.get("ssl_ca_cert").and_then(Value::as_str).filter(|text| !text.is_empty());
    Overrides {
        extra_body: fields
            .get("extra_body")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default(),
        max_output_tokens: whole(&["max_output_tokens", "max_tokens"]),
        context_length: whole(&["context_length"]),
        request_timeout_s: number("request_timeout_seconds"),
        stale_timeout_s: number("stale_timeout_seconds"),
        rate_limit_delay_s: number("rate_limit_delay"),
        unlisted: fields.get("discover_models") == Some(&Value::Bool(false)),
        channel: match fields.get("supports_websockets") {
            Some(Value::Bool(true)) => Channel::WebSocket,
            _ => Channel::Http,
        },
        ca_cert: path.map(Into::into),
        tls_unverified: fields.get("ssl_verify") == Some(&Value::Bool(false)),
    }
}
