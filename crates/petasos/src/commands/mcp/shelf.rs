//! The logs that our MCP server offers as resources: conversations, and background jobs.

use std::fmt::Write as _;
use std::sync::Arc;

use petasos_contract::context::Surface;
use petasos_contract::jobs::{Jobs as _, Lines};
use petasos_contract::message::Message;
use petasos_contract::{BoxFuture, CallContext, Settings};
use petasos_mcp::server::{LogHead, Logs};
use petasos_sqlite::Store;
use petasos_store::{Filter, LoadedRow, SessionScope, SessionStore as _, Slice};
use petasos_terminal::JobTable;

use crate::host::Host;
use crate::report::Report;

/// How many conversations are listed; older ones can still be read by their identity.
const LISTED: usize = 50;
/// How many lines of a job's log are given.
const LINES: u64 = 2000;

const SESSIONS: &str = "petasos://sessions/";
const JOBS: &str = "petasos://jobs/";

/// Conversations and jobs of this home.
pub(super) struct Shelf {
    settings: Arc<Settings>,
    store: Arc<Store>,
    terminal: Arc<petasos_terminal::Engine>,
}

impl Shelf {
    pub(super) fn of(host: &Host) -> Result<Self, Report> {
        Ok(Self {
            settings: Arc::clone(host.settings()),
            store: host.store()?,
            terminal: Arc::clone(host.terminal()),
        })
    }

    fn jobs(&self) -> &Arc<JobTable> {
        self.terminal.jobs()
    }

    async fn conversation(&self, id: &str) -> Option<String> {
        // A client is a model's: it sees what belongs to whoever sits at this machine.
        let session = self.store.find(id, &SessionScope::Local).await.ok()?.session();
        let rows = self.store.read(&session, Slice::Whole).await.ok()?;
        let redactor = petasos_redact::Redactor::of(&self.settings);
        Some(redactor.text(&rows.iter().fold(String::new(), written)).into_owned())
    }

    async fn log(&self, id: &str) -> Option<String> {
        let view =
            self.jobs().list_all().into_iter().find(|view| view.session_id.as_str() == id)?;
        let cx = CallContext::new(Arc::clone(&self.settings), Surface::Mcp, view.owner);
        let page = self.jobs().log(&view.session_id, Lines::Last(LINES), &cx).await;
        Some(page.ok()??.output)
    }
}

fn written(mut text: String, row: &LoadedRow) -> String {
    let (who, words) = match &row.stored.message {
        Message::User { content } => ("user", content.text()),
        Message::Assistant(said) => ("assistant", said.content.clone().unwrap_or_default()),
        Message::Tool(result) => ("tool", result.content.text()),
    };
    // Writing to a string cannot fail.
    write!(text, "## {who}\n\n{words}\n\n").unwrap_or_default();
    text
}

impl Logs for Shelf {
    fn list(&self) -> BoxFuture<'_, Vec<LogHead>> {
        Box::pin(async move {
            let filter = Filter { limit: LISTED, ..Filter::default() };
            let heads = self.store.list(&filter).await.unwrap_or_default();
            let sessions = heads.into_iter().map(|head| LogHead {
                uri: format!("{SESSIONS}{}", head.id),
                name: head.title.unwrap_or_else(|| head.preview.clone()),
                description: format!("Conversation, {} messages", head.messages),
            });
            let jobs = self.jobs().list_all().into_iter().map(|view| LogHead {
                uri: format!("{JOBS}{}", view.session_id),
                name: view.command,
                description: format!("Log of a background job ({:?})", view.status),
            });
            sessions.chain(jobs).collect()
        })
    }

    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            if let Some(id) = uri.strip_prefix(SESSIONS) {
                return self.conversation(id).await;
            }
            self.log(uri.strip_prefix(JOBS)?).await
        })
    }
}
