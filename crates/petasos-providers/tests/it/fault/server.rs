//! A loopback server that follows a script, one act for each request.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use petasos_contract::wait::Owned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What the server does with one request.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// Writes these bytes and closes.
    Say(Vec<u8>),
    /// Resets before a byte.
    ResetAtOnce,
    /// Closes before a byte.
    CloseAtOnce,
    /// Resets inside the headers.
    ResetInHeaders,
    /// Resets after the headers.
    ResetAfterHeaders,
    /// Closes after the headers, inside a chunked body.
    CloseAfterHeaders,
    /// Resets after some text.
    ResetAfterText,
    /// Stops sending after some text and leaves its other half open.
    HalfClosed,
    /// Resets when everything was said.
    ResetAfterEnd,
    /// Says nothing.
    Silent,
    /// Says nothing after the headers.
    SilentAfterHeaders,
    /// Says nothing after some text.
    SilentAfterText,
    /// Says everything but the end mark, and stays.
    SilentAfterEnd,
    /// Comments for ever.
    KeepAliveForEver,
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";

fn event(json: &str) -> String {
    format!("data: {json}\n\n")
}

fn text(piece: &str) -> String {
    event(&format!("{{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{piece}\"}}}}]}}"))
}

fn end() -> String {
    event("{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}")
        + &event("{\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}")
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// A good answer in three chunks.
pub(super) fn stream(said: &str) -> Act {
    let parts = [text(said), end(), event("[DONE]")];
    let body: String = parts.iter().map(|part| chunk(part)).collect();
    Act::Say(format!("{HEAD}{body}0\r\n\r\n").into_bytes())
}

/// A stream of these events, ended as the dialect wants it.
pub(super) fn events(events: &[&str]) -> Act {
    let body: String = events.iter().chain(&["[DONE]"]).map(|json| chunk(&event(json))).collect();
    Act::Say(format!("{HEAD}{body}0\r\n\r\n").into_bytes())
}

/// A plain answer.
pub(super) fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Act {
    let headers: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect::<Vec<_>>()
        .concat();
    let length = body.len();
    Act::Say(format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}").into_bytes())
}

/// An error in the dialect.
pub(super) fn error(status: u16) -> Act {
    answer(status, &[("content-type", "application/json")], "{\"error\":{\"message\":\"no\"}}")
}

/// A page for people.
pub(super) fn page(status: u16) -> Act {
    answer(status, &[("content-type", "text/html")], "<html><title>Sorry</title></html>")
}

#[derive(Debug, Default)]
struct Seen {
    keys: Mutex<Vec<String>>,
    bodies: Mutex<Vec<String>>,
    heads: Mutex<Vec<String>>,
    served: Notify,
}

/// The server.
pub(super) struct Server {
    port: u16,
    seen: Arc<Seen>,
    _task: Owned<()>,
}

impl Server {
    pub(super) async fn start(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Seen::default());
        let task = Owned::start(serve(listener, acts, seen.clone()));
        Self { port, seen, _task: task }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// The keys that came, in order.
    pub(super) fn keys(&self) -> Vec<String> {
        self.seen.keys.lock().unwrap().clone()
    }

    /// The bodies that came, in order.
    pub(super) fn bodies(&self) -> Vec<String> {
        self.seen.bodies.lock().unwrap().clone()
    }

    /// The paths that were asked for, in order.
    pub(super) fn paths(&self) -> Vec<String> {
        let path = |head: String| head.split(' ').nth(1).unwrap_or_default().to_owned();
        self.heads().into_iter().map(path).collect()
    }

    /// The request lines and headers that came, in order.
    pub(super) fn heads(&self) -> Vec<String> {
        self.seen.heads.lock().unwrap().clone()
    }

    /// Waits until one act was played as far as it goes.
    pub(super) async fn served_one(&self) {
        self.seen.served.notified().await;
    }
}

async fn serve(listener: TcpListener, acts: Vec<Act>, seen: Arc<Seen>) {
    // Sockets of silent acts stay open until the server goes.
    let mut kept = Vec::new();
    for act in acts {
        let Ok((mut socket, _)) = listener.accept().await else { return };
        let (head, body) = request(&mut socket).await;
        let key = head.lines().find_map(|line| line.strip_prefix("authorization: Bearer "));
        seen.keys.lock().unwrap().push(key.unwrap_or_default().to_owned());
        seen.heads.lock().unwrap().push(head);
        seen.bodies.lock().unwrap().push(body);
        kept.extend(play(act, socket).await);
        seen.served.notify_one();
    }
    std::future::pending::<()>().await;
}

async fn request(socket: &mut TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    let mut piece = [0_u8; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_owned();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or(0);
            if body.len() >= length {
                return (head, body.to_owned());
            }
        }
        let read = socket.read(&mut piece).await.unwrap_or(0);
        if read == 0 {
            return (String::new(), String::new());
        }
        bytes.extend_from_slice(&piece[..read]);
    }
}

/// Plays one act; a socket that must stay open is handed back.
async fn play(act: Act, mut socket: TcpStream) -> Option<TcpStream> {
    let half = || format!("{HEAD}{}", chunk(&text("half an ans")));
    let whole = || format!("{HEAD}{}{}", chunk(&text("whole")), chunk(&end()));
    let say = match &act {
        Act::Say(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Act::ResetAtOnce | Act::CloseAtOnce | Act::Silent => String::new(),
        Act::ResetInHeaders => HEAD.chars().take(30).collect(),
        Act::ResetAfterHeaders
        | Act::CloseAfterHeaders
        | Act::SilentAfterHeaders
        | Act::KeepAliveForEver => HEAD.to_owned(),
        Act::ResetAfterText | Act::HalfClosed | Act::SilentAfterText => half(),
        Act::ResetAfterEnd | Act::SilentAfterEnd => whole(),
    };
    // The client may have gone, which is what some tests are about.
    let sent = socket.write_all(say.as_bytes()).await.is_ok() && socket.flush().await.is_ok();
    match act {
        Act::Say(_) | Act::CloseAtOnce | Act::CloseAfterHeaders => None,
        Act::HalfClosed => socket.shutdown().await.is_ok().then_some(socket),
        Act::Silent | Act::SilentAfterHeaders | Act::SilentAfterText | Act::SilentAfterEnd => {
            Some(socket)
        }
        Act::KeepAliveForEver => {
            while sent && socket.write_all(chunk(": still here\n\n").as_bytes()).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            None
        }
        Act::ResetAtOnce
        | Act::ResetInHeaders
        | Act::ResetAfterHeaders
        | Act::ResetAfterText
        | Act::ResetAfterEnd => {
            // A reset discards what the other side has not read yet: let it read first.
            if sent && !say.is_empty() {
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
            socket.set_zero_linger().unwrap();
            None
        }
    }
}
