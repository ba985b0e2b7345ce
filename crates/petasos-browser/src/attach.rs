//! A browser that somebody else runs: where it is, and the connection to it.

use std::time::Duration;

use petasos_contract::Settings;
use petasos_net::websocket::{WebSocketReceiver, WebSocketSender};
use petasos_net::{Method, Net, NetOptions, Origin, Request, Url};
use serde_json::Value;

use crate::error::BrowserError;
use crate::options::BrowserSettings;
use crate::wire::MESSAGE_BYTES_MAX;

const CONNECT_WAIT: Duration = Duration::from_secs(15);

/// Where a browser is spoken to. Its text is never shown: it may hold a token.
pub(crate) struct Address(Url);

/// The browser that the settings name, if any.
pub(crate) fn address(
    settings: &Settings,
    own: &BrowserSettings,
) -> Result<Option<Address>, BrowserError> {
    let variable = settings.variable("BROWSER_CDP_URL").map(|set| set.value.expose().to_owned());
    let given = variable.filter(|url| !url.trim().is_empty()).or_else(|| own.cdp_url.clone());
    let Some(given) = given.filter(|url| !url.trim().is_empty()) else { return Ok(None) };
    let address = Address::of(given.trim())?;
    let is_safe = address.origin().is_some_and(|it| it.is_encrypted() || it.is_loopback());
    if !is_safe && !own.cdp_insecure {
        return Err(bad(
            "leads elsewhere without encryption; use wss:// or set browser.cdp_insecure",
        ));
    }
    Ok(Some(address))
}

fn bad(what: &str) -> BrowserError {
    let text = format!("browser.cdp_url {what}; write it as ws://host:port/… or http://host:port");
    BrowserError::new("missing_setup", text)
}

impl Address {
    /// Reads an address; WebSocket addresses become those that they begin with.
    pub(crate) fn of(given: &str) -> Result<Self, BrowserError> {
        let spelled = match given.split_once("://") {
            Some(("ws", rest)) => format!("http://{rest}"),
            Some(("wss", rest)) => format!("https://{rest}"),
            Some(("http" | "https", _)) => given.to_owned(),
            Some(_) | None => return Err(bad("is no ws or http address")),
        };
        let address = Self(Url::parse(&spelled).map_err(|_| bad("cannot be read"))?);
        address.origin().map(|_| ()).ok_or_else(|| bad("names no host"))?;
        Ok(address)
    }

    fn origin(&self) -> Option<Origin> {
        Origin::of(&self.0)
    }

    /// Whether the browser is on this machine, so that our proxy can be reached from there.
    pub(crate) fn is_here(&self) -> bool {
        self.origin().is_some_and(|origin| origin.is_loopback())
    }
}

/// Connects to it.
pub(crate) async fn connect(
    settings: &Settings,
    address: &Address,
) -> Result<(WebSocketSender, WebSocketReceiver), BrowserError> {
    let net = Net::new(NetOptions::from_settings(settings));
    let host = address.0.host_str().unwrap_or_default().to_owned();
    let failed = |what: String| {
        let text = format!(
            "the browser at {host} cannot be reached: {what}; is it running with --remote-debugging-port? (Chrome from 136 on ignores it on the default profile)"
        );
        BrowserError::new("upstream", text)
    };
    let url = match address.0.path() {
        "/" | "" if address.0.query().is_none() => {
            websocket_of(&net, &address.0).await.map_err(failed)?
        }
        _ => address.0.clone(),
    };
    let request = Request::new(Method::GET, url).first_byte(CONNECT_WAIT);
    let socket = net.websocket(request, MESSAGE_BYTES_MAX).await;
    socket.map(petasos_net::WebSocket::split).map_err(|error| failed(error.to_string()))
}

/// Asks a browser for the address of its protocol; host and port stay those that were given.
async fn websocket_of(net: &Net, base: &Url) -> Result<Url, String> {
    let url = base.join("/json/version").map_err(|error| error.to_string())?;
    let request = Request::new(Method::GET, url).first_byte(CONNECT_WAIT);
    let reply = net.send(request).await.map_err(|error| error.to_string())?;
    if reply.status == 404 {
        return Err("it does not tell its address: give the ws:// address itself".to_owned());
    }
    let body = reply.bytes(1 << 16, CONNECT_WAIT).await.map_err(|error| error.to_string())?;
    let told: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
    let told = told["webSocketDebuggerUrl"].as_str().unwrap_or_default();
    let told = Url::parse(told).map_err(|_| "it names no webSocketDebuggerUrl".to_owned())?;
    let mut url = base.clone();
    url.set_path(told.path());
    Ok(url)
}
