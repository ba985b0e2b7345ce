//! Telegram against a double of the Bot API: its methods, limits and errors as its reference states
//! them. It remembers what arrived and can be told to fail.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_agent::{Act, Scripted};
use petasos_contract::message::Message;
use petasos_contract::wait::Owned;
use petasos_gateway::PLATFORMS;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::world::{Config, World, holds};

pub(crate) const TOKEN: &str = "4242:AAHsecretsecretsecret";

#[derive(Default)]
struct State {
    updates: Mutex<Vec<Value>>,
    sent: Mutex<Vec<Value>>,
    other: Mutex<Vec<(String, Value)>>,
    /// Answers for the next calls to `sendMessage`: status and body.
    faults: Mutex<VecDeque<(u16, Value)>>,
    polls: Mutex<Vec<i64>>,
    /// So many polls meet another reader.
    conflicts: Mutex<usize>,
    news: Notify,
}

pub(crate) struct BotApi {
    pub(crate) url: String,
    state: Arc<State>,
    _task: Owned<()>,
}

impl BotApi {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/bot", listener.local_addr().unwrap());
        let state: Arc<State> = Arc::default();
        let shared = Arc::clone(&state);
        let task = Owned::start(async move {
            let mut open = Vec::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let state = Arc::clone(&shared);
                open.push(Owned::start(async move {
                    serve(stream, &state).await;
                }));
            }
        });
        Self { url, state, _task: task }
    }

    /// The next polls find that somebody else reads.
    pub(crate) fn conflict(&self, polls: usize) {
        *self.state.conflicts.lock() = polls;
    }

    /// How often it was asked for updates.
    pub(crate) fn polled(&self) -> usize {
        self.state.polls.lock().len()
    }

    pub(crate) fn update(&self, id: i64, what: &Value) {
        let mut update = json!({ "update_id": id });
        for (key, value) in what.as_object().unwrap() {
            update[key] = value.clone();
        }
        self.state.updates.lock().push(update);
        self.state.news.notify_waiters();
    }

    pub(crate) fn message(&self, id: i64, from: i64, text: &str) {
        let from = json!({ "id": from, "is_bot": false, "first_name": "Una" });
        let now =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        self.update(id, &json!({ "message": {
            "message_id": id, "date": now, "from": from, "chat": { "id": from["id"], "type": "private" }, "text": text,
        }}));
    }

    /// What arrived.
    pub(crate) fn sent(&self) -> Vec<Value> {
        self.state.sent.lock().clone()
    }

    /// What a method was called with, once it was.
    pub(crate) async fn until_called(&self, method: &str) -> Value {
        for _ in 0..12_000 {
            let found = {
                let other = self.state.other.lock();
                other.iter().find(|(name, _)| name == method).map(|(_, body)| body.clone())
            };
            if let Some(body) = found {
                return body;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        unreachable!("{method} is not called: {:?}", self.state.other.lock());
    }

    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let wait = async {
            loop {
                let news = self.state.news.notified();
                tokio::pin!(news);
                news.as_mut().enable();
                let sent = self.state.sent.lock().clone();
                if holds(&sent) {
                    return sent;
                }
                news.await;
            }
        };
        match tokio::time::timeout(Duration::from_mins(1), wait).await {
            Ok(sent) => sent,
            Err(_) => unreachable!("not seen: {what}: {:#?}", self.state.sent.lock()),
        }
    }
}

async fn serve(stream: TcpStream, state: &State) {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).await.unwrap_or(0) == 0 {
            return;
        }
        let mut length = 0;
        let mut json_body = true;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).await.unwrap();
            let lower = line.trim().to_lowercase();
            if lower.is_empty() {
                break;
            }
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            json_body &= !lower.starts_with("content-type: multipart");
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).await.unwrap();
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let value: Value = if json_body {
            serde_json::from_slice(&body).unwrap_or_default()
        } else {
            json!({ "multipart": String::from_utf8_lossy(&body) })
        };
        let (status, answer) = answer(state, &path, value).await;
        let text = answer.to_string();
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            text.len()
        );
        if writer.write_all(head.as_bytes()).await.is_err()
            || writer.write_all(text.as_bytes()).await.is_err()
        {
            return;
        }
    }
}

async fn answer(state: &State, path: &str, body: Value) -> (u16, Value) {
    let ok = |result: Value| (200, json!({ "ok": true, "result": result }));
    let error = |code: u16, text: &str| {
        (code, json!({ "ok": false, "error_code": code, "description": text }))
    };
    let Some(method) = path.strip_prefix(&format!("/bot{TOKEN}/")) else {
        return error(401, "Unauthorized");
    };
    match method {
        "getMe" => ok(json!({ "id": 4242, "is_bot": true, "username": "petasos_bot" })),
        "getUpdates" => {
            let offset = body["offset"].as_i64().unwrap_or(0);
            assert!(
                body["allowed_updates"]
                    .as_array()
                    .is_some_and(|all| all.iter().any(|it| it == "callback_query"))
            );
            state.polls.lock().push(offset);
            let left = *state.conflicts.lock();
            if left > 0 {
                *state.conflicts.lock() = left - 1;
                return error(409, "Conflict: terminated by other getUpdates request");
            }
            let deadline = tokio::time::Instant::now()
                + Duration::from_secs(body["timeout"].as_u64().unwrap_or(0));
            loop {
                let news = state.news.notified();
                tokio::pin!(news);
                news.as_mut().enable();
                {
                    let mut updates = state.updates.lock();
                    updates.retain(|update| update["update_id"].as_i64().unwrap() >= offset);
                    if !updates.is_empty() {
                        return ok(json!(*updates));
                    }
                }
                if tokio::time::timeout_at(deadline, news).await.is_err() {
                    return ok(json!([]));
                }
            }
        }
        "sendMessage" => {
            if let Some((status, body)) = state.faults.lock().pop_front() {
                return (status, body);
            }
            let text = body["text"].as_str().unwrap_or_default();
            if text.encode_utf16().count() > 4096 {
                return error(400, "Bad Request: message is too long");
            }
            let mut sent = state.sent.lock();
            sent.push(body);
            let id = sent.len() + 1000;
            drop(sent);
            state.news.notify_waiters();
            ok(json!({ "message_id": id }))
        }
        other => {
            state.other.lock().push((other.to_owned(), body));
            state.news.notify_waiters();
            ok(json!(true))
        }
    }
}

/// Answers come whole, however slow the machine is; previews have tests of their own.
pub(crate) fn config(url: &str) -> Config {
    let values = json!({
        "telegram": { "base_url": url, "base_file_url": url, "poll_seconds": 2 },
        "display": { "platforms": { "telegram": { "streaming": false } } },
    });
    let values: &'static str = Box::leak(values.to_string().into_boxed_str());
    Config {
        values,
        variables: vec![
            ("TELEGRAM_BOT_TOKEN", TOKEN.to_owned()),
            ("TELEGRAM_ALLOWED_USERS", "7,8".to_owned()),
        ],
        platforms: PLATFORMS.iter().copied().filter(|def| def.name == "telegram").collect(),
        ..Config::default()
    }
}

pub(crate) fn echo() -> Scripted {
    Scripted::default().otherwise(|prompt, _| {
        let last = prompt.messages.iter().rev().find_map(|message| match message {
            Message::User { content } => Some(content.text()),
            _ => None,
        });
        Act::Say(format!("**heard**: {}", last.unwrap_or_default()))
    })
}

#[tokio::test]
async fn s15_s16_s17_updates_are_answered_once_and_acknowledged_after_they_are_stored() {
    let api = BotApi::new().await;
    api.message(10, 7, "before you were up");
    let world = World::with(echo(), config(&api.url)).await;
    let sent = api.until("an answer", |sent| sent.len() == 1).await;
    assert_eq!(sent[0]["text"], "<b>heard</b>: before you were up");
    assert_eq!((&sent[0]["parse_mode"], &sent[0]["chat_id"]), (&json!("HTML"), &json!("7")));
    assert_eq!(sent[0]["reply_parameters"]["message_id"], 10);
    api.message(11, 9, "a stranger, while a list exists");
    api.message(10, 7, "before you were up");
    api.message(12, 8, "a < b & c");
    let sent = api.until("the other person", |sent| sent.len() == 2).await;
    assert_eq!(sent[1]["text"], "<b>heard</b>: a &lt; b &amp; c");
    let polls = api.state.polls.lock().clone();
    assert_eq!(polls[0], 0, "nothing that waited is dropped: {polls:?}");
    let status = world.gateway.status().await.unwrap();
    assert_eq!(status.counts["strangers"], 1);
    let shown = serde_json::to_string(&status).unwrap();
    assert!(!shown.contains("secret"), "{shown}");
}

#[tokio::test]
async fn s22_s23_s25_errors_of_the_server_are_understood() {
    let api = BotApi::new().await;
    let world = World::with(echo(), config(&api.url)).await;
    api.state.faults.lock().extend([
        (429, json!({ "ok": false, "error_code": 429, "description": "Too Many Requests", "parameters": { "retry_after": 1 } })),
        (400, json!({ "ok": false, "error_code": 400, "description": "Bad Request: can't parse entities: x" })),
    ]);
    api.message(1, 7, "hello_world");
    let sent = api.until("plain text", |sent| sent.len() == 1).await;
    assert_eq!(sent[0]["text"], "heard: hello_world", "the original, without marks or preamble");
    assert!(sent[0].get("parse_mode").is_none());
    api.state.faults.lock().push_back((403, json!({ "ok": false, "error_code": 403, "description": "Forbidden: bot was blocked by the user" })));
    api.message(2, 8, "bye");
    holds("the message that is given up", async || {
        world.gateway.status().await.unwrap().outbox.get("dead") == Some(&1)
    })
    .await;
    api.state
        .faults
        .lock()
        .push_back((200, json!({ "ok": false, "description": "an error with status 200" })));
    api.message(3, 7, "again");
    api.until("the next try", |sent| sent.len() == 2).await;
}

#[tokio::test]
async fn s64_s71_buttons_decide_and_are_confirmed() {
    let api = BotApi::new().await;
    let todo =
        Act::call("todo", r#"{"todos": [{"id": "1", "content": "x", "status": "pending"}]}"#);
    let world = World::with(Scripted::new([todo, Act::say("listed")]), config(&api.url)).await;
    api.message(1, 7, "make a list");
    let sent = api.until("a card", |sent| sent.len() == 1).await;
    let keys = sent[0]["reply_markup"]["inline_keyboard"].as_array().unwrap().clone();
    let data = keys[0][0]["callback_data"].as_str().unwrap().to_owned();
    assert!(data.len() <= 64 && keys.len() == 4, "{keys:?}");
    let press = |id: i64, who: i64| {
        json!({ "callback_query": {
            "id": format!("cb{id}"), "from": { "id": who, "is_bot": false, "first_name": "X" }, "data": data,
            "message": { "message_id": 1001, "date": 1, "chat": { "id": 7, "type": "private" } },
        }})
    };
    api.update(2, &press(2, 99));
    api.update(3, &press(3, 7));
    let sent = api.until("the answer", |sent| sent.iter().any(|it| it["text"] == "listed")).await;
    assert_eq!(sent.len(), 2);
    let edited = || api.state.other.lock().iter().any(|(name, _)| name == "editMessageText");
    api.until("the card shows it", |_| edited()).await;
    let other = api.state.other.lock().clone();
    let confirmed: Vec<&Value> = other
        .iter()
        .filter(|(name, _)| name == "answerCallbackQuery")
        .map(|(_, body)| body)
        .collect();
    let told: Vec<&str> = confirmed.iter().filter_map(|body| body["text"].as_str()).collect();
    assert_eq!(told[0], "This is not yours to answer.", "t3: {other:?}");
    assert!(told.len() == 2 && told[1].contains("allowed once"), "{told:?}");
    assert!(
        other.iter().any(|(name, body)| name == "editMessageText"
            && body["text"].as_str().unwrap().contains("allowed once")),
        "{other:?}"
    );
    assert!(other.iter().any(|(name, _)| name == "sendChatAction"), "typing is shown: {other:?}");
    drop(world);
}

#[tokio::test]
async fn s62_the_menu_is_set_once_and_within_the_limits() {
    let api = BotApi::new().await;
    let folder = tempfile::TempDir::new().unwrap();
    for start in 0..2 {
        let world = World::at(folder.path(), Arc::default(), echo(), config(&api.url)).await;
        api.message(start, 7, "hello");
        let count = usize::try_from(start).unwrap() + 1;
        api.until("an answer", |sent| sent.len() == count).await;
        drop(world);
        crate::world::forget_owner(folder.path());
    }
    let other = api.state.other.lock().clone();
    let menus: Vec<_> = other.iter().filter(|(name, _)| name == "setMyCommands").collect();
    assert_eq!(menus.len(), 1, "not at every start");
    let commands = menus[0].1["commands"].as_array().unwrap();
    assert!(commands.len() > 20 && commands.len() <= 100, "{commands:?}");
    for it in commands {
        let name = it["command"].as_str().unwrap();
        assert!(name.len() <= 32 && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
    }
    assert!(!commands.iter().any(|it| it["command"] == "clear"), "only at a terminal");
}

#[tokio::test]
async fn s83_a_wrong_token_is_fatal_and_says_so() {
    let api = BotApi::new().await;
    let mut wrong = config(&api.url);
    wrong.variables[0].1 = "4242:wrong".to_owned();
    let world = World::with(echo(), wrong).await;
    holds("a refusal", async || {
        let status = world.gateway.status().await.unwrap();
        let account = status.accounts.iter().find(|it| it.platform == "telegram").unwrap();
        let petasos_gateway::AccountState::Fatal(why) = &account.state else { return false };
        assert!(why.contains("refuses the token"), "{why}");
        true
    })
    .await;
    world.una("1", "the other account goes on").await;
    world.texts("c-una", 1).await;
}
