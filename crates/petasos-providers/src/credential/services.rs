//! Logins for tools: of services that are no model providers, which are kept in the same store,
//! renewed under the same lock and never become the active provider; and of providers whose login
//! or key serves a tool, too.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::ports::Logins;
use petasos_contract::{BoxFuture, Secret, Settings};
use petasos_net::{Allowed, Net, NetOptions, Origin, Scope, checked_url};

use crate::credential::login::Login;
use crate::credential::oauth::{LoginError, NoEntropy, Page, Pkce};
use crate::credential::refresh::{Why, refresh};
use crate::credential::spec::{Holder, Renewal, Style, skew_ms};
use crate::credential::store::{AuthFile, StoreError, update};
use crate::credential::{Vault, now_ms};

/// A service that people sign in to.
#[derive(Debug)]
pub struct ServiceDef {
    /// Its name.
    pub id: &'static str,
    /// What people call it.
    pub name: &'static str,
    /// What is asked for, and why.
    pub scopes: &'static [(&'static str, &'static str)],
    /// Where the browser is sent back to.
    pub redirect: &'static str,
    /// Variables with the id of the person's own app, the first that is set counts.
    pub client_env: &'static [&'static str],
    accounts: &'static str,
}

/// Every service.
pub static SERVICES: &[ServiceDef] = &[ServiceDef {
    id: "spotify",
    name: "Spotify",
    scopes: &[
        ("user-read-playback-state", "see what plays and where"),
        ("user-modify-playback-state", "play, pause, skip and change the volume"),
        ("user-read-currently-playing", "see the current track"),
        ("user-read-recently-played", "see what was played lately"),
        ("playlist-read-private", "see your private playlists"),
        ("playlist-read-collaborative", "see playlists that you share"),
        ("playlist-modify-private", "change your private playlists"),
        ("playlist-modify-public", "change your public playlists"),
        ("user-library-read", "see what you saved"),
        ("user-library-modify", "save and remove tracks and albums"),
    ],
    redirect: "http://127.0.0.1:43827/spotify/callback",
    client_env: &["HERMES_SPOTIFY_CLIENT_ID", "SPOTIFY_CLIENT_ID"],
    accounts: "https://accounts.spotify.com",
}];

/// The service of a name.
pub fn find(id: &str) -> Option<&'static ServiceDef> {
    SERVICES.iter().find(|service| service.id == id)
}

impl ServiceDef {
    /// The id of the person's app.
    pub fn client(&self, settings: &Settings) -> Option<String> {
        let set = self.client_env.iter().filter_map(|name| settings.variable(name));
        let mut given = set.map(|variable| variable.value.expose().trim().to_owned());
        given.find(|client| !client.is_empty())
    }

    /// Where people sign in; another place where the settings name one.
    fn accounts(&self, settings: &Settings) -> String {
        let other = settings.text(&format!("services.endpoints.{}_accounts", self.id));
        other.unwrap_or(self.accounts).trim_end_matches('/').to_owned()
    }

    fn hosts(&self, settings: &Settings) -> Scope {
        let url = checked_url(&self.accounts(settings)).ok();
        url.as_ref()
            .and_then(Origin::of)
            .map(|origin| Scope::new([Allowed::Exact(origin)]))
            .unwrap_or_default()
    }

    /// Begins to sign in; nothing when there is no app.
    pub fn begin(&self, settings: &Settings) -> Option<Result<Pkce, NoEntropy>> {
        let client = self.client(settings)?;
        let accounts = self.accounts(settings);
        let scopes: Vec<&str> = self.scopes.iter().map(|(scope, _)| *scope).collect();
        let page = Page {
            authorize_url: format!("{accounts}/authorize"),
            token_url: format!("{accounts}/api/token"),
            client_id: client,
            redirect: self.redirect,
            scope: scopes.join(" "),
        };
        Some(Pkce::by_address(&page, self.hosts(settings)))
    }

    fn renewal(&self, settings: &Settings) -> Option<Renewal> {
        let vault = Vault::of(settings);
        Some(Renewal {
            provider: self.id.to_owned(),
            holder: Holder::Store {
                home: vault.holder_of(self.id).to_owned(),
                provider: self.id.to_owned(),
            },
            token_urls: vec![format!("{}/api/token", self.accounts(settings))],
            client_id: self.client(settings)?,
            style: Style::Form,
            scope: self.hosts(settings),
            timeout: Duration::from_secs(20),
        })
    }
}

impl Vault {
    /// Keeps the login of a service that has just worked.
    pub async fn sign_in(&self, service: &str, login: &Login) -> Result<(), StoreError> {
        update(self.home(), |file| {
            let generation = file.login(service).map_or(0, |before| before.generation + 1);
            file.set_login(service, &Login { generation, ..login.clone() });
        })
        .await
    }
}

/// The logins of services, for tools.
#[derive(Debug, Default)]
pub struct ServiceLogins;

impl ServiceLogins {
    async fn token(
        service: &str,
        settings: &Settings,
        refused: Option<&Secret>,
    ) -> Result<Secret, String> {
        let missing = || format!("nobody is signed in: run `petasos auth login {service}`");
        let vault = Vault::of(settings);
        let renewal = match find(service) {
            Some(known) => known.renewal(settings),
            None => Renewal::stored(service, &vault),
        };
        let Some(renewal) = renewal else {
            return key(service, &vault, settings, refused).await.ok_or_else(missing);
        };
        let current = renewal.holder.read().map_err(|error| error.to_string())?;
        let current = current.ok_or_else(missing)?;
        let due = current.is_due(now_ms(), skew_ms(service, current.life_ms()));
        if let Some(access) = current.access.as_ref()
            && refused.is_none()
            && !due
        {
            return Ok(access.clone());
        }
        let net = settings.derived(|settings| Net::new(NetOptions::from_settings(settings)));
        let why = if refused.is_some() { Why::Refused } else { Why::Expiring };
        let seen = refused.or(current.access.as_ref());
        let renewed =
            refresh(&renewal, seen, why, &net).await.map_err(|error| error.to_string())?;
        renewed.access.ok_or_else(missing)
    }
}

/// A key that is kept for a provider; one that was refused is not given out again.
async fn key(
    provider: &str,
    vault: &Vault,
    settings: &Settings,
    refused: Option<&Secret>,
) -> Option<Secret> {
    let view = vault.view_soon(settings).await;
    let mut entries = view.store.pool(provider);
    entries.sort_by_key(|entry| entry.priority);
    let usable = entries.into_iter().filter(|entry| entry.is_available(now_ms()));
    usable.filter_map(|entry| entry.secret).find(|secret| Some(secret) != refused)
}

/// Whether a login or a key of a provider is kept, wherever its secret is.
fn is_kept(provider: &str, vault: &Vault) -> bool {
    let read = |home: &std::path::Path| AuthFile::read(home).unwrap_or_default();
    let login = read(vault.holder_of(provider)).login(provider);
    login.is_some_and(|login| login.dead.is_none())
        || read(vault.pool_holder(provider))
            .pool(provider)
            .iter()
            .any(|entry| entry.is_rested(now_ms()))
}

impl Logins for ServiceLogins {
    fn is_signed_in(&self, service: &str, settings: &Settings) -> bool {
        let vault = Vault::of(settings);
        let Some(known) = find(service) else { return is_kept(service, &vault) };
        let login = AuthFile::read(vault.holder_of(service)).ok().and_then(|it| it.login(service));
        known.client(settings).is_some() && login.is_some_and(|login| login.dead.is_none())
    }

    fn access<'a>(
        &'a self,
        service: &'a str,
        settings: &'a Settings,
        refused: Option<&'a Secret>,
    ) -> BoxFuture<'a, Result<Secret, String>> {
        Box::pin(Self::token(service, settings, refused))
    }
}

/// For programs that link this crate.
pub fn logins() -> Arc<dyn Logins> {
    Arc::new(ServiceLogins)
}

impl Pkce {
    /// Exchanges the address that the browser was sent back to.
    pub async fn arrived(&self, address: &str, net: &Net) -> Result<Login, LoginError> {
        let url = petasos_net::Url::parse(address.trim()).map_err(|_| LoginError::WrongState)?;
        let value = |name: &str| {
            url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        if value("error").is_some() {
            return Err(LoginError::Denied);
        }
        match (value("code"), value("state")) {
            (Some(code), Some(state)) => self.exchange(&code, &state, net).await,
            _ => Err(LoginError::WrongState),
        }
    }
}
