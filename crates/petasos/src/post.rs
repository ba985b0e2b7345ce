//! What sending to people on request asks of the program: the store of this home, and whether a
//! gateway runs that sends what is planned.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use petasos_contract::Settings;
use petasos_gateway::PostHost;
use petasos_sqlite::{OpenOptions, Store};
use petasos_store::{GatewayStore, StoreError};

use crate::halt;

/// The control socket of a running gateway, in its home.
const SOCKET: &str = "gateway.sock";

/// Where a running gateway of a home is spoken to.
pub(crate) fn gateway_socket(home: &Path) -> PathBuf {
    home.join(SOCKET)
}

/// Whether somebody can be asked about turns that no chat began: the settings name a chat, and a
/// gateway of this home is there to ask in it.
pub(crate) fn routes_questions(settings: &Settings) -> bool {
    route_to(settings).is_some() && is_gateway_running(settings.home())
}

/// The chat whose administrators are asked then.
pub(crate) fn route_to(settings: &Settings) -> Option<&str> {
    settings.text("approvals.route_to").map(str::trim).filter(|target| !target.is_empty())
}

fn is_gateway_running(home: &Path) -> bool {
    UnixStream::connect(gateway_socket(home)).is_ok()
}

/// The store of a home, opened when somebody first needs it.
#[derive(Debug)]
pub(crate) struct HomeStore {
    home: PathBuf,
    opened: OnceLock<Arc<Store>>,
}

impl HomeStore {
    pub(crate) fn of(settings: &Settings) -> Arc<Self> {
        Arc::new(Self { home: settings.home().to_owned(), opened: OnceLock::new() })
    }

    /// The store, if somebody has needed it.
    pub(crate) fn opened(&self) -> Option<&Arc<Store>> {
        self.opened.get()
    }

    /// The store.
    pub(crate) fn open(&self) -> Result<Arc<Store>, StoreError> {
        if let Some(store) = self.opened.get() {
            return Ok(Arc::clone(store));
        }
        let store = Store::open(&OpenOptions::new(self.home.join(petasos_sqlite::FILE_NAME)))?;
        Ok(Arc::clone(self.opened.get_or_init(|| Arc::new(store))))
    }
}

impl PostHost for HomeStore {
    fn store(&self) -> Result<Arc<dyn GatewayStore>, String> {
        self.open().map(|store| store as _).map_err(|error| error.to_string())
    }

    fn is_gateway_running(&self) -> bool {
        is_gateway_running(&self.home)
    }

    fn stopped(&self) -> Option<String> {
        halt::stopped(&self.home)
    }
}
