//! What is particular about each login: where it is renewed, who keeps it, when, and how its
//! absence is called. Data for [`crate::credential::refresh`] and [`crate::credential::oauth`].

use std::path::PathBuf;
use std::time::Duration;

use petasos_contract::Settings;
use petasos_net::{Allowed, Scope};

use crate::credential::store::AuthFile;
use crate::credential::{Vault, now_ms};
use crate::runtime::{PoolRef, ProviderRuntime, Source};

const MINUTE_MS: u64 = 60_000;
/// How long one attempt to renew may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// How long before its end a token is renewed; `life_ms` is the span it was issued for, when known.
pub fn skew_ms(provider: &str, life_ms: Option<u64>) -> u64 {
    match provider {
        // Long-lived tokens are renewed an hour early. One that lives no longer than that would be
        // renewed with every request.
        "xai-oauth" if life_ms.is_some_and(|life| life > 120 * MINUTE_MS) => 60 * MINUTE_MS,
        "minimax-oauth" | "anthropic" | "google-gemini-cli" => MINUTE_MS,
        _ => 2 * MINUTE_MS,
    }
}

/// The code of the error that says that nobody is logged in.
pub fn missing_code(provider: &str) -> &'static str {
    match provider {
        "openai-codex" => "codex_auth_missing",
        "qwen-oauth" => "qwen_auth_missing",
        "nous" => "nous_auth_missing",
        "xai-oauth" => "xai_auth_missing",
        "minimax-oauth" => "minimax_auth_missing",
        _ => "auth_missing",
    }
}

/// Who keeps the tokens of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// Our own store, under this provider.
    Store {
        /// The agent home.
        home: PathBuf,
        /// The provider.
        provider: String,
    },
    /// An entry of a pool in our own store.
    Pool {
        /// The agent home.
        home: PathBuf,
        /// The pool and the entry.
        place: PoolRef,
    },
    /// Claude Code's file.
    ClaudeCode {
        /// The file.
        path: PathBuf,
    },
    /// The Qwen program's file.
    Qwen {
        /// The file.
        path: PathBuf,
    },
}

/// How a refresh token travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// In a form, as the standard says.
    Form,
    /// In a header of its own.
    Header(&'static str),
}

/// How a login is renewed.
#[derive(Debug, Clone, PartialEq)]
pub struct Renewal {
    /// The provider.
    pub provider: String,
    /// Who keeps the tokens.
    pub holder: Holder,
    /// Where to renew; the next is asked when the one before it fails for its own reasons. Empty
    /// when the provider publishes the place.
    pub token_urls: Vec<String>,
    /// Who we say we are.
    pub client_id: String,
    /// How the refresh token travels.
    pub style: Style,
    /// Where it may go.
    pub scope: Scope,
    /// How long one attempt may take.
    pub timeout: Duration,
}

/// Constant facts of a login.
struct Facts {
    token_urls: &'static [&'static str],
    client_id: &'static str,
    style: Style,
    hosts: &'static [&'static str],
}

fn facts(provider: &str) -> Option<Facts> {
    let form =
        |token_urls, client_id, hosts| Facts { token_urls, client_id, style: Style::Form, hosts };
    Some(match provider {
        "anthropic" => form(
            &[
                "https://platform.claude.com/v1/oauth/token",
                "https://console.anthropic.com/v1/oauth/token",
            ],
            super::oauth::ANTHROPIC_CLIENT,
            &["platform.claude.com", "console.anthropic.com"],
        ),
        "openai-codex" => form(
            &["https://auth.openai.com/oauth/token"],
            super::oauth::CODEX_CLIENT,
            &["auth.openai.com"],
        ),
        "qwen-oauth" => form(
            &["https://chat.qwen.ai/api/v1/oauth2/token"],
            "f0304373b74a44d2b584a3fb70ca9e56",
            &["chat.qwen.ai"],
        ),
        "xai-oauth" => form(&[], super::oauth::XAI_CLIENT, &["*.x.ai"]),
        "minimax-oauth" => form(
            &["https://api.minimax.io/oauth/token"],
            super::oauth::MINIMAX_CLIENT,
            &["api.minimax.io"],
        ),
        "nous" => Facts {
            token_urls: &["https://portal.nousresearch.com/api/oauth/token"],
            client_id: super::oauth::NOUS_CLIENT,
            style: Style::Header("x-nous-refresh-token"),
            hosts: &["portal.nousresearch.com"],
        },
        _ => return None,
    })
}

impl Renewal {
    /// How a login that our own store keeps is renewed, for whoever has no runtime; nothing where
    /// nobody is logged in. A login that was added beside others is an entry of a pool.
    pub(crate) fn stored(provider: &str, vault: &Vault) -> Option<Self> {
        let facts = facts(provider)?;
        let home = vault.holder_of(provider).to_owned();
        let holder = if AuthFile::read(&home).ok()?.login(provider).is_some() {
            Holder::Store { home, provider: provider.to_owned() }
        } else {
            let home = vault.pool_holder(provider).to_owned();
            let entries = AuthFile::read(&home).ok()?.pool(provider);
            let entry =
                entries.into_iter().find(|entry| entry.oauth && entry.is_available(now_ms()))?;
            let place = PoolRef { pool: provider.to_owned(), entry: entry.id };
            Holder::Pool { home, place }
        };
        Some(facts.renewal(provider, holder, TIMEOUT))
    }

    /// How the login behind a runtime is renewed; nothing for plain keys and for logins that only
    /// their owner may renew.
    pub fn of(runtime: &ProviderRuntime, vault: &Vault, settings: &Settings) -> Option<Self> {
        let provider = runtime.provider.as_str();
        let holder = match (&runtime.source, &runtime.pool) {
            (_, Some(used)) => {
                let home = vault.pool_holder(&used.pool).to_owned();
                Holder::Pool { home, place: used.clone() }
            }
            (Source::AuthStore, _) => {
                let home = vault.holder_of(provider).to_owned();
                Holder::Store { home, provider: provider.to_owned() }
            }
            (Source::ClaudeCode, _) => Holder::ClaudeCode { path: vault.claude_code().to_owned() },
            (Source::QwenCli, _) => Holder::Qwen { path: vault.qwen_cli().to_owned() },
            (_, None) => return None,
        };
        let seconds = settings.role("CODEX_REFRESH_TIMEOUT_SECONDS");
        let seconds = seconds.and_then(|variable| variable.value.expose().trim().parse().ok());
        let timeout = seconds.map_or(TIMEOUT, Duration::from_secs);
        Some(facts(provider)?.renewal(provider, holder, timeout))
    }
}

impl Facts {
    fn renewal(&self, provider: &str, holder: Holder, timeout: Duration) -> Renewal {
        Renewal {
            provider: provider.to_owned(),
            holder,
            token_urls: self.token_urls.iter().map(|url| (*url).to_owned()).collect(),
            client_id: self.client_id.to_owned(),
            style: self.style,
            scope: Scope::new(self.hosts.iter().map(|host| Allowed::from_pattern(host))),
            timeout,
        }
    }
}
