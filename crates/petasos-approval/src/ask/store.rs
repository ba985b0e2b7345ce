//! Records of questions in `approvals/` of the home: one file each, changed under one lock, so that
//! the first valid answer wins whichever process it comes from.
//!
//! Each approver holds a lock of its own for as long as it lives; by it anybody can tell whether
//! somebody still waits for an answer.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use petasos_config::ConfigError;
use petasos_fs::Mode;

use super::record::{AnswerError, Card, Decided, Reply, State};

/// Decided records are kept so long, so that a late answer is told what happened.
const KEPT: Duration = Duration::from_hours(7 * 24);

/// The records of one home.
#[derive(Debug, Clone)]
pub(super) struct Store {
    directory: PathBuf,
}

impl Store {
    pub(super) fn new(home: &Path) -> Self {
        Self { directory: home.join("approvals") }
    }

    /// Shows that this owner lives, until the file is dropped.
    pub(super) fn live(&self, owner: &str) -> Result<File, ConfigError> {
        let path = self.owner_file(owner);
        let failed = |problem| ConfigError::Io { action: "lock", file: path.clone(), problem };
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.directory).map_err(failed)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(&path).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(file)
    }

    pub(super) fn retire(&self, owner: &str) {
        if let Err(error) = fs::remove_file(self.owner_file(owner)) {
            tracing::debug!(%error, "owner file stays");
        }
    }

    /// Whether the owner of a record is still there.
    fn lives(&self, owner: &str) -> bool {
        let Ok(file) = File::open(self.owner_file(owner)) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    pub(super) fn create(&self, card: &Card) -> Result<(), AnswerError> {
        self.write(card)
    }

    pub(super) fn read(&self, id: &str) -> Result<Card, AnswerError> {
        let plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let file = self.file(id);
        match fs::read(&file) {
            Ok(bytes) if plain => serde_json::from_slice(&bytes).map_err(|error| {
                AnswerError::Damaged { file: file.clone(), problem: error.to_string() }
            }),
            _ => Err(AnswerError::Unknown(id.to_owned())),
        }
    }

    /// Decides an open question; whoever comes second is told what the first one said.
    pub(super) fn decide(&self, id: &str, state: State) -> Result<Card, AnswerError> {
        self.change(id, |card| {
            card.state = state;
            Ok(())
        })
    }

    pub(super) fn deliver(&self, id: &str) -> Result<Card, AnswerError> {
        self.change(id, |card| {
            card.delivered = true;
            Ok(())
        })
    }

    /// Answers an open question, if the answer fits it and somebody waits.
    pub(super) fn answer(&self, id: &str, reply: &Reply) -> Result<Card, AnswerError> {
        let gone = |store: &Self, card: &Card| !store.lives(&card.owner);
        let mut left = false;
        let found = self.change(id, |card| {
            if reply.digest.as_ref().is_some_and(|digest| *digest != card.digest) {
                return Err(AnswerError::OtherAction(id.to_owned()));
            }
            if let Decided::Allow(scope) = reply.decided
                && scope > card.widest
            {
                return Err(AnswerError::TooWide { id: id.to_owned(), widest: card.widest });
            }
            left = gone(self, card);
            card.state = if left { State::Abandoned } else { reply.state() };
            Ok(())
        })?;
        if left { Err(AnswerError::WaiterGone(id.to_owned())) } else { Ok(found) }
    }

    fn change(
        &self,
        id: &str,
        change: impl FnOnce(&mut Card) -> Result<(), AnswerError>,
    ) -> Result<Card, AnswerError> {
        let lock = petasos_fs::lock(&self.directory.join("desk")).map_err(ConfigError::from)?;
        let mut card = self.read(id)?;
        if !card.is_open() {
            let state = Box::new(card.state);
            return Err(AnswerError::AlreadyDecided { id: id.to_owned(), state });
        }
        if card.expires <= now_millis() {
            card.state = State::Expired;
            self.write(&card)?;
            let state = Box::new(State::Expired);
            return Err(AnswerError::AlreadyDecided { id: id.to_owned(), state });
        }
        change(&mut card)?;
        self.write(&card)?;
        drop(lock);
        Ok(card)
    }

    /// Every record, oldest question first.
    pub(super) fn all(&self) -> Vec<Card> {
        let Ok(entries) = fs::read_dir(&self.directory) else { return Vec::new() };
        let mut cards: Vec<Card> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name();
                let id = name.to_str()?.strip_suffix(".json")?.to_owned();
                (!id.starts_with('.')).then(|| self.read(&id).ok())?
            })
            .collect();
        cards.sort_by(|a, b| (a.asked, a.turn, &a.id).cmp(&(b.asked, b.turn, &b.id)));
        cards
    }

    /// Removes what was decided long ago, and signs of life of the dead.
    pub(super) fn prune(&self) {
        self.prune_owners();
        let kept = u64::try_from(KEPT.as_millis()).unwrap_or(u64::MAX);
        for card in self.all() {
            if card.expires.saturating_add(kept) < now_millis()
                && let Err(error) = fs::remove_file(self.file(&card.id))
            {
                tracing::debug!(%error, "old record stays");
            }
        }
    }

    fn prune_owners(&self) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let owner = name.to_str().and_then(|it| it.strip_prefix('.')?.strip_suffix(".owner"));
            // Young ones may be about to be locked.
            let old = entry.metadata().and_then(|it| it.modified()).is_ok_and(|changed| {
                changed.elapsed().is_ok_and(|age| age > Duration::from_hours(24))
            });
            if let Some(owner) = owner.filter(|owner| old && !self.lives(owner)) {
                self.retire(owner);
            }
        }
    }

    fn write(&self, card: &Card) -> Result<(), AnswerError> {
        let file = self.file(&card.id);
        let text = serde_json::to_vec_pretty(card).map_err(|error| AnswerError::Damaged {
            file: file.clone(),
            problem: error.to_string(),
        })?;
        petasos_fs::write(&file, &text, Mode::Exactly(0o600)).map_err(ConfigError::from)?;
        Ok(())
    }

    fn file(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.json"))
    }

    fn owner_file(&self, owner: &str) -> PathBuf {
        self.directory.join(format!(".{owner}.owner"))
    }
}

/// The questions of a home that nobody has answered and whose time is not over, oldest first.
pub fn pending(home: &Path) -> Vec<Card> {
    let now = now_millis();
    let mut cards = Store::new(home).all();
    cards.retain(|card| card.is_open() && card.expires > now);
    cards
}

/// Answers a question from any process.
pub fn answer(home: &Path, id: &str, reply: &Reply) -> Result<Card, AnswerError> {
    Store::new(home).answer(id, reply)
}

pub(super) fn now_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
