//! What becomes of something that came in. The same path serves quiet and busy chats.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use petasos_contract::SessionId;
use petasos_contract::wait::Owned;
use petasos_session::command;
use petasos_store::{
    ChatKey, DeliveryClass, InboundKind, InboundMessage, InboxState, Lane, NewDelivery, Placing,
    Receipt, StoreError,
};
use serde_json::Value;
use tracing::{debug, info, warn};

use crate::access::{self, Access, AccessFacts, Class, Standing};
use crate::account::Account;
use crate::delivery::heard_key;
use crate::flood::Flow;
use crate::gateway::{Shared, blank};
use crate::media;
use crate::options::{BusyMode, StalePolicy, Strangers};
use crate::pairing;
use crate::platform::{Arrival, ArrivalKind, now_ms};
use crate::routing::key_of;
use crate::turns::StopReason;

/// A message that is allowed and stored.
#[derive(Debug, Clone)]
pub(crate) struct Admitted {
    pub(crate) id: String,
    pub(crate) key: ChatKey,
    pub(crate) session: SessionId,
    pub(crate) sender: String,
    pub(crate) sender_name: String,
    pub(crate) class: Class,
    pub(crate) rule: &'static str,
    pub(crate) text: String,
    pub(crate) message: String,
    pub(crate) has_media: bool,
    pub(crate) busy: BusyMode,
}

impl Admitted {
    pub(crate) fn lane(&self) -> Lane {
        self.key.lane()
    }

    /// An answer to this message.
    pub(crate) fn reply(&self, class: DeliveryClass, body: impl Into<String>) -> NewDelivery {
        NewDelivery {
            class,
            token: format!("reply-{}", self.id),
            body: body.into(),
            reply_to: Some(self.message.clone()).filter(|name| !name.is_empty()),
            inbox: Some(self.id.clone()),
            ..blank(&self.lane())
        }
    }
}

impl Shared {
    /// Takes in what came: stored, or not wanted, when this answers.
    pub(crate) async fn take(
        self: &Arc<Self>,
        account: &Arc<Account>,
        mut arrival: Arrival,
    ) -> Result<(), StoreError> {
        let (def, options) = (account.def, account.options());
        let (platform, own) = (def.name, account.platform.account());
        if let ArrivalKind::Migrated(from) = &arrival.kind {
            self.store.rekey(platform, own, from, &arrival.chat).await?;
            self.cards.rekey((platform, own), from, &arrival.chat);
            self.rename_running((platform, own), from, &arrival.chat);
            return Ok(());
        }
        let unwanted = options.ignored_chats.contains(&arrival.chat)
            || (!options.only_chats.is_empty()
                && arrival.chat_kind.is_shared()
                && !options.only_chats.contains(&arrival.chat));
        if unwanted {
            return Ok(());
        }
        arrival.sender.id = arrival.sender.id.as_deref().and_then(def.canonical);
        let access = self.access(account, &arrival).await?;
        let Some(class) = access.class else {
            self.counters.strangers.fetch_add(1, Ordering::Relaxed);
            info!(platform, rule = access.rule, chat = %arrival.chat, "not let in");
            if let ArrivalKind::Button(data) = &arrival.kind {
                account.platform.acknowledge(&arrival.dedup, "This is not yours to answer.").await;
                self.tell_of_stranger(account, data).await;
                return Ok(());
            }
            return self.turn_away(account, &arrival).await;
        };
        if let ArrivalKind::Button(data) = &arrival.kind
            && let Some(data) = data.strip_prefix("of:")
        {
            let lane = lane_of(account, &arrival);
            let word = self.press_offer(&lane, &arrival, (data, class)).await;
            account.platform.acknowledge(&arrival.dedup, &word).await;
            return Ok(());
        }
        if let ArrivalKind::Button(data) = &arrival.kind {
            let (word, decided) = self.press(account, &arrival, data, class).await;
            account.platform.acknowledge(&arrival.dedup, &word).await;
            self.redraw(decided).await;
            return Ok(());
        }
        if arrival.kind == ArrivalKind::Edited {
            self.store.reword(platform, own, &arrival.message, &arrival.text).await?;
            return Ok(());
        }
        let Some(key) = key_of(platform, own, &arrival, &self.options()) else {
            warn!(platform, "an event names neither a chat nor a person");
            return Ok(());
        };
        if let ArrivalKind::Reaction(mark) = &arrival.kind {
            self.react(&arrival, &key, mark, class).await;
            return Ok(());
        }
        if !self.is_addressed(account, &arrival, &key).await? {
            return Ok(());
        }
        if arrival.sender.bot && self.is_loop(account, &arrival).await? {
            return Ok(());
        }
        arrival.media.iter().for_each(media::lay_bare);
        self.admit(account, arrival, key, (class, access.rule)).await
    }

    /// Whether something that came is from somebody who may write.
    pub(crate) async fn lets_in(&self, account: &Account, arrival: &Arrival) -> bool {
        let mut arrival = arrival.clone();
        arrival.sender.id = arrival.sender.id.as_deref().and_then(account.def.canonical);
        self.access(account, &arrival).await.is_ok_and(|access| access.class.is_some())
    }

    /// Who somebody is here, and why.
    pub(crate) async fn access(
        &self,
        account: &Account,
        arrival: &Arrival,
    ) -> Result<Access, StoreError> {
        let platform = account.def.name;
        let paired = self.store.paired(Some(platform)).await?;
        let facts = AccessFacts {
            platform,
            chat: &arrival.chat,
            kind: arrival.chat_kind,
            sender: &arrival.sender,
            addressed: arrival.addressed,
            standing: Standing::of(arrival.sender.id.as_deref(), &paired),
        };
        Ok(access::decide(&facts, &account.options(), &self.options()))
    }

    /// A stranger in a direct chat may get a code; nothing of what they wrote is kept.
    async fn turn_away(&self, account: &Account, arrival: &Arrival) -> Result<(), StoreError> {
        let direct = !arrival.chat_kind.is_shared() && arrival.kind == ArrivalKind::Message;
        let Some(user) = arrival.sender.id.as_deref().filter(|_| direct && !arrival.sender.bot)
        else {
            return Ok(());
        };
        if account.options().strangers == Strangers::Ignore {
            return Ok(());
        }
        let (platform, now) = (account.def.name, now_ms());
        let name = crate::render::harmless(&arrival.sender.name);
        let Some(code) = pairing::ask(&*self.store, platform, user, &name, now).await? else {
            return Ok(());
        };
        let lane = lane_of(account, arrival);
        let body = format!(
            "I do not know you yet. Ask my owner to run\n\n```\npetasos gateway pair approve {platform} {code}\n```\n\nThe code holds for an hour."
        );
        let token = format!("pair-{platform}-{user}-{now}");
        self.say(NewDelivery { class: DeliveryClass::Command, token, body, ..blank(&lane) }).await
    }

    /// Whether a message in a shared chat is meant for us.
    async fn is_addressed(
        &self,
        account: &Account,
        arrival: &Arrival,
        key: &ChatKey,
    ) -> Result<bool, StoreError> {
        let options = account.options();
        if !arrival.chat_kind.is_shared()
            || !options.mention
            || arrival.addressed
            || options.free_chats.contains(&arrival.chat)
            || self.cards.is_open_in(&key.lane())
        {
            return Ok(true);
        }
        // A thread in which we were named once goes on without.
        Ok(arrival.thread.is_some() && self.store.route(key).await?.is_some())
    }

    /// Whether two programs only answer each other by now. The owner hears of it once.
    async fn is_loop(&self, account: &Account, arrival: &Arrival) -> Result<bool, StoreError> {
        let who = arrival.sender.id.as_deref().unwrap_or_default();
        let pair = format!("bot {} {} {who}", account.name(), arrival.chat);
        let Flow::Refused { tell } = self.floods.bot(&pair, Instant::now()) else {
            return Ok(false);
        };
        if tell {
            warn!(platform = account.def.name, chat = %arrival.chat, "two bots answer each other");
            let body = format!(
                "Another bot on {} and I only answer each other: I do not hear it for a minute.",
                account.def.name
            );
            self.tell_home(&body, &format!("loop-{pair}-{}", now_ms())).await;
        }
        Ok(true)
    }

    /// Whether a person writes faster than anybody answers, and what becomes of the message.
    async fn flow_of(&self, account: &Account, arrival: &Arrival) -> Result<Flow, StoreError> {
        let who = arrival.sender.id.as_deref().unwrap_or_default();
        let flow = self.floods.person(&format!("{} {who}", account.name()), Instant::now());
        if flow == (Flow::Refused { tell: true }) {
            let body = "Too many messages at once: some were not taken. Wait a minute.";
            self.say(NewDelivery {
                class: DeliveryClass::Command,
                token: format!("flood-{}-{who}-{}", account.name(), now_ms()),
                body: body.to_owned(),
                ..blank(&lane_of(account, arrival))
            })
            .await?;
        }
        Ok(flow)
    }

    /// Stores a message that is allowed, and deals with it.
    async fn admit(
        self: &Arc<Self>,
        account: &Arc<Account>,
        arrival: Arrival,
        key: ChatKey,
        (class, rule): (Class, &'static str),
    ) -> Result<(), StoreError> {
        let flow = match self.flow_of(account, &arrival).await? {
            Flow::Refused { .. } => return Ok(()),
            flow => flow,
        };
        let sender =
            arrival.sender.id.clone().or(arrival.sender.machine.clone()).unwrap_or_default();
        let (album, context) = (arrival.album.clone(), arrival.context.clone().unwrap_or_default());
        let (who, chat_name) = (arrival.sender.clone(), arrival.chat_name.clone());
        // A file alone that did not come is no turn: whoever sent it is told.
        let lost = arrival.lost.clone();
        let lost =
            Some(lost).filter(|_| arrival.text.trim().is_empty() && arrival.media.is_empty());
        let message = inbound(arrival, &key, &sender, account.def.prefix);
        let id = match self.store.accept(&message).await? {
            Receipt::New(id) => id,
            Receipt::Known(id, state) => {
                debug!(id, state = state.as_str(), "delivered again by the platform");
                self.counters.repeated.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
        };
        self.counters.accepted.fetch_add(1, Ordering::Relaxed);
        info!(id, platform = key.platform, class = class.as_str(), "a message came in");
        let name = if chat_name.is_empty() { &message.sender_name } else { &chat_name };
        self.store.know_target(&key.lane(), name).await?;
        self.remember_sender(&id, &who);
        if account.def.context || (account.def.window)(&key.chat).is_some() {
            let heard = format!("{}\n{}", message.sent_ms.min(now_ms()), context);
            let (platform, own) = (account.def.name, account.platform.account());
            self.store.set_cursor(platform, own, &heard_key(&key.chat), &heard).await?;
        }
        let busy = account.options().busy;
        let (session, busy) = match self.route(&key, busy).await {
            // Whoever writes that fast does not mean every message to end the one before.
            Ok((session, BusyMode::Interrupt)) if flow == Flow::Queued => {
                (session, BusyMode::Queue)
            }
            Ok(route) => route,
            Err(error) => {
                // It is stored and will be looked at again after a restart.
                warn!(%error, id, "a stored message has no session yet");
                return Ok(());
            }
        };
        let has_media = !message.media.is_empty();
        let admitted = Admitted {
            id,
            key,
            session,
            sender,
            sender_name: message.sender_name,
            class,
            rule,
            text: message.text,
            message: message.message,
            has_media,
            busy,
        };
        if let Some(why) = lost.filter(|lost| !lost.is_empty()) {
            let word = format!("Your file did not arrive ({}). Send it again.", why.join("; "));
            return self.end_with(&admitted, "its file is lost", word).await;
        }
        if message.kind == InboundKind::Command {
            let shared = Arc::clone(self);
            self.runners.errand(Owned::start(async move { shared.command(admitted).await }));
            return Ok(());
        }
        let belongs = (album.as_deref(), account.def.form);
        self.settle_or_hold(admitted, message.sent_ms, belongs).await;
        Ok(())
    }

    /// The session of a chat and what a message does there while a turn runs. A chat that was
    /// silent for too long begins a new one.
    pub(crate) async fn route(
        &self,
        key: &ChatKey,
        busy: BusyMode,
    ) -> Result<(SessionId, BusyMode), StoreError> {
        let Some(route) = self.store.route(key).await? else {
            let fresh = self.host.new_session();
            return Ok((self.store.bind_first(key, &fresh).await?, busy));
        };
        let chosen = route.choices.get("busy").and_then(Value::as_str).and_then(BusyMode::named);
        let busy = chosen.unwrap_or(busy);
        let quiet = !self.runners.is_working(&route.session) && !self.cards.is_open_in(&key.lane());
        let fired = self.options().reset.fires(route.used_ms, now_ms());
        if let Some(rule) = fired.filter(|_| quiet) {
            let fresh = self.host.new_session();
            self.store.bind(key, &fresh).await?;
            let old = &route.session;
            let notice = NewDelivery {
                token: format!("reset-{fresh}"),
                body: format!("New conversation after {rule}. `/resume {old}` goes back."),
                ..blank(&key.lane())
            };
            self.say(notice).await?;
            return Ok((fresh, busy));
        }
        self.store.touch(key).await?;
        Ok((route.session, busy))
    }

    /// Words that are no command: an answer, something for the running turn, or the next turn.
    pub(crate) async fn settle_message(
        self: &Arc<Self>,
        message: &Admitted,
        sent_ms: i64,
    ) -> Result<(), StoreError> {
        if self.answered_a_card(message).await? || self.answered_an_offer(message).await? {
            return Ok(());
        }
        let age = Duration::from_millis(u64::try_from(now_ms() - sent_ms).unwrap_or(0));
        let stale = self.options().stale;
        if age > self.options().stale_after && stale != StalePolicy::Run {
            let minutes = age.as_secs() / 60;
            if stale == StalePolicy::Ask {
                return self.ask_about_old(message, minutes).await;
            }
            let body = format!(
                "This message is {minutes} minutes old, so I did not act on it. Send it again if you still want it."
            );
            let reply = message.reply(DeliveryClass::Notice, body);
            self.store.finish(&message.id, InboxState::Refused, "too old", vec![reply]).await?;
            self.nudge(&message.lane());
            return Ok(());
        }
        self.place(message).await
    }

    /// A message is for the running turn, or for the next one.
    pub(crate) async fn place(self: &Arc<Self>, message: &Admitted) -> Result<(), StoreError> {
        let working = self.runners.is_working(&message.session);
        if working
            && message.busy == BusyMode::Steer
            && !message.has_media
            && self.steer(message).await?
        {
            return Ok(());
        }
        let placed =
            self.store.queue(&message.id, &message.session, self.options().queue_max).await?;
        match placed {
            Placing::Full { waiting } => {
                let body = format!("The queue is full ({waiting}): your message was not taken.");
                let reply =
                    NewDelivery { inbox: None, ..message.reply(DeliveryClass::Command, body) };
                return self.say(reply).await;
            }
            Placing::Settled => return Ok(()),
            Placing::Queued { .. } => {}
        }
        let draining = self.draining.load(Ordering::Acquire);
        let interrupts = working
            && !draining
            && message.busy == BusyMode::Interrupt
            && !self.cards.is_open_for(&message.session)
            && !self.runners.has_helpers(&message.session)
            && !self.sessions.is_shortening(&message.session);
        if interrupts {
            self.interrupt(&message.session, StopReason::Superseded);
        } else if working || draining {
            self.tell_queued(message, placed).await?;
        }
        self.wake(&message.session);
        Ok(())
    }

    /// Gives words to the running turn; whether one took them.
    async fn steer(&self, message: &Admitted) -> Result<bool, StoreError> {
        let Some(session) = self.sessions.find(&message.session) else { return Ok(false) };
        if !session.guide(&message.text) {
            return Ok(false);
        }
        let reply = message.reply(DeliveryClass::Command, "The running turn gets this.");
        self.store.finish(&message.id, InboxState::Steered, "", vec![reply]).await?;
        self.nudge(&message.lane());
        Ok(true)
    }

    /// Says that a message waits, not more often than every half minute.
    async fn tell_queued(&self, message: &Admitted, placed: Placing) -> Result<(), StoreError> {
        let Placing::Queued { ahead } = placed else { return Ok(()) };
        let quiet = self.account(&message.lane()).is_some_and(|it| it.options().quiet);
        if quiet || !self.runners.may_acknowledge(&message.session) {
            return Ok(());
        }
        let body = match self.cards.open_numbers(&message.lane()).first() {
            Some(number) => {
                format!("#{number} is waiting: yes, session or no. Your message is queued.")
            }
            None if self.draining.load(Ordering::Acquire) => {
                "Restarting; your message is queued.".to_owned()
            }
            None => format!("Queued behind {ahead}."),
        };
        let notice = NewDelivery { inbox: None, ..message.reply(DeliveryClass::Command, body) };
        self.say(notice).await
    }
}

/// What is stored of an arrival.
fn inbound(arrival: Arrival, key: &ChatKey, sender: &str, prefix: Option<char>) -> InboundMessage {
    let mut text = unprefixed(&arrival.text, prefix);
    let kind = match () {
        () if command::split(&text).is_some() => InboundKind::Command,
        () if !arrival.media.is_empty() => InboundKind::Media,
        () => InboundKind::Text,
    };
    for why in &arrival.lost {
        crate::render::add(&mut text, format_args!("\n[a file did not arrive: {why}]"));
    }
    if let Some(quoted) = arrival.quoted.as_deref().filter(|quoted| !quoted.trim().is_empty()) {
        let quoted: String = crate::render::harmless(quoted).chars().take(4000).collect();
        text = format!("{text}\n\n[quoted, somebody's words: {quoted}]");
    }
    InboundMessage {
        key: key.clone(),
        sender: sender.to_owned(),
        sender_name: crate::render::harmless(&arrival.sender.name),
        dedup: arrival.dedup,
        message: arrival.message,
        sent_ms: arrival.sent_ms,
        kind,
        text,
        media: arrival.media,
    }
}

/// Where an answer to an arrival goes.
fn lane_of(account: &Account, arrival: &Arrival) -> Lane {
    Lane {
        platform: account.def.name.to_owned(),
        account: account.platform.account().to_owned(),
        chat: arrival.chat.clone(),
        thread: arrival.thread.clone(),
    }
}

/// A command that begins with the platform's own sign begins with a slash, and `/name@bot` is
/// `/name`.
fn unprefixed(text: &str, prefix: Option<char>) -> String {
    let trimmed = text.trim();
    let slashed = prefix
        .and_then(|sign| trimmed.strip_prefix(sign))
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
        .map(|rest| format!("/{rest}"));
    let text = slashed.unwrap_or_else(|| trimmed.to_owned());
    let Some(rest) = text.strip_prefix('/') else { return text };
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match name.split_once('@') {
        Some((name, _)) => format!("/{name} {words}").trim_end().to_owned(),
        None => text,
    }
}
