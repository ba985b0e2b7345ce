//! The providers of one snapshot: the built-in rows with the user's changes, and the one table of
//! names.
//!
//! The user's rows come from `provider_rows` in the snapshot: a list in the shape of a row, where
//! a known `id` changes that provider and a new one adds it. They are written down by the user, so
//! their `key_hosts` count as a grant.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use petasos_contract::Settings;
use petasos_net::{Allowed, Scope, Url};
use serde::{Deserialize, Serialize};

use crate::mode::ApiMode;
use crate::row::{Auth, LOOPBACK, Row};
use crate::rows::ROWS;

/// One provider, as the resolver sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Provider {
    /// Canonical id.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Other spellings.
    pub aliases: Vec<String>,
    /// How it knows its users.
    pub auth: Auth,
    /// Its usual dialect.
    pub api_mode: ApiMode,
    /// Its usual endpoint.
    pub base_url: Option<String>,
    /// Variables that may move the endpoint.
    pub base_url_env: Vec<String>,
    /// Variables that hold the key.
    pub key_env: Vec<String>,
    /// Hosts that the key may go to.
    pub key_hosts: Vec<String>,
    /// Hosts that a refresh token may go to.
    pub token_hosts: Vec<String>,
    /// Whether it leads to many vendors.
    pub aggregator: bool,
    /// Place in the scan for keys.
    pub rank: Option<u8>,
    /// Key in the models.dev catalogue.
    pub models_dev_id: Option<String>,
    /// The model when none was ever chosen.
    pub default_model: Option<String>,
    /// The cheap model for side tasks.
    pub aux_model: Option<String>,
    /// The model that sees.
    pub vision_model: Option<String>,
    /// Where the reasoning setting travels.
    pub reasoning_field: Option<String>,
    /// The answer's ceiling when the user names none.
    pub default_max_tokens: Option<u32>,
    /// Headers of every request.
    pub headers: BTreeMap<String, String>,
    /// Whether the user changed or added it.
    pub changed: bool,
}

impl Provider {
    /// The origins its key may go to.
    pub fn scope(&self) -> Scope {
        Scope::new(self.key_hosts.iter().map(|pattern| allowed(pattern)))
    }

    /// The origins its refresh token may go to.
    pub fn token_scope(&self) -> Scope {
        Scope::new(self.token_hosts.iter().map(|pattern| allowed(pattern)))
    }

    /// Whether an address is one of its own.
    pub fn owns(&self, url: &Url) -> bool {
        self.scope().permits(url)
    }
}

fn allowed(pattern: &str) -> Allowed {
    if pattern == LOOPBACK { Allowed::Loopback } else { Allowed::from_pattern(pattern) }
}

impl From<&Row> for Provider {
    fn from(row: &Row) -> Self {
        let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
        let text = |item: Option<&str>| item.map(str::to_owned);
        Self {
            id: row.id.to_owned(),
            name: row.name.to_owned(),
            aliases: list(row.aliases),
            auth: row.auth,
            api_mode: row.api_mode,
            base_url: (!row.base_url.is_empty()).then(|| row.base_url.to_owned()),
            base_url_env: list(row.base_url_env),
            key_env: list(row.key_env),
            key_hosts: list(row.key_hosts),
            token_hosts: list(row.token_hosts),
            aggregator: row.aggregator,
            rank: row.rank,
            models_dev_id: text(row.models_dev_id),
            default_model: text(row.default_model),
            aux_model: text(row.aux_model),
            vision_model: text(row.vision_model),
            reasoning_field: text(row.reasoning_field),
            default_max_tokens: row.default_max_tokens,
            headers: row.headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            changed: false,
        }
    }
}

/// A row as a user writes it: everything but the id is optional.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    id: String,
    #[serde(alias = "display_name")]
    name: Option<String>,
    aliases: Option<Vec<String>>,
    #[serde(alias = "auth_type")]
    auth: Option<Auth>,
    api_mode: Option<ApiMode>,
    base_url: Option<String>,
    base_url_env: Option<Vec<String>>,
    key_env: Option<Vec<String>>,
    key_hosts: Option<Vec<String>>,
    token_hosts: Option<Vec<String>>,
    aggregator: Option<bool>,
    #[serde(alias = "auto_detect_rank")]
    rank: Option<u8>,
    models_dev_id: Option<String>,
    default_model: Option<String>,
    aux_model: Option<String>,
    vision_model: Option<String>,
    reasoning_field: Option<String>,
    default_max_tokens: Option<u32>,
    #[serde(alias = "default_headers")]
    headers: Option<BTreeMap<String, String>>,
}

impl Change {
    fn apply(self, provider: &mut Provider) {
        fn set<T>(field: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *field = value;
            }
        }
        fn put<T>(field: &mut Option<T>, value: Option<T>) {
            if value.is_some() {
                *field = value;
            }
        }
        set(&mut provider.name, self.name);
        set(&mut provider.aliases, self.aliases);
        set(&mut provider.auth, self.auth);
        set(&mut provider.api_mode, self.api_mode);
        put(&mut provider.base_url, self.base_url);
        set(&mut provider.base_url_env, self.base_url_env);
        set(&mut provider.key_env, self.key_env);
        set(&mut provider.key_hosts, self.key_hosts);
        set(&mut provider.token_hosts, self.token_hosts);
        set(&mut provider.aggregator, self.aggregator);
        put(&mut provider.rank, self.rank);
        put(&mut provider.models_dev_id, self.models_dev_id);
        put(&mut provider.default_model, self.default_model);
        put(&mut provider.aux_model, self.aux_model);
        put(&mut provider.vision_model, self.vision_model);
        put(&mut provider.reasoning_field, self.reasoning_field);
        put(&mut provider.default_max_tokens, self.default_max_tokens);
        set(&mut provider.headers, self.headers);
        provider.changed = true;
    }
}

/// All providers and all their names.
#[derive(Debug)]
pub struct Table {
    providers: Vec<Provider>,
    names: HashMap<String, usize>,
}

static BUILT_IN: LazyLock<Arc<Table>> =
    LazyLock::new(|| Arc::new(Table::new(ROWS.iter().map(|row| Provider::from(*row)).collect())));

impl Table {
    /// The built-in providers.
    pub fn built_in() -> Arc<Self> {
        Arc::clone(&BUILT_IN)
    }

    /// The providers of a snapshot, and what is wrong with the user's rows.
    pub fn of(settings: &Settings) -> (Arc<Self>, Vec<String>) {
        let Some(rows) = settings.get("provider_rows").and_then(|value| value.as_array()) else {
            return (Self::built_in(), Vec::new());
        };
        let mut providers = BUILT_IN.providers.clone();
        let mut problems = Vec::new();
        for row in rows {
            match serde_json::from_value::<Change>(row.clone()) {
                Ok(change) => merge(&mut providers, change),
                Err(error) => {
                    problems.push(format!("a row of `provider_rows` is passed over: {error}"));
                }
            }
        }
        (Arc::new(Self::new(providers)), problems)
    }

    fn new(providers: Vec<Provider>) -> Self {
        let mut names = HashMap::new();
        for (at, provider) in providers.iter().enumerate() {
            for alias in &provider.aliases {
                names.entry(alias.clone()).or_insert(at);
            }
        }
        // Ids go last: an alias never hides an id.
        for (at, provider) in providers.iter().enumerate() {
            names.insert(provider.id.clone(), at);
        }
        Self { providers, names }
    }

    /// The provider with this id.
    pub fn get(&self, id: &str) -> Option<&Provider> {
        self.find(id).filter(|provider| provider.id == id)
    }

    /// The provider with this id or alias.
    pub fn find(&self, name: &str) -> Option<&Provider> {
        self.names.get(name).and_then(|at| self.providers.get(*at))
    }

    /// Every provider.
    pub fn providers(&self) -> &[Provider] {
        &self.providers
    }

    /// Every name: ids and aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// The provider whose own address this is. Addresses of this machine belong to nobody.
    pub fn owner_of(&self, url: &Url) -> Option<&Provider> {
        let domain = url.domain()?;
        let named = |pattern: &String| {
            pattern.as_str() != LOOPBACK
                && match pattern.strip_prefix("*.") {
                    Some(suffix) => petasos_net::origin::is_below(domain, suffix),
                    None => domain == pattern,
                }
        };
        self.providers.iter().find(|provider| provider.key_hosts.iter().any(named))
    }
}

fn merge(providers: &mut Vec<Provider>, change: Change) {
    if let Some(known) = providers.iter_mut().find(|provider| provider.id == change.id) {
        return change.apply(known);
    }
    let mut added = Provider::from(&Row::EMPTY);
    added.id.clone_from(&change.id);
    added.name.clone_from(&change.id);
    change.apply(&mut added);
    providers.push(added);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_alias_has_one_target_and_none_is_an_id() {
        let table = Table::built_in();
        let mut seen = HashMap::new();
        for provider in table.providers() {
            for alias in &provider.aliases {
                assert!(table.get(alias).is_none(), "`{alias}` is also an id");
                let earlier = seen.insert(alias.clone(), provider.id.clone());
                assert_eq!(earlier, None, "`{alias}` has two targets");
            }
        }
    }

    #[test]
    fn every_default_endpoint_is_one_that_its_key_may_go_to() {
        for provider in Table::built_in().providers() {
            let Some(text) = &provider.base_url else { continue };
            let url = petasos_net::checked_url(text).unwrap();
            if url.scheme().starts_with("http") && !provider.key_env.is_empty() {
                assert!(provider.owns(&url), "{}", provider.id);
            }
        }
    }

    #[test]
    fn a_user_row_changes_or_adds_one_provider() {
        let rows = json!({"provider_rows": [
            {"id": "deepseek", "aux_model": "small"},
            {"id": "acme", "base_url": "https://api.acme.test/v1", "key_env": ["ACME_KEY"],
             "key_hosts": ["api.acme.test"]},
            {"id": "broken", "key_hostz": []},
        ]});
        let settings = Settings::from_values(rows.as_object().unwrap().clone());
        let (table, problems) = Table::of(&settings);
        assert_eq!(table.get("deepseek").unwrap().aux_model.as_deref(), Some("small"));
        assert!(table.get("acme").unwrap().owns(&Url::parse("https://api.acme.test/v1").unwrap()));
        assert_eq!((problems.len(), table.get("broken")), (1, None));
    }
}
