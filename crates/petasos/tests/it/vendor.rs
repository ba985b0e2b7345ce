//! Vendors behind a proxy: it ends TLS with an authority of its own and answers for their hosts, in
//! the forms that they publish (RFC 8628 for device codes, chat completions, Anthropic's messages).
//!
//! The program reaches it by the variables that people use for proxies and authorities.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use petasos_testkit::Home;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

/// A request to a vendor.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) body: String,
    /// What it was allowed with.
    pub(crate) authorization: String,
}

/// A status and a body of JSON or, where it begins with a field, of events.
pub(crate) type Reply = (u16, String);

/// What the vendors answer: the request, and how often its path was asked before.
pub(crate) type Script = fn(&Asked, usize) -> Reply;

/// The proxy; it lives as long as the test program.
pub(crate) struct Vendors {
    port: u16,
    authority: PathBuf,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Vendors {
    /// Begins to listen.
    pub(crate) fn answering(home: &Home, script: Script) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::<String>::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let own = params.self_signed(&key).expect("an authority");
        let authority = home.write("authority.pem", own.pem());
        let issuer = Arc::new(Issuer::new(params, key));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (issuer, seen) = (Arc::clone(&issuer), Arc::clone(&seen));
                // A client that goes away ends only its own connection.
                std::thread::spawn(move || serve(socket, &issuer, &seen, script));
            }
        });
        Self { port, authority, asked }
    }

    /// The variables that lead to it.
    pub(crate) fn variables(&self) -> String {
        format!(
            "HTTPS_PROXY=http://127.0.0.1:{} SSL_CERT_FILE='{}'",
            self.port,
            self.authority.display()
        )
    }

    /// The same, one by one.
    pub(crate) fn proxy(&self) -> [(&'static str, String); 2] {
        let address = format!("http://127.0.0.1:{}", self.port);
        [("HTTPS_PROXY", address), ("SSL_CERT_FILE", self.authority.display().to_string())]
    }

    /// What was asked at a path.
    pub(crate) fn asked(&self, path: &str) -> Vec<Asked> {
        let all = self.asked.lock().expect("nobody panics with the list");
        all.iter().filter(|asked| asked.path == path).cloned().collect()
    }
}

fn serve(
    mut socket: TcpStream,
    issuer: &Issuer<'_, KeyPair>,
    seen: &Mutex<Vec<Asked>>,
    script: Script,
) -> Option<()> {
    let (line, ..) = request(&mut socket)?;
    let host = line.strip_prefix("CONNECT ")?.split(':').next()?.to_owned();
    socket.write_all(b"HTTP/1.1 200 X\r\n\r\n").ok()?;
    let key = KeyPair::generate().ok()?;
    let params = CertificateParams::new(vec![host.clone()]).ok()?;
    let certificate = params.signed_by(&key, issuer).ok()?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .ok()?
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).ok()?,
        )
        .ok()?;
    let connection = ServerConnection::new(Arc::new(config)).ok()?;
    let mut stream = StreamOwned::new(connection, socket);
    let (line, authorization, body) = request(&mut stream)?;
    let path = line.split_whitespace().nth(1)?.split('?').next()?.to_owned();
    let asked = Asked { host, path, body, authorization };
    let before = {
        let mut all = seen.lock().ok()?;
        let before = all.iter().filter(|one| one.path == asked.path).count();
        all.push(asked.clone());
        before
    };
    let (status, body) = script(&asked, before);
    let kind = if body.starts_with('{') { "application/json" } else { "text/event-stream" };
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).ok()?;
    stream.flush().ok()?;
    stream.conn.send_close_notify();
    stream.flush().ok()
}

/// The first line, who asks, and the body.
fn request(stream: &mut impl Read) -> Option<(String, String, String)> {
    let mut reader = BufReader::with_capacity(1, stream);
    let (mut first, mut line, mut length, mut key) =
        (String::new(), String::new(), 0, String::new());
    reader.read_line(&mut first).ok()?;
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let lower = line.to_lowercase();
        if let Some(number) = lower.strip_prefix("content-length:") {
            length = number.trim().parse().ok()?;
        }
        if lower.starts_with("authorization:") {
            line.split_whitespace().last()?.clone_into(&mut key);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first.trim().to_owned(), key, String::from_utf8(body).ok()?))
}

/// A model that says this, to whoever asks in whichever of the two forms.
pub(crate) fn model(asked: &Asked, says: &str) -> Reply {
    if asked.path.ends_with("/models") {
        let list = json!({ "object": "list", "has_more": false, "data": [
            { "id": "small", "object": "model", "type": "model", "display_name": "Small" },
            { "id": "large", "object": "model", "type": "model", "display_name": "Large" },
        ] });
        return (200, list.to_string());
    }
    let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let streams = body["stream"] == true;
    match asked.path.rsplit('/').next() {
        Some("messages") => (200, messages(says, streams)),
        Some("completions") => (200, completions(says, streams)),
        _ => (404, json!({ "error": { "message": "no such page" } }).to_string()),
    }
}

fn completions(says: &str, streams: bool) -> String {
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    if !streams {
        let message = json!({ "role": "assistant", "content": says });
        let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
        return json!({ "id": "c", "object": "chat.completion", "model": "small",
            "choices": [choice], "usage": usage })
        .to_string();
    }
    let chunk = |delta: Value, finish: Value, usage: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "model": "small",
            "usage": usage, "choices": [choice] });
        format!("data: {chunk}\n\n")
    };
    [
        chunk(json!({ "role": "assistant", "content": says }), Value::Null, Value::Null),
        chunk(json!({}), "stop".into(), usage),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat()
}

fn messages(says: &str, streams: bool) -> String {
    let usage = json!({ "input_tokens": 10, "output_tokens": 5 });
    let message = |content: Value, stop: Value| {
        json!({ "id": "m", "type": "message", "role": "assistant", "model": "small",
            "content": content, "stop_reason": stop, "usage": usage })
    };
    if !streams {
        let content = json!([{ "type": "text", "text": says }]);
        return message(content, "end_turn".into()).to_string();
    }
    let event =
        |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or(""));
    [
        event(json!({ "type": "message_start", "message": message(json!([]), Value::Null) })),
        event(json!({ "type": "content_block_start", "index": 0,
            "content_block": { "type": "text", "text": "" } })),
        event(json!({ "type": "content_block_delta", "index": 0,
            "delta": { "type": "text_delta", "text": says } })),
        event(json!({ "type": "content_block_stop", "index": 0 })),
        event(json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" },
            "usage": { "output_tokens": 5 } })),
        event(json!({ "type": "message_stop" })),
    ]
    .concat()
}
