//! The listeners of a program: the HTTP interface and webhooks, for `serve` and for the gateway.

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
}

/// Listeners that have their addresses.
#[derive(Debug)]
pub(crate) struct Doors {
    api: Option<ApiServer>,
    webhooks: Option<WebhookServer>,
    outgoing: Option<Arc<Outgoing>>,
}

impl Over<'_> {
    /// Takes the addresses; says which setting cannot be used.
    pub(crate) async fn doors(
        &self,
        api: bool,
        listen: (Option<IpAddr>, Option<u16>),
    ) -> Result<Doors, String> {
        let (store, net) = (self.host.store().map_err(|it| it.to_string())?, self.host.net());
        let outgoing = Outgoing::read(self.host.settings(), store, net);
        let outgoing = outgoing.map_err(|error| error.to_string())?;
        let api = if api { Some(self.api(listen, outgoing.clone()).await?) } else { None };
        let options = WebhookOptions::read(self.host.settings());
        let webhooks = match options.map_err(|error| error.to_string())? {
            Some(options) => Some(self.webhooks(options, outgoing.clone()).await?),
            None => None,
        };
        Ok(Doors { api, webhooks, outgoing })
    }

    async fn api(
        &self,
        listen: (Option<IpAddr>, Option<u16>),
        outgoing: Option<Arc<Outgoing>>,
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
            outgoing,
            version: env!("CARGO_PKG_VERSION"),
        });
        server.await.map_err(|error| error.to_string())
    }

    async fn webhooks(
        &self,
        options: WebhookOptions,
        outgoing: Option<Arc<Outgoing>>,
    ) -> Result<WebhookServer, String> {
        let store = self.host.store().map_err(|report| report.to_string())?;
        let server = WebhookServer::bind(WebhookParts {
            options,
            store: Arc::clone(&store) as _,
            conversations: store,
            sessions: Arc::clone(self.sessions),
            host: Arc::clone(self.program) as _,
            outgoing,
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
        let outgoing = self.outgoing.map(|it| {
            let stop = stop.clone();
            Owned::start(async move {
                tokio::select! {
                    () = it.work() => {}
                    () = stop.cancelled() => {}
                }
            })
        });
        api.into_iter().chain(webhooks).chain(outgoing).collect()
    }
}
