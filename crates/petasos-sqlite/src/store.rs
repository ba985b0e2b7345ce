//! The file as a `SessionStore`. What keeps the file itself in order is in `maintain`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use petasos_contract::SessionId;
use petasos_store::{
    Amend, Filter, Hit, Holder, Later, Lease, LeaseStore, Loaded, LoadedRow, NewSession, Query,
    Row, Seq, SessionExtent, SessionHead, SessionScope, SessionStore, Slice, StoreError,
    WaitingCalls,
};
use rusqlite::Connection;

use crate::changes::Feed;
use crate::export::{self, Format};
use crate::leases::{self, Party};
use crate::readers::Readers;
use crate::sqlite::{self, OpenOptions};
use crate::writer::Writer;
use crate::{messages, migrations, repair, search, sessions};

/// Conversations in one SQLite file.
pub struct Store {
    path: PathBuf,
    pub(crate) writer: Writer,
    pub(crate) readers: Readers,
    pub(crate) feed: Feed,
    /// Tells our leases from those of others.
    pub(crate) party: Arc<Party>,
    notice: Option<String>,
}

impl Store {
    /// Opens the file, making or upgrading it.
    pub fn open(options: &OpenOptions) -> Result<Self, StoreError> {
        let (mut connection, notice) = sqlite::open_writer(options)?;
        migrations::apply(&mut connection)?;
        let feed = Feed::new(&options.path);
        Ok(Self {
            path: options.path.clone(),
            writer: Writer::start(connection, feed.bell())?,
            readers: Readers::new(&options.path),
            feed,
            party: Arc::new(Party::new()),
            notice,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Something a person should know about how it could be opened.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// A conversation as text, every word through the mask.
    pub async fn export(
        &self,
        session: &SessionId,
        format: Format,
        mask: impl Fn(&str) -> String + Send,
    ) -> Result<String, StoreError> {
        let id = session.clone();
        let (head, rows) = self
            .readers
            .read("an export", move |connection| {
                let head = sessions::head(connection, &id)?;
                Ok((head, messages::rows(connection, &id, true)?))
            })
            .await?;
        Ok(export::render(&head, &rows, format, &mask))
    }

    async fn look(&self, session: &SessionId) -> Result<Loaded, StoreError> {
        let id = session.clone();
        self.readers
            .read("a conversation", move |connection| {
                let head = sessions::head(connection, &id)?;
                let system_prompt = sessions::system_prompt(connection, &id)?;
                let rows = messages::rows(connection, &id, false)?;
                let last = sessions::last_seq(connection, &id)?;
                Ok(Loaded { head, system_prompt, rows, last })
            })
            .await
    }

    /// A write that is refused while somebody else has the lease of the conversation.
    async fn change<T: Send + 'static>(
        &self,
        what: &'static str,
        session: &SessionId,
        job: impl FnOnce(&Connection, &SessionId) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (id, me) = (session.clone(), Arc::clone(&self.party));
        let job = move |connection: &Connection| {
            leases::free(connection, &id, &me)?;
            job(connection, &id)
        };
        self.writer.write(what, job).await
    }
}

impl SessionStore for Store {
    fn create(&self, new: NewSession) -> Later<'_, SessionHead> {
        let job = move |connection: &Connection| sessions::create(connection, &new);
        Box::pin(self.writer.begin("a new conversation", job))
    }

    fn append<'a>(&'a self, session: &'a SessionId, rows: Vec<Row>) -> Later<'a, Vec<Seq>> {
        let me = Arc::clone(&self.party);
        let job = move |connection: &Connection, id: &SessionId| {
            messages::append(connection, id, &rows, &me)
        };
        Box::pin(self.change("a message", session, job))
    }

    fn load<'a>(&'a self, session: &'a SessionId) -> Later<'a, Loaded> {
        Box::pin(self.look(session))
    }

    fn close_turn<'a>(&'a self, lease: &'a Lease, waiting: WaitingCalls) -> Later<'a, Vec<String>> {
        Box::pin(async move {
            let rows = self.look(&lease.session).await?.rows;
            if repair::faults(&rows).is_empty() {
                return Ok(Vec::new());
            }
            let (lease, me) = (lease.clone(), Arc::clone(&self.party));
            let job = move |connection: &Connection| {
                leases::held(connection, &lease, &me)?;
                repair::close(connection, &lease.session, waiting)
            };
            self.writer.write("a repair of a conversation", job).await
        })
    }

    fn amend<'a>(&'a self, session: &'a SessionId, change: Amend) -> Later<'a, Vec<Seq>> {
        let is_about_rows = matches!(change, Amend::Swap(_) | Amend::Rewind(_));
        let job =
            move |connection: &Connection, id: &SessionId| sessions::amend(connection, id, change);
        if is_about_rows {
            return Box::pin(self.change("a change", session, job));
        }
        let id = session.clone();
        Box::pin(self.writer.write("a change", move |connection| job(connection, &id)))
    }

    fn find<'a>(&'a self, handle: &'a str, scope: &'a SessionScope) -> Later<'a, SessionHead> {
        let (handle, scope) = (handle.to_owned(), scope.clone());
        let look = move |connection: &Connection| sessions::find(connection, &handle, &scope);
        Box::pin(self.readers.read("a conversation", look))
    }

    fn list<'a>(&'a self, filter: &'a Filter) -> Later<'a, Vec<SessionHead>> {
        let filter = filter.clone();
        let look = move |connection: &Connection| sessions::list(connection, &filter);
        Box::pin(self.readers.read("the list of conversations", look))
    }

    fn search<'a>(&'a self, query: &'a Query) -> Later<'a, Vec<Hit>> {
        let query = query.clone();
        let look = move |connection: &Connection| search::search(connection, &query);
        Box::pin(self.readers.read("a search", look))
    }

    fn updated_since(&self, ms: i64) -> Later<'_, Vec<SessionExtent>> {
        let look = move |connection: &Connection| sessions::updated_since(connection, ms);
        Box::pin(self.readers.read("changed conversations", look))
    }

    fn read<'a>(&'a self, session: &'a SessionId, slice: Slice) -> Later<'a, Vec<LoadedRow>> {
        let id = session.clone();
        let look = move |connection: &Connection| messages::slice(connection, &id, slice);
        Box::pin(self.readers.read("a conversation", look))
    }

    fn fork<'a>(
        &'a self,
        session: &'a SessionId,
        until: Option<Seq>,
        new: NewSession,
    ) -> Later<'a, SessionHead> {
        let id = session.clone();
        let job = move |connection: &Connection| sessions::fork(connection, &id, until, new);
        Box::pin(self.writer.write("a fork", job))
    }

    fn delete<'a>(&'a self, session: &'a SessionId) -> Later<'a, ()> {
        let me = Arc::clone(&self.party);
        let job = move |connection: &Connection, id: &SessionId| {
            // An index that is being rebuilt does not know the row yet that would be taken out.
            leases::free(connection, &SessionId::new(leases::EVERYTHING), &me)?;
            sessions::delete(connection, id)
        };
        Box::pin(self.change("a deletion", session, job))
    }
}

impl LeaseStore for Store {
    fn claim<'a>(&'a self, session: &'a SessionId, purpose: &'a str) -> Later<'a, Lease> {
        let (id, purpose, me) = (session.clone(), purpose.to_owned(), Arc::clone(&self.party));
        let job = move |connection: &Connection| leases::claim(connection, &id, &purpose, &me);
        Box::pin(self.writer.begin("a lease", job))
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> Later<'a, ()> {
        let (lease, me) = (lease.clone(), Arc::clone(&self.party));
        let job = move |connection: &Connection| leases::renew(connection, &lease, &me);
        Box::pin(self.writer.begin("a lease", job))
    }

    fn release(&self, lease: &Lease) {
        let lease = lease.clone();
        self.writer.write_later("a lease", move |connection| leases::release(connection, &lease));
    }

    fn holder<'a>(&'a self, session: &'a SessionId) -> Later<'a, Option<Holder>> {
        let (id, me) = (session.clone(), Arc::clone(&self.party));
        let look = move |connection: &Connection| leases::holder(connection, &id, &me);
        Box::pin(self.readers.read("a lease", look))
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.path).finish_non_exhaustive()
    }
}
