//! Spotify: the catalogue, the player, and the library of whoever is signed in.

mod ids;
mod told;

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::ports::Logins;
use petasos_contract::{CallContext, Settings};
use petasos_net::{Method, Scheme};
use serde_json::{Value, json};

pub use self::ids::{Kind, Named};
use crate::fault::VendorError;
use crate::service::{Answer, Sent, Service};

/// What is said when nobody is signed in.
pub const NEEDS: &str = "needs a Spotify sign-in: petasos auth login spotify";

/// The name under which the sign-in is kept.
pub const LOGIN: &str = "spotify";

const BASE: &str = "https://api.spotify.com/v1";

/// One request to Spotify, and what it means when it says nothing.
#[derive(Debug, Clone)]
pub struct Deed {
    method: Method,
    path: String,
    body: Option<Value>,
    /// What is told when it worked and nothing came back.
    done: &'static str,
    /// Whether it is about the player.
    player: bool,
}

impl Deed {
    /// A question.
    pub fn get(path: String) -> Self {
        Self { method: Method::GET, path, body: None, done: "there is nothing", player: false }
    }

    /// A change, with what is said when it worked.
    pub fn change(method: Method, path: String, done: &'static str) -> Self {
        Self { method, path, body: None, done, player: false }
    }

    /// The same with a body.
    #[must_use]
    pub fn with(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// The same, about the player.
    #[must_use]
    pub fn of_player(mut self) -> Self {
        self.player = true;
        self
    }
}

/// The account of whoever is signed in.
pub struct Account {
    service: Service,
    logins: Arc<dyn Logins>,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account").field("service", &self.service).finish_non_exhaustive()
    }
}

/// The host that is asked.
pub fn host(settings: &Settings) -> Option<String> {
    service(settings).ok().map(|service| service.host().to_owned())
}

fn service(settings: &Settings) -> Result<Service, VendorError> {
    let base = settings.text("services.endpoints.spotify").unwrap_or(BASE);
    let mut service = Service::new("Spotify", base, settings)?;
    service.within = Duration::from_secs(30);
    service.bytes_max = 4 << 20;
    Ok(service)
}

impl Account {
    /// The account of a snapshot.
    pub fn open(
        logins: Option<&Arc<dyn Logins>>,
        settings: &Settings,
    ) -> Result<Self, VendorError> {
        let signed = logins.filter(|logins| logins.is_signed_in(LOGIN, settings));
        let Some(logins) = signed else {
            return Err(VendorError::new("missing_setup", NEEDS));
        };
        Ok(Self { service: service(settings)?, logins: Arc::clone(logins) })
    }

    /// Carries out a request; a token that is refused is renewed once.
    pub async fn run(&self, deed: &Deed, cx: &CallContext) -> Result<Value, VendorError> {
        let signed_out = |why: String| VendorError::new("auth", why);
        let mut token = self.logins.access(LOGIN, &cx.settings, None).await.map_err(signed_out)?;
        let mut answer = self.ask(deed, &token).await?;
        if answer.status == 401 {
            let refused = Some(&token);
            let fresh = self.logins.access(LOGIN, &cx.settings, refused).await;
            token = fresh.map_err(signed_out)?;
            answer = self.ask(deed, &token).await?;
        }
        match answer.status {
            204 => Ok(json!({ "message": deed.done })),
            200..=299 => Ok(self.service.parsed(&answer).unwrap_or(Value::Null)),
            404 if deed.player => {
                let devices = self.devices(&token).await;
                Err(self.refused(deed, &answer).with("candidates", devices))
            }
            _ => Err(self.refused(deed, &answer)),
        }
    }

    /// The devices that could play, as far as they can be told.
    async fn devices(&self, token: &petasos_contract::Secret) -> Vec<Value> {
        let asked = self.ask(&Deed::get("/me/player/devices".to_owned()), token).await;
        let listed = asked.ok().and_then(|answer| self.service.parsed(&answer).ok());
        let all = listed.and_then(|it| it.get("devices").and_then(Value::as_array).cloned());
        let all = all.unwrap_or_default();
        all.iter().map(|it| json!({ "id": it.get("id"), "name": it.get("name") })).collect()
    }

    async fn ask(
        &self,
        deed: &Deed,
        token: &petasos_contract::Secret,
    ) -> Result<Answer, VendorError> {
        let service = self.service.clone().with_key(token.clone(), Scheme::Bearer);
        let sent = deed.body.as_ref().map_or_else(
            // Some changes have nothing to say and still must say how long that is.
            || match deed.method {
                Method::PUT | Method::POST => {
                    Sent { headers: vec![("content-length", "0".to_owned())], ..Sent::default() }
                }
                _ => Sent::default(),
            },
            Sent::json,
        );
        service.ask(deed.method.clone(), &deed.path, sent).await
    }

    fn refused(&self, deed: &Deed, answer: &Answer) -> VendorError {
        let error = self.service.failure(answer);
        match answer.status {
            401 => {
                VendorError { message: format!("Spotify refuses the sign-in; {NEEDS}"), ..error }
            }
            403 if deed.player => VendorError {
                kind: "denied",
                message:
                    "Spotify does not do this here: playing from outside needs Premium and an \
                    active device (403)"
                        .to_owned(),
                ..error
            },
            404 if deed.player => VendorError {
                message: "no device plays: open Spotify somewhere, list the devices and transfer \
                    to one (404)"
                    .to_owned(),
                ..error
            },
            _ => error,
        }
    }
}

/// An answer cut to the fields that matter.
pub fn told(value: &Value) -> Value {
    told::cut_to_fields(value)
}
