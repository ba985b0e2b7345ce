//! The other side of a vendor's interface: HTTP, WebSockets and endless answers on loopback. What a
//! vendor says to a call is the double's; this file only carries it.

use std::sync::Arc;

use base64::Engine as _;
use parking_lot::Mutex;
use petasos_contract::wait::Owned;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A request that arrived.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) path: String,
    pub(crate) headers: String,
    pub(crate) body: Vec<u8>,
}

impl Call {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// What the vendor says.
pub(crate) enum Reply {
    /// JSON with a status.
    Json(u16, Value),
    /// JSON with a status and a header.
    With(u16, (&'static str, String), Value),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A WebSocket.
    Socket,
    /// An answer that goes on: events and lines.
    Stream,
}

/// A vendor's behaviour.
pub(crate) trait Vendor: Send + Sync + 'static {
    /// Answers a call.
    fn call(&self, call: &Call) -> Reply;

    /// Somebody connected (`None`) or said something: what they are told.
    fn hears(&self, _frame: Option<&Value>) -> Vec<String> {
        Vec::new()
    }
}

#[derive(Default)]
struct Lines {
    open: Mutex<Vec<UnboundedSender<String>>>,
    /// What was said while nobody listened is lost, as it is with the vendors.
    connected: Mutex<u64>,
}

/// A running double.
pub(crate) struct Double<V> {
    /// `http://127.0.0.1:port`.
    pub(crate) url: String,
    pub(crate) vendor: Arc<V>,
    lines: Arc<Lines>,
    _task: Owned<()>,
}

impl<V: Vendor> Double<V> {
    pub(crate) async fn new(make: impl FnOnce(&str) -> V) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (vendor, lines) = (Arc::new(make(&url)), Arc::<Lines>::default());
        let (own, all) = (Arc::clone(&vendor), Arc::clone(&lines));
        let task = Owned::start(async move {
            let mut open = Vec::new();
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let (vendor, lines) = (Arc::clone(&own), Arc::clone(&all));
                open.push(Owned::start(async move { serve(stream, &*vendor, &lines).await }));
            }
        });
        Self { url, vendor, lines, _task: task }
    }

    /// Says something on every open connection; whether anybody listened.
    pub(crate) fn push(&self, text: &str) -> bool {
        let mut open = self.lines.open.lock();
        open.retain(|line| line.send(text.to_owned()).is_ok());
        !open.is_empty()
    }

    /// Cuts every open connection.
    pub(crate) fn cut(&self) {
        self.lines.open.lock().clear();
    }

    /// How often somebody connected.
    pub(crate) fn connections(&self) -> u64 {
        *self.lines.connected.lock()
    }
}

async fn serve(stream: TcpStream, vendor: &dyn Vendor, lines: &Lines) {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    while let Some(call) = read_call(&mut reader).await {
        match vendor.call(&call) {
            Reply::Json(status, value) => {
                let retry = value.get("retry_after").map(|it| format!("Retry-After: {it}\r\n"));
                let body = value.to_string();
                let head = format!(
                    "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{}Content-Length: {}\r\n\r\n",
                    retry.unwrap_or_default(),
                    body.len()
                );
                if writer.write_all(format!("{head}{body}").as_bytes()).await.is_err() {
                    return;
                }
            }
            Reply::With(status, (name, value), body) => {
                let body = body.to_string();
                let head = format!(
                    "HTTP/1.1 {status} X\r\n{name}: {value}\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                );
                if writer.write_all(format!("{head}{body}").as_bytes()).await.is_err() {
                    return;
                }
            }
            Reply::Bytes(bytes) => {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", bytes.len());
                if writer.write_all(&[head.as_bytes(), &bytes].concat()).await.is_err() {
                    return;
                }
            }
            Reply::Socket => {
                let head = format!(
                    "HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {}\r\n\r\n",
                    accepted(&call.headers)
                );
                writer.write_all(head.as_bytes()).await.unwrap();
                return socket(reader, writer, vendor, enter(lines)).await;
            }
            Reply::Stream => {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
                writer.write_all(head.as_bytes()).await.unwrap();
                let mut told = enter(lines);
                for text in vendor.hears(None) {
                    chunk(&mut writer, &text).await;
                }
                while let Some(text) = told.recv().await {
                    chunk(&mut writer, &text).await;
                }
                return;
            }
        }
    }
}

fn enter(lines: &Lines) -> UnboundedReceiver<String> {
    let (sender, receiver) = unbounded_channel();
    lines.open.lock().push(sender);
    *lines.connected.lock() += 1;
    receiver
}

async fn chunk(writer: &mut OwnedWriteHalf, text: &str) {
    let chunk = format!("{:x}\r\n{text}\r\n", text.len());
    // Whoever listened may be gone.
    drop(writer.write_all(chunk.as_bytes()).await);
}

async fn read_call(reader: &mut BufReader<OwnedReadHalf>) -> Option<Call> {
    let mut first = String::new();
    if reader.read_line(&mut first).await.ok()? == 0 {
        return None;
    }
    let mut headers = String::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await.ok()?;
        if line.trim().is_empty() {
            break;
        }
        headers.push_str(&line);
    }
    let length = header(&headers, "content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await.ok()?;
    let mut words = first.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    Some(Call { method, path, headers, body })
}

/// The value of a header.
pub(crate) fn header<'a>(headers: &'a str, name: &str) -> Option<&'a str> {
    headers.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

fn accepted(headers: &str) -> String {
    let key = header(headers, "sec-websocket-key").unwrap_or_default();
    let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let algorithm = &aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY;
    let digest = aws_lc_rs::digest::digest(algorithm, text.as_bytes());
    base64::engine::general_purpose::STANDARD.encode(digest)
}

async fn socket(
    mut reader: BufReader<OwnedReadHalf>,
    mut writer: OwnedWriteHalf,
    vendor: &dyn Vendor,
    mut told: UnboundedReceiver<String>,
) {
    for text in vendor.hears(None) {
        frame(&mut writer, &text).await;
    }
    // Read beside the rest: a frame that comes in two pieces is not cut in the middle.
    let (frames, mut came) = unbounded_channel();
    let _reading = Owned::start(async move {
        while let Some(frame) = heard(&mut reader).await {
            if frames.send(frame).is_err() {
                return;
            }
        }
    });
    loop {
        tokio::select! {
            heard = came.recv() => {
                let Some(heard) = heard else { return };
                for text in vendor.hears(Some(&heard)) {
                    frame(&mut writer, &text).await;
                }
            }
            text = told.recv() => match text {
                Some(text) => frame(&mut writer, &text).await,
                None => return,
            },
        }
    }
}

/// One text frame, or one of bytes behind `hex:`; `close:CODE` closes.
async fn frame(writer: &mut OwnedWriteHalf, text: &str) {
    let closing = text.strip_prefix("close:").and_then(|it| it.parse::<u16>().ok());
    let (kind, bytes) = match (closing, text.strip_prefix("hex:")) {
        (Some(code), _) => (0x88, code.to_be_bytes().to_vec()),
        (None, Some(digits)) => (0x82, unhex(digits)),
        (None, None) => (0x81, text.as_bytes().to_vec()),
    };
    let mut out = vec![kind];
    match u16::try_from(bytes.len()) {
        Ok(short) if short < 126 => out.push(u8::try_from(short).unwrap()),
        Ok(length) => {
            out.push(126);
            out.extend(length.to_be_bytes());
        }
        Err(_) => {
            out.push(127);
            out.extend((bytes.len() as u64).to_be_bytes());
        }
    }
    out.extend(bytes);
    // Whoever listened may be gone.
    drop(writer.write_all(&out).await);
}

/// The next text that a client sent.
async fn heard(reader: &mut BufReader<OwnedReadHalf>) -> Option<Value> {
    loop {
        let kind = reader.read_u8().await.ok()? & 0x0f;
        let mut length = u64::from(reader.read_u8().await.ok()? & 0x7f);
        if length == 126 {
            length = u64::from(reader.read_u16().await.ok()?);
        } else if length == 127 {
            length = reader.read_u64().await.ok()?;
        }
        let mut mask = [0_u8; 4];
        reader.read_exact(&mut mask).await.ok()?;
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        reader.read_exact(&mut bytes).await.ok()?;
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte ^= mask[at % 4];
        }
        match kind {
            1 => return serde_json::from_slice(&bytes).ok(),
            2 => return Some(Value::String(hex(&bytes))),
            8 => return None,
            _ => {}
        }
    }
}

/// Bytes as a line of text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("hex:{}", digits.concat())
}

/// And back.
pub(crate) fn unhex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// A port that nobody listens at.
pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Says something to a listener of ours, once; gives the status and the body.
pub(crate) fn hit(port: u16, head: &str, body: &[u8]) -> Option<(u16, String)> {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).ok()?;
    let head = format!(
        "{}\r\nHost: h\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        head.trim_end(),
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

/// The same as vendors do it: again until somebody takes it, beside everything else.
pub(crate) fn bring(port: u16, head: String, body: Vec<u8>) {
    std::thread::spawn(move || {
        for _ in 0..600 {
            if hit(port, &head, &body).is_some_and(|(status, _)| status == 200) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    });
}

/// HMAC-SHA256 in hexadecimal, as vendors sign.
pub(crate) fn hmac_sha256(key: &str, body: &[u8]) -> String {
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, key.as_bytes());
    let tag = aws_lc_rs::hmac::sign(&key, body);
    tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}
