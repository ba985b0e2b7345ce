//! A store that dies on command: at one call, before or after it is done, everything stops for ever,
//! as it does when the process is killed there.

use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::SessionId;
use petasos_sqlite::Store;
use petasos_store::{
    AccessStore, Attempt, ChatKey, ChatRoute, CursorStore, DeliveryClass, DeliveryState,
    InboundMessage, InboxRow, InboxState, InboxStore, KnownTarget, Lane, Later, NewDelivery,
    OutboxRow, OutboxStore, Paired, PairingLimits, PairingReceipt, PairingRequest, Placing,
    Receipt, RouteStore,
};
use serde_json::Value;
use tokio::sync::Notify;

/// When somebody dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Before,
    After,
}

/// A store with a fail point.
pub(crate) struct Mortal {
    store: Arc<Store>,
    /// The call, before or after, and how many such calls are let through.
    point: Mutex<Option<(&'static str, When, u32)>>,
    dead: Mutex<bool>,
    died: Notify,
    /// Who else is told of the death.
    told: Option<Arc<Notify>>,
}

impl Mortal {
    pub(crate) fn new(
        store: Arc<Store>,
        point: Option<(&'static str, When, u32)>,
        told: Option<Arc<Notify>>,
    ) -> Self {
        let (point, dead) = (Mutex::new(point), Mutex::new(false));
        Self { store, point, dead, died: Notify::new(), told }
    }

    /// Comes back when it has died.
    pub(crate) async fn died(&self) {
        loop {
            let news = self.died.notified();
            if *self.dead.lock() {
                return;
            }
            news.await;
        }
    }

    async fn passes(&self, call: &str, when: When) {
        if !*self.dead.lock() {
            let mut point = self.point.lock();
            match point.as_mut() {
                Some((name, at, 0)) if *name == call && *at == when => {
                    *self.dead.lock() = true;
                    self.died.notify_waiters();
                    if let Some(told) = &self.told {
                        told.notify_one();
                    }
                }
                Some((name, at, count)) if *name == call && *at == when => {
                    *count -= 1;
                    return;
                }
                _ => return,
            }
        }
        std::future::pending::<()>().await;
    }
}

/// One method that passes on what it is asked.
macro_rules! passed {
    ($self:ident.$name:ident($($arg:ident),*)) => {
        Box::pin(async move {
            $self.passes(stringify!($name), When::Before).await;
            let done = $self.store.$name($($arg),*).await;
            $self.passes(stringify!($name), When::After).await;
            done
        })
    };
}

impl InboxStore for Mortal {
    fn accept<'a>(&'a self, message: &'a InboundMessage) -> Later<'a, Receipt> {
        passed!(self.accept(message))
    }

    fn queue<'a>(&'a self, id: &'a str, session: &'a SessionId, limit: u32) -> Later<'a, Placing> {
        passed!(self.queue(id, session, limit))
    }

    fn claim<'a>(&'a self, session: &'a SessionId) -> Later<'a, Option<InboxRow>> {
        passed!(self.claim(session))
    }

    fn collect<'a>(
        &'a self,
        id: &'a str,
        messages_max: usize,
        chars_max: usize,
    ) -> Later<'a, Option<InboxRow>> {
        passed!(self.collect(id, messages_max, chars_max))
    }

    fn join<'a>(&'a self, id: &'a str, others: &'a [String]) -> Later<'a, Option<InboxRow>> {
        passed!(self.join(id, others))
    }

    fn recast<'a>(&'a self, id: &'a str, text: &'a str) -> Later<'a, bool> {
        passed!(self.recast(id, text))
    }

    fn settle<'a>(
        &'a self,
        id: &'a str,
        from: &'a [InboxState],
        to: InboxState,
        reason: &'a str,
    ) -> Later<'a, bool> {
        passed!(self.settle(id, from, to, reason))
    }

    fn finish<'a>(
        &'a self,
        id: &'a str,
        to: InboxState,
        reason: &'a str,
        deliveries: Vec<NewDelivery>,
    ) -> Later<'a, bool> {
        passed!(self.finish(id, to, reason, deliveries))
    }

    fn requeue<'a>(&'a self, id: &'a str) -> Later<'a, bool> {
        passed!(self.requeue(id))
    }

    fn reword<'a>(
        &'a self,
        platform: &'a str,
        account: &'a str,
        message: &'a str,
        text: &'a str,
    ) -> Later<'a, bool> {
        passed!(self.reword(platform, account, message, text))
    }

    fn withdraw<'a>(&'a self, session: &'a SessionId, reason: &'a str) -> Later<'a, u32> {
        passed!(self.withdraw(session, reason))
    }

    fn orphans(&self) -> Later<'_, Vec<InboxRow>> {
        passed!(self.orphans())
    }

    fn message<'a>(&'a self, id: &'a str) -> Later<'a, Option<InboxRow>> {
        passed!(self.message(id))
    }

    fn depths(&self) -> Later<'_, Vec<(InboxState, u64)>> {
        passed!(self.depths())
    }

    fn undone(&self) -> Later<'_, u64> {
        passed!(self.undone())
    }

    fn waiting_sessions(&self) -> Later<'_, Vec<SessionId>> {
        passed!(self.waiting_sessions())
    }

    fn waiting<'a>(&'a self, session: &'a SessionId) -> Later<'a, u32> {
        passed!(self.waiting(session))
    }

    fn forget_settled(&self, before_ms: i64, keep: u32) -> Later<'_, u64> {
        passed!(self.forget_settled(before_ms, keep))
    }
}

impl OutboxStore for Mortal {
    fn plan(&self, deliveries: Vec<NewDelivery>) -> Later<'_, usize> {
        passed!(self.plan(deliveries))
    }

    fn take_due<'a>(
        &'a self,
        platform: &'a str,
        account: &'a str,
        now_ms: i64,
        limit: u32,
    ) -> Later<'a, Vec<OutboxRow>> {
        Box::pin(async move {
            let rows = self.store.take_due(platform, account, now_ms, limit).await;
            // Looking is nothing; taking is.
            if rows.as_ref().is_ok_and(|rows| !rows.is_empty()) {
                self.passes("take_due", When::After).await;
            }
            rows
        })
    }

    fn next_due<'a>(&'a self, platform: &'a str, account: &'a str) -> Later<'a, Option<i64>> {
        passed!(self.next_due(platform, account))
    }

    fn set_parts(&self, id: i64, parts: Vec<String>) -> Later<'_, ()> {
        passed!(self.set_parts(id, parts))
    }

    fn part_sent<'a>(&'a self, id: i64, name: &'a str) -> Later<'a, ()> {
        passed!(self.part_sent(id, name))
    }

    fn end_attempt(&self, id: i64, attempt: Attempt) -> Later<'_, ()> {
        passed!(self.end_attempt(id, attempt))
    }

    fn recover_sending(&self) -> Later<'_, u32> {
        passed!(self.recover_sending())
    }

    fn deliveries<'a>(
        &'a self,
        states: &'a [DeliveryState],
        limit: u32,
    ) -> Later<'a, Vec<OutboxRow>> {
        passed!(self.deliveries(states, limit))
    }

    fn delivery(&self, id: i64) -> Later<'_, Option<OutboxRow>> {
        passed!(self.delivery(id))
    }

    fn delivery_of<'a>(&'a self, token: &'a str) -> Later<'a, Option<OutboxRow>> {
        passed!(self.delivery_of(token))
    }

    fn take_one(&self, id: i64) -> Later<'_, Option<OutboxRow>> {
        passed!(self.take_one(id))
    }

    fn retry(&self, id: i64) -> Later<'_, bool> {
        passed!(self.retry(id))
    }

    fn drop_delivery(&self, id: i64) -> Later<'_, bool> {
        passed!(self.drop_delivery(id))
    }

    fn supersede<'a>(&'a self, lane: Option<&'a Lane>, class: DeliveryClass) -> Later<'a, u32> {
        passed!(self.supersede(lane, class))
    }

    fn delivery_depths(&self) -> Later<'_, Vec<(DeliveryState, u64)>> {
        passed!(self.delivery_depths())
    }
}

impl RouteStore for Mortal {
    fn route<'a>(&'a self, key: &'a ChatKey) -> Later<'a, Option<ChatRoute>> {
        passed!(self.route(key))
    }

    fn bind<'a>(&'a self, key: &'a ChatKey, session: &'a SessionId) -> Later<'a, ()> {
        passed!(self.bind(key, session))
    }

    fn bind_first<'a>(&'a self, key: &'a ChatKey, session: &'a SessionId) -> Later<'a, SessionId> {
        passed!(self.bind_first(key, session))
    }

    fn touch<'a>(&'a self, key: &'a ChatKey) -> Later<'a, ()> {
        passed!(self.touch(key))
    }

    fn choose<'a>(
        &'a self,
        key: &'a ChatKey,
        name: &'a str,
        value: Option<Value>,
    ) -> Later<'a, ()> {
        passed!(self.choose(key, name, value))
    }

    fn rekey<'a>(
        &'a self,
        platform: &'a str,
        account: &'a str,
        from: &'a str,
        to: &'a str,
    ) -> Later<'a, u32> {
        passed!(self.rekey(platform, account, from, to))
    }

    fn routes_to<'a>(&'a self, session: &'a SessionId) -> Later<'a, Vec<ChatRoute>> {
        passed!(self.routes_to(session))
    }

    fn routes_of<'a>(&'a self, platform: &'a str, limit: u32) -> Later<'a, Vec<ChatRoute>> {
        passed!(self.routes_of(platform, limit))
    }

    fn forget_routes(&self, before_ms: i64) -> Later<'_, u32> {
        passed!(self.forget_routes(before_ms))
    }
}

impl AccessStore for Mortal {
    fn ask_pairing<'a>(
        &'a self,
        request: &'a PairingRequest,
        limits: PairingLimits,
    ) -> Later<'a, PairingReceipt> {
        passed!(self.ask_pairing(request, limits))
    }

    fn open_pairings<'a>(
        &'a self,
        platform: &'a str,
        now_ms: i64,
        limits: PairingLimits,
    ) -> Later<'a, Vec<PairingRequest>> {
        passed!(self.open_pairings(platform, now_ms, limits))
    }

    fn admit<'a>(
        &'a self,
        platform: &'a str,
        user: &'a str,
        now_ms: i64,
    ) -> Later<'a, Option<Paired>> {
        passed!(self.admit(platform, user, now_ms))
    }

    fn wrong_code<'a>(
        &'a self,
        platform: &'a str,
        now_ms: i64,
        limits: PairingLimits,
    ) -> Later<'a, Option<i64>> {
        passed!(self.wrong_code(platform, now_ms, limits))
    }

    fn paired<'a>(&'a self, platform: Option<&'a str>) -> Later<'a, Vec<Paired>> {
        passed!(self.paired(platform))
    }

    fn unpair<'a>(&'a self, platform: &'a str, user: &'a str) -> Later<'a, bool> {
        passed!(self.unpair(platform, user))
    }

    fn know_target<'a>(&'a self, lane: &'a Lane, name: &'a str) -> Later<'a, ()> {
        passed!(self.know_target(lane, name))
    }

    fn set_unreachable<'a>(&'a self, lane: &'a Lane, why: Option<&'a str>) -> Later<'a, ()> {
        passed!(self.set_unreachable(lane, why))
    }

    fn set_home<'a>(&'a self, lane: &'a Lane, name: &'a str) -> Later<'a, ()> {
        passed!(self.set_home(lane, name))
    }

    fn targets<'a>(&'a self, platform: Option<&'a str>) -> Later<'a, Vec<KnownTarget>> {
        passed!(self.targets(platform))
    }
}

impl CursorStore for Mortal {
    fn cursor<'a>(
        &'a self,
        platform: &'a str,
        account: &'a str,
        name: &'a str,
    ) -> Later<'a, Option<String>> {
        passed!(self.cursor(platform, account, name))
    }

    fn set_cursor<'a>(
        &'a self,
        platform: &'a str,
        account: &'a str,
        name: &'a str,
        value: &'a str,
    ) -> Later<'a, ()> {
        passed!(self.set_cursor(platform, account, name, value))
    }
}
