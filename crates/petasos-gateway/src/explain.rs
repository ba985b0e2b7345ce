//! Why somebody is let in or not, by the very functions that decide.

use petasos_contract::Settings;
use petasos_store::{ChatKey, ChatKind, GatewayStore, StoreError};
use serde::Serialize;

use crate::access::{AccessFacts, Standing, decide};
use crate::options::GatewayOptions;
use crate::platform::{Arrival, PlatformDef, Sender};
use crate::routing::key_of;

/// What would happen to a message.
#[derive(Debug, Clone, Serialize)]
pub struct Explained {
    /// What the sender may do; nothing when they are not let in.
    pub class: Option<&'static str>,
    /// The rule that decided.
    pub rule: &'static str,
    /// Rules that were asked before it.
    pub asked: Vec<&'static str>,
    /// The conversation.
    pub key: Option<String>,
    /// Its session, once somebody wrote.
    pub session: Option<String>,
    /// What a message does while a turn runs.
    pub busy: &'static str,
    /// Whether a group message must name us.
    pub mention: bool,
    /// What a stranger in a direct chat gets.
    pub strangers: String,
    /// The toolset.
    pub toolset: &'static str,
    /// The longest message.
    pub limit: String,
}

/// Explains a message of somebody in a chat.
pub async fn explain(
    store: &dyn GatewayStore,
    settings: &Settings,
    def: &PlatformDef,
    (user, chat, kind): (&str, &str, ChatKind),
) -> Result<Result<Explained, String>, StoreError> {
    let (gateway, own) =
        match (GatewayOptions::of(settings), GatewayOptions::platform(settings, def)) {
            (Ok(gateway), Ok(own)) => (gateway, own),
            (Err(why), _) | (_, Err(why)) => return Ok(Err(why)),
        };
    let sender = Sender { id: (def.canonical)(user), ..Sender::default() };
    let paired = store.paired(Some(def.name)).await?;
    let facts = AccessFacts {
        platform: def.name,
        chat,
        kind,
        sender: &sender,
        addressed: true,
        standing: Standing::of(sender.id.as_deref(), &paired),
    };
    let access = decide(&facts, &own, &gateway);
    let arrival =
        Arrival { chat_kind: kind, sender: sender.clone(), ..Arrival::text(chat, user, "", "") };
    let routes = store.routes_of(def.name, 1000).await?;
    let key = key_of(def.name, "", &arrival, &gateway);
    let same = |route: &ChatKey, key: &ChatKey| {
        route.kind == key.kind && route.chat == key.chat && route.user == key.user
    };
    let session = key.as_ref().and_then(|key| routes.iter().find(|route| same(&route.key, key)));
    Ok(Ok(Explained {
        class: access.class.map(crate::access::Class::as_str),
        rule: access.rule,
        asked: access.asked,
        session: session.map(|route| route.session.to_string()),
        key: key.map(|key| key.to_string()),
        busy: own.busy.as_str(),
        mention: own.mention,
        strangers: format!("{:?}", own.strangers).to_lowercase(),
        toolset: def.toolset,
        limit: format!("{} {:?}", def.form.limit, def.form.unit).to_lowercase(),
    }))
}
