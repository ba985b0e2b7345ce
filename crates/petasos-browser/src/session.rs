//! What is known of one session: its tabs, dialogs, console and downloads.
//!
//! The knowledge is behind one short lock; whoever waits for a change of it waits on `changed`.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use petasos_contract::{SessionId, TaskId};
use petasos_net::FilterProxy;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::error::BrowserError;
use crate::events::Hub;
use crate::options::BrowserSettings;
use crate::record::Recorder;
use crate::running::Which;
use crate::tab::Tab;
use crate::wire::{Wire, WireError};

pub(crate) type SessionKey = (SessionId, TaskId);

/// A question that a page put to its reader; nothing in the page moves until it is answered.
#[derive(Debug, Clone)]
pub(crate) struct Dialog {
    pub(crate) id: String,
    pub(crate) cdp: String,
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) default: String,
    pub(crate) url: String,
    pub(crate) opened: Instant,
}

impl Dialog {
    pub(crate) fn told(&self) -> Value {
        json!({ "id": self.id, "type": self.kind, "message": self.message,
            "default": self.default, "url": self.url })
    }
}

/// A file that a page gave.
#[derive(Debug, Clone)]
pub(crate) struct Download {
    pub(crate) id: String,
    pub(crate) filename: String,
    pub(crate) size: f64,
    pub(crate) state: String,
    pub(crate) path: Option<PathBuf>,
    pub(crate) is_told: bool,
}

impl Download {
    pub(crate) fn told(&self) -> Value {
        let mut told = json!({ "id": self.id, "filename": self.filename, "size": self.size,
            "state": self.state });
        if let (Some(path), Some(object)) = (&self.path, told.as_object_mut()) {
            object.insert("path".to_owned(), path.display().to_string().into());
        }
        told
    }
}

/// A ring that forgets its oldest.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    pub(crate) kept: VecDeque<Value>,
    pub(crate) total: u64,
}

impl Ring {
    pub(crate) fn push(&mut self, value: Value, most: usize) {
        self.total += 1;
        if self.kept.len() >= most {
            self.kept.pop_front();
        }
        self.kept.push_back(value);
    }
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) tabs: Vec<Tab>,
    pub(crate) active: Option<String>,
    pub(crate) tabs_made: u32,
    pub(crate) refs_made: u32,
    pub(crate) dialogs: Vec<Dialog>,
    pub(crate) dialogs_made: u32,
    pub(crate) recent_dialogs: VecDeque<Value>,
    pub(crate) console: Ring,
    pub(crate) errors: Ring,
    pub(crate) downloads: Vec<Download>,
    notes: Vec<String>,
    /// Notes that were too many to be kept.
    notes_more: usize,
    /// Until when a new tab is taken for the work of our own action.
    pub(crate) tab_expected: Option<Instant>,
    /// Why a page was blanked after it had come from where it may not come.
    pub(crate) blanked: Option<String>,
    /// The field that was typed into last.
    pub(crate) typed_last: Option<u32>,
    /// Whether the process went away under it.
    pub(crate) is_lost: bool,
}

/// More notes than a model needs for one result.
const NOTES_MAX: usize = 12;

impl State {
    /// Something that the next result says; a page that causes many is counted.
    pub(crate) fn note(&mut self, note: String) {
        if self.notes.len() >= NOTES_MAX {
            self.notes_more += 1;
        } else if self.notes.last() != Some(&note) {
            self.notes.push(note);
        }
    }

    /// What the next result says.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        let mut notes = std::mem::take(&mut self.notes);
        let more = std::mem::take(&mut self.notes_more);
        if more > 0 {
            notes.push(format!("…and {more} more of the kind"));
        }
        notes
    }

    pub(crate) fn tab(&mut self, id: &str) -> Option<&mut Tab> {
        self.tabs.iter_mut().find(|tab| tab.id == id)
    }

    pub(crate) fn active_tab(&mut self) -> Option<&mut Tab> {
        let active = self.active.clone()?;
        self.tab(&active)
    }
}

/// One session of a browser.
pub(crate) struct Session {
    pub(crate) key: SessionKey,
    pub(crate) which: Which,
    pub(crate) wire: Arc<Wire>,
    /// The browser's name for its context; empty for the only one that it keeps.
    pub(crate) context: String,
    /// Whether addresses are checked when answers come, because our proxy cannot be reached.
    pub(crate) is_remote: bool,
    pub(crate) proxy: FilterProxy,
    /// Who must forget the session when it ends.
    pub(crate) hub: Arc<Hub>,
    pub(crate) folder: PathBuf,
    pub(crate) options: BrowserSettings,
    pub(crate) changed: Notify,
    /// Held by the call that uses the session.
    pub(crate) turn: tokio::sync::Mutex<()>,
    pub(crate) used: Mutex<Instant>,
    /// What the next result must say once.
    pub(crate) first: Mutex<Vec<(&'static str, Value)>>,
    /// Who films it; given up when the session ends.
    pub(crate) recorder: Mutex<Option<Recorder>>,
    state: Mutex<State>,
}

/// What a session is made of.
pub(crate) struct SessionParts {
    pub(crate) key: SessionKey,
    pub(crate) which: Which,
    pub(crate) wire: Arc<Wire>,
    pub(crate) context: String,
    pub(crate) is_remote: bool,
    pub(crate) proxy: FilterProxy,
    pub(crate) hub: Arc<Hub>,
    pub(crate) folder: PathBuf,
    pub(crate) options: BrowserSettings,
    pub(crate) first: Vec<(&'static str, Value)>,
}

impl Session {
    pub(crate) fn new(parts: SessionParts) -> Arc<Self> {
        Arc::new(Self {
            key: parts.key,
            which: parts.which,
            wire: parts.wire,
            context: parts.context,
            is_remote: parts.is_remote,
            proxy: parts.proxy,
            hub: parts.hub,
            folder: parts.folder,
            options: parts.options,
            changed: Notify::new(),
            turn: tokio::sync::Mutex::new(()),
            used: Mutex::new(Instant::now()),
            first: Mutex::new(parts.first),
            recorder: Mutex::default(),
            state: Mutex::default(),
        })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Whether it can still be used.
    pub(crate) fn lives(&self) -> bool {
        !self.wire.is_gone() && !self.state().is_lost
    }

    /// Parameters of a call to the browser that mean this session's context.
    pub(crate) fn within(&self, mut params: Value) -> Value {
        if let Some(params) = params.as_object_mut().filter(|_| !self.context.is_empty()) {
            params.insert("browserContextId".to_owned(), self.context.clone().into());
        }
        params
    }

    /// Sends a call to a target of this session.
    pub(crate) async fn call(
        &self,
        cdp: &str,
        method: &str,
        params: Value,
    ) -> Result<Value, WireError> {
        self.wire.call(Some(cdp), method, params, self.options.command()).await
    }

    /// Waits until something is known that was not, or the deadline.
    pub(crate) async fn until<T>(
        &self,
        deadline: Instant,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(found) = look(&mut self.state()) {
                return Some(found);
            }
            if tokio::time::timeout_at(deadline.into(), changed).await.is_err() {
                return look(&mut self.state());
            }
        }
    }

    /// Waits for a change, at most so long.
    pub(crate) async fn pause(&self, most: Duration) {
        let changed = self.changed.notified();
        if tokio::time::timeout(most, changed).await.is_err() {
            tracing::trace!("nothing changed meanwhile");
        }
    }

    /// The tab that calls without a tab mean: its names in the protocol.
    pub(crate) fn active(&self) -> Result<ActiveTab, BrowserError> {
        let mut state = self.state();
        if state.is_lost || self.wire.is_gone() {
            return Err(WireError::Gone.into());
        }
        let tab = state.active_tab().ok_or_else(BrowserError::no_page)?;
        if tab.is_crashed {
            return Err(BrowserError::new(
                "crashed",
                "the page crashed; browser_navigate opens it anew",
            ));
        }
        Ok(ActiveTab { id: tab.id.clone(), cdp: tab.cdp.clone(), target: tab.target.clone() })
    }
}

/// The names of a tab.
#[derive(Debug, Clone)]
pub(crate) struct ActiveTab {
    pub(crate) id: String,
    pub(crate) cdp: String,
    pub(crate) target: String,
}
