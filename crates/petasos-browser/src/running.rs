//! A browser that answers: our own process for everybody, one with a lasting profile, somebody
//! else's, or one that a service runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::processes::{HelperHand, Processes};
use petasos_contract::wait::Owned;
use petasos_contract::{Settings, TaskId};
use petasos_net::proxy::Proxies;
use petasos_net::{FilterProxy, SiteRules};
use serde_json::json;

use crate::attach;
use crate::chrome::{self, Profile};
use crate::cloud::{self, CloudSession};
use crate::error::BrowserError;
use crate::events::{Hub, text};
use crate::options::BrowserSettings;
use crate::session::SessionKey;
use crate::wire::{Listener, Wire};

/// A first start reads a hundred megabytes from disk.
pub(crate) const START_WAIT: Duration = Duration::from_mins(1);
/// A browser that is asked to end may take so long to write down its logins.
const WRITES_DOWN: Duration = Duration::from_secs(5);
/// Older browsers lack what we rely on.
const OLDEST: u32 = 120;

/// Which browser a session lives in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Which {
    /// Our own process; nothing of it survives.
    Local,
    /// A process of its own with a folder that stays.
    Profile(String),
    /// Somebody else's.
    Attached,
    /// A service's, for this session alone.
    Cloud(SessionKey),
}

impl Which {
    /// The browser that the settings ask for. With a cloud, private addresses may be opened here.
    pub(crate) fn of(
        settings: &Settings,
        own: &BrowserSettings,
        key: &SessionKey,
    ) -> Result<Self, BrowserError> {
        if attach::address(settings, own)?.is_some() {
            return Ok(Self::Attached);
        }
        if cloud::chosen(own)?.is_some() {
            let is_side = key.1.as_str().ends_with(SIDE);
            return Ok(if is_side { Self::Local } else { Self::Cloud(key.clone()) });
        }
        let profile = own.profile.as_deref().map(str::trim).filter(|name| !name.is_empty());
        Ok(profile.map_or(Self::Local, |name| Self::Profile(name.to_owned())))
    }

    /// Whether its pages live in the browser's own context, which is the only one it keeps.
    pub(crate) fn is_alone(&self) -> bool {
        matches!(self, Self::Profile(_) | Self::Cloud(_))
    }
}

/// How the local session beside one in a cloud is called.
const SIDE: &str = "+local";

/// The key of the local session beside one in a cloud.
pub(crate) fn beside((session, task): &SessionKey) -> SessionKey {
    (session.clone(), TaskId::new(format!("{}{SIDE}", task.as_str())))
}

/// A browser that answers.
pub(crate) struct Running {
    pub(crate) wire: Arc<Wire>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) hand: Option<Arc<dyn HelperHand>>,
    pub(crate) is_unconfined: bool,
    /// Whether its pages cannot reach our proxy, so that addresses are checked afterwards.
    pub(crate) is_remote: bool,
    pub(crate) idle_since: Mutex<Option<Instant>>,
    cloud: Option<(CloudSession, Arc<Settings>)>,
    // Dropped last: the folder of a process that is gone.
    _tasks: Vec<Owned<()>>,
    _refuses_all: Option<FilterProxy>,
    profile: Option<Profile>,
}

impl Running {
    fn new(wire: Arc<Wire>, hub: Arc<Hub>, tasks: Vec<Owned<()>>) -> Self {
        Self {
            wire,
            hub,
            hand: None,
            is_unconfined: false,
            is_remote: false,
            idle_since: Mutex::default(),
            cloud: None,
            _tasks: tasks,
            _refuses_all: None,
            profile: None,
        }
    }

    /// Starts or finds the browser; `proxy` is that of the session it is for.
    pub(crate) async fn open(
        which: &Which,
        processes: Option<&Arc<dyn Processes>>,
        (settings, own): (&Arc<Settings>, &BrowserSettings),
        proxy: std::net::SocketAddr,
    ) -> Result<Self, BrowserError> {
        let new = match which {
            Which::Attached => attached(settings, own).await?,
            Which::Cloud(_) => clouded(settings, own).await?,
            Which::Local => {
                let refuses_all = FilterProxy::start(SiteRules::default(), Proxies::default(), 0);
                let refuses_all = refuses_all
                    .await
                    .map_err(|error| BrowserError::new("upstream", error.to_string()))?;
                let place = Profile::passing(settings);
                let address = refuses_all.address();
                let new = started(processes, (settings, own), place, address).await?;
                Self { _refuses_all: Some(refuses_all), ..new }
            }
            Which::Profile(name) => {
                let place = Profile::lasting(settings, name)?;
                started(processes, (settings, own), Ok(place), proxy).await?
            }
        };
        let auto = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
        new.wire.call(None, "Target.setAutoAttach", auto, START_WAIT).await?;
        Ok(new)
    }

    /// Waits until its process has ended by itself, so long at most.
    pub(crate) async fn until_closed(&self, most: Duration) {
        self.wire.until_gone(most).await;
    }

    /// Ends what we started; a browser of somebody else lives on.
    pub(crate) async fn end(&self) {
        const GRACE: Duration = Duration::from_millis(500);
        if let Some((cloud, settings)) = &self.cloud {
            cloud.end(settings).await;
        }
        if self.profile.as_ref().is_some_and(Profile::lasts) {
            // It writes down what it was told to keep before it ends.
            self.wire.post(None, "Browser.close", &json!({}));
            self.wire.until_gone(WRITES_DOWN).await;
        }
        if let Some(hand) = &self.hand
            && let Err(error) = hand.kill(GRACE).await
        {
            tracing::warn!(%error, "the browser did not end");
        }
    }
}

async fn started(
    processes: Option<&Arc<dyn Processes>>,
    (settings, own): (&Arc<Settings>, &BrowserSettings),
    profile: std::io::Result<Profile>,
    proxy: std::net::SocketAddr,
) -> Result<Running, BrowserError> {
    let processes = processes
        .ok_or_else(|| BrowserError::new("missing_setup", "this program cannot start processes"))?;
    let hub = Arc::new(Hub::default());
    let chrome = chrome::start(processes, (settings, own), profile, proxy).await?;
    let (stdin, stdout) = (chrome.helper.stdin, chrome.helper.stdout);
    let listener = Arc::clone(&hub) as Arc<dyn Listener>;
    let (wire, tasks) = Wire::over_pipe(stdout, stdin, listener);
    hub.speaks_over(&wire);
    let version = wire.call(None, "Browser.getVersion", json!({}), START_WAIT).await;
    let version = version.map_err(|error| {
        BrowserError::new("crashed", format!("the browser did not start: {error}"))
    })?;
    let running = Running {
        hand: Some(chrome.helper.hand),
        is_unconfined: chrome.is_unconfined,
        profile: Some(chrome.profile),
        ..Running::new(wire, hub, tasks)
    };
    let product = text(&version["product"]);
    tracing::debug!(product, "a browser was started");
    if major(product).is_some_and(|major| major < OLDEST) {
        running.end().await;
        let text = format!("{product} is too old; version {OLDEST} or newer is needed");
        return Err(BrowserError::new("missing_setup", text));
    }
    Ok(running)
}

/// The first number of `HeadlessChrome/156.0.8078.79`.
fn major(product: &str) -> Option<u32> {
    product.split_once('/')?.1.split('.').next()?.parse().ok()
}

async fn attached(settings: &Settings, own: &BrowserSettings) -> Result<Running, BrowserError> {
    let address = attach::address(settings, own)?.ok_or_else(BrowserError::no_page)?;
    let is_remote = !address.is_here();
    Ok(Running { is_remote, ..over(settings, &address).await? })
}

async fn clouded(settings: &Arc<Settings>, own: &BrowserSettings) -> Result<Running, BrowserError> {
    let cloud = cloud::chosen(own)?.ok_or_else(BrowserError::no_page)?;
    let made = cloud.start(settings).await?;
    let address = attach::Address::of(&made.address);
    let over = match address {
        Ok(address) => over(settings, &address).await,
        Err(error) => Err(error),
    };
    match over {
        Ok(running) => {
            let cloud = Some((made, Arc::clone(settings)));
            Ok(Running { cloud, is_remote: true, ..running })
        }
        Err(error) => {
            made.end(settings).await;
            Err(error)
        }
    }
}

async fn over(settings: &Settings, address: &attach::Address) -> Result<Running, BrowserError> {
    let hub = Arc::new(Hub::default());
    let halves = attach::connect(settings, address).await?;
    let (wire, tasks) = Wire::over_websocket(halves, Arc::clone(&hub) as Arc<dyn Listener>);
    hub.speaks_over(&wire);
    Ok(Running::new(wire, hub, tasks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_the_product() {
        assert_eq!(major("HeadlessChrome/156.0.8078.79"), Some(156));
        assert_eq!(major("Chrome/99.0"), Some(99));
        assert_eq!(major("nothing"), None);
    }
}
