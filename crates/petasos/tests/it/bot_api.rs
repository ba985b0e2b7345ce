//! A double of Telegram's Bot API for the real program: the few methods that it calls, with their
//! fields and errors as the published reference states them.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub(crate) const TOKEN: &str = "4242:AAHsecretsecretsecret";
/// A picture of one dot, with a word about where it was taken.
pub(crate) const PICTURE: &[u8] = b"\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\x20\x74\x45\x58\x74\x4c\x6f\x63\x61\x74\x69\x6f\x6e\x00\x74\x61\x6b\x65\x6e\x20\x61\x74\x20\x51\x75\x69\x6e\x63\x65\x20\x4c\x61\x6e\x65\x20\x31\x32\xe1\x06\x0f\x08\x00\x00\x00\x0d\x49\x44\x41\x54\x78\xda\x63\x64\xf8\xcf\x50\x0f\x00\x03\x86\x01\x80\x5a\x34\x7d\x6b\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82";
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Default)]
struct State {
    updates: Vec<Value>,
    /// Calls by method, but for polls.
    called: Vec<(String, Value)>,
    /// Answers for the next calls of `sendMessage`.
    faults: VecDeque<(u16, Value)>,
    /// When a message of the bot was to get other words, and how often that is still refused.
    edits: Vec<Instant>,
    refused_edits: usize,
    /// The token no longer counts.
    revoked: bool,
    /// What was spoken into it, kept as `voice/a.oga`.
    recording: Vec<u8>,
    /// Another picture than the usual one.
    picture: Option<Vec<u8>>,
}

/// The double; it lives as long as the test program.
pub(crate) struct BotApi {
    pub(crate) url: String,
    shared: Arc<(Mutex<State>, Condvar)>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BotApi {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/bot", listener.local_addr().expect("an address"));
        let shared: Arc<(Mutex<State>, Condvar)> = Arc::default();
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let shared = Arc::clone(&own);
                std::thread::spawn(move || serve(socket, &shared).unwrap_or_default());
            }
        });
        Self { url, shared }
    }

    /// The lines of the settings that lead to it.
    pub(crate) fn config(&self) -> String {
        format!("telegram:\n  base_url: {0}\n  base_file_url: {0}\n  poll_seconds: 2\n", self.url)
    }

    /// Somebody writes, perhaps in a topic.
    pub(crate) fn message(&self, id: i64, from: i64, text: &str, topic: Option<i64>) {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let mut message = json!({
            "message_id": id, "date": since.expect("a clock").as_secs(), "text": text,
            "from": { "id": from, "is_bot": false, "first_name": "Una" },
            "chat": { "id": from, "type": "private" },
        });
        if let Some(topic) = topic {
            message["message_thread_id"] = json!(topic);
            message["is_topic_message"] = json!(true);
        }
        let (state, news) = &*self.shared;
        lock(state).updates.push(json!({ "update_id": id, "message": message }));
        news.notify_all();
    }

    /// Somebody writes where others read it, too.
    pub(crate) fn group(&self, id: i64, chat: i64, from: i64, text: &str) {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let message = json!({
            "message_id": id, "date": since.expect("a clock").as_secs(), "text": text,
            "from": { "id": from, "is_bot": false, "first_name": "Una" },
            "chat": { "id": chat, "type": "group", "title": "Friends" },
        });
        let (state, news) = &*self.shared;
        lock(state).updates.push(json!({ "update_id": id, "message": message }));
        news.notify_all();
    }

    /// Somebody sends a picture, which the double keeps as `photos/a.png`.
    pub(crate) fn photo(&self, id: i64, from: i64, caption: &str) {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let message = json!({
            "message_id": id, "date": since.expect("a clock").as_secs(), "caption": caption,
            "photo": [{ "file_id": "f-1", "file_unique_id": "u-1", "width": 1, "height": 1 }],
            "from": { "id": from, "is_bot": false, "first_name": "Una" },
            "chat": { "id": from, "type": "private" },
        });
        let (state, news) = &*self.shared;
        lock(state).updates.push(json!({ "update_id": id, "message": message }));
        news.notify_all();
    }

    /// From now on pictures are this one.
    pub(crate) fn pictures_are(&self, bytes: Vec<u8>) {
        lock(&self.shared.0).picture = Some(bytes);
    }

    /// Somebody speaks.
    pub(crate) fn voice(&self, id: i64, from: i64, recording: Vec<u8>) {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let voice = json!({ "file_id": "voice", "file_unique_id": "u-2", "duration": 2,
            "mime_type": "audio/ogg", "file_size": recording.len() });
        let message = json!({
            "message_id": id, "date": since.expect("a clock").as_secs(), "voice": voice,
            "from": { "id": from, "is_bot": false, "first_name": "Una" },
            "chat": { "id": from, "type": "private" },
        });
        let (state, news) = &*self.shared;
        let mut state = lock(state);
        state.recording = recording;
        state.updates.push(json!({ "update_id": id, "message": message }));
        news.notify_all();
    }

    /// The body of the first call of a method, once there is one.
    pub(crate) fn first(&self, wanted: &str) -> String {
        let late = Instant::now() + PATIENCE;
        let (state, news) = &*self.shared;
        let mut state = lock(state);
        loop {
            if let Some((_, body)) = state.called.iter().find(|(method, _)| method == wanted) {
                return body.as_str().map_or_else(|| body.to_string(), str::to_owned);
            }
            assert!(Instant::now() < late, "no {wanted}: {:?}", state.called);
            let waited = news.wait_timeout(state, Duration::from_millis(200));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The next message is refused.
    pub(crate) fn refuse(&self, code: u16, why: &str) {
        let body = json!({ "ok": false, "error_code": code, "description": why });
        lock(&self.shared.0).faults.push_back((code, body));
    }

    /// The next edits are refused as too fast.
    pub(crate) fn refuse_edits(&self, count: usize) {
        lock(&self.shared.0).refused_edits = count;
    }

    /// When edits were asked for, so far.
    pub(crate) fn edits(&self) -> Vec<Instant> {
        lock(&self.shared.0).edits.clone()
    }

    /// Every call so far that was not a poll: method and body.
    pub(crate) fn calls(&self) -> Vec<(String, Value)> {
        lock(&self.shared.0).called.clone()
    }

    /// Waits until something holds of every call so far.
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&[(String, Value)]) -> bool) {
        let late = Instant::now() + PATIENCE * 2;
        let (state, news) = &*self.shared;
        let mut state = lock(state);
        while !holds(&state.called) {
            assert!(Instant::now() < late, "not seen: {what}: {:#?}", state.called);
            let waited = news.wait_timeout(state, Duration::from_millis(200));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What was sent, once so much was.
    pub(crate) fn sent(&self, count: usize) -> Vec<Value> {
        let late = Instant::now() + PATIENCE;
        let (state, news) = &*self.shared;
        let mut state = lock(state);
        loop {
            let sent: Vec<Value> = state
                .called
                .iter()
                .filter(|(method, _)| method == "sendMessage")
                .map(|(_, body)| body.clone())
                .collect();
            if sent.len() >= count {
                return sent;
            }
            assert!(Instant::now() < late, "{count} messages: {sent:#?}");
            let waited = news.wait_timeout(state, Duration::from_millis(200));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The bot's owner takes its token back.
    pub(crate) fn revoke(&self) {
        lock(&self.shared.0).revoked = true;
        self.shared.1.notify_all();
    }

    /// Whether a method was called.
    pub(crate) fn was_called(&self, method: &str) -> bool {
        lock(&self.shared.0).called.iter().any(|(called, _)| called == method)
    }
}

fn serve(socket: TcpStream, shared: &(Mutex<State>, Condvar)) -> std::io::Result<()> {
    let mut reader = BufReader::new(socket);
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first)? == 0 {
            return Ok(());
        }
        let (mut length, mut line) = (0, String::from("x"));
        while !line.trim().is_empty() {
            line.clear();
            reader.read_line(&mut line)?;
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let method = first.split(' ').nth(1).unwrap_or_default();
        let method = method.strip_prefix(&format!("/bot{TOKEN}/")).unwrap_or_default().to_owned();
        if method.starts_with("photos/") {
            let picture = lock(&shared.0).picture.clone().unwrap_or_else(|| PICTURE.to_vec());
            let head = format!(
                "HTTP/1.1 200 X\r\ncontent-type: image/png\r\ncontent-length: {}\r\n\r\n",
                picture.len()
            );
            reader.get_mut().write_all(&[head.into_bytes(), picture].concat())?;
            continue;
        }
        if method.starts_with("voice/") {
            let voice = lock(&shared.0).recording.clone();
            let head = format!(
                "HTTP/1.1 200 X\r\ncontent-type: audio/ogg\r\ncontent-length: {}\r\n\r\n",
                voice.len()
            );
            reader.get_mut().write_all(&[head.into_bytes(), voice].concat())?;
            continue;
        }
        // Files come as forms.
        let form = |_| Value::String(String::from_utf8_lossy(&body).into_owned());
        let body = serde_json::from_slice(&body).unwrap_or_else(form);
        let (status, answer) = answer(shared, &method, body);
        let text = answer.to_string();
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        );
        reader.get_mut().write_all(head.as_bytes())?;
    }
}

fn answer((state, news): &(Mutex<State>, Condvar), method: &str, body: Value) -> (u16, Value) {
    let ok = |result: Value| (200, json!({ "ok": true, "result": result }));
    if lock(state).revoked {
        return (401, json!({ "ok": false, "error_code": 401, "description": "Unauthorized" }));
    }
    match method {
        "getMe" => ok(json!({ "id": 4242, "is_bot": true, "username": "petasos_bot" })),
        "getUpdates" => {
            let offset = body["offset"].as_i64().unwrap_or(0);
            let wait = Duration::from_secs(body["timeout"].as_u64().unwrap_or(0));
            let until = Instant::now() + wait;
            let mut state = lock(state);
            loop {
                state.updates.retain(|update| update["update_id"].as_i64() >= Some(offset));
                let left = until.saturating_duration_since(Instant::now());
                if !state.updates.is_empty() || left.is_zero() {
                    return ok(json!(state.updates));
                }
                let waited = news.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        "sendMessage" => {
            let mut state = lock(state);
            if let Some(fault) = state.faults.pop_front() {
                return fault;
            }
            state.called.push((method.to_owned(), body));
            let id = 1000 + state.called.len();
            news.notify_all();
            ok(json!({ "message_id": id }))
        }
        "getFile" if body["file_id"] == "voice" => {
            ok(json!({ "file_id": "voice", "file_path": "voice/a.oga" }))
        }
        "getFile" => ok(json!({ "file_id": "f-1", "file_path": "photos/a.png" })),
        "sendPhoto" | "sendVoice" | "sendAudio" | "sendVideo" | "sendDocument" => {
            let mut state = lock(state);
            state.called.push((method.to_owned(), body));
            let id = 1000 + state.called.len();
            news.notify_all();
            ok(json!({ "message_id": id }))
        }
        "editMessageText" => {
            let mut state = lock(state);
            state.edits.push(Instant::now());
            if state.refused_edits > 0 {
                state.refused_edits -= 1;
                return (
                    429,
                    json!({
                        "ok": false, "error_code": 429, "description": "Too Many Requests",
                        "parameters": { "retry_after": 1 },
                    }),
                );
            }
            state.called.push((method.to_owned(), body));
            news.notify_all();
            ok(json!(true))
        }
        "" => (401, json!({ "ok": false, "error_code": 401, "description": "Unauthorized" })),
        other => {
            lock(state).called.push((other.to_owned(), body));
            ok(json!(true))
        }
    }
}
