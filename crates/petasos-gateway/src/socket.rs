//! A WebSocket of a platform: JSON both ways, with the server's reason when it hangs up.

use std::time::Duration;

use petasos_net::websocket::{WebSocketReceiver, WebSocketSender};
use petasos_net::{Method, Net, Request, Url, WebSocketError};
use serde_json::Value;

use crate::platform::LinkError;

/// The largest message that is read.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
const SEND: Duration = Duration::from_secs(10);
const OPEN: Duration = Duration::from_secs(20);

/// An open connection.
pub(crate) struct Socket {
    sender: WebSocketSender,
    receiver: WebSocketReceiver,
}

impl Socket {
    /// Opens a connection at a `ws`, `wss`, `http` or `https` address.
    pub(crate) async fn open(net: &Net, address: &str) -> Result<Self, LinkError> {
        let address = match address.split_once("://") {
            Some(("wss", rest)) => format!("https://{rest}"),
            Some(("ws", rest)) => format!("http://{rest}"),
            _ => address.to_owned(),
        };
        let url = Url::parse(&address).map_err(|error| LinkError::Lost(error.to_string()))?;
        let request = Request::new(Method::GET, url).first_byte(OPEN);
        let opened =
            net.websocket(request, MESSAGE_BYTES_MAX).await.map_err(|error| lost(&error))?;
        let (sender, receiver) = opened.split();
        Ok(Self { sender, receiver })
    }

    /// Says something.
    pub(crate) async fn say(&mut self, what: &Value) -> Result<(), LinkError> {
        self.sender.send(what.to_string(), SEND).await.map_err(|error| lost(&error))
    }

    /// The next message. What is no JSON is passed over; the end of the connection is an error.
    pub(crate) async fn next(&mut self) -> Result<Value, LinkError> {
        loop {
            match self.receiver.next().await {
                Some(Ok(text)) => {
                    if let Ok(value) = serde_json::from_str(&text) {
                        return Ok(value);
                    }
                    tracing::debug!("a message that is no JSON");
                }
                Some(Err(error)) => return Err(lost(&error)),
                None => {
                    let why = match self.receiver.farewell() {
                        Some((code, why)) => format!("the server hung up: {code} {why}"),
                        None => "the server hung up".to_owned(),
                    };
                    return Err(LinkError::Lost(why));
                }
            }
        }
    }

    /// The next message, if it comes in time.
    pub(crate) async fn next_within(&mut self, wait: Duration) -> Result<Option<Value>, LinkError> {
        match tokio::time::timeout(wait, self.next()).await {
            Ok(next) => next.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// The code with which the server hung up.
    pub(crate) fn code(&self) -> Option<u16> {
        self.receiver.farewell().map(|(code, _)| code)
    }
}

fn lost(error: &WebSocketError) -> LinkError {
    LinkError::Lost(error.to_string())
}
