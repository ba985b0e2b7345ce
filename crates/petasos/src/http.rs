//! The listeners of a program: the HTTP interface and webhooks, for `serve` and for the gateway.

pub(crate) mod condition;
pub(crate) mod jobs;
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

use crate::chats::ChatProgram;
use crate::host::Host;

/// What listeners are opened over.
pub(crate) struct Over<'a> {
    pub(crate) host: &'a Arc<Host>,
    pub(crate) inputs: &'a Inputs,
    pub(crate) sessions: &'a Arc<Sessions>,
    pub(crate) program: &'a Arc<ChatProgram>,
    /// Routes of webhooks without a secret are taken, on this machine alone.
    pub(crate) insecure: bool,
}

/// Listeners that have their addresses.
#[derive(Debug)]
pub(crate) struct Doors {
    api: Option<ApiServer>,
    webhooks: Option<WebhookServer>,
    outgoing: Arc<Outgoing>,
}

impl Over<'_> {
    /// Takes the addresses; says which setting cannot be used.
    pub(crate) async fn doors(
        &self,
        api: bool,
        listen: (Option<IpAddr>, Option<u16>),
    ) -> Result<Doors, String> {
        let outgoing = self.host.everywhere().outgoing()?;
        let api = if api { Some(self.api(listen, Arc::clone(&outgoing)).await?) } else { None };
        let options = WebhookOptions::read(self.host.settings(), self.insecure);
        let webhooks = match options.map_err(|error| error.to_string())? {
            Some(options) => Some(self.webhooks(options, Arc::clone(&outgoing)).await?),
            None => None,
        };
        Ok(Doors { api, webhooks, outgoing })
    }

    async fn api(
        &self,
        listen: (Option<IpAddr>, Option<u16>),
        outgoing: Arc<Outgoing>,
    ) -> Result<ApiServer, String> {
        let profile = home::places(self.inputs).map_err(|error| error.to_string())?.profile;
        let options = ApiOptions::read(self.host.settings(), profile.as_deref(), listen);
        let store = self.host.store().map_err(|report| report.to_string())?;
        let server = ApiServer::bind(ApiParts {
            options: options.map_err(|error| error.to_string())?,
            store: Arc::clone(&store) as _,
            conversations: store,
            sessions: Arc::clone(self.sessions),
            host: Arc::clone(self.program) as _,
            outgoing: Some(outgoing),
            version: env!("CARGO_PKG_VERSION"),
        });
        server.await.map_err(|error| error.to_string())
    }

    async fn webhooks(
        &self,
        options: WebhookOptions,
        outgoing: Arc<Outgoing>,
    ) -> Result<WebhookServer, String> {
        let store = self.host.store().map_err(|report| report.to_string())?;
        let server = WebhookServer::bind(WebhookParts {
            options,
            store: Arc::clone(&store) as _,
            conversations: Arc::clone(&store) as _,
            outbox: store,
            sessions: Arc::clone(self.sessions),
            host: Arc::clone(self.program) as _,
            outgoing: Some(outgoing),
            silence: petasos_api::silence(self.host.settings()),
        });
        server.await.map_err(|error| error.to_string())
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
        let (outgoing, stop) = (self.outgoing, stop.clone());
        let outgoing = Owned::start(async move {
            tokio::select! {
                () = outgoing.work() => {}
                () = stop.cancelled() => {}
            }
        });
        api.into_iter().chain(webhooks).chain([outgoing]).collect()
    }
}
