//! Lists to choose from: models, conversations, checkpoints. A surface shows them its own way; what
//! is chosen is a command like any other.

use std::path::Path;
use std::time::{Duration, SystemTime};

use petasos_contract::message::Message;
use petasos_store::{Filter, Seq, SessionHead};

use crate::live::LiveSession;

/// More conversations are found by words, not by looking through them.
const SESSIONS_MAX: usize = 200;
const TITLE_CHARS: usize = 60;
/// Whoever goes back further begins anew.
const EXCHANGES_MAX: usize = 20;

/// What there is to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OfferKind {
    /// The models of the provider.
    Models,
    /// Other conversations, those of this folder first.
    Sessions,
    /// The checkpoints of the workspace.
    Checkpoints,
    /// What was said here, the last first, to be taken back.
    Exchanges,
}

/// One thing that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// What it is called.
    pub label: String,
    /// What tells it from others.
    pub detail: String,
    /// The command that takes it.
    pub line: String,
}

impl LiveSession {
    /// What there is.
    pub(crate) async fn offers(&mut self, kind: OfferKind) -> Result<Vec<Offer>, String> {
        match kind {
            OfferKind::Sessions => self.others().await,
            OfferKind::Exchanges => self.removals(),
            kind => self.services().offers(kind, &self.choice).await,
        }
    }

    /// What the person said, the last first: the place of each message and its text.
    pub(crate) fn exchanges(&mut self) -> Result<Vec<(Seq, String)>, String> {
        let rows = self.begun()?.transcript().rows();
        let said = rows.iter().rev().filter_map(|row| match &row.stored.message {
            Message::User { content } if row.stored.note.is_none() => {
                Some((row.seq, content.text()))
            }
            _ => None,
        });
        Ok(said.collect())
    }

    fn removals(&mut self) -> Result<Vec<Offer>, String> {
        let said = self.exchanges()?;
        let offer = |(at, (_, text)): (usize, &(Seq, String))| Offer {
            label: text.lines().next().unwrap_or_default().chars().take(TITLE_CHARS).collect(),
            detail: match at {
                0 => "removes 1 exchange".to_owned(),
                more => format!("removes {} exchanges", more + 1),
            },
            line: format!("/undo {} now", at + 1),
        };
        Ok(said.iter().enumerate().take(EXCHANGES_MAX).map(offer).collect())
    }

    async fn others(&self) -> Result<Vec<Offer>, String> {
        let scope = self.scope().await.map_err(|error| error.to_string())?;
        let filter = Filter { scope, limit: SESSIONS_MAX, ..Filter::default() };
        let heads = self.engine().store.list(&filter).await.map_err(|error| error.to_string())?;
        let others = heads.iter().filter(|head| head.session() != *self.id());
        let here = self.choice.settings.workspace();
        let (near, far): (Vec<_>, Vec<_>) = others.partition(|head| is_of(head, here));
        Ok(near.into_iter().chain(far).map(|head| conversation(head, here)).collect())
    }
}

/// Whether a conversation began in this folder.
pub(crate) fn is_of(head: &SessionHead, folder: &Path) -> bool {
    head.cwd.as_deref().is_some_and(|cwd| Path::new(cwd) == folder)
}

fn conversation(head: &SessionHead, here: &Path) -> Offer {
    let title = head.title.as_deref().unwrap_or(&head.preview);
    let label: String =
        title.lines().next().unwrap_or_default().chars().take(TITLE_CHARS).collect();
    let updated = u64::try_from(head.updated_ms).unwrap_or_default();
    let age = ago(SystemTime::UNIX_EPOCH + Duration::from_millis(updated));
    let folder = match &head.cwd {
        Some(cwd) if !is_of(head, here) => format!(" · {cwd}"),
        _ => String::new(),
    };
    let count = head.messages;
    let messages = if count == 1 { "message" } else { "messages" };
    Offer {
        label: if label.is_empty() { head.id.clone() } else { label },
        detail: format!("{age} · {count} {messages}{folder}"),
        line: format!("/resume {}", head.id),
    }
}

/// How long ago something was, as people say it.
pub fn ago(then: SystemTime) -> String {
    let seconds = then.elapsed().unwrap_or_default().as_secs();
    match seconds {
        0..60 => "just now".to_owned(),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86_400 => format!("{} h ago", seconds / 3600),
        86_400..172_800 => "yesterday".to_owned(),
        _ => format!("{} days ago", seconds / 86_400),
    }
}
