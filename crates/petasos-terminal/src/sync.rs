//! Files of the agent's home that follow a session to a target without a shared file system, and
//! what changed there on its way back.
//!
//! Content decides, by hash, never a clock: two machines have two of those. Each file arrives
//! under another name and is renamed, so that a sync that breaks off leaves every file whole. A
//! file that both sides changed stays as the host has it; the other is put beside it.

mod archive;
mod far;
mod host;
mod plan;
mod rel;
#[cfg(test)]
mod tests;

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::Settings;
use petasos_contract::environment::EnvError;
use rustix::fs::{FlockOperation, flock};

use crate::remote::Carrier;
pub(crate) use far::ROOT;
use far::{CarrierFar, Far};
use host::{Host, Kept};
use plan::{Back, Manifest};
use rel::Rel;

/// The least time between two looks at the host's files.
const PAUSE: Duration = Duration::from_secs(5);

/// The most bytes that come back at the end.
const BACK_MAX: u64 = 2 << 30;

/// How often the way back is tried, and the first wait between.
const BACK_ATTEMPTS: u32 = 3;
const BACK_PAUSE: Duration = Duration::from_secs(2);

/// The files of one home and one target.
#[derive(Debug)]
pub struct FileSync {
    host: Host,
    lock: PathBuf,
    always: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What both sides have, as far as we know; `None` until the target was asked.
    common: Option<Manifest>,
    looked: Option<Instant>,
    trouble: Option<String>,
}

impl FileSync {
    /// What the settings say should follow.
    pub fn of(settings: &Settings) -> Self {
        let declared = settings.names("terminal.credential_files").unwrap_or_default();
        let (host, refused) = Host::new(settings.home(), &declared);
        for (name, why) in refused {
            tracing::warn!(name, why, "a credential file stays here");
        }
        Self {
            host,
            lock: settings.home().join(".sync.lock"),
            always: settings.role("FORCE_FILE_SYNC").is_some(),
            state: Mutex::default(),
        }
    }

    /// Brings the target up to date before a command, unless it just was. A failure is kept for
    /// whoever asks about health, and the next command tries again at once.
    pub async fn before(&self, carrier: &dyn Carrier) -> Result<(), EnvError> {
        let known = {
            let mut state = self.state.lock();
            let rested = state.looked.is_none_or(|at| at.elapsed() >= PAUSE);
            if !rested && !self.always {
                return Ok(());
            }
            state.looked = Some(Instant::now());
            state.common.clone()
        };
        let done = self.up(&CarrierFar::new(carrier), known).await;
        let mut state = self.state.lock();
        match done {
            Ok(common) => {
                state.common = Some(common);
                state.trouble = None;
            }
            Err(error) => {
                tracing::warn!(%error, "files were not brought to the target");
                state.looked = None;
                state.trouble = Some(format!("files are not in step: {error}"));
            }
        }
        Ok(())
    }

    /// Uploads what changed and removes what vanished; gives what both sides then have.
    async fn up(&self, far: &dyn Far, known: Option<Manifest>) -> Result<Manifest, EnvError> {
        let near = self.host.manifest();
        let known = match known {
            Some(known) => known,
            None if near.is_empty() => return Ok(Manifest::new()),
            None => far
                .manifest()
                .await?
                .into_iter()
                .filter(|(rel, hash)| near.get(rel) == Some(hash))
                .collect(),
        };
        let plan = plan::up(&near, &known);
        let mut common = known;
        for batch in self.host.batches(&plan.upload) {
            let batch = batch?;
            let names: Vec<(Rel, plan::Hash)> =
                batch.iter().map(|file| (file.rel.clone(), file.hash.clone())).collect();
            far.put(batch).await?;
            common.extend(names);
        }
        if !plan.delete.is_empty() {
            far.delete(&plan.delete).await?;
            for (rel, _) in &plan.delete {
                common.remove(rel);
            }
        }
        Ok(common)
    }

    /// Forgets what the target has: it is another one now.
    pub fn forget(&self) {
        *self.state.lock() = State::default();
    }

    /// Why files are not in step, if they are not.
    pub fn trouble(&self) -> Option<String> {
        self.state.lock().trouble.clone()
    }

    /// Takes what changed over there back to the host. Only what was brought there, and what lies
    /// beside it, is looked at; what cannot be taken is told and left.
    pub async fn back(&self, carrier: &dyn Carrier) {
        let Some(common) = self.state.lock().common.clone().filter(|common| !common.is_empty())
        else {
            return;
        };
        let far = CarrierFar::new(carrier);
        let mut pause = BACK_PAUSE;
        for attempt in 1..=BACK_ATTEMPTS {
            match self.fetch(&far, &common).await {
                Ok(()) => return,
                Err(error) if attempt == BACK_ATTEMPTS => {
                    tracing::warn!(%error, "what changed in the target stays there");
                }
                Err(error) => {
                    tracing::debug!(%error, "taking files back is tried again");
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
            }
        }
    }

    async fn fetch(&self, far: &dyn Far, common: &Manifest) -> Result<(), EnvError> {
        let theirs = far.manifest().await?;
        let wanted = plan::changed(common, &theirs, |rel| self.host.takes_back(rel));
        if wanted.is_empty() {
            return Ok(());
        }
        let lock = self.locked().await?;
        let mut taken = 0;
        for (rel, hash) in wanted {
            let bytes = far.get(&rel, BACK_MAX - taken).await?;
            taken += bytes.len() as u64;
            if plan::hash(&bytes) != hash {
                tracing::warn!(file = %rel, "it changed while it was fetched and is left");
                continue;
            }
            let ours = self.host.hash(&rel);
            let kept = match plan::back(common.get(&rel), ours.as_ref(), &hash) {
                Back::Nothing => continue,
                Back::Replace => self.host.write(&rel, &bytes, ours.as_ref()),
                Back::Beside => self.host.beside(&rel, &bytes, &hash),
            };
            match kept {
                Ok(Kept::Written) => {}
                Ok(Kept::Beside(name)) => {
                    tracing::warn!(file = %rel, kept = %name, "both sides changed it: yours stays");
                }
                Err(error) => tracing::warn!(%error, file = %rel, "it could not be taken back"),
            }
        }
        drop(lock);
        Ok(())
    }

    /// Only one program writes a home's files back at a time.
    async fn locked(&self) -> Result<std::fs::File, EnvError> {
        let path = self.lock.clone();
        let taken = tokio::task::spawn_blocking(move || {
            let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
            let deadline = Instant::now() + Duration::from_secs(30);
            loop {
                match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                    Ok(()) => return Ok(file),
                    Err(error) if Instant::now() >= deadline => return Err(error.into()),
                    Err(_) => std::thread::sleep(Duration::from_millis(50)),
                }
            }
        });
        let taken = taken.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        taken.map_err(|error| EnvError::Settings(format!("the lock of file sync: {error}")))
    }
}
