//! The one model client of a program, made when somebody first asks.

use std::fmt;
use std::sync::{Arc, OnceLock};

use petasos_contract::model::{Model, ModelError, Prompt, Reply, Role, Sight};
use petasos_contract::processes::Processes;
use petasos_contract::{BoxFuture, CallContext, Settings};
use petasos_net::{Net, NetOptions};
use petasos_providers::client::Client;
use petasos_providers::credential::command::SecretCommands;
use petasos_providers::local::Finder;
use petasos_providers::route::VaultRoutes;
use petasos_providers::table::Table;

/// The client, or what it will be made of. Tools hold it as a port.
pub(crate) struct LazyModel {
    settings: Arc<Settings>,
    processes: Option<Arc<dyn Processes>>,
    client: OnceLock<Arc<Client>>,
}

impl fmt::Debug for LazyModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyModel")
            .field("made", &self.client.get().is_some())
            .finish_non_exhaustive()
    }
}

impl LazyModel {
    /// Of these settings.
    pub(crate) fn new(settings: Arc<Settings>, processes: Option<Arc<dyn Processes>>) -> Self {
        Self { settings, processes, client: OnceLock::new() }
    }

    /// The client.
    pub(crate) fn client(&self) -> Arc<Client> {
        let client = self.client.get_or_init(|| {
            let net = self.net();
            let (table, _problems) = Table::of(&self.settings);
            let routes = VaultRoutes::new(Arc::clone(&net)).with_finder(self.resolver());
            let client = Client::new(Arc::new(routes), net, table);
            Arc::new(client.with_processes(self.processes.clone()))
        });
        Arc::clone(client)
    }

    /// The way out to the network; nothing is built before the first request.
    pub(crate) fn net(&self) -> Arc<Net> {
        Arc::new(Net::new(NetOptions::from_settings(&self.settings)))
    }

    /// Finds out whom to ask; it may start programs that print keys.
    pub(crate) fn resolver(&self) -> Finder {
        let processes = self.processes.clone();
        let port = processes.map(|processes| (processes, Arc::clone(&self.settings)));
        Finder::default().with_commands(SecretCommands::new(port))
    }
}

impl Model for LazyModel {
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move { self.client().ask(prompt, role, cx).await })
    }

    fn window<'a>(
        &'a self,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Option<u64>> {
        Box::pin(async move { self.client().window(prompt, role, cx).await })
    }

    fn sight<'a>(&'a self, cx: &'a CallContext) -> BoxFuture<'a, Sight> {
        Box::pin(async move { self.client().sight(cx).await })
    }
}
