//! The listeners of a program: the HTTP interface and webhooks, for `serve` and for the gateway.

pub(crate) mod condition;
pub(crate) mod jobs;
mod profiles;
pub(crate) mod skills;
pub(crate) mod subscriptions;

use std::net::IpAddr;
use std::sync::Arc;

use petasos_api::{
    ApiOptions, ApiParts, ApiServer, Outgoing, WebhookOptions, WebhookParts, WebhookServer,
};
use petasos_config::{Inputs, home};
use petasos_contract::wait::Owned;
use petasos_session::Sessions;
use tokio_util::sync::CancellationToken;

use self::profiles::Beside;
use crate::chats::ChatProgram;
use crate::host::Host;
use crate::out::Out;

/// What listeners are opened over.
pub(crate) struct Over<'a> {
    pub(crate) host: &'a Arc<Host>,
    pub(crate) inputs: &'a Inputs,
    pub(crate) sessions: &'a Arc<Sessions>,
    pub(crate) program: &'a Arc<ChatProgram>,
    /// Routes of webhooks without a secret are taken, on this machine alone.
    pub(crate) insecure: bool,
    /// Where people are told what is missing.
    pub(crate) out: Out,
}

/// Listeners that have their addresses.
#[derive(Debug)]
pub(crate) struct Doors {
    api: Option<ApiServer>,
    webhooks: Option<WebhookServer>,
    outgoing: Arc<Outgoing>,
    /// Other profiles that are served too.
    beside: Vec<Beside>,
}

impl Over<'_> {
    /// Takes the addresses; says which setting cannot be used.
    pub(crate) async fn doors(
        &self,
        api: bool,
        listen: (Option<IpAddr>, Option<u16>),
    ) -> Result<Doors, String> {
        let outgoing = self.host.everywhere().outgoing()?;
        let said = |error: petasos_api::StartError| error.to_string();
        let mut api = if api {
            let parts = self.api(listen, Arc::clone(&outgoing))?;
            Some(ApiServer::bind(parts).await.map_err(said)?)
        } else {
            None
        };
        let options = WebhookOptions::read(self.host.settings(), self.insecure);
        let mut webhooks = match options.map_err(|error| error.to_string())? {
            Some(options) => {
                let parts = self.webhooks(options, Arc::clone(&outgoing))?;
                Some(WebhookServer::bind(parts).await.map_err(said)?)
            }
            None => None,
        };
        let beside = self.beside(api.as_mut(), webhooks.as_mut()).await?;
        Ok(Doors { api, webhooks, outgoing, beside })
    }

    fn api(
        &self,
        listen: (Option<IpAddr>, Option<u16>),
        outgoing: Arc<Outgoing>,
    ) -> Result<ApiParts, String> {
        let profile = home::places(self.inputs).map_err(|error| error.to_string())?.profile;
        let options = ApiOptions::read(self.host.settings(), profile.as_deref(), listen);
        let store = self.host.store().map_err(|report| report.to_string())?;
        Ok(ApiParts {
            options: options.map_err(|error| error.to_string())?,
            store: Arc::clone(&store) as _,
            conversations: store,
            sessions: Arc::clone(self.sessions),
            host: Arc::clone(self.program) as _,
            outgoing: Some(outgoing),
            version: env!("CARGO_PKG_VERSION"),
        })
    }

    fn webhooks(
        &self,
        options: WebhookOptions,
        outgoing: Arc<Outgoing>,
    ) -> Result<WebhookParts, String> {
        let store = self.host.store().map_err(|report| report.to_string())?;
        Ok(WebhookParts {
            options,
            store: Arc::clone(&store) as _,
            conversations: Arc::clone(&store) as _,
            outbox: store,
            sessions: Arc::clone(self.sessions),
            host: Arc::clone(self.program) as _,
            outgoing: Some(outgoing),
            silence: petasos_api::silence(self.host.settings()),
        })
    }
}

impl Doors {
    /// Where they are.
    pub(crate) fn urls(&self) -> Vec<String> {
        let api = self.api.as_ref().map(|api| format!("http://{}/v1", api.address()));
        let webhooks = self.webhooks.as_ref();
        let webhooks = webhooks.map(|it| format!("http://{}/webhooks", it.address()));
        api.into_iter().chain(webhooks).collect()
    }

    /// Serves until the end is asked for.
    pub(crate) fn open(self, stop: &CancellationToken) -> Vec<Owned<()>> {
        let api = self.api.map(|api| Owned::start(api.run(stop.clone())));
        let webhooks = self.webhooks.map(|it| Owned::start(it.run(stop.clone())));
        let beside = self.beside.into_iter().map(|it| it.open(stop));
        let told = Owned::start(told(self.outgoing, stop.clone()));
        api.into_iter().chain(webhooks).chain([told]).chain(beside).collect()
    }
}

/// Tells other programs until the end is asked for.
async fn told(outgoing: Arc<Outgoing>, stop: CancellationToken) {
    tokio::select! {
        () = outgoing.work() => {}
        () = stop.cancelled() => {}
    }
}
