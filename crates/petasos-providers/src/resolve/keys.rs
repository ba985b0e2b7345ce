//! Secrets as candidates: each source gives a key or says in the trace why it does not.

use petasos_contract::Secret;
use petasos_net::{Origin, Scope, Url};

use super::scene::Scene;
use super::{ResolveError, Verdict};
use crate::credential::command::SecretCommand;
use crate::credential::pool::{self, Strategy};
use crate::credential::usable::{fingerprint, usable};
use crate::runtime::{BaseUrl, Expiry, PoolRef, Source};

/// A chosen secret with its scope; how it travels is decided with the dialect.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) owner: String,
    pub(crate) secret: Secret,
    pub(crate) scope: Scope,
    pub(crate) source: Source,
    pub(crate) pool: Option<PoolRef>,
    pub(crate) expiry: Option<Expiry>,
    /// The endpoint that the secret was kept for, where it is not the usual one.
    pub(crate) endpoint: Option<Box<BaseUrl>>,
}

/// What a login holds: a token to send, or only the means to renew it.
#[derive(Debug, Clone)]
pub(crate) enum Held {
    /// A token to send.
    Token(Key),
    /// No token yet: it is renewed before the first request.
    Renewal(Pending),
}

/// A login that must be renewed before anything can be sent.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) source: Source,
    pub(crate) skew_ms: u64,
}

impl Pending {
    /// Long due, so that the renewal comes first.
    pub(crate) fn expiry(&self) -> Expiry {
        Expiry { at_ms: Some(0), skew_ms: self.skew_ms, refreshable: true }
    }
}

/// Whose key and where it may go.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) owner: String,
    pub(crate) scope: Scope,
}

impl Claim {
    pub(crate) fn new(owner: &str, scope: Scope) -> Self {
        Self { owner: owner.to_owned(), scope }
    }

    /// A claim on exactly the origin of an endpoint.
    pub(crate) fn exactly(owner: &str, url: &BaseUrl) -> Self {
        let scope = url.origin().map_or_else(Scope::default, Scope::exactly);
        Self::new(owner, scope)
    }

    fn key(&self, secret: Secret, source: Source) -> Key {
        let (owner, scope) = (self.owner.clone(), self.scope.clone());
        Key { owner, secret, scope, source, pool: None, expiry: None, endpoint: None }
    }
}

impl Scene<'_> {
    /// The key given with the request.
    pub(crate) fn explicit_key(&mut self, claim: &Claim) -> Option<Key> {
        if let Some(secret) = &self.request.api_key {
            let text = secret.expose().to_owned();
            return self.text_key(&text, "the key given with the request", Source::Explicit, claim);
        }
        let name = self.request.key_env.clone()?;
        self.variable_key(&name, claim)
    }

    /// The key written into the `model` section, or the variable that it names.
    pub(crate) fn saved_key(&mut self, claim: &Claim) -> Option<Key> {
        if let Some(text) = self.saved.api_key
            && let Some(key) = self.text_key(text, "`model.api_key`", Source::Config, claim)
        {
            return Some(key);
        }
        if let Some(name) = self.saved.key_env {
            return self.granted_variable_key(name, claim);
        }
        let saved = self.saved.clone();
        let command = SecretCommand::of_fields(&|name| saved.get(name).cloned())?;
        self.printed_key(command, "`model.api_key_command`", claim)
    }

    /// The key in a variable that the configuration names for this endpoint.
    pub(crate) fn granted_variable_key(&mut self, name: &str, claim: &Claim) -> Option<Key> {
        if self.variable(name).is_none() {
            let text = format!("`key_env` names the variable `{name}`, which is not set");
            self.notice(format!("key_env:{name}"), text.clone());
            self.trace(format!("variable `{name}`"), Verdict::Refused, text);
            return None;
        }
        self.variable_key(name, claim)
    }

    /// The key in a variable.
    pub(crate) fn variable_key(&mut self, name: &str, claim: &Claim) -> Option<Key> {
        let text = self.variable(name)?;
        let what = format!("variable `{name}`");
        self.text_key(text, &what, Source::Variable(name.to_owned()), claim)
    }

    /// A key written down somewhere, with `${NAME}` replaced.
    pub(crate) fn text_key(
        &mut self,
        text: &str,
        what: &str,
        source: Source,
        claim: &Claim,
    ) -> Option<Key> {
        let expanded = match self.expand(text) {
            Ok(expanded) => expanded,
            Err(name) => {
                let why = format!("it refers to the variable `{name}`, which is not set");
                self.notice(format!("key:{what}"), format!("{what} is not used: {why}"));
                self.trace(what, Verdict::Refused, why);
                return None;
            }
        };
        if let Some(command) = SecretCommand::of_reference(&expanded) {
            return self.printed_key(command, what, claim);
        }
        match usable(&expanded) {
            Ok(good) => {
                if good.cleaned {
                    let text = format!("{what} held characters that no key has; they were removed");
                    self.notice(format!("cleaned:{what}"), text);
                }
                let mark = fingerprint(&good.secret);
                self.trace(what, Verdict::Taken, format!("{mark}, may go to {}", claim.scope));
                Some(claim.key(good.secret, source))
            }
            Err(why) => {
                self.trace(what, Verdict::Refused, why.to_string());
                None
            }
        }
    }

    /// The key that a command prints; where its output is not at hand, it is asked for.
    pub(crate) fn printed_key(
        &mut self,
        command: SecretCommand,
        what: &str,
        claim: &Claim,
    ) -> Option<Key> {
        let name = command.name();
        let Some(printed) = self.vault.printed.get(&command) else {
            self.trace(what, Verdict::Passed, format!("`{name}` has to print it first"));
            self.wants.push(command);
            return None;
        };
        let mark = fingerprint(&printed.secret);
        let why = format!("{mark}, printed by `{name}`, may go to {}", claim.scope);
        self.trace(what, Verdict::Taken, why);
        Some(claim.key(printed.secret.clone(), Source::Command(name)))
    }

    /// The next entry of a pool.
    pub(crate) fn pool_key(&mut self, name: &str, claim: &Claim) -> Option<Key> {
        let entries = self.vault.store.pool(name);
        if entries.is_empty() {
            return None;
        }
        let strategy = Strategy::of(name, self.settings);
        let what = format!("pool `{name}`");
        let Some(entry) = pool::select(&entries, strategy, self.vault.now_ms, self.vault.draw)
        else {
            let why = format!("none of its {} entries may be used now", entries.len());
            self.trace(what, Verdict::Refused, why);
            return None;
        };
        let secret = entry.secret.clone()?;
        self.trace(what, Verdict::Taken, format!("entry `{}` from {}", entry.id, entry.source));
        let mut key = claim.key(secret, Source::Pool(entry.source.clone()));
        key.pool = Some(PoolRef { pool: name.to_owned(), entry: entry.id.clone() });
        key.expiry = entry.expiry();
        // A login's endpoint was named by a server, so it must be one of the provider's own.
        let own = entry.own_endpoint();
        if let Some(url) = own.filter(|url| !entry.oauth || claim.scope.permits(url.url())) {
            key.scope = url.origin().map_or_else(Scope::default, Scope::exactly);
            self.trace(format!("endpoint {url}"), Verdict::Taken, "kept with this entry");
            key.endpoint = Some(Box::new(url));
        }
        Some(key)
    }

    /// The key whose own host a custom endpoint is.
    pub(crate) fn host_key(&mut self, url: &Url) -> Option<Key> {
        let owner = self.table.owner_of(url)?;
        // Tokens of a login are not keys: Copilot's must be exchanged, Anthropic's need care.
        let names =
            owner.key_env.iter().filter(|name| name.ends_with("_API_KEY") || *name == "HF_TOKEN");
        let claim = Claim::new(&owner.id, owner.scope());
        names.into_iter().find_map(|name| self.scoped_key(name, &claim, url))
    }

    /// The key in a variable, if it may go to the address.
    pub(crate) fn scoped_key(&mut self, name: &str, claim: &Claim, url: &Url) -> Option<Key> {
        self.variable(name)?;
        if claim.scope.permits(url) {
            return self.variable_key(name, claim);
        }
        let why = format!("it may go only to {}, over https", claim.scope);
        self.trace(format!("variable `{name}`"), Verdict::Refused, why);
        None
    }

    /// `OPENAI_API_KEY` for an endpoint that the user chose, unless the strict setting is on.
    pub(crate) fn openai_key(&mut self, url: &BaseUrl) -> Option<Key> {
        const NAME: &str = "OPENAI_API_KEY";
        self.variable(NAME)?;
        if let Err(why) = self.openai_key_may_go(url) {
            self.trace(format!("variable `{NAME}`"), Verdict::Refused, why);
            return None;
        }
        let key = self.variable_key(NAME, &Claim::exactly("openai-api", url))?;
        self.notice_openai_key(url);
        Some(key)
    }

    /// Whether `OPENAI_API_KEY` may serve an endpoint that the user chose.
    pub(crate) fn openai_key_may_go(&self, url: &BaseUrl) -> Result<(), String> {
        if self.is_strict() {
            return Err("`security.strict_key_scope` keeps it at its own host".to_owned());
        }
        if let Some(owner) = self.table.owner_of(url.url()) {
            return Err(format!("the host belongs to `{}`", owner.id));
        }
        let safe = url.origin().is_some_and(|origin| origin.is_encrypted() || origin.is_loopback());
        if safe { Ok(()) } else { Err("keys from variables travel only over https".to_owned()) }
    }

    /// Says once that the key goes to a host of the user's own.
    pub(crate) fn notice_openai_key(&mut self, url: &BaseUrl) {
        let host = url.origin().map_or_else(String::new, |origin: Origin| origin.to_string());
        let text = format!(
            "`OPENAI_API_KEY` is sent to {host}, the endpoint you chose; \
             `security.strict_key_scope: true` stops that"
        );
        self.notice(format!("openai_key:{host}"), text);
    }
}

/// The error for a provider without a key.
pub(crate) fn missing_key(id: &str, names: &[String]) -> ResolveError {
    let message = format!("no usable API key for `{id}`");
    let error = ResolveError::new("missing_api_key", id, message);
    match names {
        [] => error.hint(format!("run `petasos auth login {id}`")),
        names => error.hint(format!("set `{}` in .env", names.join("` or `"))),
    }
}
