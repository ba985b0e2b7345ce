//! The bare protocol, for what no tool offers; what would take the browser away from us or past
//! the address rule is refused.

use std::time::Duration;

use petasos_net::Url;
use serde_json::{Map, Value};

use crate::error::BrowserError;
use crate::events::text;
use crate::navigate;
use crate::session::Session;
use crate::tab::Tab;

/// A call of the protocol.
#[derive(Debug, Clone, Default)]
pub struct RawAsk {
    /// The method.
    pub method: String,
    /// Its parameters.
    pub params: Map<String, Value>,
    /// The target; the active tab without.
    pub target_id: Option<String>,
    /// A frame in a process of its own.
    pub frame_id: Option<String>,
    /// Seconds.
    pub timeout: Option<f64>,
    /// Whether a private address may be opened by `Page.navigate`.
    pub opens_private: bool,
}

/// Methods that no call may use, and why.
const REFUSED: &[(&str, &str)] = &[
    ("Browser.close", "it would end the browser of every session"),
    ("Browser.crash", "it would end the browser of every session"),
    ("Browser.setDownloadBehavior", "downloads stay in the session's folder"),
    ("Page.setDownloadBehavior", "downloads stay in the session's folder"),
    ("Network.setBypassServiceWorker", "it would change what the page loads unseen"),
    ("Tethering.", "it would open a port"),
    ("SystemInfo.", "it tells of this machine"),
    ("Storage.getCookies", "use the page's own session"),
    ("Tracing.", "it would record the pages of every session"),
    ("Extensions.", "it would change the browser of every session"),
    ("Browser.executeBrowserCommand", "it would change the browser of every session"),
    ("DOM.setFileInputFiles", "give files with browser_type and a path"),
    ("Page.handleFileChooser", "give files with browser_type and a path"),
];

/// The only ones of their kind: the others see, use or end what other sessions have open.
const TARGETS: &[&str] = &[
    "Target.getTargetInfo",
    "Target.getTargets",
    "Target.createTarget",
    "Target.activateTarget",
    "Target.closeTarget",
    "Target.setRemoteLocations",
];

/// Methods that run scripts, which a user may have restricted.
const SCRIPTS: &[&str] =
    &["Runtime.", "Debugger.", "Page.addScriptToEvaluate", "Page.createIsolatedWorld"];

/// Methods that a person should have agreed to.
const ASKED: &[&str] = &[
    "Network.getCookies",
    "Network.getAllCookies",
    "Network.setCookie",
    "Page.getCookies",
    "Storage.",
    "DOMStorage.",
    "IndexedDB.",
    "CacheStorage.",
    "Fetch.",
    "Security.",
    "Browser.",
    "Target.create",
    "Target.setRemote",
    "Page.setBypassCSP",
    "IO.",
    "Page.addScriptToEvaluateOnNewDocument",
];

impl RawAsk {
    /// Whether a person must agree to the method first.
    pub fn is_asked(&self) -> bool {
        ASKED.iter().any(|prefix| self.name().starts_with(prefix))
    }

    pub(crate) fn opens(&self) -> bool {
        self.name() == "Page.navigate"
    }

    /// The method as it is sent: what is judged and what is sent are one.
    fn name(&self) -> &str {
        self.method.trim()
    }

    /// Why it is not sent, whatever a person says.
    fn refusal(&self, session: &Session) -> Option<&'static str> {
        let method = self.name();
        if let Some((_, why)) = REFUSED.iter().find(|(prefix, _)| method.starts_with(prefix)) {
            return Some(why);
        }
        if method.starts_with("Target.") && !TARGETS.contains(&method) {
            return Some("targets belong to the browser tools");
        }
        let is_script = SCRIPTS.iter().any(|prefix| method.starts_with(prefix));
        if is_script && session.options.restrict_evaluate {
            return Some("browser.restrict_evaluate is on");
        }
        let dropped = self.params.get("data").and_then(|data| data.get("files")?.as_array());
        if dropped.is_some_and(|files| !files.is_empty()) {
            return Some("give files with browser_type and a path");
        }
        self.is_elsewhere(session).then_some("it means what another session has open")
    }

    /// Whether it names a context or a target that is not this session's.
    fn is_elsewhere(&self, session: &Session) -> bool {
        let named = |key: &str| self.params.get(key).filter(|value| !value.is_null());
        let context = named("browserContextId").is_some_and(|it| text(it) != session.context);
        let target = named("targetId").map(text);
        let state = session.state();
        let is_own = |target: &str| {
            let child = |tab: &Tab| tab.children.contains_key(target);
            state.tabs.iter().any(|tab| tab.target == target || child(tab))
        };
        context || target.is_some_and(|target| !is_own(target))
    }
}

/// Sends it.
pub(crate) async fn send(
    session: &Session,
    ask: &RawAsk,
) -> Result<Map<String, Value>, BrowserError> {
    let method = ask.name();
    if let Some(why) = ask.refusal(session) {
        return Err(BrowserError::new("blocked_policy", format!("{method} is refused: {why}")));
    }
    let loads = ["Target.createTarget", "Network.loadNetworkResource"].contains(&method);
    if loads || method.starts_with("Page.navigate") {
        let url = ask.params.get("url").map(text).unwrap_or_default();
        check(session, url, ask.opens_private).await?;
    }
    let cdp = target(session, ask)?;
    let seconds = ask.timeout.filter(|s| s.is_finite()).unwrap_or(30.0).clamp(1.0, 300.0);
    let (mut params, wait) = (Value::Object(ask.params.clone()), Duration::from_secs_f64(seconds));
    if method == "Target.createTarget" {
        // Anywhere else it would be behind no proxy, and nobody's.
        params = session.within(params);
    }
    let mut result = session.wire.call(Some(&cdp), method, params, wait).await?;
    if let Some(all) = result.get_mut("targetInfos").and_then(Value::as_array_mut) {
        all.retain(|it| session.context.is_empty() || it["browserContextId"] == session.context);
    }
    let mut map = Map::new();
    map.insert("method".to_owned(), method.into());
    map.insert("result".to_owned(), result);
    for (key, value) in [("target_id", &ask.target_id), ("frame_id", &ask.frame_id)] {
        if let Some(value) = value {
            map.insert(key.to_owned(), value.clone().into());
        }
    }
    Ok(map)
}

async fn check(session: &Session, url: &str, opens_private: bool) -> Result<(), BrowserError> {
    if url == "about:blank" {
        return Ok(());
    }
    let refused = || {
        let text =
            format!("`{}` is not opened; use http or https", url.split(':').next().unwrap_or(""));
        BrowserError::new("blocked_address", text)
    };
    let url = Url::parse(url).map_err(|_| refused())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused());
    }
    navigate::permit(session, &url, opens_private).await
}

fn target(session: &Session, ask: &RawAsk) -> Result<String, BrowserError> {
    let mut state = session.state();
    let missing =
        |what: &str| BrowserError::new("not_found", format!("this session has no {what}"));
    if let Some(frame) = &ask.frame_id {
        let child = state.tabs.iter().find_map(|tab| tab.children.get(frame).cloned());
        return child.ok_or_else(|| missing("such frame in a process of its own"));
    }
    if let Some(target) = &ask.target_id {
        let tab = state.tabs.iter().find(|tab| tab.target == *target || tab.id == *target);
        return tab.map(|tab| tab.cdp.clone()).ok_or_else(|| missing("such target"));
    }
    state.active_tab().map(|tab| tab.cdp.clone()).ok_or_else(BrowserError::no_page)
}
