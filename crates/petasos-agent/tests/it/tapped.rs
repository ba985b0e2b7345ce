//! A store whose answers to `append` a test sees, and may change.

use petasos_contract::SessionId;
use petasos_sqlite::Store;
use petasos_store::{
    Amend, Filter, Hit, Holder, Later, Lease, LeaseStore, Loaded, LoadedRow, NewSession, Query,
    Row, Seq, SessionExtent, SessionHead, SessionScope, SessionStore, Slice, StoreError,
    WaitingCalls,
};

type Answer = dyn Fn(&SessionId, Vec<Seq>) -> Result<Vec<Seq>, StoreError> + Send + Sync;

/// The real store behind it.
pub(crate) struct Tapped {
    store: Store,
    answer: Box<Answer>,
}

impl Tapped {
    pub(crate) fn new(
        store: Store,
        answer: impl Fn(&SessionId, Vec<Seq>) -> Result<Vec<Seq>, StoreError> + Send + Sync + 'static,
    ) -> Self {
        Self { store, answer: Box::new(answer) }
    }
}

impl SessionStore for Tapped {
    fn create(&self, new: NewSession) -> Later<'_, SessionHead> {
        self.store.create(new)
    }

    fn append<'a>(&'a self, session: &'a SessionId, rows: Vec<Row>) -> Later<'a, Vec<Seq>> {
        Box::pin(async move {
            let seqs = self.store.append(session, rows).await?;
            (self.answer)(session, seqs)
        })
    }

    fn load<'a>(&'a self, session: &'a SessionId) -> Later<'a, Loaded> {
        self.store.load(session)
    }

    fn amend<'a>(&'a self, session: &'a SessionId, change: Amend) -> Later<'a, Vec<Seq>> {
        self.store.amend(session, change)
    }

    fn find<'a>(&'a self, handle: &'a str, scope: &'a SessionScope) -> Later<'a, SessionHead> {
        self.store.find(handle, scope)
    }

    fn list<'a>(&'a self, filter: &'a Filter) -> Later<'a, Vec<SessionHead>> {
        self.store.list(filter)
    }

    fn search<'a>(&'a self, query: &'a Query) -> Later<'a, Vec<Hit>> {
        self.store.search(query)
    }

    fn updated_since(&self, ms: i64) -> Later<'_, Vec<SessionExtent>> {
        self.store.updated_since(ms)
    }

    fn read<'a>(&'a self, session: &'a SessionId, slice: Slice) -> Later<'a, Vec<LoadedRow>> {
        self.store.read(session, slice)
    }

    fn fork<'a>(
        &'a self,
        session: &'a SessionId,
        until: Option<Seq>,
        new: NewSession,
    ) -> Later<'a, SessionHead> {
        self.store.fork(session, until, new)
    }

    fn delete<'a>(&'a self, session: &'a SessionId) -> Later<'a, ()> {
        self.store.delete(session)
    }

    fn close_turn<'a>(&'a self, lease: &'a Lease, waiting: WaitingCalls) -> Later<'a, Vec<String>> {
        self.store.close_turn(lease, waiting)
    }
}

impl LeaseStore for Tapped {
    fn claim<'a>(&'a self, session: &'a SessionId, purpose: &'a str) -> Later<'a, Lease> {
        self.store.claim(session, purpose)
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> Later<'a, ()> {
        self.store.renew(lease)
    }

    fn release(&self, lease: &Lease) {
        self.store.release(lease);
    }

    fn holder<'a>(&'a self, session: &'a SessionId) -> Later<'a, Option<Holder>> {
        self.store.holder(session)
    }
}
