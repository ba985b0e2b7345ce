//! Tokens and keys that a cloud mints from what this machine holds: Google's for Vertex, Microsoft's
//! for Azure, Amazon's for Bedrock. They live for an hour, belong to no login, and stay in memory.
//!
//! The resolver stays pure: it refuses with a code, a token is minted here, and it is asked again
//! with that token in its picture of the vault.

pub mod amazon;
mod google;
mod microsoft;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use petasos_contract::{Secret, Settings};
use petasos_net::{Follow, Method, Net, Request, checked_url};
use serde_json::Value;

use crate::credential::VaultView;
use crate::credential::borrowed::Unreadable;
use crate::credential::login::Login;
use crate::credential::now_ms;
use crate::credential::refresh::{RefreshError, judge};
use amazon::{Fetched, Places};

/// The resolver's word for a Vertex choice without a token.
pub(crate) const VERTEX: &str = "vertex_auth_missing";
/// The resolver's word for an Azure choice without an Entra token.
pub(crate) const ENTRA: &str = "entra_auth_missing";
/// The resolver's word for a Bedrock choice whose keys have to be fetched.
pub(crate) const AMAZON: &str = "aws_auth_missing";
/// Under which name the picture of the vault holds an Entra token.
pub(crate) const ENTRA_LOGIN: &str = "entra";

const TIMEOUT: Duration = Duration::from_secs(20);
const BYTES_MAX: usize = 1 << 20;
/// How long before its end a token is replaced.
const SKEW_MS: u64 = 120_000;

/// Mints tokens and keeps them while they live.
#[derive(Debug)]
pub struct Mints {
    google: String,
    microsoft: String,
    amazon: Places,
    held: Mutex<BTreeMap<String, Login>>,
    keys: Mutex<Option<(amazon::Source, Fetched)>>,
}

impl Default for Mints {
    fn default() -> Self {
        Self::at("https://oauth2.googleapis.com/token", "https://login.microsoftonline.com")
    }
}

/// Why no token was minted.
#[derive(Debug, thiserror::Error)]
pub enum MintError {
    /// There is nothing to mint from.
    #[error("{0}")]
    Missing(String),
    /// A file cannot be used.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The cloud refused, or could not be asked.
    #[error(transparent)]
    Refused(#[from] RefreshError),
}

/// One question to a token endpoint.
#[derive(Debug)]
struct Ask {
    provider: &'static str,
    url: String,
    form: Vec<(&'static str, Secret)>,
    /// Tells one account from another.
    account: String,
}

impl Ask {
    fn body(&self) -> String {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in &self.form {
            form.append_pair(name, value.expose());
        }
        form.finish()
    }
}

impl Mints {
    /// Asks these places: Google's token endpoint, and the folder of Microsoft's tenants.
    pub fn at(google: &str, microsoft: &str) -> Self {
        let (google, microsoft) = (google.to_owned(), microsoft.to_owned());
        let amazon = Places::default();
        Self { google, microsoft, amazon, held: Mutex::default(), keys: Mutex::default() }
    }

    /// The same, with Amazon's services elsewhere.
    #[must_use]
    pub fn with_amazon(mut self, places: Places) -> Self {
        self.amazon = places;
        self
    }

    /// Whether a refusal with this code is one that a minted token can lift.
    pub(crate) fn lifts(code: &str) -> bool {
        matches!(code, VERTEX | ENTRA | AMAZON)
    }

    /// What a refusal is called once nothing could be minted.
    pub(crate) fn without(code: &'static str) -> &'static str {
        if code == AMAZON { "missing_api_key" } else { code }
    }

    /// Puts the token that this refusal asks for into the picture.
    pub(crate) async fn fill(
        &self,
        code: &str,
        view: &mut VaultView,
        settings: &Settings,
        net: &Net,
    ) -> Result<(), MintError> {
        let (name, ask) = match code {
            AMAZON => {
                view.aws_fetched = Some(self.amazon_keys(settings, net).await?);
                return Ok(());
            }
            VERTEX => ("vertex", google::ask(&self.google, settings)?),
            _ => (ENTRA_LOGIN, microsoft::ask(&self.microsoft, settings)?),
        };
        let login = match self.held(&ask.account) {
            Some(login) => login,
            None => self.mint(&ask, net).await?,
        };
        view.store.set_login(name, &login);
        Ok(())
    }

    async fn amazon_keys(&self, settings: &Settings, net: &Net) -> Result<Fetched, MintError> {
        let source = amazon::Source::of(settings, &self.amazon).ok_or_else(|| {
            MintError::Missing("`AWS_EC2_METADATA_DISABLED` is set and nothing else is".to_owned())
        })?;
        let lives = |keys: &Fetched| keys.expires_at_ms.is_some_and(|at| now_ms() + SKEW_MS < at);
        let held = self.keys.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((of, keys)) = held.filter(|(of, keys)| *of == source && lives(keys)) {
            tracing::debug!(?of, "keys that were fetched before still live");
            return Ok(keys);
        }
        let fetched = source.fetch(&self.amazon, settings, net).await?;
        let keep = Some((source, fetched.clone()));
        *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = keep;
        Ok(fetched)
    }

    fn held(&self, account: &str) -> Option<Login> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.get(account).filter(|login| !login.is_due(now_ms(), SKEW_MS)).cloned()
    }

    async fn mint(&self, ask: &Ask, net: &Net) -> Result<Login, RefreshError> {
        let login = token(&post(ask, net).await?).ok_or_else(|| RefreshError::Passing {
            provider: ask.provider.to_owned(),
            reason: "its answer holds no access token".to_owned(),
        })?;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.insert(ask.account.clone(), login.clone());
        Ok(login)
    }
}

async fn post(ask: &Ask, net: &Net) -> Result<Value, RefreshError> {
    let passing =
        |reason: String| RefreshError::Passing { provider: ask.provider.to_owned(), reason };
    let url = checked_url(&ask.url).map_err(|error| passing(error.to_string()))?;
    let mut request = Request::new(Method::POST, url).first_byte(TIMEOUT);
    request.follow = Follow::Nowhere;
    let request = request
        .header("content-type", "application/x-www-form-urlencoded")
        .and_then(|request| request.header("accept", "application/json"))
        .map_err(|error| passing(error.to_string()))?;
    let reply = net.send(request.body(ask.body())).await;
    let reply = reply.map_err(|error| passing(error.to_string()))?;
    let status = reply.status;
    let body = reply.bytes(BYTES_MAX, TIMEOUT).await.map_err(|error| passing(error.to_string()))?;
    judge(ask.provider, status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

fn token(reply: &Value) -> Option<Login> {
    let access = reply.get("access_token")?.as_str()?;
    // An answer without a lifetime is believed for a few minutes only.
    let seconds = reply.get("expires_in").and_then(Value::as_u64).unwrap_or(300);
    Some(Login {
        access: Some(Secret::new(access)),
        expires_at_ms: Some(now_ms().saturating_add(seconds.saturating_mul(1000))),
        ..Login::default()
    })
}

/// A secret that a file holds alone.
fn from_file(path: &Path) -> Result<Secret, Unreadable> {
    let unreadable =
        |error: std::io::Error| Unreadable { path: path.to_owned(), problem: error.to_string() };
    std::fs::read_to_string(path).map(|text| Secret::new(text.trim())).map_err(unreadable)
}

/// A variable that is set to something.
fn variable(settings: &Settings, name: &str) -> Option<String> {
    let variable = settings.variable(name)?;
    let text = variable.value.expose().trim();
    (!text.is_empty()).then(|| text.to_owned())
}
