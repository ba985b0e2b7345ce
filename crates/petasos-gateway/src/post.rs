//! Sending to people on request: a tool, a schedule or a hook names a target, and a text goes there.
//!
//! The text is planned in the outbox. A gateway that runs on this home sends it, in whatever
//! process that is. Where none runs, it is sent here and now on platforms that need no connection
//! of their own; elsewhere nothing is planned, and the sender is told.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use petasos_contract::delivery::{
    Delivered, Deliveries, Destination, Mark, Parcel, Receipt, TargetError,
};
use petasos_contract::{Address, BoxFuture, Settings};
use petasos_net::Net;
use petasos_store::{
    Attempt, DeliveryClass, DeliveryState, GatewayStore, Lane, MediaFile, NewDelivery, OutboxRow,
};

use crate::account::Account;
use crate::delivery::{self, Failed, LongTexts};
use crate::gateway::blank;
use crate::media::{self, MediaRules};
use crate::options::GatewayOptions;
use crate::platform::{Opening, Platform, PlatformDef, SendError};
use crate::render::{self, add};
use crate::targets::{Known, Served};

/// How often the outcome of a delivery is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// So many chats of a platform are looked at for their kind.
const ROUTES_MAX: u32 = 1000;

/// What sending needs from the program around.
pub trait PostHost: Send + Sync {
    /// What a gateway of this home keeps.
    fn store(&self) -> Result<Arc<dyn GatewayStore>, String>;

    /// Whether a gateway of this home runs, in this process or another.
    fn is_gateway_running(&self) -> bool;

    /// Why nothing may be sent, when everything was stopped.
    fn stopped(&self) -> Option<String>;
}

/// Sends to people on the platforms that the settings name. Opens nothing before it is asked.
pub struct Post {
    host: Arc<dyn PostHost>,
    settings: Arc<Settings>,
    net: Arc<Net>,
    platforms: Vec<&'static PlatformDef>,
    given: Vec<(&'static PlatformDef, Arc<dyn Platform>)>,
    accounts: OnceLock<Result<Vec<Arc<Account>>, String>>,
}

impl std::fmt::Debug for Post {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Post").finish_non_exhaustive()
    }
}

impl Post {
    /// Over these platforms, as the settings configure them.
    pub fn new(
        host: Arc<dyn PostHost>,
        settings: Arc<Settings>,
        net: Arc<Net>,
        platforms: Vec<&'static PlatformDef>,
    ) -> Self {
        let (given, accounts) = (Vec::new(), OnceLock::new());
        Self { host, settings, net, platforms, given, accounts }
    }

    /// With an embedder's own account.
    #[must_use]
    pub fn with_account(mut self, def: &'static PlatformDef, platform: Arc<dyn Platform>) -> Self {
        self.given.push((def, platform));
        self
    }

    fn accounts(&self) -> Result<&[Arc<Account>], String> {
        let opened = self.accounts.get_or_init(|| {
            let (mut accounts, mut unusable) = (Vec::new(), Vec::new());
            let opening = Opening { settings: &self.settings, net: &self.net };
            for def in &self.platforms {
                let own = GatewayOptions::platform(&self.settings, def)?;
                if own.off {
                    continue;
                }
                // One that is set up by half does not keep the others from sending.
                match (def.open)(&opening) {
                    Ok(opened) => accounts.extend(
                        opened.into_iter().map(|it| Account::new(def, it, own.clone(), None)),
                    ),
                    Err(why) => unusable.push(format!("{}: {why}", def.name)),
                }
            }
            for (def, platform) in &self.given {
                let own = GatewayOptions::platform(&self.settings, def)?;
                accounts.push(Account::new(def, Arc::clone(platform), own, None));
            }
            if accounts.is_empty() && !unusable.is_empty() {
                return Err(unusable.join("; "));
            }
            Ok(accounts)
        });
        opened.as_deref().map_err(Clone::clone)
    }

    fn served(&self) -> Result<Vec<Served>, String> {
        let served =
            |it: &Arc<Account>| Served { def: it.def, account: it.platform.account().to_owned() };
        Ok(self.accounts()?.iter().map(served).collect())
    }

    /// Asks what is known, and reads it.
    async fn with_known<T>(
        &self,
        read: impl FnOnce(&Known<'_>) -> Result<T, TargetError> + Send,
    ) -> Result<T, TargetError> {
        let served = self.served().map_err(TargetError::Failed)?;
        let store = self.host.store().map_err(TargetError::Failed)?;
        let broken = |error: petasos_store::StoreError| TargetError::Failed(error.to_string());
        let targets = store.targets(None).await.map_err(broken)?;
        let mut routes = Vec::new();
        let mut names: Vec<&str> = served.iter().map(|it| it.def.name).collect();
        names.dedup();
        for name in names {
            routes.extend(store.routes_of(name, ROUTES_MAX).await.map_err(broken)?);
        }
        let settings = &self.settings;
        read(&Known { settings, served: &served, targets: &targets, routes: &routes })
    }

    fn account_of(&self, to: &Destination) -> Result<&Arc<Account>, String> {
        let own =
            |it: &&Arc<Account>| it.def.name == to.platform && it.platform.account() == to.account;
        let found = self.accounts()?.iter().find(own);
        found.ok_or_else(|| format!("the account {}/{} is not configured", to.platform, to.account))
    }

    /// The text without its directives, and the files that may go with it.
    fn packed(&self, text: &str, to: &Destination, most: u64) -> Result<Packed, String> {
        let options = GatewayOptions::of(&self.settings)?;
        let rules = MediaRules::of(&self.settings, &options, to.kind != "dm", most);
        let (mut text, directives) = render::directives(text);
        let (mut files, mut refused) = (Vec::new(), Vec::new());
        for render::Directive::Media(path) in directives {
            match media::sendable(Path::new(&path), &rules) {
                Ok(file) => files.push(file),
                Err(why) => {
                    add(&mut text, format_args!("\n\n(file not sent: {why})"));
                    refused.push(format!("`{path}` was not sent: {why}"));
                }
            }
        }
        let folder = self.settings.home().join(media::DOCUMENTS);
        let long = LongTexts { parts_max: options.parts_max, folder };
        Ok(Packed { text: text.trim().to_owned(), files, refused, long })
    }

    async fn send(&self, parcel: Parcel) -> Result<Receipt, String> {
        if let Some(why) = self.host.stopped() {
            return Err(format!("everything is stopped ({why}): `petasos resume` goes on"));
        }
        let account = self.account_of(&parcel.to)?;
        let running = self.host.is_gateway_running();
        if !running && !account.def.direct {
            return Err(format!(
                "{} needs a running gateway: start `petasos gateway run`",
                account.def.name
            ));
        }
        let packed = self.packed(&parcel.text, &parcel.to, account.def.media_bytes_max)?;
        if packed.text.is_empty() && packed.files.is_empty() {
            return Err("there is nothing to send".to_owned());
        }
        let store = self.host.store()?;
        let to = &parcel.to;
        let lane = Lane {
            platform: to.platform.clone(),
            account: to.account.clone(),
            chat: to.chat.clone(),
            thread: to.thread.clone(),
        };
        let planned = NewDelivery {
            class: DeliveryClass::Final,
            token: parcel.token.clone(),
            body: packed.text.clone(),
            media: packed.files.clone(),
            ..blank(&lane)
        };
        let broken = |error: petasos_store::StoreError| error.to_string();
        store.plan(vec![planned]).await.map_err(broken)?;
        if !running {
            let row = store.delivery_of(&parcel.token).await.map_err(broken)?;
            let taken = match row {
                Some(row) => store.take_one(row.id).await.map_err(broken)?,
                None => None,
            };
            if let Some(row) = taken {
                self.send_here(account, &*store, row, &packed.long).await?;
            }
        }
        let row = settled(&*store, &parcel).await?;
        Ok(receipt(&row, packed))
    }

    /// Sends without a gateway, once: nobody is there to try again.
    async fn send_here(
        &self,
        account: &Account,
        store: &dyn GatewayStore,
        row: OutboxRow,
        long: &LongTexts,
    ) -> Result<(), String> {
        let attempt = match delivery::send_parts(account, store, &row, long).await {
            Ok(()) => Attempt::Sent,
            Err(Failed::Send(SendError::Ambiguous(error))) => {
                Attempt::Dead { error: format!("{UNCERTAIN}{error}") }
            }
            Err(error) => Attempt::Dead { error: error.to_string() },
        };
        store.end_attempt(row.id, attempt).await.map_err(|error| error.to_string())
    }
}

/// How an error begins that does not say whether the message arrived.
const UNCERTAIN: &str = "it may have arrived: ";

/// What a text becomes before it is planned.
struct Packed {
    text: String,
    files: Vec<MediaFile>,
    refused: Vec<String>,
    long: LongTexts,
}

/// Waits until a delivery has ended, or the sender waits no longer.
async fn settled(store: &dyn GatewayStore, parcel: &Parcel) -> Result<OutboxRow, String> {
    let deadline = Instant::now() + parcel.wait;
    loop {
        let row = store.delivery_of(&parcel.token).await.map_err(|error| error.to_string())?;
        let row = row.ok_or("the message is no longer planned")?;
        let over = matches!(
            row.state,
            DeliveryState::Sent | DeliveryState::Dead | DeliveryState::Superseded
        );
        if over || Instant::now() >= deadline {
            return Ok(row);
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn receipt(row: &OutboxRow, packed: Packed) -> Receipt {
    let outcome = match row.state {
        DeliveryState::Sent => Delivered::Sent,
        DeliveryState::Ambiguous => Delivered::Unknown,
        DeliveryState::Dead if row.error.starts_with(UNCERTAIN) => Delivered::Unknown,
        DeliveryState::Dead | DeliveryState::Superseded => Delivered::Failed,
        DeliveryState::Planned | DeliveryState::Sending => Delivered::Planned,
    };
    let mut notes = packed.refused;
    match outcome {
        Delivered::Sent => {}
        Delivered::Planned if row.error.is_empty() => {
            notes.push("stored; the gateway has not sent it yet".to_owned());
        }
        _ => notes.push(row.error.clone()),
    }
    notes.retain(|note| !note.is_empty());
    Receipt {
        outcome,
        messages: row.sent.clone(),
        parts: row.parts.len().max(1),
        media: packed.files.into_iter().map(|file| file.name).collect(),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    }
}

impl Deliveries for Post {
    fn ready(&self) -> Result<(), String> {
        let accounts = self.accounts()?;
        if accounts.is_empty() {
            return Err(
                "needs a connected platform: `petasos gateway platforms` says what each needs"
                    .to_owned(),
            );
        }
        if accounts.iter().any(|it| it.def.direct) || self.host.is_gateway_running() {
            return Ok(());
        }
        Err("the configured platforms need a running gateway: `petasos gateway run`".to_owned())
    }

    fn destinations(&self) -> BoxFuture<'_, Result<Vec<Destination>, TargetError>> {
        Box::pin(self.with_known(|known| Ok(known.all())))
    }

    fn resolve<'a>(
        &'a self,
        target: &'a str,
        origin: &'a Address,
    ) -> BoxFuture<'a, Result<Destination, TargetError>> {
        Box::pin(self.with_known(move |known| known.resolve(target, origin)))
    }

    fn files(&self, text: &str) -> Vec<String> {
        let (_, directives) = render::directives(text);
        directives.into_iter().map(|render::Directive::Media(path)| path).collect()
    }

    fn deliver(&self, parcel: Parcel) -> BoxFuture<'_, Result<Receipt, String>> {
        Box::pin(self.send(parcel))
    }

    fn react<'a>(
        &'a self,
        to: &'a Destination,
        message: &'a str,
        mark: Mark<'a>,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let account = self.account_of(to)?;
            let lane = Lane {
                platform: to.platform.clone(),
                account: to.account.clone(),
                chat: to.chat.clone(),
                thread: to.thread.clone(),
            };
            account.platform.react(&lane, message, mark).await.map_err(|error| error.to_string())
        })
    }
}
