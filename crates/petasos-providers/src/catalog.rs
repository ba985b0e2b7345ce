//! What is known of models: how much they read and what they cost.
//!
//! In order: what the user wrote, what the provider's own `/models` said, what was found out in an
//! earlier run, the embedded table. A length that nobody knows is the usual one; a price that
//! nobody knows is unknown and never guessed.

mod facts;
mod listing;
mod probe;
mod public;
mod table;

use std::collections::HashMap;
use std::io;
use std::sync::{PoisonError, RwLock};

use petasos_contract::Settings;
use petasos_contract::model::{Cost, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use facts::ModelFact;
pub use listing::{ListError, Listed, list, read_listing};
pub(crate) use probe::probe;
pub(crate) use public::find as find_public;

/// What a model without any known length is taken to read.
pub const CONTEXT_DEFAULT: u64 = 256_000;

/// Dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from the cache.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Written to the cache.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

impl Price {
    /// What a use costs; nothing when a needed price is missing.
    pub fn of(&self, usage: &Usage) -> Cost {
        let mut usd = 0.0;
        let buckets = [
            (usage.input, Some(self.input)),
            (usage.output, Some(self.output)),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ];
        for (tokens, price) in buckets {
            match price {
                Some(price) => usd += price * millions(tokens),
                None if tokens == 0 => {}
                None => return Cost::Unknown,
            }
        }
        Cost::Estimated { usd }
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
fn millions(tokens: u64) -> f64 {
    tokens as f64 / 1e6
}

/// Where a fact came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// The user wrote it.
    User,
    /// The provider stated it when it refused a request.
    Stated,
    /// The provider listed it.
    Listed,
    /// An earlier question to the endpoint or to the public catalogue.
    Found,
    /// The embedded table.
    Table,
    /// Nobody; the usual value.
    Assumed,
}

impl Known {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "from the configuration",
            Self::Stated => "as a refusal stated",
            Self::Listed => "as the provider lists it",
            Self::Found => "as found out before",
            Self::Table => "from the built-in table",
            Self::Assumed => "assumed; set `models.<id>.context_length` if you know better",
        }
    }
}

/// The catalogue of one process.
#[derive(Debug, Default)]
pub struct Catalog {
    listed: RwLock<HashMap<(String, String), Listed>>,
    facts: facts::Facts,
}

/// A model at an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Which<'a> {
    /// The endpoint.
    pub base_url: &'a str,
    /// The model.
    pub model: &'a str,
}

impl Catalog {
    /// Knows the embedded table only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Remembers what an endpoint lists.
    pub fn learn(&self, base_url: &str, models: &[Listed]) {
        let mut listed = self.listed.write().unwrap_or_else(PoisonError::into_inner);
        for model in models {
            listed.insert((base_url.to_owned(), model.id.clone()), model.clone());
        }
    }

    /// How much a model reads, and who says so.
    pub fn context(&self, which: Which<'_>, settings: &Settings) -> (u64, Known) {
        if let Some(length) = own(settings, which, "context_length").and_then(Value::as_u64) {
            return (length, Known::User);
        }
        let found = self.fact(which, settings).unwrap_or_default();
        if let Some(length) = found.context_length.filter(|_| found.is_fresh()) {
            return (length, Known::Found);
        }
        if let Some(length) = self.listed(which).and_then(|listed| listed.context_length) {
            return (length, Known::Listed);
        }
        if let Some(length) = found.context_length {
            return (length, Known::Found);
        }
        match table::context(which.model) {
            Some(length) => (length, Known::Table),
            None => (CONTEXT_DEFAULT, Known::Assumed),
        }
    }

    /// What a model costs, and who says so.
    pub fn price(&self, which: Which<'_>, settings: &Settings) -> Option<(Price, Known)> {
        if let Some(price) = own(settings, which, "price")
            && let Ok(price) = serde_json::from_value(price.clone())
        {
            return Some((price, Known::User));
        }
        if let Some(price) = self.listed(which).and_then(|listed| listed.price) {
            return Some((price, Known::Listed));
        }
        if let Some(price) = self.fact(which, settings).and_then(|fact| fact.price) {
            return Some((price, Known::Found));
        }
        table::price(which.model).map(|price| (price, Known::Table))
    }

    /// What was found out about a model, in this run or in one before.
    pub(crate) fn fact(&self, which: Which<'_>, settings: &Settings) -> Option<ModelFact> {
        self.facts.get(settings.home(), which)
    }

    /// Keeps what was found out about a model.
    pub(crate) fn keep(
        &self,
        which: Which<'_>,
        fact: ModelFact,
        settings: &Settings,
    ) -> io::Result<()> {
        self.facts.keep(settings.home(), which, fact)
    }

    fn listed(&self, which: Which<'_>) -> Option<Listed> {
        let listed = self.listed.read().unwrap_or_else(PoisonError::into_inner);
        listed.get(&(which.base_url.to_owned(), which.model.to_owned())).cloned()
    }
}

/// The user's own word about a model: `models.<id>.<what>`.
fn own<'a>(settings: &'a Settings, which: Which<'_>, what: &str) -> Option<&'a Value> {
    settings.get("models")?.get(which.model)?.get(what)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_user_beats_the_listing_and_the_listing_beats_the_table() {
        let catalog = Catalog::new();
        let which = Which { base_url: "http://a/v1", model: "claude-sonnet-4-5" };
        let none = Settings::from_values(serde_json::Map::new());
        assert_eq!(catalog.context(which, &none), (200_000, Known::Table));
        let listing = json!({"data": [{"id": "claude-sonnet-4-5", "context_length": 5000,
            "pricing": {"prompt": "0.000001", "completion": "0.000002"}}]});
        catalog.learn("http://a/v1", &read_listing(&listing));
        assert_eq!(catalog.context(which, &none), (5_000, Known::Listed));
        assert_eq!(catalog.price(which, &none).unwrap().1, Known::Listed);
        let written = json!({"models": {"claude-sonnet-4-5": {"context_length": 9000}}});
        let written = Settings::from_values(written.as_object().cloned().unwrap());
        assert_eq!(catalog.context(which, &written), (9_000, Known::User));
        let unknown = Which { model: "nobody", ..which };
        assert_eq!(catalog.context(unknown, &none), (CONTEXT_DEFAULT, Known::Assumed));
    }

    #[test]
    fn a_missing_price_makes_the_sum_unknown() {
        let price = Price { input: 1.0, output: 2.0, cache_read: None, cache_write: None };
        let plain = Usage { input: 1_000_000, output: 500_000, ..Usage::default() };
        assert_eq!(price.of(&plain), Cost::Estimated { usd: 2.0 });
        assert_eq!(price.of(&Usage { cache_read: 1, ..plain }), Cost::Unknown);
    }
}
