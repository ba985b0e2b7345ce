//! A server that answers as a test says, and a session that talks to it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::context::Surface;
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::wait::Owned;
use petasos_contract::{CallContext, Secret, SessionId, Settings};
use petasos_terminal::Helpers;
use petasos_web::extract::{ExtractAsk, Reading, extract};
use petasos_web::{Apart, Sources};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// What a path is answered with.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) after: Duration,
}

impl Reply {
    pub(crate) fn new(kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type", kind.to_owned())];
        Self { status: 200, headers, body: body.into(), after: Duration::ZERO }
    }

    pub(crate) fn html(body: &str) -> Self {
        let whole =
            format!("<!doctype html><html><head><title>T</title></head><body>{body}</body></html>");
        Self::new("text/html; charset=utf-8", whole)
    }

    pub(crate) fn json(body: &Value) -> Self {
        Self::new("application/json", body.to_string())
    }

    pub(crate) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn after(mut self, pause: Duration) -> Self {
        self.after = pause;
        self
    }
}

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard {
    pub(crate) line: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

#[derive(Debug, Default)]
struct Shared {
    replies: Mutex<HashMap<String, Reply>>,
    heard: Mutex<Vec<Heard>>,
    open: AtomicUsize,
    most: AtomicUsize,
}

pub(crate) struct Server {
    pub(crate) url: String,
    shared: Arc<Shared>,
    _serve: Owned<()>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared::default());
        let serve = Owned::start({
            let shared = Arc::clone(&shared);
            async move {
                let mut open = tokio::task::JoinSet::new();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    open.spawn(one(stream, Arc::clone(&shared)));
                }
            }
        });
        Self { url, shared, _serve: serve }
    }

    /// Answers a path, whatever its query.
    pub(crate) fn at(&self, path: &str, reply: Reply) -> String {
        self.shared.replies.lock().insert(path.to_owned(), reply);
        format!("{}{path}", self.url)
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.shared.heard.lock().clone()
    }

    /// The most requests that were open at once.
    pub(crate) fn most(&self) -> usize {
        self.shared.most.load(Ordering::SeqCst)
    }
}

async fn one(mut stream: tokio::net::TcpStream, shared: Arc<Shared>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.lines();
    let mut request =
        Heard { line: lines.next().unwrap_or_default().to_owned(), ..Heard::default() };
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = request.headers.get("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    request.body = String::from_utf8_lossy(&body).into_owned();
    let path = request.line.split(' ').nth(1).unwrap_or("/").to_owned();
    shared.heard.lock().push(request);
    let open = shared.open.fetch_add(1, Ordering::SeqCst) + 1;
    shared.most.fetch_max(open, Ordering::SeqCst);
    let bare = path.split('?').next().unwrap_or("/");
    let known = {
        let replies = shared.replies.lock();
        replies.get(&path).or_else(|| replies.get(bare)).cloned()
    };
    let reply = known.unwrap_or_else(|| Reply::new("text/plain", "none").status(404));
    tokio::time::sleep(reply.after).await;
    let mut text = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        text = format!("{text}{name}: {value}\r\n");
    }
    text = format!("{text}content-length: {}\r\n\r\n", reply.body.len());
    shared.open.fetch_sub(1, Ordering::SeqCst);
    if stream.write_all(text.as_bytes()).await.is_ok() {
        stream.write_all(&reply.body).await.ok();
        stream.shutdown().await.ok();
    }
}

/// A home, its settings and what is known of pages.
pub(crate) struct Kit {
    pub(crate) server: Server,
    pub(crate) sources: Arc<Sources>,
    pub(crate) cx: CallContext,
    pub(crate) home: tempfile::TempDir,
}

impl Kit {
    pub(crate) async fn start() -> Self {
        Self::with(&json!({}), &[]).await
    }

    pub(crate) async fn with(web: &Value, variables: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let server = Server::start().await;
        let cx = context(home.path(), web, variables);
        let sources = Sources::reading(Apart::new(crate::pdf::reader(), Helpers::new()));
        Self { server, sources: Arc::new(sources), cx, home }
    }

    /// The same with somebody else who reads files apart.
    pub(crate) fn reading(mut self, apart: Apart) -> Self {
        self.sources = Arc::new(Sources::reading(apart));
        self
    }

    /// The same home with other settings.
    pub(crate) fn set(&mut self, web: &Value, variables: &[(&str, &str)]) {
        self.cx = context(self.home.path(), web, variables);
    }

    /// The same home, which may reach these private places and no others.
    pub(crate) fn reaching(&mut self, hosts: &Value) {
        self.cx = context_of(self.home.path(), &json!({}), &[], hosts);
    }

    /// Reads pages; the results.
    pub(crate) async fn read(&self, urls: &[&str]) -> Vec<Value> {
        let ask = ExtractAsk {
            urls: urls.iter().map(|url| (*url).to_owned()).collect(),
            ..ExtractAsk::default()
        };
        self.asked(&ask).await
    }

    pub(crate) async fn asked(&self, ask: &ExtractAsk) -> Vec<Value> {
        let reading = Reading { sources: &self.sources, renderer: None };
        let answer = extract(ask, reading, &self.cx).await.unwrap();
        answer["results"].as_array().unwrap().clone()
    }
}

fn context(home: &Path, web: &Value, variables: &[(&str, &str)]) -> CallContext {
    context_of(home, web, variables, &json!(["127.0.0.1"]))
}

fn context_of(
    home: &Path,
    web: &Value,
    variables: &[(&str, &str)],
    private: &Value,
) -> CallContext {
    let values = json!({ "web": web, "security": { "private_hosts": private } });
    let named = |(name, value): &(&str, &str)| {
        let source = Source::Environment { variable: (*name).to_owned() };
        ((*name).to_owned(), Variable { value: Secret::new(*value), source })
    };
    let settings = Settings::new(Parts {
        home: home.to_path_buf(),
        user_home: home.to_path_buf(),
        workspace: home.to_path_buf(),
        temp: home.to_path_buf(),
        values: values.as_object().unwrap().clone(),
        variables: variables.iter().map(named).collect(),
        ..Parts::default()
    });
    CallContext::new(Arc::new(settings), Surface::Cli, SessionId::new("s1"))
}
