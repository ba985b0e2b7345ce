//! Messages that a platform cut apart and somebody meant as one: albums, and texts that are longer
//! than a message. Each is stored as it comes; only what follows from it waits a moment.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::wait::Owned;
use petasos_store::ChatKey;
use tracing::warn;

use crate::gateway::Shared;
use crate::intake::Admitted;
use crate::render::Form;

/// The next file of an album comes within this.
const ALBUM: Duration = Duration::from_millis(800);
/// The rest of a long text comes within this.
const REST: Duration = Duration::from_secs(1);
/// A text this close to the limit was cut by its sender's program.
const NEAR: usize = 96;

/// What waits for the rest of it, by conversation and sender.
#[derive(Default)]
pub(crate) struct Holds(Mutex<HashMap<(ChatKey, String), Hold>>);

struct Hold {
    album: Option<String>,
    first: Admitted,
    sent_ms: i64,
    others: Vec<String>,
    until: Instant,
}

/// What a message has to do with what waits.
enum Fits {
    /// It belongs to it, and more may come.
    Joined,
    /// It belongs to it, and it was the last.
    Completes(Hold),
    /// It is something else: what waited goes first.
    Other(Option<Hold>),
}

impl Holds {
    fn fits(&self, message: &Admitted, album: Option<&str>, near: bool) -> Fits {
        let key = (message.key.clone(), message.sender.clone());
        let mut holds = self.0.lock();
        let Some(hold) = holds.get_mut(&key) else { return Fits::Other(None) };
        let belongs = match (&hold.album, album) {
            (Some(ours), Some(theirs)) => ours == theirs,
            (None, None) => !message.has_media,
            _ => false,
        };
        if !belongs {
            return Fits::Other(holds.remove(&key));
        }
        hold.others.push(message.id.clone());
        if album.is_some() || near {
            hold.until = Instant::now() + if album.is_some() { ALBUM } else { REST };
            return Fits::Joined;
        }
        holds.remove(&key).map_or(Fits::Joined, Fits::Completes)
    }

    /// What has waited long enough, or until when it waits.
    fn due(&self, key: &(ChatKey, String), id: &str) -> Result<Hold, Option<Instant>> {
        let mut holds = self.0.lock();
        let hold = holds.get(key).filter(|hold| hold.first.id == id).ok_or(None)?;
        if hold.until > Instant::now() {
            return Err(Some(hold.until));
        }
        holds.remove(key).ok_or(None)
    }
}

impl Shared {
    /// Decides about a message that is no command, once everything that belongs to it is here.
    pub(crate) async fn settle_or_hold(
        self: &Arc<Self>,
        message: Admitted,
        sent_ms: i64,
        (album, form): (Option<&str>, Form),
    ) {
        let near = !message.has_media && form.unit.measure(&message.text) + NEAR >= form.limit;
        match self.holds.fits(&message, album, near) {
            Fits::Joined => return,
            Fits::Completes(hold) => return self.release(hold).await,
            Fits::Other(before) => {
                if let Some(before) = before {
                    self.release(before).await;
                }
            }
        }
        if album.is_none() && !near {
            return self.settled(&message, sent_ms).await;
        }
        let (key, id) = ((message.key.clone(), message.sender.clone()), message.id.clone());
        let until = Instant::now() + if album.is_some() { ALBUM } else { REST };
        let album = album.map(str::to_owned);
        let hold = Hold { album, first: message, sent_ms, others: Vec::new(), until };
        self.holds.0.lock().insert(key.clone(), hold);
        let shared = Arc::clone(self);
        self.runners.errand(Owned::start(async move {
            loop {
                match shared.holds.due(&key, &id) {
                    Ok(hold) => return shared.release(hold).await,
                    Err(Some(until)) => tokio::time::sleep_until(until.into()).await,
                    Err(None) => return,
                }
            }
        }));
    }

    /// Makes one message of what waited.
    async fn release(self: &Arc<Self>, hold: Hold) {
        let Hold { mut first, sent_ms, others, .. } = hold;
        if !others.is_empty() {
            match self.store.join(&first.id, &others).await {
                Ok(Some(row)) => {
                    first.has_media = !row.message.media.is_empty();
                    first.text = row.message.text;
                }
                Ok(None) => {}
                Err(error) => warn!(%error, id = first.id, "an album stays in pieces"),
            }
        }
        self.settled(&first, sent_ms).await;
    }

    async fn settled(self: &Arc<Self>, message: &Admitted, sent_ms: i64) {
        if let Err(error) = self.settle_message(message, sent_ms).await {
            warn!(%error, id = message.id, "a stored message waits for a restart");
        }
    }
}
