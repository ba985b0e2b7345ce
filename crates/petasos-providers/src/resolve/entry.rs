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
        self.text(&["key_env", "api_key_env"])
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
        found(self.fields, "enabled") == Some(&Value::Bool(false))
    }

    /// Headers of every request.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        pairs(found(self.fields, "extra_headers"))
    }

    /// Headers whose values are in variables: the header and the variable's name.
    pub(crate) fn env_headers(&self) -> Vec<(String, String)> {
        pairs(found(self.fields, "env_headers"))
    }

    /// Query parameters of every request.
    pub(crate) fn query(&self) -> Vec<(String, String)> {
        pairs(found(self.fields, "query_params"))
    }

    /// Everything that is written.
    pub(crate) fn fields(&self) -> &'a Map<String, Value> {
        self.fields
    }

    fn text(&self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|name| {
            let text = found(self.fields, name)?.as_str()?.trim();
            (!text.is_empty()).then_some(text)
        })
    }
}

/// The changes that an object asks for.
pub(crate) fn overrides(fields: &Map<String, Value>) -> Overrides {
    let get = |name: &str| found(fields, name);
    let whole = |names: &[&str]| names.iter().find_map(|name| get(name)?.as_u64());
    let number = |name: &str| get(name).and_then(Value::as_f64);
    let path = get("ssl_ca_cert").and_then(Value::as_str).filter(|text| !text.is_empty());
    Overrides {
        extra_body: get("extra_body").and_then(Value::as_object).cloned().unwrap_or_default(),
        max_output_tokens: whole(&["max_output_tokens", "max_tokens"]),
        context_length: whole(&["context_length"]),
        request_timeout_s: number("request_timeout_seconds"),
        stale_timeout_s: number("stale_timeout_seconds"),
        rate_limit_delay_s: number("rate_limit_delay"),
        unlisted: get("discover_models") == Some(&Value::Bool(false)),
        channel: match get("supports_websockets") {
            Some(Value::Bool(true)) => Channel::WebSocket,
            _ => Channel::Http,
        },
        ca_cert: path.map(Into::into),
        tls_unverified: get("ssl_verify") == Some(&Value::Bool(false)),
    }
}

/// A field in our spelling, or as other programs write it (`baseUrl`), of which the check of the
/// configuration tells.
fn found<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).or_else(|| {
        let mut words = name.split('_');
        let mut camel = words.next()?.to_owned();
        for word in words {
            let (first, rest) = word.split_at_checked(1)?;
            camel.push_str(&first.to_ascii_uppercase());
            camel.push_str(rest);
        }
        fields.get(&camel)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_of_another_program_is_read_in_its_spelling_and_ours_wins() {
        let fields = json!({
            "baseUrl": "http://box.test/v1", "apiKeyEnv": "BOX_KEY", "apiMode": "chat_completions",
            "extraHeaders": { "x-team": "hats" }, "contextLength": 9000, "context_length": 8000,
            "requestTimeoutSeconds": 7.5, "sslVerify": false,
        });
        let fields = fields.as_object().unwrap();
        let entry = CustomEntry { name: "box", fields };
        assert_eq!(entry.url(), Some("http://box.test/v1"));
        assert_eq!(
            (entry.key_env(), entry.api_mode()),
            (Some("BOX_KEY"), Some("chat_completions"))
        );
        assert_eq!(entry.headers(), [("x-team".to_owned(), "hats".to_owned())]);
        let asked = overrides(fields);
        assert_eq!((asked.context_length, asked.request_timeout_s), (Some(8000), Some(7.5)));
        assert!(asked.tls_unverified);
    }
}
