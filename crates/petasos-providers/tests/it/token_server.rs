//! A token endpoint on loopback whose refresh tokens work once, and answers by script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use petasos_contract::wait::Owned;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;

/// What the server has seen and what it will say.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The generation that is valid now.
    pub(crate) generation: u64,
    /// Refreshes that were granted.
    pub(crate) granted: u64,
    /// Refreshes with a spent token.
    pub(crate) reused: u64,
    /// What clients reported to hold.
    pub(crate) reports: Vec<String>,
    /// Answers that come before the rule: status and body.
    pub(crate) script: VecDeque<(u16, String)>,
    /// Every body that arrived.
    pub(crate) bodies: Vec<String>,
    /// Every head that arrived: the first line, and the headers in lower case.
    pub(crate) heads: Vec<String>,
}

pub(crate) struct TokenServer {
    pub(crate) url: String,
    pub(crate) ledger: Arc<Mutex<Ledger>>,
    _task: Owned<()>,
}

impl TokenServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        let shared = Arc::clone(&ledger);
        let meeting = Arc::new(Barrier::new(2));
        let task = Owned::start(async move {
            let mut open = Vec::new();
            while let Ok((socket, _)) = listener.accept().await {
                let (ledger, meeting) = (Arc::clone(&shared), Arc::clone(&meeting));
                open.retain(|task: &Owned<()>| !task.is_finished());
                open.push(Owned::start(serve(socket, ledger, meeting)));
            }
        });
        Self { url, ledger, _task: task }
    }

    pub(crate) fn say(&self, status: u16, body: &str) {
        self.ledger.lock().unwrap().script.push_back((status, body.to_owned()));
    }
}

async fn serve(socket: TcpStream, ledger: Arc<Mutex<Ledger>>, meeting: Arc<Barrier>) {
    let mut socket = BufReader::new(socket);
    while let Some((head, body)) = read(&mut socket).await {
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        ledger.lock().unwrap().heads.push(head);
        if path == "/meet" {
            meeting.wait().await;
        }
        let (status, text) = answer(&mut ledger.lock().unwrap(), &path, &body);
        let length = text.len();
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        socket.get_mut().write_all(format!("{head}{text}").as_bytes()).await.unwrap();
    }
}

fn answer(ledger: &mut Ledger, path: &str, body: &str) -> (u16, String) {
    ledger.bodies.push(body.to_owned());
    if let Some(scripted) = ledger.script.pop_front() {
        return scripted;
    }
    match path {
        "/meet" => (200, "{}".to_owned()),
        "/report" => {
            ledger.reports.push(body.to_owned());
            (200, "{}".to_owned())
        }
        _ if body.contains(&format!("refresh_token=rt-{:06}", ledger.generation)) => {
            ledger.generation += 1;
            ledger.granted += 1;
            let now = ledger.generation;
            let tokens = format!(
                r#"{{"access_token":"at-{now:06}","refresh_token":"rt-{now:06}","expires_in":3600}}"#
            );
            (200, tokens)
        }
        _ => {
            ledger.reused += 1;
            (400, r#"{"error":"invalid_grant"}"#.to_owned())
        }
    }
}

async fn read(socket: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let mut line = String::new();
    socket.read_line(&mut line).await.ok().filter(|count| *count > 0)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        socket.read_line(&mut header).await.ok()?;
        if header.trim().is_empty() {
            break;
        }
        let header = header.to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.push_str(&header);
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.ok()?;
    Some((line, String::from_utf8(body).unwrap()))
}
