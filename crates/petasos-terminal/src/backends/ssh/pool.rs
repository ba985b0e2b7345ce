//! The connections of one place: as many as the commands side by side need, made when needed.
//!
//! A connection that is gone is replaced by the next command that wants one. Nothing is ever run
//! a second time here.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use petasos_contract::environment::EnvError;
use tokio::sync::OnceCell;

use super::argv;
use super::connection::{Connection, Seat, no};
use super::folder::Folder;
use super::hostkeys::Checking;
use super::target::Target;
use crate::remote::HostPrograms;

/// The most connections to one machine; servers refuse many at once as an attack.
const CONNECTIONS_MAX: usize = 16;

type Slot = Arc<OnceCell<Arc<Connection>>>;

/// The connections of one place.
pub(super) struct Pool {
    pub(super) host: HostPrograms,
    pub(super) ssh: PathBuf,
    pub(super) target: Target,
    pub(super) checking: Checking,
    folder: Folder,
    slots: Mutex<Vec<Slot>>,
    made: AtomicUsize,
    /// When connecting last failed, and why; nothing after a success.
    failed: Mutex<Option<(Instant, EnvError)>>,
}

impl Pool {
    pub(super) fn new(
        host: HostPrograms,
        ssh: PathBuf,
        target: Target,
        checking: Checking,
    ) -> Result<Self, EnvError> {
        let folder = Folder::make(host.settings().temp())
            .map_err(|error| no(&format!("no folder for the control socket: {error}")))?;
        let (slots, made) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        let failed = Mutex::new(None);
        Ok(Self { host, ssh, target, checking, folder, slots, made, failed })
    }

    /// A place for one command, on a connection that lives as far as we know.
    pub(super) async fn seat(&self) -> Result<Seat, EnvError> {
        let asked = Instant::now();
        // Each turn of the loop looks at one more connection or at a new one.
        for at in 0..CONNECTIONS_MAX {
            let slot = self.slot(at);
            let connection = match slot.get() {
                Some(connection) => connection,
                None => slot.get_or_try_init(|| self.connect(asked)).await?,
            };
            if let Some(seat) = connection.seat() {
                return Ok(seat);
            }
        }
        Err(EnvError::Limit(format!(
            "too many commands run at once on `{}`: wait for some to end",
            self.target.label()
        )))
    }

    /// Whether the last attempt to connect was in vain.
    pub(super) fn is_shut_out(&self) -> bool {
        self.failed.lock().is_some()
    }

    /// What ssh said when it connected.
    pub(super) fn said(&self) -> Vec<String> {
        let slots = self.slots.lock();
        let said = slots.iter().filter_map(|slot| slot.get()).map(|one| one.said.clone());
        said.filter(|said| !said.is_empty()).collect()
    }

    /// Ends every connection.
    pub(super) async fn close(&self) {
        let slots = std::mem::take(&mut *self.slots.lock());
        for connection in slots.iter().filter_map(|slot| slot.get()) {
            connection.close().await;
        }
    }

    /// The slot with this number, emptied when its connection is gone.
    fn slot(&self, at: usize) -> Slot {
        let mut slots = self.slots.lock();
        slots.retain(|slot| slot.get().is_none_or(|connection| !connection.is_gone()));
        if at >= slots.len() {
            slots.push(Slot::default());
        }
        slots.get(at).or_else(|| slots.last()).cloned().unwrap_or_default()
    }

    /// Connects, unless somebody tried in vain while the caller stood in line.
    async fn connect(&self, asked: Instant) -> Result<Arc<Connection>, EnvError> {
        if let Some((when, error)) = &*self.failed.lock()
            && *when >= asked
        {
            return Err(error.clone());
        }
        let connected = self.try_connect().await;
        *self.failed.lock() = connected.as_ref().err().map(|error| (Instant::now(), error.clone()));
        connected
    }

    async fn try_connect(&self) -> Result<Arc<Connection>, EnvError> {
        let number = self.made.fetch_add(1, Ordering::SeqCst);
        let socket = self.folder.path().join(number.to_string());
        let argv = argv::connect(&self.ssh, &self.target, &socket, &self.checking);
        let label = self.target.label();
        let connection = Connection::open(&self.host, argv, socket, &label).await?;
        if !connection.said.is_empty() {
            tracing::warn!(place = %label, said = %connection.said, "ssh has something to say");
        }
        Ok(Arc::new(connection))
    }
}
