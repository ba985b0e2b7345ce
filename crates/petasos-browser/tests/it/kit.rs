//! A browser of its own for every test, and a server with the pages that the test writes down.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use petasos_browser::{BrowserError, Browsers, ClickKind, SnapshotAsk, TypeAsk, find};
use petasos_contract::context::Surface;
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::wait::Owned;
use petasos_contract::{CallContext, Secret, SessionId, Settings};
use petasos_terminal::Helpers;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

type Pages = Arc<Mutex<HashMap<String, String>>>;

/// What the server has seen and gives.
pub(crate) struct Server {
    pub(crate) port: u16,
    pages: Pages,
    pub(crate) hits: Arc<AtomicUsize>,
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
    _serve: Owned<()>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let pages: Pages = Arc::default();
        let hits = Arc::new(AtomicUsize::new(0));
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let serve = Owned::start({
            let (pages, hits, lines) = (Arc::clone(&pages), Arc::clone(&hits), Arc::clone(&lines));
            async move {
                let mut connections = tokio::task::JoinSet::new();
                loop {
                    let (mut stream, _) = listener.accept().await.unwrap();
                    let (pages, hits, lines) =
                        (Arc::clone(&pages), Arc::clone(&hits), Arc::clone(&lines));
                    connections.spawn(async move {
                        let mut head = Vec::new();
                        while !head.ends_with(b"\r\n\r\n") {
                            match stream.read_u8().await {
                                Ok(byte) => head.push(byte),
                                Err(_) => return,
                            }
                        }
                        let head = String::from_utf8_lossy(&head).into_owned();
                        let line = head.lines().next().unwrap_or_default().to_owned();
                        let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
                        hits.fetch_add(1, Ordering::SeqCst);
                        lines.lock().push(line);
                        let bare = path.split('?').next().unwrap_or("/");
                        let known = pages.lock().get(bare).cloned();
                        let reply = match known {
                            Some(raw) if raw.starts_with("HTTP/1.1") => raw,
                            Some(html) => format!(
                                "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{html}",
                                html.len()
                            ),
                            None if bare == "/hang" => {
                                tokio::time::sleep(Duration::from_mins(2)).await;
                                return;
                            }
                            None => "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\nContent-Type: text/html\r\nConnection: close\r\n\r\nnot found".to_owned(),
                        };
                        stream.write_all(reply.as_bytes()).await.ok();
                        stream.shutdown().await.ok();
                    });
                }
            }
        });
        Self { port, pages, hits, lines, _serve: serve }
    }

    pub(crate) fn page(&self, path: &str, html: &str) -> String {
        let whole = if html.starts_with("HTTP/1.1") {
            html.to_owned()
        } else {
            format!(
                "<!doctype html><html><head><title>Test</title></head><body>{html}</body></html>"
            )
        };
        self.pages.lock().insert(path.to_owned(), whole);
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// A page of the services' own site, as it is there.
    pub(crate) fn saved(&self, name: &str) -> String {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/services/pages/");
        let html = std::fs::read_to_string(format!("{folder}{name}")).unwrap();
        self.pages.lock().insert(format!("/{name}"), html);
        format!("http://127.0.0.1:{}/{name}", self.port)
    }
}

/// A browser with one session.
pub(crate) struct Kit {
    pub(crate) browsers: Arc<Browsers>,
    pub(crate) cx: CallContext,
    pub(crate) server: Server,
    pub(crate) home: tempfile::TempDir,
}

fn settings(home: &std::path::Path, browser: &Value, more: &[(&str, &str)]) -> Arc<Settings> {
    let values = json!({ "browser": browser }).as_object().unwrap().clone();
    let variable = |name: &str, value: &str| {
        let source = Source::Environment { variable: name.to_owned() };
        (name.to_owned(), Variable { value: Secret::new(value), source })
    };
    let variables = [
        variable("PATH", "/usr/local/bin:/usr/bin:/bin"),
        variable("LOGIN_PASSWORD", "hunter2-hunter2"),
    ];
    let more = more.iter().map(|(name, value)| variable(name, value));
    Arc::new(Settings::new(Parts {
        home: home.to_path_buf(),
        user_home: home.to_path_buf(),
        workspace: home.to_path_buf(),
        temp: home.to_path_buf(),
        values,
        variables: variables.into_iter().chain(more).collect(),
        ..Parts::default()
    }))
}

impl Kit {
    /// `None` where there is no browser; the reason is noted.
    pub(crate) async fn start(test: &str) -> Option<Self> {
        Self::with(test, json!({})).await
    }

    pub(crate) async fn with(test: &str, browser: Value) -> Option<Self> {
        Self::with_variables(test, browser, &[]).await
    }

    #[expect(clippy::disallowed_methods, reason = "another browser is named by a variable")]
    pub(crate) async fn with_variables(
        test: &str,
        browser: Value,
        variables: &[(&str, &str)],
    ) -> Option<Self> {
        let home = tempfile::tempdir().unwrap();
        let mut browser = browser;
        // Another version than the installed one, to see that nothing hangs on it.
        if let Ok(path) = std::env::var("PETASOS_TEST_BROWSER") {
            browser["path"] = path.into();
        }
        let settings = settings(home.path(), &browser, variables);
        if find(&settings).is_none() {
            petasos_testkit::skip(test, "chromium", "no browser on the search path");
            return None;
        }
        let browsers = Browsers::new(Some(Helpers::new()));
        let cx = CallContext::new(settings, Surface::Cli, SessionId::new(test));
        Some(Self { browsers, cx, server: Server::start().await, home })
    }

    pub(crate) fn other(&self, session: &str) -> CallContext {
        CallContext::new(Arc::clone(&self.cx.settings), Surface::Cli, SessionId::new(session))
    }

    pub(crate) async fn try_open(&self, url: &str) -> Result<Map<String, Value>, BrowserError> {
        self.browsers.navigate(&self.cx, url, true).await
    }

    pub(crate) async fn open(&self, html: &str) -> Map<String, Value> {
        let url = self.server.page("/page", html);
        self.try_open(&url).await.unwrap()
    }

    /// The snapshot without its two lines of heading.
    pub(crate) async fn lines(&self) -> String {
        let answer = self.browsers.snapshot(&self.cx, SnapshotAsk::default()).await.unwrap();
        body(&answer)
    }

    pub(crate) async fn full(&self) -> String {
        let ask = SnapshotAsk { full: true, ..SnapshotAsk::default() };
        body(&self.browsers.snapshot(&self.cx, ask).await.unwrap())
    }

    pub(crate) async fn click(&self, reference: &str) -> Result<Map<String, Value>, BrowserError> {
        self.browsers.click(&self.cx, reference, ClickKind::Left).await
    }

    pub(crate) async fn type_in(
        &self,
        reference: &str,
        text: &str,
    ) -> Result<Map<String, Value>, BrowserError> {
        let ask = TypeAsk {
            reference: reference.to_owned(),
            text: text.to_owned(),
            ..TypeAsk::default()
        };
        self.browsers.type_text(&self.cx, ask).await
    }

    pub(crate) async fn eval(&self, code: &str) -> Value {
        let answer = self.browsers.console(&self.cx, false, Some(code)).await.unwrap();
        answer.get("result").cloned().unwrap_or_default()
    }

    pub(crate) async fn end(self) {
        self.browsers.shut_down().await;
    }
}

/// The snapshot without its heading.
pub(crate) fn body(answer: &Map<String, Value>) -> String {
    let text = answer["snapshot"].as_str().unwrap();
    text.lines().skip(2).collect::<Vec<_>>().join("\n")
}

/// The reference on the first line with these words.
pub(crate) fn reference(lines: &str, words: &str) -> String {
    let line = lines
        .lines()
        .find(|line| line.contains(words))
        .unwrap_or_else(|| panic!("no {words} in\n{lines}"));
    let at = line.find("@e").unwrap_or_else(|| panic!("no reference in {line}"));
    line.get(at..).unwrap().split(' ').next().unwrap().to_owned()
}
