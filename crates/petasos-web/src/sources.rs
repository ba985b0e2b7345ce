//! What was read in a session, numbered, so that an answer can cite it. The list outlives the
//! process: a number that was said means the same page when the conversation goes on.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::ports::{Memory, Ports};
use petasos_contract::{CallContext, SessionId, Settings};
use serde::{Deserialize, Serialize};

use crate::apart::Apart;
use crate::cache::{self, Cache};
use crate::fault::WebError;
use crate::hosts::Hosts;

/// A list is kept as long as the texts that it points to.
const KEPT: Duration = Duration::from_hours(24 * 7);

/// A page that can be cited.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cited {
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: Option<String>,
    /// When it was read, in seconds since the epoch.
    pub at: u64,
    /// The digest of its text.
    pub digest: String,
    /// Where its text is kept.
    pub stored: Option<String>,
}

impl Cited {
    /// A page with this text.
    pub fn new(url: &str, title: Option<String>, text: &str) -> Self {
        let (url, digest) = (url.to_owned(), cache::digest(text));
        Self { url, title, at: cache::now(), digest, stored: None }
    }

    /// Some lines of its text, as it was read: what a citation with a line points to.
    pub fn passage(&self, line: usize) -> Option<String> {
        let text = std::fs::read_to_string(self.stored.as_ref()?).ok()?;
        if cache::digest(&text) != self.digest {
            return None;
        }
        let lines: Vec<&str> = text.lines().skip(line.checked_sub(1)?).take(5).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// What is known of pages, of every session.
#[derive(Debug, Default)]
pub struct Sources {
    pages: Mutex<HashMap<SessionId, Vec<Cited>>>,
    pub(crate) hosts: Hosts,
    apart: Option<Apart>,
}

impl Sources {
    /// Nothing known yet; files of others are read by this one.
    pub fn reading(apart: Apart) -> Self {
        Self { apart: Some(apart), ..Self::default() }
    }

    /// The text of a PDF.
    pub(crate) async fn pdf(&self, bytes: &[u8], cx: &CallContext) -> Result<String, WebError> {
        let missing = "PDF files are read in a process of its own, which is not started here";
        let apart = self.apart.as_ref().ok_or_else(|| WebError::new("missing_setup", missing))?;
        apart.pdf(bytes, cx).await
    }

    /// The number of a page in a session: the same page keeps its own, with its newest text.
    pub fn number(&self, page: Cited, session: &SessionId, settings: &Settings) -> String {
        let cache = Cache::of(settings);
        let mut all = self.pages.lock();
        let pages = all.entry(session.clone()).or_insert_with(|| recalled(&cache, session));
        let known = pages.iter().position(|known| known.url == page.url);
        let at = known.unwrap_or(pages.len());
        match pages.get_mut(at) {
            Some(known) => *known = page,
            None => pages.push(page),
        }
        cache.remember(&key(session), pages);
        format!("w{}", at + 1)
    }

    /// Those that a program put into its ports.
    pub fn of(ports: &Ports) -> Option<Arc<Self>> {
        let kept = ports.web_sources.clone()?;
        (kept as Arc<dyn Any + Send + Sync>).downcast().ok()
    }

    /// What a session has read, in order.
    pub fn list(&self, session: &SessionId, settings: &Settings) -> Vec<Cited> {
        let known = self.pages.lock().get(session).cloned();
        known.unwrap_or_else(|| recalled(&Cache::of(settings), session))
    }
}

fn key(session: &SessionId) -> String {
    format!("sources {}", session.as_str())
}

fn recalled(cache: &Cache, session: &SessionId) -> Vec<Cited> {
    cache.recall(&key(session), KEPT).unwrap_or_default()
}

impl Memory for Sources {
    fn forget(&self, session: &SessionId) {
        self.pages.lock().remove(session);
        self.hosts.forget(session);
    }
}
