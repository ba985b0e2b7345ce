//! The store through its doors, over real files.
#![expect(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod conformance;
mod damage;
mod import;
mod killed;
mod leases;
mod log;
mod mailbox;
mod owners;
mod prune;
mod search;
mod sessions;

use petasos_contract::SessionId;
use petasos_contract::message::{Assistant, Message, RequestedCall, ToolMessage};
use petasos_sqlite::{OpenOptions, Store};
use petasos_store::{LeaseStore as _, NewSession, Row, SessionStore, Stored, WaitingCalls};
use tempfile::TempDir;

/// A store in a folder of its own.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("petasos.db")
    }

    fn open(&self) -> Store {
        Store::open(&OpenOptions::new(self.file())).unwrap()
    }
}

fn new(source: &str) -> NewSession {
    NewSession { source: source.to_owned(), ..NewSession::default() }
}

async fn begin(store: &Store) -> SessionId {
    store.create(new("cli")).await.unwrap().session()
}

/// Closes a turn that was cut off, as whoever goes on with it does.
async fn close(store: &Store, session: &SessionId) -> Vec<String> {
    let lease = store.claim(session, "a test").await.unwrap();
    let done = store.close_turn(&lease, WaitingCalls::Close).await.unwrap();
    store.release(&lease);
    done
}

fn user(text: &str) -> Row {
    Row::message(Message::user(text))
}

fn assistant(text: &str) -> Row {
    Row::message(Message::assistant(text))
}

/// A reply that asks for these calls of `terminal`.
fn calling(ids: &[&str]) -> Row {
    let call = |id: &&str| RequestedCall {
        id: (*id).into(),
        name: "terminal".into(),
        arguments: r#"{"command":"true"}"#.to_owned(),
        provider_data: None,
    };
    let tool_calls = ids.iter().map(call).collect();
    Row::message(Message::Assistant(Assistant { tool_calls, ..Assistant::default() }))
}

fn result(id: &str, text: &str) -> Row {
    Row::Message(Box::new(Stored::new(Message::Tool(ToolMessage {
        tool_call_id: id.into(),
        name: Some("terminal".into()),
        content: text.into(),
    }))))
}

async fn texts(store: &Store, session: &SessionId) -> Vec<String> {
    let loaded = store.load(session).await.unwrap();
    loaded.rows.iter().map(|row| text(&row.stored.message)).collect()
}

fn text(message: &Message) -> String {
    match message {
        Message::User { content } => format!("user: {}", content.text()),
        Message::Assistant(said) if said.tool_calls.is_empty() => {
            format!("assistant: {}", said.text())
        }
        Message::Assistant(said) => {
            let ids: Vec<&str> = said.tool_calls.iter().map(|call| call.id.as_str()).collect();
            format!("calls: {}", ids.join(" "))
        }
        Message::Tool(result) => format!("{}: {}", result.tool_call_id, result.content.text()),
    }
}
