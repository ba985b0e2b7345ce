//! A server with the vendor's paths, fields and checks, whose sandboxes are this machine.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::wait::Owned;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Well,
    Limited,
    Failed,
    Garbage,
    Never,
}

#[derive(Default)]
struct State {
    /// Names and the sessions that run.
    sandboxes: BTreeMap<String, String>,
    running: Vec<String>,
    creations: usize,
    source: Option<String>,
}

pub(super) struct Double {
    pub(super) url: String,
    state: Arc<Mutex<State>>,
    _task: Owned<()>,
}

impl Double {
    pub(super) async fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let task = Owned::start(async move {
            let mut tasks = Vec::new();
            while let Ok((socket, _)) = listener.accept().await {
                tasks.push(Owned::start(serve(socket, Arc::clone(&shared), answer)));
            }
        });
        Self { url, state, _task: task }
    }

    pub(super) fn running(&self) -> usize {
        self.state.lock().running.len()
    }

    pub(super) fn sandboxes(&self) -> usize {
        self.state.lock().sandboxes.len()
    }

    pub(super) fn creations(&self) -> usize {
        self.state.lock().creations
    }

    pub(super) fn last_source(&self) -> Option<String> {
        self.state.lock().source.clone()
    }

    pub(super) fn end_all(&self) {
        self.state.lock().running.clear();
    }
}

async fn serve(mut socket: TcpStream, state: Arc<Mutex<State>>, answer: Answer) {
    let Some((head, body)) = request(&mut socket).await else { return };
    let line = head.lines().next().unwrap_or_default().to_owned();
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let creates = method == "POST" && target.starts_with("/api/v2/sandboxes?");
    state.lock().creations += usize::from(creates);
    let (status, more, text) = match answer {
        Answer::Never => return std::future::pending().await,
        Answer::Limited => {
            (429, "retry-after: 120\r\n", json!({"error":{"message":"slow down"}}).to_string())
        }
        Answer::Failed => (500, "", String::new()),
        Answer::Garbage => (200, "", "<html>".to_owned()),
        Answer::Well => {
            let known = head.to_lowercase().contains("authorization: bearer vercel-test");
            if known && target.contains("teamId=team_1") {
                let (status, text) = route(&state, method, target, &body).await;
                (status, "", text)
            } else {
                (403, "", json!({"error":{"message":"who are you"}}).to_string())
            }
        }
    };
    let reply = format!(
        "HTTP/1.1 {status} x\r\n{more}connection: close\r\ncontent-length: {}\r\n\r\n{text}",
        text.len()
    );
    drop(socket.write_all(reply.as_bytes()).await);
}

async fn request(socket: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
        let length = head.lines().find_map(|line| {
            line.to_lowercase()
                .strip_prefix("content-length:")
                .map(|size| size.trim().parse().unwrap())
        });
        let end = at + 4 + length.unwrap_or(0);
        while bytes.len() < end {
            socket.read_buf(&mut bytes).await.ok()?;
        }
        return Some((head, bytes[at + 4..end].to_vec()));
    }
}

fn session(id: &str, status: &str) -> Value {
    json!({
        "id": id, "memory": 2048, "vcpus": 1, "region": "iad1", "runtime": "node24",
        "timeout": 300_000, "status": status, "requestedAt": 1, "createdAt": 1,
        "cwd": "/vercel/sandbox", "updatedAt": 1,
    })
}

async fn route(state: &Mutex<State>, method: &str, target: &str, body: &[u8]) -> (u16, String) {
    let path = target.split('?').next().unwrap_or("").trim_start_matches("/api/");
    let parts: Vec<&str> = path.split('/').collect();
    match (method, parts.as_slice()) {
        ("POST", ["v2", "sandboxes"]) => create(state, body),
        ("DELETE", ["v2", "sandboxes", name]) => {
            let gone = state.lock().sandboxes.remove(*name).is_some();
            if gone { (200, json!({"sandbox":{"name":name}}).to_string()) } else { missing() }
        }
        ("GET", ["v2", "sandboxes", "sessions", id]) => {
            let runs = state.lock().running.iter().any(|other| other == id);
            let found = session(id, if runs { "running" } else { "stopped" });
            (200, json!({"session": found, "routes": []}).to_string())
        }
        ("POST", ["v2", "sandboxes", "sessions", id, what]) => {
            if !state.lock().running.iter().any(|other| other == id) {
                return (410, json!({"error":{"message":"the session is over"}}).to_string());
            }
            match *what {
                "cmd" => command(id, body).await,
                "stop" => {
                    state.lock().running.retain(|other| other != id);
                    (200, json!({"session": session(id, "stopping")}).to_string())
                }
                "snapshot" => {
                    let kept = json!({"id":"snap_1","sourceSessionId":id,"region":"iad1","status":"created",
                        "sizeBytes":1,"createdAt":1,"updatedAt":1});
                    (
                        200,
                        json!({"snapshot": kept, "session": session(id, "snapshotting")})
                            .to_string(),
                    )
                }
                _ => missing(),
            }
        }
        _ => missing(),
    }
}

fn missing() -> (u16, String) {
    (404, json!({"error":{"message":"not found"}}).to_string())
}

fn create(state: &Mutex<State>, body: &[u8]) -> (u16, String) {
    let wish: Value = serde_json::from_slice(body).unwrap();
    let whole = wish["timeout"].is_u64() && wish["resources"]["vcpus"].is_u64();
    if wish["projectId"] != "prj_1" || wish["runtime"] != "node24" || !whole {
        return (400, json!({"error":{"message":format!("what is {wish}")}}).to_string());
    }
    let mut state = state.lock();
    let (name, id) =
        (wish["name"].as_str().unwrap().to_owned(), format!("sess_{}", state.creations));
    state.source = wish["source"]["snapshotId"].as_str().map(str::to_owned);
    state.sandboxes.insert(name.clone(), id.clone());
    state.running.push(id.clone());
    let made = json!({
        "sandbox": {"name": name, "persistent": false, "createdAt": 1, "updatedAt": 1,
            "currentSessionId": id, "status": "running"},
        "session": session(&id, "running"), "routes": [],
    });
    (200, made.to_string())
}

#[expect(clippy::disallowed_methods, reason = "this machine stands in for the vendor's")]
async fn command(session: &str, body: &[u8]) -> (u16, String) {
    let wish: Value = serde_json::from_slice(body).unwrap();
    assert_eq!((&wish["wait"], &wish["logs"]), (&json!(true), &json!(true)));
    let args: Vec<String> = serde_json::from_value(wish["args"].clone()).unwrap();
    let mut program = tokio::process::Command::new(wish["command"].as_str().unwrap());
    program.args(&args).stdin(std::process::Stdio::null()).kill_on_drop(true);
    let output = program.output().await.unwrap();
    let about = |code: Option<i32>| {
        json!({"command": {"id":"cmd_1","name":"sh","args":args,"cwd":"/vercel/sandbox",
            "sessionId":session,"exitCode":code,"startedAt":1}})
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let lines = [
        about(None),
        json!({"stream":"stdout","data":text(&output.stdout)}),
        json!({"stream":"stderr","data":text(&output.stderr)}),
        about(output.status.code().or(Some(137))),
    ];
    (200, lines.map(|line| line.to_string()).join("\n") + "\n")
}
