//! Finding a browser on this machine and starting it as a helper that owns its whole tree.
//!
//! The protocol runs over two inherited descriptors, so that no port is open on which another
//! program could take the browser over. The profile is new and empty and goes with the process.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use petasos_contract::Settings;
use petasos_contract::processes::{Helper, HelperSpec, Processes};

use crate::error::BrowserError;
use crate::options::{BrowserSettings, SandboxWish};

const NAMES: [&str; 6] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "brave-browser",
    "microsoft-edge",
];
const BUNDLES: [&str; 3] = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
];

/// What the tools say when there is no browser.
pub(crate) const NEEDS: &str =
    "needs a browser: install chromium or google-chrome, or set browser.cdp_url";

/// The browser that would be started: the configured one, else the first on the search path.
pub fn find(settings: &Settings) -> Option<PathBuf> {
    let own: BrowserSettings = settings.section().unwrap_or_default();
    if let Some(path) = own.path.filter(|path| !path.trim().is_empty()) {
        let path = PathBuf::from(path);
        return path.is_file().then_some(path);
    }
    let search = settings.variable("PATH").map(|path| path.value.expose().to_owned());
    let folders = search.as_deref().unwrap_or("/usr/local/bin:/usr/bin:/bin").split(':');
    let folders: Vec<&Path> = folders.filter(|folder| !folder.is_empty()).map(Path::new).collect();
    let named = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    named.chain(BUNDLES.iter().map(PathBuf::from)).find(|path| path.is_file())
}

/// A started browser with its profile.
pub(crate) struct Chrome {
    pub(crate) helper: Helper,
    pub(crate) profile: Profile,
    /// Whether the browser's own sandbox is off.
    pub(crate) is_unconfined: bool,
}

/// The folder of a browser; a lock tells a living owner from a dead one.
#[derive(Debug)]
pub(crate) struct Profile {
    folder: PathBuf,
    lasts: bool,
    _lock: File,
}

const PREFIX: &str = "profile-";
const LOCK: &str = "owner.lock";

impl Profile {
    /// Whether it stays after its process.
    pub(crate) fn lasts(&self) -> bool {
        self.lasts
    }

    /// A new empty folder that only we can read and that goes with its process; folders of the
    /// dead are removed first.
    pub(crate) fn passing(settings: &Settings) -> io::Result<Self> {
        let parent = settings.home().join("cache").join("browser");
        private(&parent)?;
        remove_dead(&parent);
        let random = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
        let folder = parent.join(format!("{PREFIX}{random:016x}"));
        private(&folder)?;
        let lock = File::create(folder.join(LOCK))?;
        lock.lock()?;
        Ok(Self { folder, lasts: false, _lock: lock })
    }

    /// The folder of a profile that keeps its logins. Whoever uses it has it alone.
    pub(crate) fn lasting(settings: &Settings, name: &str) -> Result<Self, BrowserError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.len() > 64 || !name.chars().all(is_plain) {
            let text = format!("`{name}` is no name of a profile: use letters, digits, - and _");
            return Err(BrowserError::new("bad_argument", text));
        }
        let folder = settings.home().join("browser").join("profiles").join(name);
        let failed = |error: io::Error| {
            BrowserError::new("upstream", format!("{}: {error}", folder.display()))
        };
        private(&folder).map_err(failed)?;
        let lock = File::create(folder.join(LOCK)).map_err(failed)?;
        if lock.try_lock().is_err() {
            let text = format!("the browser profile `{name}` is in use by another program");
            return Err(BrowserError::new("busy", text));
        }
        Ok(Self { folder, lasts: true, _lock: lock })
    }
}

fn private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

impl Drop for Profile {
    fn drop(&mut self) {
        if self.lasts {
            return;
        }
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            tracing::debug!(%error, "a browser profile was not removed; the next start does it");
        }
    }
}

/// Removes profiles whose owner is dead: nobody holds their lock.
fn remove_dead(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for folder in entries.flatten().map(|entry| entry.path()) {
        let ours =
            folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
        let lock = File::open(folder.join(LOCK));
        let is_dead = ours && lock.is_ok_and(|lock| lock.try_lock().is_ok());
        if is_dead && let Err(error) = std::fs::remove_dir_all(&folder) {
            tracing::debug!(%error, "an old browser profile was not removed");
        }
    }
}

/// Starts the browser in a folder, behind a proxy for all that no session brings its own for.
pub(crate) async fn start(
    processes: &Arc<dyn Processes>,
    (settings, own): (&Arc<Settings>, &BrowserSettings),
    profile: io::Result<Profile>,
    proxy: std::net::SocketAddr,
) -> Result<Chrome, BrowserError> {
    let missing = || {
        let wanted = ["a browser".to_owned()].to_vec();
        BrowserError::new("missing_setup", NEEDS).with("missing", wanted)
    };
    let program = find(settings).ok_or_else(missing)?;
    let is_unconfined = rustix::process::geteuid().is_root();
    if is_unconfined && own.sandbox == SandboxWish::Required {
        return Err(BrowserError::new(
            "blocked_policy",
            "the browser cannot use its own sandbox as root and browser.sandbox is `required`; run as another user",
        ));
    }
    let failed = |what: &str| {
        let text = format!("{} did not start: {what}", program.display());
        BrowserError::new("crashed", text)
    };
    let profile = profile.map_err(|error| failed(&error.to_string()))?;
    let mut argv = vec![
        "/bin/sh".to_owned(),
        "-c".to_owned(),
        // The protocol's descriptors are 3 and 4; ours to the child are its input and output.
        "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null".to_owned(),
        program.display().to_string(),
    ];
    argv.extend(flags(own, &profile.folder, proxy, is_unconfined));
    let mut spec = HelperSpec::new("browser", argv, settings);
    spec.cwd.clone_from(&profile.folder);
    let home = profile.folder.display().to_string();
    spec.env.insert("HOME".to_owned(), home.clone());
    spec.env.insert("XDG_CONFIG_HOME".to_owned(), home.clone());
    spec.env.insert("XDG_CACHE_HOME".to_owned(), home);
    if own.headed {
        spec.grants.extend(["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"].map(str::to_owned));
    }
    let helper = processes.start(spec).await.map_err(|error| failed(&error.to_string()))?;
    Ok(Chrome { helper, profile, is_unconfined })
}

fn flags(
    own: &BrowserSettings,
    profile: &Path,
    proxy: std::net::SocketAddr,
    is_unconfined: bool,
) -> Vec<String> {
    let mut flags: Vec<String> = [
        "--remote-debugging-pipe",
        "--no-first-run",
        "--no-default-browser-check",
        "--no-startup-window",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-component-extensions-with-background-pages",
        "--disable-domain-reliability",
        "--disable-client-side-phishing-detection",
        "--disable-default-apps",
        "--disable-extensions",
        "--disable-sync",
        "--disable-breakpad",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-quic",
        "--disable-popup-blocking",
        "--disable-prompt-on-repost",
        "--disable-hang-monitor",
        "--disable-ipc-flooding-protection",
        "--disable-renderer-backgrounding",
        "--disable-background-timer-throttling",
        "--disable-backgrounding-occluded-windows",
        "--disable-features=Translate,MediaRouter,OptimizationHints,AcceptCHFrame,DialMediaRouteProvider,AutofillServerCommunication,CertificateTransparencyComponentUpdater,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,PreconnectToSearch",
        "--dns-prefetch-disable",
        "--force-color-profile=srgb",
        // Its name changed; a browser that does not know one of them passes over it.
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--metrics-recording-only",
        "--mute-audio",
        "--no-pings",
        "--password-store=basic",
        "--use-mock-keychain",
        "--window-size=1280,900",
        "--proxy-bypass-list=<-loopback>",
    ]
    .map(str::to_owned)
    .to_vec();
    flags.push(format!("--user-data-dir={}", profile.display()));
    flags.push(format!("--proxy-server=http://{proxy}"));
    if !own.headed {
        flags.push("--headless=new".to_owned());
    }
    if is_unconfined {
        flags.push("--no-sandbox".to_owned());
    }
    if let Some(agent) = &own.user_agent {
        flags.push(format!("--user-agent={agent}"));
    }
    flags
}
