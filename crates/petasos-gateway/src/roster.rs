//! The accounts that are served, and what new settings make of them: accounts that are new or were
//! changed connect, accounts that are gone disconnect, and the others notice nothing.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::Settings;
use petasos_contract::wait::{self, Owned};
use petasos_net::Net;
use serde_json::Value;
use tokio::sync::oneshot;
use tracing::{info, warn};

use crate::account::Account;
use crate::delivery;
use crate::gateway::Shared;
use crate::options::{GatewayOptions, PlatformOptions};
use crate::platform::{Opening, Platform, PlatformDef};

/// How long a connection may take to close.
const CLOSING: Duration = Duration::from_secs(5);
/// Ends of variables that are heeded without a new connection.
const HEEDED: [&str; 13] = [
    "ALLOW_ALL_USERS",
    "ALLOWED_USERS",
    "GROUP_ALLOWED_USERS",
    "GROUP_ALLOWED_CHATS",
    "ALLOW_BOTS",
    "ALLOWED_ROLES",
    "ADMINS",
    "GROUP_ADMINS",
    "USER_COMMANDS",
    "REQUIRE_MENTION",
    "FREE_RESPONSE_CHATS",
    "IGNORED_CHATS",
    "ALLOWED_CHATS",
];
/// Keys of the same kind.
const HEEDED_KEYS: [&str; 16] = [
    "enabled",
    "allow_from",
    "group_allow_from",
    "group_allowed_chats",
    "allowed_roles",
    "allow_admin_from",
    "group_allow_admin_from",
    "user_allowed_commands",
    "require_mention",
    "free_response_chats",
    "ignored_chats",
    "allowed_chats",
    "unauthorized_dm_behavior",
    "channel_overrides",
    "home_channel",
    "extra",
];

/// An account that the settings name.
pub(crate) struct Named {
    def: &'static PlatformDef,
    platform: Arc<dyn Platform>,
    options: PlatformOptions,
    /// What it was opened with; nothing for an account that an embedder brought.
    mark: Option<u64>,
}

/// An account at work.
pub(crate) struct Served {
    pub(crate) account: Arc<Account>,
    mark: Option<u64>,
    intake: Option<(Owned<()>, oneshot::Receiver<()>)>,
    delivery: Owned<()>,
}

impl Named {
    /// Opens every account that the settings name.
    pub(crate) fn all(
        platforms: &[&'static PlatformDef],
        settings: &Arc<Settings>,
        net: &Arc<Net>,
    ) -> Result<Vec<Self>, String> {
        let mut all = Vec::new();
        for def in platforms {
            let options = GatewayOptions::platform(settings, def)?;
            if options.off {
                continue;
            }
            let opening = Opening { settings, net };
            let opened = (def.open)(&opening).map_err(|why| format!("{}: {why}", def.name))?;
            let mark = Some(mark(def, platforms, settings));
            all.extend(opened.into_iter().map(|platform| {
                let options = options.clone();
                Self { def, platform, options, mark }
            }));
        }
        Ok(all)
    }

    /// One that an embedder brought.
    pub(crate) fn brought(
        def: &'static PlatformDef,
        platform: Arc<dyn Platform>,
        settings: &Settings,
    ) -> Result<Self, String> {
        Ok(Self { def, platform, options: GatewayOptions::platform(settings, def)?, mark: None })
    }

    fn is(&self, account: &Account) -> bool {
        self.def.name == account.def.name && self.platform.account() == account.platform.account()
    }
}

impl Served {
    /// An account, not yet at work; it goes on where the one before it stopped.
    pub(crate) fn account(named: Named, before: Option<&Account>) -> (Arc<Account>, Option<u64>) {
        let Named { def, platform, options, mark } = named;
        (Account::new(def, platform, options, before), mark)
    }

    /// Begins to read and to deliver.
    pub(crate) fn start(account: &Arc<Account>, mark: Option<u64>, shared: &Arc<Shared>) -> Self {
        let (alive, gone) = oneshot::channel::<()>();
        let (one, all) = (Arc::clone(account), Arc::clone(shared));
        let intake = Owned::start(async move {
            // Dropped with the connection, whoever ends it.
            let _alive = alive;
            one.keep_connected(all).await;
        });
        let delivery = Owned::start(delivery::deliver(Arc::clone(account), Arc::clone(shared)));
        Self { account: Arc::clone(account), mark, intake: Some((intake, gone)), delivery }
    }

    /// The same account under other settings, where an embedder brought it.
    pub(crate) fn brought(&self, settings: &Settings) -> Result<Option<Named>, String> {
        let Account { def, platform, .. } = &*self.account;
        let again = || Named::brought(def, Arc::clone(platform), settings);
        self.mark.is_none().then(again).transpose()
    }

    /// Reads no more.
    pub(crate) fn disconnect(&mut self) {
        self.intake = None;
    }

    /// Reads no more, and is back when the connection is closed; what is being sent ends by itself.
    async fn leave(mut self) -> Owned<()> {
        if let Some((intake, gone)) = self.intake.take() {
            drop(intake);
            let deadline = Instant::now() + CLOSING;
            if wait::until(deadline, "a connection that closes", gone).await.is_err() {
                warn!(account = self.account.name(), "a connection does not close");
            }
        }
        self.account.retire();
        info!(account = self.account.name(), "disconnected: its settings were changed");
        self.delivery
    }
}

/// What the accounts are from now on, and deliveries of those that are gone and still under way.
pub(crate) async fn follow(
    served: &mut Vec<Served>,
    mut named: Vec<Named>,
    shared: &Arc<Shared>,
) -> Vec<Owned<()>> {
    let mut ending = Vec::new();
    let mut fresh = Vec::new();
    let mut at = 0;
    while let Some(one) = served.get(at) {
        let position = named.iter().position(|it| it.is(&one.account));
        let same = position.and_then(|at| named.get(at)).is_some_and(|it| it.mark == one.mark);
        if let (true, Some(position)) = (same, position) {
            one.account.set_options(named.swap_remove(position).options);
            at += 1;
            continue;
        }
        let gone = served.remove(at);
        if let Some(position) = position {
            fresh.push(Served::account(named.swap_remove(position), Some(&gone.account)));
        }
        ending.push(gone.leave().await);
    }
    fresh.extend(named.into_iter().map(|named| Served::account(named, None)));
    let all = served.iter().map(|one| Arc::clone(&one.account));
    shared.set_accounts(all.chain(fresh.iter().map(|(account, _)| Arc::clone(account))).collect());
    if let Err(error) = shared.keep_resting().await {
        warn!(%error, "which accounts rest is not known");
    }
    served.extend(fresh.iter().map(|(account, mark)| Served::start(account, *mark, shared)));
    ending
}

/// How variables of a platform begin.
fn beginnings(def: &PlatformDef) -> Vec<String> {
    let own = format!("{}_", def.name.to_uppercase());
    let mut all = vec![own.clone()];
    all.extend((!def.lists.is_empty()).then(|| format!("{}_", def.lists)));
    let others = def.variables.iter().filter(|name| !name.starts_with(&own));
    all.extend(others.filter_map(|name| Some(format!("{}_", name.split_once('_')?.0))));
    all
}

/// How much of a variable's name is that of the platform.
fn likeness(def: &PlatformDef, variable: &str) -> usize {
    let known = beginnings(def);
    let known = known.iter().filter(|beginning| variable.starts_with(beginning.as_str()));
    known.map(String::len).max().unwrap_or(0)
}

/// Tells apart what an account of a platform is opened with, whatever is heeded without that.
fn mark(def: &PlatformDef, platforms: &[&'static PlatformDef], settings: &Settings) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (name, variable) in settings.variables() {
        let like = likeness(def, name);
        let own = like > 0 && !platforms.iter().any(|other| likeness(other, name) > like);
        let end = name.get(like..).unwrap_or_default();
        let heeded = HEEDED.contains(&end) || end.starts_with(def.home);
        if own && !heeded {
            (name, variable.value.expose()).hash(&mut hasher);
        }
    }
    let name = def.name;
    for key in [format!("platforms.{name}"), format!("platforms.{name}.extra"), name.to_owned()] {
        let Some(Value::Object(section)) = settings.get(&key) else { continue };
        for (key, value) in section {
            if !HEEDED_KEYS.contains(&key.as_str()) {
                (key, value.to_string()).hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}
