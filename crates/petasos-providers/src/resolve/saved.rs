//! The `model` section of the configuration, read once per resolution.

use petasos_contract::Settings;
use serde_json::Value;

/// The saved choice. Empty texts count as absent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Saved<'a> {
    /// Lower-cased, not `auto`.
    pub(crate) provider: Option<String>,
    pub(crate) base_url: Option<&'a str>,
    pub(crate) api_key: Option<&'a str>,
    pub(crate) key_env: Option<&'a str>,
    pub(crate) api_mode: Option<&'a str>,
    pub(crate) model: Option<&'a str>,
    /// `model` as a whole, for keys that few providers read.
    section: Option<&'a Value>,
}

impl<'a> Saved<'a> {
    pub(crate) fn of(settings: &'a Settings) -> Self {
        let section = settings.get("model");
        let text = |names: &[&str]| {
            names.iter().find_map(|name| {
                let value = section?.get(*name)?.as_str()?.trim();
                (!value.is_empty()).then_some(value)
            })
        };
        let bare = section.and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        Self {
            provider: text(&["provider"]).map(normal).filter(|name| name != "auto"),
            base_url: text(&["base_url"]),
            api_key: text(&["api_key", "api"]),
            key_env: text(&["key_env", "api_key_env"]),
            api_mode: text(&["api_mode"]),
            model: bare.or_else(|| text(&["default", "model"])),
            section,
        }
    }

    /// Any key of the section.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.section?.get(name)
    }

    /// Headers that the user adds to every request.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        ["default_headers", "extra_headers"].iter().flat_map(|name| pairs(self.get(name))).collect()
    }
}

/// A provider name as it is compared: trimmed, lower case, spaces as hyphens.
pub(crate) fn normal(name: &str) -> String {
    name.trim().to_lowercase().replace(' ', "-")
}

/// Text pairs of an object.
pub(crate) fn pairs(value: Option<&Value>) -> Vec<(String, String)> {
    let Some(map) = value.and_then(Value::as_object) else { return Vec::new() };
    map.iter()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}
