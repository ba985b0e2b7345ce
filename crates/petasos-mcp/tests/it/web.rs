//! A small HTTP server for tests: one function answers every request.

use std::net::SocketAddr;
use std::sync::Arc;

use petasos_contract::wait::Owned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: String,
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let name = format!("{}:", name.to_ascii_lowercase());
        let line =
            self.headers.lines().find(|line| line.to_ascii_lowercase().starts_with(&name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    }

    /// The JSON-RPC method.
    pub(crate) fn rpc(&self) -> &str {
        self.body.get("method").and_then(Value::as_str).unwrap_or_default()
    }

    /// A JSON-RPC result for it.
    pub(crate) fn result(&self, result: Value) -> Told {
        Told::json(200, &json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result }))
    }

    /// What a well-behaved server with one tool says.
    pub(crate) fn usual(&self) -> Told {
        match self.rpc() {
            "initialize" => self.result(json!({
                "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                "serverInfo": { "name": "web", "version": "1" },
            })),
            "tools/list" => self.result(json!({ "tools": [
                { "name": "echo", "inputSchema": { "type": "object", "properties": {} } },
            ] })),
            "tools/call" => {
                self.result(json!({ "content": [{ "type": "text", "text": "heard" }] }))
            }
            "ping" => self.result(json!({})),
            _ if self.method == "POST" => Told { status: 202, ..Told::default() },
            _ => Told { status: 405, ..Told::default() },
        }
    }
}

/// What is answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Bytes are sent one by one, with so many milliseconds between them.
    pub(crate) drip: Option<u64>,
}

impl Told {
    pub(crate) fn json(status: u16, value: &Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self { status, headers, body: value.to_string().into_bytes(), drip: None }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut text =
            format!("HTTP/1.1 {} X\r\ncontent-length: {}\r\n", self.status, self.body.len());
        for (name, value) in &self.headers {
            text.extend([name.as_str(), ": ", value.as_str(), "\r\n"]);
        }
        text.push_str("\r\n");
        [text.into_bytes(), self.body.clone()].concat()
    }
}

/// Ends when it is dropped.
pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    _serving: Owned<()>,
}

impl Web {
    pub(crate) async fn serve(answer: impl Fn(&Asked) -> Told + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::serve_on(listener, answer)
    }

    pub(crate) fn serve_on(
        listener: TcpListener,
        answer: impl Fn(&Asked) -> Told + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let answer = Arc::new(answer);
        let serving = Owned::start(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(connection(stream, Arc::clone(&answer)));
            }
        });
        Self { address, _serving: serving }
    }

    /// The same behind TLS.
    pub(crate) async fn serve_tls(
        tls: TlsAcceptor,
        answer: impl Fn(&Asked) -> Told + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = Arc::new(answer);
        let serving = Owned::start(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, answer) = (tls.clone(), Arc::clone(&answer));
                connections.spawn(async move {
                    if let Ok(stream) = tls.accept(stream).await {
                        connection(stream, answer).await;
                    }
                });
            }
        });
        Self { address, _serving: serving }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

async fn connection(mut stream: impl Stream, answer: Arc<impl Fn(&Asked) -> Told>) {
    let mut held = Vec::new();
    while let Some(asked) = request(&mut stream, &mut held).await {
        let told = answer(&asked);
        let bytes = told.bytes();
        let sent = match told.drip {
            None => stream.write_all(&bytes).await,
            Some(pause) => {
                let mut sent = Ok(());
                for byte in bytes {
                    tokio::time::sleep(std::time::Duration::from_millis(pause)).await;
                    sent = stream.write_all(&[byte]).await;
                    if sent.is_err() {
                        break;
                    }
                }
                sent
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

async fn request(stream: &mut impl Stream, held: &mut Vec<u8>) -> Option<Asked> {
    let mut piece = [0_u8; 8192];
    loop {
        let text = String::from_utf8_lossy(held).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let mut words = head.split(' ');
            let mut asked = Asked {
                method: words.next()?.to_owned(),
                path: words.next()?.to_owned(),
                headers: head.to_owned(),
                body: Value::Null,
                text: String::new(),
            };
            let length: usize =
                asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
            if body.len() >= length {
                asked.text = body.chars().take(length).collect();
                asked.body = serde_json::from_str(&asked.text).unwrap_or(Value::Null);
                *held = held.split_off(head.len() + 4 + length);
                return Some(asked);
            }
        }
        let count = stream.read(&mut piece).await.ok()?;
        if count == 0 {
            return None;
        }
        held.extend_from_slice(&piece[..count]);
    }
}
