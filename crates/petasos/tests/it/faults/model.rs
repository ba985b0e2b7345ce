//! A model on this machine that many programs ask at once. What it answers is a function of the
//! request, so that who asks first does not matter; and it can break off, stall and lie.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use petasos_testkit::Home;
use serde_json::{Value, json};

/// One request.
pub(super) struct Asked {
    /// How many came before it.
    pub(super) number: usize,
    /// Its body.
    pub(super) body: Value,
}

impl Asked {
    /// What the person said last.
    pub(super) fn prompt(&self) -> String {
        let said = |message: &&Value| message["role"] == "user";
        let message = self.messages().rev().find(said).cloned().unwrap_or_default();
        message["content"].as_str().map_or_else(|| message["content"].to_string(), str::to_owned)
    }

    /// How many results came since then.
    pub(super) fn results(&self) -> usize {
        let since = self.messages().rev().take_while(|message| message["role"] != "user");
        since.filter(|message| message["role"] == "tool").count()
    }

    fn messages(&self) -> std::slice::Iter<'_, Value> {
        self.body["messages"].as_array().map_or([].iter(), |all| all.iter())
    }
}

/// A piece of an answer.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    /// Bytes on the wire.
    Bytes(Vec<u8>),
    /// The same bytes so many times.
    Many(Vec<u8>, usize),
    /// Silence.
    Pause(Duration),
    /// Silence until the client goes away.
    Stall,
    /// The connection is reset instead of closed.
    Reset,
}

/// The model; it lives as long as the test program.
pub(super) struct Model {
    /// Its endpoint, with `/v1`.
    pub(super) url: String,
    asked: Arc<AtomicUsize>,
    times: Arc<Mutex<Vec<Instant>>>,
}

impl Model {
    /// Begins to listen.
    pub(super) fn new(answer: impl Fn(&Asked) -> Vec<Piece> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let asked: Arc<AtomicUsize> = Arc::default();
        let times: Arc<Mutex<Vec<Instant>>> = Arc::default();
        let (count, seen, answer) = (Arc::clone(&asked), Arc::clone(&times), Arc::new(answer));
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (count, seen) = (Arc::clone(&count), Arc::clone(&seen));
                let answer = Arc::clone(&answer);
                // A client that goes away ends only its own connection.
                std::thread::spawn(move || {
                    serve(socket, &count, &seen, &*answer).unwrap_or_default();
                });
            }
        });
        Self { url, asked, times }
    }

    /// How many questions it was asked.
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// When it was asked.
    pub(super) fn times(&self) -> Vec<Instant> {
        self.times.lock().expect("nobody panics with the list").clone()
    }

    /// Makes a home use it, with these further lines.
    pub(super) fn is_used_by(&self, home: &Home, more: &str) {
        let lines = format!(
            "model:\n  provider: custom:double\n  default: double\n\
             providers:\n  double:\n    base_url: {}\n    api_key: sk-loopback-0123456789\n{more}",
            self.url
        );
        home.write(".petasos/config.yaml", lines);
    }
}

fn serve(
    socket: TcpStream,
    count: &AtomicUsize,
    times: &Mutex<Vec<Instant>>,
    answer: &dyn Fn(&Asked) -> Vec<Piece>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(socket);
    let (mut line, mut length) = (String::new(), 0);
    if reader.read_line(&mut line)? == 0 {
        // A connection that was given up before it asked for anything.
        return Ok(());
    }
    let is_list = line.starts_with("GET");
    while !line.trim().is_empty() {
        line.clear();
        reader.read_line(&mut line)?;
        if let Some(number) = line.to_lowercase().strip_prefix("content-length:") {
            length = number.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut socket = reader.into_inner();
    if is_list {
        let list = json!({ "object": "list", "data": [{ "id": "double", "object": "model" }] });
        return socket.write_all(&page(200, "application/json", &[], list.to_string().as_bytes()));
    }
    times.lock().expect("nobody panics with the list").push(Instant::now());
    let number = count.fetch_add(1, Ordering::SeqCst);
    let asked = Asked { number, body: serde_json::from_slice(&body).unwrap_or_default() };
    for piece in answer(&asked) {
        match piece {
            Piece::Bytes(bytes) => socket.write_all(&bytes)?,
            Piece::Many(bytes, times) => (0..times).try_for_each(|_| socket.write_all(&bytes))?,
            Piece::Pause(time) => std::thread::sleep(time),
            Piece::Stall => drop(socket.read(&mut [0])),
            Piece::Reset => {
                let at_once = Some(Duration::ZERO);
                rustix::net::sockopt::set_socket_linger(&socket, at_once)?;
            }
        }
    }
    socket.flush()
}

/// A whole HTTP answer.
pub(super) fn page(status: u16, kind: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n",
        body.len()
    );
    for (name, value) in headers {
        head = format!("{head}{name}: {value}\r\n");
    }
    [head.as_bytes(), b"\r\n", body].concat()
}

/// The head of a stream that ends when the connection does.
pub(super) fn stream() -> Vec<u8> {
    b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec()
}

/// One event of a stream.
pub(super) fn event(delta: &Value, finish: Option<&str>) -> Vec<u8> {
    let chunk = json!({
        "id": "c", "object": "chat.completion.chunk", "model": "double",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
    });
    format!("data: {chunk}\n\n").into_bytes()
}

/// The end of a stream.
pub(super) fn finish(reason: &str) -> Vec<u8> {
    [event(&json!({}), Some(reason)), b"data: [DONE]\n\n".to_vec()].concat()
}

/// A reply of text.
pub(super) fn text(words: &str) -> Vec<Piece> {
    let words = event(&json!({ "role": "assistant", "content": words }), None);
    vec![Piece::Bytes([stream(), words, finish("stop")].concat())]
}

/// A reply that calls tools.
pub(super) fn calls(calls: &[(&str, Value)]) -> Vec<Piece> {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, (name, arguments))| {
            call(index, &format!("call_{index}_{name}"), name, arguments)
        })
        .collect();
    let delta = event(&json!({ "role": "assistant", "tool_calls": calls }), None);
    vec![Piece::Bytes([stream(), delta, finish("tool_calls")].concat())]
}

/// One call inside a reply.
pub(super) fn call(index: usize, id: &str, name: &str, arguments: &Value) -> Value {
    json!({
        "index": index, "id": id, "type": "function",
        "function": { "name": name, "arguments": arguments.to_string() }
    })
}
