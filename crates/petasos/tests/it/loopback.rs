//! A model on this machine that says what it was told, one reply a request, and keeps what it was
//! asked. It speaks chat completions and lists one model.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use petasos_testkit::Home;
use serde_json::{Value, json};

/// One reply.
#[derive(Debug, Clone)]
pub(crate) enum Say {
    /// Text; the turn ends.
    Text(&'static str),
    /// Calls of tools: name and arguments.
    Calls(Vec<(&'static str, Value)>),
    /// Text, and then a call: name and arguments.
    TextAndCall(&'static str, (&'static str, Value)),
    /// Text, and then nothing more until whoever asked goes away.
    Stuck(&'static str),
    /// The tag that delivers what the last result made.
    Tag,
    /// One paragraph of so many words, as fast as a quick model writes.
    Words(usize),
    /// Text that the limit of its length ends.
    Cut(&'static str),
    /// What the model thinks, and then says.
    Thought(&'static str, &'static str),
    /// Text that the provider's filter ends.
    Filtered(&'static str),
    /// A call whose name is told, and then nothing more until whoever asked goes away.
    HalfCall(&'static str),
    /// The same, but the connection breaks.
    BrokenCall(&'static str),
    /// An error page.
    Fail(u16),
}

/// The model; it lives as long as the test program.
pub(crate) struct Loopback {
    /// Its endpoint, with `/v1`.
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Value>>>,
    keys: Arc<Mutex<Vec<String>>>,
}

impl Loopback {
    /// Begins to listen; when the script is at its end it answers `done`.
    pub(crate) fn saying(script: Vec<Say>) -> Self {
        let mut script = script.into_iter();
        Self::answering(move |_| script.next().unwrap_or(Say::Text("done")))
    }

    /// Begins to listen; each request decides what is said to it.
    pub(crate) fn answering(mut says: impl FnMut(&Value) -> Say + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
        let keys: Arc<Mutex<Vec<String>>> = Arc::default();
        let (kept, seen) = (Arc::clone(&asked), Arc::clone(&keys));
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                // A client that goes away ends only its own connection.
                serve(socket, &mut says, (&kept, &seen)).unwrap_or_default();
            }
        });
        Self { url, asked, keys }
    }

    /// What it was asked, in order.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().expect("nobody panics with the list").clone()
    }

    /// The keys that it was shown, in order.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.keys.lock().expect("nobody panics with the list").clone()
    }

    /// A home that uses it.
    pub(crate) fn home(&self) -> Home {
        let home = Home::temp();
        home.write(".petasos/config.yaml", self.config());
        home
    }

    /// The lines that choose it.
    pub(crate) fn config(&self) -> String {
        format!(
            "model:\n  provider: custom\n  base_url: {}\n  default: double\n  api_key: sk-loopback-0123456789\n",
            self.url
        )
    }
}

/// A request that came.
struct Request {
    is_list: bool,
    key: String,
    body: Vec<u8>,
    socket: TcpStream,
}

/// Reads a request; nothing of a connection that was given up before it asked for anything.
fn read(socket: TcpStream) -> std::io::Result<Option<Request>> {
    let mut reader = BufReader::new(socket);
    let (mut line, mut length, mut key) = (String::new(), 0, String::new());
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let is_list = line.starts_with("GET");
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let lower = line.to_lowercase();
        if let Some(number) = lower.strip_prefix("content-length:") {
            length = number.trim().parse().unwrap_or(0);
        }
        if lower.starts_with("authorization:") {
            line.split_whitespace().last().unwrap_or_default().clone_into(&mut key);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Request { is_list, key, body, socket: reader.into_inner() }))
}

fn serve(
    socket: TcpStream,
    says: &mut impl FnMut(&Value) -> Say,
    (asked, keys): (&Mutex<Vec<Value>>, &Mutex<Vec<String>>),
) -> std::io::Result<()> {
    let Some(Request { is_list, key, body, mut socket }) = read(socket)? else { return Ok(()) };
    if is_list {
        let list = json!({ "object": "list", "data": [{ "id": "double", "object": "model" }] });
        return respond(&mut socket, 200, "application/json", &list.to_string());
    }
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let streams = body["stream"] == true;
    let last = body["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
    let say = says(&body);
    asked.lock().expect("nobody panics with the list").push(body);
    keys.lock().expect("nobody panics with the list").push(key);
    let say = if matches!(say, Say::Tag) { Say::Text(tag(&last)) } else { say };
    match say {
        Say::Fail(status) => {
            let kind = match status {
                401 => "authentication_error",
                413 => "invalid_request_error",
                429 => "rate_limit_error",
                _ => "server_error",
            };
            let error = json!({ "error": { "message": "the double fails", "type": kind } });
            respond(&mut socket, status, "application/json", &error.to_string())
        }
        Say::Stuck(text) => {
            let delta = json!({ "role": "assistant", "content": text });
            std::thread::spawn(move || stuck(socket, &delta, true).unwrap_or_default());
            Ok(())
        }
        Say::HalfCall(name) | Say::BrokenCall(name) => {
            let waits = matches!(say, Say::HalfCall(_));
            let id = if waits { "call_half" } else { "call_broken" };
            let function = json!({ "name": name, "arguments": "" });
            let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
            let delta = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
            std::thread::spawn(move || stuck(socket, &delta, waits).unwrap_or_default());
            Ok(())
        }
        Say::Words(count) => {
            std::thread::spawn(move || written(socket, count).unwrap_or_default());
            Ok(())
        }
        say if streams => {
            let text = events(&say);
            respond(&mut socket, 200, "text/event-stream", &text)
        }
        say => {
            let (message, finish) = message(&say);
            let whole = json!({
                "id": "c", "object": "chat.completion", "model": "double",
                "choices": [{ "index": 0, "message": message, "finish_reason": finish }],
                "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 }
            });
            respond(&mut socket, 200, "application/json", &whole.to_string())
        }
    }
}

/// `media_tag` of a result, which lives as long as the test program.
fn tag(result: &Value) -> &'static str {
    let text = result["content"].as_str().unwrap_or_default();
    let start = text.find('{').unwrap_or(0);
    let rest = text.get(start..).unwrap_or_default();
    let told = serde_json::Deserializer::from_str(rest).into_iter::<Value>().next();
    let told = told.and_then(Result::ok).unwrap_or_default();
    let tag = told["media_tag"].as_str().unwrap_or("no tag").to_owned();
    Box::leak(tag.into_boxed_str())
}

fn message(say: &Say) -> (Value, &'static str) {
    match say {
        Say::Text(text) => (json!({ "role": "assistant", "content": text }), "stop"),
        Say::Calls(calls) => {
            let calls: Vec<Value> = calls
                .iter()
                .enumerate()
                .map(|(index, (name, arguments))| {
                    json!({
                        "index": index, "id": format!("call_{index}_{name}"), "type": "function",
                        "function": { "name": name, "arguments": arguments.to_string() }
                    })
                })
                .collect();
            (json!({ "role": "assistant", "content": null, "tool_calls": calls }), "tool_calls")
        }
        Say::TextAndCall(text, call) => {
            let (mut message, finish) = message(&Say::Calls(vec![call.clone()]));
            message["content"] = json!(text);
            (message, finish)
        }
        Say::Cut(text) => (json!({ "role": "assistant", "content": text }), "length"),
        Say::Thought(thought, text) => {
            let both =
                json!({ "role": "assistant", "reasoning_content": thought, "content": text });
            (both, "stop")
        }
        Say::Filtered(text) => (json!({ "role": "assistant", "content": text }), "content_filter"),
        Say::Stuck(_)
        | Say::Words(_)
        | Say::Fail(_)
        | Say::Tag
        | Say::HalfCall(_)
        | Say::BrokenCall(_) => (Value::Null, "stop"),
    }
}

fn events(say: &Say) -> String {
    let (delta, finish) = message(say);
    let chunk = |delta: Value, finish: Value, usage: Value| {
        let chunk = json!({
            "id": "c", "object": "chat.completion.chunk", "model": "double", "usage": usage,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        });
        format!("data: {chunk}\n\n")
    };
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    [
        chunk(delta, Value::Null, Value::Null),
        chunk(json!({}), finish.into(), usage),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat()
}

/// `word1 word2 …`, one event each.
fn written(mut socket: TcpStream, count: usize) -> std::io::Result<()> {
    let head = "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    socket.write_all(head.as_bytes())?;
    for number in 1..=count {
        let chunk = json!({
            "id": "c", "object": "chat.completion.chunk", "model": "double",
            "choices": [{ "index": 0, "delta": { "content": format!("word{number} ") } }],
        });
        socket.write_all(format!("data: {chunk}\n\n").as_bytes())?;
        socket.flush()?;
        // The pace of a model, not a wait for anybody.
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let end = json!({
        "id": "c", "object": "chat.completion.chunk", "model": "double",
        "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }],
    });
    socket.write_all(format!("data: {end}\n\ndata: [DONE]\n\n").as_bytes())
}

/// Begins to answer, and waits for the other side to go, or breaks off.
fn stuck(mut socket: TcpStream, delta: &Value, waits: bool) -> std::io::Result<()> {
    let head = "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let chunk = json!({
        "id": "c", "object": "chat.completion.chunk", "model": "double",
        "choices": [{ "index": 0, "delta": delta }],
    });
    socket.write_all(format!("{head}data: {chunk}\n\n").as_bytes())?;
    socket.flush()?;
    if waits { socket.read_to_end(&mut Vec::new()).map(drop) } else { Ok(()) }
}

fn respond(socket: &mut TcpStream, status: u16, kind: &str, body: &str) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes())?;
    socket.write_all(body.as_bytes())?;
    socket.flush()
}
