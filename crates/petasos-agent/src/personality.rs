//! Named ways to speak: a few of our own, and those of the configuration, which win.
//!
//! One is words at the end of the identity. A conversation keeps the one it began with, because its
//! prompt stays the same bytes.

use std::collections::BTreeMap;

use petasos_contract::Settings;
use serde_json::Value;

/// Where people define them.
const KEYS: [&str; 2] = ["personalities", "agent.personalities"];

const OWN: [(&str, &str); 4] = [
    ("concise", "Answer in as few words as the matter allows; no preamble, no summary at the end."),
    ("technical", "Write for an expert: exact terms, numbers with units, trade-offs named."),
    ("teacher", "Explain step by step, say why, and check at the end what was understood."),
    (
        "creative",
        "Offer several unlike ideas before settling on one, and say what is bold in each.",
    ),
];

/// Every name with its words.
pub fn all(settings: &Settings) -> BTreeMap<String, String> {
    let own = OWN.iter().map(|(name, words)| ((*name).to_owned(), (*words).to_owned()));
    let mut known: BTreeMap<String, String> = own.collect();
    for key in KEYS {
        let Some(Value::Object(entries)) = settings.get(key) else { continue };
        for (name, entry) in entries {
            let words = entry.as_str().or_else(|| {
                let field = |name: &str| entry.get(name).and_then(Value::as_str);
                field("system_prompt").or_else(|| field("prompt"))
            });
            if let Some(words) = words {
                known.insert(name.to_lowercase(), words.to_owned());
            }
        }
    }
    known
}

/// The words of a name.
pub fn named(name: &str, settings: &Settings) -> Option<String> {
    all(settings).remove(&name.trim().to_lowercase())
}

/// The configured one.
pub(crate) fn configured(settings: &Settings) -> Option<String> {
    named(settings.text("display.personality")?, settings)
}
