//! A page after its scripts ran, for readers that have no browser: opened beside all sessions,
//! read once, and closed again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::{CallContext, wait};
use serde_json::json;

use crate::attach;
use crate::engine::Browsers;
use crate::error::BrowserError;
use crate::events::text;
use crate::navigate;
use crate::running::Which;
use crate::session::Session;

const TIME: Duration = Duration::from_secs(15);

impl Browsers {
    /// Where the page ended up and its document, with shadow roots as templates. Only public
    /// addresses and those of `security.private_hosts` are opened.
    pub async fn render(
        self: &Arc<Self>,
        cx: &CallContext,
        url: &str,
    ) -> Result<(String, String), BrowserError> {
        let own = cx.settings.section().unwrap_or_default();
        // Never with somebody's logins, and never for money.
        let is_attached = attach::address(&cx.settings, &own)?.is_some();
        let which = if is_attached { Which::Attached } else { Which::Local };
        let session = self.open(self.own_key(cx), cx, false, which).await?;
        let closes = Closes(self, &session);
        let work = Box::pin(read(&session, url));
        let read = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(BrowserError::cancelled()),
            read = wait::until(Instant::now() + TIME, "a page to be rendered", work) => read,
        };
        drop(closes);
        read.map_err(|_| BrowserError::new("timeout", "the page took longer than 15 s"))?
    }
}

/// Closes the session, also when whoever waits for it goes away.
struct Closes<'a>(&'a Browsers, &'a Arc<Session>);

impl Drop for Closes<'_> {
    fn drop(&mut self) {
        self.0.close(self.1);
    }
}

async fn read(session: &Session, url: &str) -> Result<(String, String), BrowserError> {
    navigate::go(session, url, (false, false)).await?;
    let tab = session.active()?;
    let document = session.call(&tab.cdp, "DOM.getDocument", json!({ "depth": 0 })).await?;
    let params = json!({ "nodeId": document["root"]["nodeId"], "includeShadowDOM": true });
    let html = session.call(&tab.cdp, "DOM.getOuterHTML", params).await?;
    let place = navigate::place(session).await;
    let url = place.get("url").map(text).unwrap_or_default().to_owned();
    Ok((url, text(&html["outerHTML"]).to_owned()))
}
