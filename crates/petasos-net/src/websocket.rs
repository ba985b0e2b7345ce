//! WebSocket as a client, over a connection that the one way out has made.
//!
//! The handshake is an ordinary request, so that credentials, address rules and proxies hold for
//! it as for any other; only the frames are spoken here.

use std::time::{Duration, Instant};

use base64::Engine as _;
use futures::{SinkExt as _, StreamExt as _};
use petasos_contract::wait;
use reqwest::header::HeaderValue;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig};

use crate::client::{Net, Request};
use crate::fault::NetError;

/// The constant of the protocol that proves that the other side has read the key.
const PROOF: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// A WebSocket that could not be opened, or broke.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebSocketError {
    /// The request failed.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The other side answered, but not with a WebSocket.
    #[error("`{host}` does not speak WebSocket there: it answered {status}")]
    NotOffered {
        /// The host.
        host: String,
        /// Its status.
        status: u16,
    },
    /// The other side did not prove that it read the request.
    #[error("`{host}` gave a wrong WebSocket answer")]
    BadAnswer {
        /// The host.
        host: String,
    },
    /// The connection broke or a frame made no sense.
    #[error("the WebSocket broke: {reason}")]
    Broken {
        /// The library's word.
        reason: String,
    },
}

/// An open WebSocket.
#[derive(Debug)]
pub struct WebSocket {
    stream: WebSocketStream<reqwest::Upgraded>,
}

/// The half that is written to.
#[derive(Debug)]
pub struct WebSocketSender {
    sink: futures::stream::SplitSink<WebSocketStream<reqwest::Upgraded>, Message>,
}

/// The half that is read from.
#[derive(Debug)]
pub struct WebSocketReceiver {
    stream: futures::stream::SplitStream<WebSocketStream<reqwest::Upgraded>>,
    farewell: Option<(u16, String)>,
}

impl Net {
    /// Opens a WebSocket at the address of the request (`http` or `https`); no message from the
    /// other side may be larger than `bytes_max`.
    pub async fn websocket(
        &self,
        mut request: Request,
        bytes_max: usize,
    ) -> Result<WebSocket, WebSocketError> {
        let mut nonce = [0_u8; 16];
        let seeded = aws_lc_rs::rand::fill(&mut nonce);
        let host = request.url.host_str().unwrap_or_default().to_owned();
        if seeded.is_err() {
            return Err(WebSocketError::Broken { reason: "no random bytes".to_owned() });
        }
        let key = base64::engine::general_purpose::STANDARD.encode(nonce);
        request.upgrade = true;
        for (name, value) in [
            ("connection", "Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", key.as_str()),
        ] {
            request = request.header(name, value)?;
        }
        let reply = self.send(request).await?;
        if reply.status != 101 {
            return Err(WebSocketError::NotOffered { host, status: reply.status });
        }
        if reply.headers.get("sec-websocket-accept") != proof(&key).as_ref() {
            return Err(WebSocketError::BadAnswer { host });
        }
        let upgraded = reply.upgraded().await?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(bytes_max))
            .max_frame_size(Some(bytes_max));
        let stream = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await;
        Ok(WebSocket { stream })
    }
}

fn proof(key: &str) -> Option<HeaderValue> {
    let algorithm = &aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY;
    let digest = aws_lc_rs::digest::digest(algorithm, format!("{key}{PROOF}").as_bytes());
    HeaderValue::from_str(&base64::engine::general_purpose::STANDARD.encode(digest)).ok()
}

impl WebSocket {
    /// Both halves, for whoever reads and writes at once.
    pub fn split(self) -> (WebSocketSender, WebSocketReceiver) {
        let (sink, stream) = self.stream.split();
        (WebSocketSender { sink }, WebSocketReceiver { stream, farewell: None })
    }
}

impl WebSocketSender {
    /// Sends a text within this time.
    pub async fn send(&mut self, text: String, within: Duration) -> Result<(), WebSocketError> {
        self.put(Message::text(text), within).await
    }

    /// Sends bytes within this time.
    pub async fn send_bytes(
        &mut self,
        bytes: Vec<u8>,
        within: Duration,
    ) -> Result<(), WebSocketError> {
        self.put(Message::binary(bytes), within).await
    }

    async fn put(&mut self, message: Message, within: Duration) -> Result<(), WebSocketError> {
        let sending = self.sink.send(message);
        match wait::until(Instant::now() + within, "a WebSocket to take a message", sending).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(WebSocketError::Broken { reason: error.to_string() }),
            Err(elapsed) => Err(WebSocketError::Broken { reason: elapsed.to_string() }),
        }
    }

    /// Says goodbye.
    pub async fn close(&mut self) {
        if let Err(error) = self.sink.close().await {
            tracing::debug!(%error, "a WebSocket was gone before it was closed");
        }
    }
}

impl WebSocketReceiver {
    /// The code and the reason with which the other side closed, once it has.
    pub fn farewell(&self) -> Option<(u16, &str)> {
        self.farewell.as_ref().map(|(code, why)| (*code, why.as_str()))
    }

    /// The next text, or `None` when the other side closed. Its owner decides how long to wait.
    pub async fn next(&mut self) -> Option<Result<String, WebSocketError>> {
        let next = self.next_bytes().await?;
        Some(next.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The next message as bytes, or `None` when the other side closed.
    pub async fn next_bytes(&mut self) -> Option<Result<Vec<u8>, WebSocketError>> {
        loop {
            match self.stream.next().await? {
                Ok(Message::Text(text)) => return Some(Ok(text.as_bytes().to_vec())),
                Ok(Message::Binary(bytes)) => return Some(Ok(bytes.to_vec())),
                Ok(Message::Close(frame)) => {
                    self.farewell =
                        frame.map(|frame| (frame.code.into(), frame.reason.as_str().to_owned()));
                    return None;
                }
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
                Err(error) => {
                    return Some(Err(WebSocketError::Broken { reason: error.to_string() }));
                }
            }
        }
    }
}
