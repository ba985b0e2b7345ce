//! The file as a `SessionStore`, and the doors that only this kind of store has.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use petasos_contract::SessionId;
use petasos_contract::store::{
    Amend, Filter, Hit, Later, Loaded, LoadedRow, NewSession, Query, Row, Seq, SessionHead,
    SessionStore, Slice, StoreError,
};
use rusqlite::Connection;

use crate::export::{self, Format};
use crate::import::{self, Imported};
use crate::readers::Readers;
use crate::sqlite::{self, OpenOptions};
use crate::stamp::{new_session_id, now_ms};
use crate::verify::{self, Verified};
use crate::writer::Writer;
use crate::{messages, migrations, repair, search, sessions};

/// Conversations in one SQLite file.
pub struct Store {
    path: PathBuf,
    writer: Writer,
    readers: Readers,
    /// Tells our locks from those of other processes.
    holder: Arc<str>,
    notice: Option<String>,
}

impl Store {
    /// Opens the file, making or upgrading it.
    pub fn open(options: &OpenOptions) -> Result<Self, StoreError> {
        let (mut connection, notice) = sqlite::open_writer(options)?;
        migrations::apply(&mut connection)?;
        let holder = format!("{}-{}-{}", std::process::id(), now_ms(), new_session_id());
        Ok(Self {
            path: options.path.clone(),
            writer: Writer::start(connection)?,
            readers: Readers::new(&options.path),
            holder: holder.into(),
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

    /// Looks whether the file, or one conversation, is sound. Changes nothing.
    pub async fn verify(&self, session: Option<&SessionId>) -> Result<Verified, StoreError> {
        let session = session.cloned();
        let look = move |connection: &Connection| verify::check(connection, session.as_ref());
        self.readers.read("a check of the database", look).await
    }

    /// Rebuilds the search indexes and repairs every torn conversation; says what was done.
    pub async fn repair(&self) -> Result<Vec<String>, StoreError> {
        self.writer.write("a repair of the database", verify::mend).await
    }

    /// Saves what can be read of a file that [`Store::open`] says is damaged. The damaged file is
    /// kept beside the new one. Nobody else may have it open.
    pub fn salvage(path: &Path) -> Result<Vec<String>, StoreError> {
        verify::salvage(path)
    }

    /// Takes over the conversations of another agent's database, which is only read.
    pub async fn import_hermes(&self, from: &Path) -> Result<Imported, StoreError> {
        let from = from.to_owned();
        self.writer.write("an import", move |connection| import::hermes(connection, &from)).await
    }

    /// What an import would do, without doing it.
    pub async fn preview_import(&self, from: &Path) -> Result<Imported, StoreError> {
        let from = from.to_owned();
        let look = move |connection: &Connection| import::preview(connection, &from);
        self.readers.read("a look at an import", look).await
    }

    async fn mend(&self, session: &SessionId) -> Result<Vec<String>, StoreError> {
        let id = session.clone();
        self.writer
            .write("a repair of a conversation", move |connection| {
                let rows = messages::rows(connection, &id, false)?;
                let journal = repair::journal(connection, &id)?;
                let done = repair::mend(connection, &id, &repair::faults(&rows), Some(&journal))?;
                sessions::recount(connection, &id)?;
                Ok(done)
            })
            .await
    }

    async fn look(&self, session: &SessionId) -> Result<Loaded, StoreError> {
        let id = session.clone();
        self.readers
            .read("a conversation", move |connection| {
                let head = sessions::head(connection, &id)?;
                let system_prompt = sessions::system_prompt(connection, &id)?;
                let rows = messages::rows(connection, &id, false)?;
                let last = sessions::last_seq(connection, &id)?;
                Ok(Loaded { head, system_prompt, rows, last, repairs: Vec::new() })
            })
            .await
    }
}

impl SessionStore for Store {
    fn create(&self, new: NewSession) -> Later<'_, SessionHead> {
        let job = move |connection: &Connection| sessions::create(connection, &new);
        Box::pin(self.writer.write("a new conversation", job))
    }

    fn append<'a>(&'a self, session: &'a SessionId, rows: Vec<Row>) -> Later<'a, Vec<Seq>> {
        let id = session.clone();
        let job = move |connection: &Connection| messages::append(connection, &id, &rows);
        Box::pin(self.writer.write("a message", job))
    }

    fn load<'a>(&'a self, session: &'a SessionId) -> Later<'a, Loaded> {
        Box::pin(async move {
            let loaded = self.look(session).await?;
            if repair::faults(&loaded.rows).is_empty() {
                return Ok(loaded);
            }
            let repairs = self.mend(session).await?;
            Ok(Loaded { repairs, ..self.look(session).await? })
        })
    }

    fn amend<'a>(&'a self, session: &'a SessionId, change: Amend) -> Later<'a, Vec<Seq>> {
        let id = session.clone();
        let job = move |connection: &Connection| sessions::amend(connection, &id, change);
        Box::pin(self.writer.write("a change", job))
    }

    fn find<'a>(&'a self, handle: &'a str) -> Later<'a, SessionHead> {
        let handle = handle.to_owned();
        let look = move |connection: &Connection| sessions::find(connection, &handle);
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
        Box::pin(async move {
            // A torn conversation is made whole before anyone continues a copy of it.
            self.load(session).await?;
            let id = session.clone();
            let job = move |connection: &Connection| sessions::fork(connection, &id, until, new);
            self.writer.write("a fork", job).await
        })
    }

    fn delete<'a>(&'a self, session: &'a SessionId) -> Later<'a, ()> {
        let id = session.clone();
        let job = move |connection: &Connection| sessions::delete(connection, &id);
        Box::pin(self.writer.write("a deletion", job))
    }

    fn claim<'a>(&'a self, session: &'a SessionId, purpose: &'a str) -> Later<'a, bool> {
        let (id, purpose, holder) = (session.clone(), purpose.to_owned(), Arc::clone(&self.holder));
        let job =
            move |connection: &Connection| sessions::claim(connection, &id, &purpose, &holder);
        Box::pin(self.writer.write("a lock", job))
    }

    fn release<'a>(&'a self, session: &'a SessionId, purpose: &'a str) -> Later<'a, ()> {
        let (id, purpose, holder) = (session.clone(), purpose.to_owned(), Arc::clone(&self.holder));
        let job =
            move |connection: &Connection| sessions::release(connection, &id, &purpose, &holder);
        Box::pin(self.writer.write("a lock", job))
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.path).finish_non_exhaustive()
    }
}
