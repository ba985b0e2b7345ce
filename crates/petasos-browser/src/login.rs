//! A profile in a person's own hands: opened visibly, so that they can sign in, until they close it.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::{CallContext, Settings};
use petasos_net::proxy::Proxies;
use petasos_net::{FilterProxy, SiteRules};
use serde_json::json;

use crate::engine::Browsers;
use crate::error::BrowserError;
use crate::navigate;
use crate::options::BrowserSettings;
use crate::running::{Running, START_WAIT, Which};

/// Longer than anybody takes to sign in.
const OPEN_MAX: Duration = Duration::from_hours(12);

impl Browsers {
    /// Opens a profile for a person and comes back when they have closed it, or the call is
    /// cancelled. What they sign in to is there for later sessions with this profile.
    pub async fn login(
        self: &Arc<Self>,
        cx: &CallContext,
        (profile, url): (&str, Option<&str>),
        shown: bool,
    ) -> Result<(), BrowserError> {
        let own: BrowserSettings = cx.settings.section().unwrap_or_default();
        let own = BrowserSettings { headed: shown, ..own };
        if shown && !has_screen(&cx.settings) {
            let text =
                "needs a screen: run it at a desktop, where DISPLAY or WAYLAND_DISPLAY is set";
            return Err(BrowserError::new("missing_setup", text));
        }
        let url = url.map(navigate::address).transpose()?;
        let which = Which::Profile(profile.to_owned());
        self.refuse_second(&which)?;
        let proxy = FilterProxy::start(
            SiteRules::from_settings(&cx.settings),
            Proxies::from_settings(&cx.settings),
            // A person may look around as long as they like.
            u64::MAX,
        );
        let proxy =
            proxy.await.map_err(|error| BrowserError::new("upstream", error.to_string()))?;
        proxy.open();
        let opened = url.as_ref().and_then(|url| url.host_str().zip(url.port_or_known_default()));
        if let Some((host, port)) = opened {
            // They named it themselves.
            proxy.open_private(host, port);
        }
        let processes = self.processes.as_ref();
        let running =
            Running::open(&which, processes, (&cx.settings, &own), proxy.address()).await?;
        let page = json!({ "url": url.as_ref().map_or("about:blank", |url| url.as_str()) });
        let made = running.wire.call(None, "Target.createTarget", page, START_WAIT).await;
        if made.is_ok() {
            tokio::select! {
                () = cx.cancel.cancelled() => {}
                () = running.until_closed(OPEN_MAX) => {}
            }
        }
        running.end().await;
        made.map(|_| ()).map_err(BrowserError::from)
    }
}

fn has_screen(settings: &Settings) -> bool {
    let is_set =
        |name: &str| settings.variable(name).is_some_and(|it| !it.value.expose().is_empty());
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
