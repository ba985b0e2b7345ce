//! Every place that a message can go to: chats of platforms, and other programs that are told over
//! webhooks.

mod news;

use std::sync::{Arc, OnceLock};

use petasos_api::Outgoing;
use petasos_contract::delivery::{Deliveries, Destination, Mark, Parcel, Receipt, TargetError};
use petasos_contract::{Address, BoxFuture, Settings};
use petasos_gateway::Post;
use petasos_net::Net;
use serde_json::Value;

pub(crate) use self::news::ChatNews;
use crate::post::HomeStore;

/// Targets of other programs begin with one of these.
const PROGRAMS: [&str; 2] = ["webhook", "github_comment"];

/// Sends anywhere that the settings name.
pub(crate) struct Everywhere {
    post: Post,
    settings: Arc<Settings>,
    store: Arc<HomeStore>,
    net: Arc<Net>,
    outgoing: OnceLock<Result<Arc<Outgoing>, String>>,
}

impl std::fmt::Debug for Everywhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Everywhere").finish_non_exhaustive()
    }
}

impl Everywhere {
    pub(crate) fn new(
        post: Post,
        settings: &Arc<Settings>,
        store: &Arc<HomeStore>,
        net: Arc<Net>,
    ) -> Arc<Self> {
        let (settings, store) = (Arc::clone(settings), Arc::clone(store));
        Arc::new(Self { post, settings, store, net, outgoing: OnceLock::new() })
    }

    /// Who tells other programs; says which setting cannot be used.
    pub(crate) fn outgoing(&self) -> Result<Arc<Outgoing>, String> {
        let read = || {
            let store = self.store.open().map_err(|error| error.to_string())?;
            let outgoing = Outgoing::read(&self.settings, store, Arc::clone(&self.net));
            outgoing.map_err(|error| error.to_string())
        };
        self.outgoing.get_or_init(read).clone()
    }

    /// Where a target of a program leads; nothing when it is a chat.
    fn program(&self, target: &str, origin: &Address) -> Option<Result<Destination, TargetError>> {
        let (platform, _) = target.split_once(':')?;
        // A comment is written for whoever sent a webhook, never because a model thought of it.
        let comment = platform == "github_comment" && origin.platform.as_str() != "webhook";
        if comment || !PROGRAMS.contains(&platform) {
            return None;
        }
        match self.outgoing() {
            Ok(outgoing) => outgoing.resolve(target),
            Err(why) => Some(Err(TargetError::Failed(why))),
        }
    }
}

impl Deliveries for Everywhere {
    fn ready(&self) -> Result<(), String> {
        // Whoever only asks opens no store.
        let listed = self.settings.get("gateway.webhooks_out").and_then(Value::as_array);
        let programs = listed.is_some_and(|listed| !listed.is_empty());
        self.post.ready().or_else(|why| if programs { Ok(()) } else { Err(why) })
    }

    fn destinations(&self) -> BoxFuture<'_, Result<Vec<Destination>, TargetError>> {
        Box::pin(async {
            let mut all = self.post.destinations().await?;
            all.extend(self.outgoing().map_err(TargetError::Failed)?.destinations());
            Ok(all)
        })
    }

    fn resolve<'a>(
        &'a self,
        target: &'a str,
        origin: &'a Address,
    ) -> BoxFuture<'a, Result<Destination, TargetError>> {
        match self.program(target.trim(), origin) {
            Some(found) => Box::pin(async move { found }),
            None => self.post.resolve(target, origin),
        }
    }

    fn files(&self, text: &str) -> Vec<String> {
        self.post.files(text)
    }

    fn deliver(&self, parcel: Parcel) -> BoxFuture<'_, Result<Receipt, String>> {
        if !PROGRAMS.contains(&parcel.to.platform.as_str()) {
            return self.post.deliver(parcel);
        }
        Box::pin(async { self.outgoing()?.deliver(parcel).await })
    }

    fn react<'a>(
        &'a self,
        to: &'a Destination,
        message: &'a str,
        mark: Mark<'a>,
    ) -> BoxFuture<'a, Result<(), String>> {
        self.post.react(to, message, mark)
    }
}
