//! What nobody knows of a model is found out beside the first question, and kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use petasos_contract::context::Surface;
use petasos_contract::message::Message;
use petasos_contract::model::{Model, Prompt, Role};
use petasos_contract::settings::Parts;
use petasos_contract::wait::Owned;
use petasos_contract::{CallContext, Settings};
use petasos_net::client::Net;
use petasos_providers::client::Client;
use petasos_providers::route::VaultRoutes;
use petasos_providers::table::Table;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A server that answers by path. The chat waits until everything in `first` was asked for, so
/// that a test need not guess how long a question takes.
struct Paths {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
    _task: Owned<()>,
}

impl Paths {
    async fn start(answers: BTreeMap<&'static str, Value>, last: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        let task = Owned::start(async move {
            let (done, waiting) = watch::channel(false);
            let (answers, done) = (Arc::new(answers), Arc::new(done));
            let mut served = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (answers, asked) = (Arc::clone(&answers), Arc::clone(&heard));
                let (done, mut waiting) = (Arc::clone(&done), waiting.clone());
                served.spawn(async move {
                    let (stream, path) = read(stream).await;
                    asked.lock().unwrap().push(path.clone());
                    if path.ends_with("/chat/completions") {
                        waiting.wait_for(|done| *done).await.unwrap();
                        // The answer that was last asked for has left; it is read at once.
                        tokio::task::yield_now().await;
                    }
                    write(stream, answers.get(path.as_str())).await;
                    if path == last {
                        done.send_replace(true);
                    }
                });
            }
        });
        Self { address, asked, _task: task }
    }

    fn times(&self, path: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| *asked == path).count()
    }
}

async fn read(mut stream: TcpStream) -> (TcpStream, String) {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                return (stream, path);
            }
        }
        let count = stream.read(&mut piece).await.unwrap();
        assert!(count > 0, "the request ended early: {text}");
        bytes.extend_from_slice(&piece[..count]);
    }
}

async fn write(mut stream: TcpStream, answer: Option<&Value>) {
    let (status, body) = match answer {
        Some(body) => ("200 OK", body.to_string()),
        None => ("404 Not Found", "{}".to_owned()),
    };
    let text = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    // A reader that has gone is its own affair.
    drop(stream.write_all(text.as_bytes()).await);
    drop(stream.shutdown().await);
}

fn chat() -> Value {
    json!({"id": "1", "object": "chat.completion", "model": "m", "choices": [{"index": 0,
        "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}]})
}

fn client() -> Client {
    let net = Arc::new(Net::default());
    Client::new(Arc::new(VaultRoutes::new(Arc::clone(&net))), net, Table::built_in())
}

fn context(home: &Path, values: &Value) -> CallContext {
    let settings = Settings::new(Parts {
        home: home.to_owned(),
        user_home: home.join("user"),
        values: values.as_object().unwrap().clone(),
        ..Parts::default()
    });
    CallContext::new(Arc::new(settings), Surface::Cli, "s".into())
}

/// Asks until the window is known, with a client of its own each time, as programs have.
async fn learnt(home: &Path, values: &Value) -> Option<u64> {
    let cx = context(home, values);
    let prompt = Prompt { messages: vec![Message::user("hi")], ..Prompt::default() };
    for _ in 0..50 {
        client().ask(&prompt, Role::Main, &cx).await.unwrap();
        let known = client().window(&Prompt::default(), Role::Main, &cx).await;
        if known.is_some() {
            return known;
        }
    }
    None
}

fn own(server: &Paths) -> Value {
    json!({"model": {"provider": "custom", "default": "m", "base_url": format!("{}/v1", server.address)}})
}

fn listed(owner: &str) -> Value {
    json!({"data": [{"id": "m", "owned_by": owner, "meta": {"n_ctx_train": 131_072}}]})
}

#[tokio::test]
async fn a_local_server_says_what_it_was_started_with() {
    let props = json!({"default_generation_settings": {"n_ctx": 4096}});
    let ollama = json!({"parameters": "stop \"x\"\nnum_ctx 8192",
        "model_info": {"llama.context_length": 131_072}});
    let loaded = json!({"models": [{"model": "m", "context_length": 4096}]});
    let studio = json!({"data": [{"id": "m", "loaded_context_length": 4096,
        "max_context_length": 131_072}]});
    let rows = [
        ("llamacpp", vec![("/props", props)], "/props", 4096),
        ("library", vec![("/api/show", ollama.clone())], "/api/show", 8192),
        ("library", vec![("/api/ps", loaded), ("/api/show", ollama)], "/api/show", 4096),
        ("organization_owner", vec![("/api/v0/models", studio)], "/api/v0/models", 4096),
        ("vllm", vec![], "/v1/models", 131_072),
    ];
    for (owner, mut answers, last, expected) in rows {
        answers.push(("/v1/models", listed(owner)));
        answers.push(("/v1/chat/completions", chat()));
        let server = Paths::start(answers.into_iter().collect(), last).await;
        let home = tempfile::tempdir().unwrap();
        assert_eq!(learnt(home.path(), &own(&server)).await, Some(expected), "{owner}");
        let times = server.times("/v1/models");
        assert_eq!(learnt(home.path(), &own(&server)).await, Some(expected), "{owner}");
        assert_eq!(server.times("/v1/models"), times, "{owner}: it was kept");
    }
}

#[tokio::test]
async fn a_server_that_describes_nothing_is_asked_once_and_answers_all_the_same() {
    let answers = [("/v1/chat/completions", chat())].into();
    let server = Paths::start(answers, "/v1/models").await;
    let home = tempfile::tempdir().unwrap();
    let cx = context(home.path(), &own(&server));
    let prompt = Prompt { messages: vec![Message::user("hi")], ..Prompt::default() };
    for _ in 0..20 {
        let reply = client().ask(&prompt, Role::Main, &cx).await.unwrap();
        assert_eq!(reply.message.text(), "hello");
    }
    assert!(server.times("/v1/models") < 20, "that it says nothing is kept too");
}

#[tokio::test]
async fn the_public_catalogue_describes_a_vendors_model_and_can_be_switched_off() {
    let catalogue = json!({"groq": {"models": {"strange-1": {"limit": {"context": 77_000},
        "cost": {"input": 1.0, "output": 2.0}}}}});
    for (enabled, expected) in [(true, Some(77_000)), (false, None)] {
        let last = if enabled { "/api.json" } else { "/v1/models" };
        let answers = [
            ("/v1/chat/completions", chat()),
            ("/v1/models", json!({"data": []})),
            ("/api.json", catalogue.clone()),
        ];
        let server = Paths::start(answers.into(), last).await;
        let home = tempfile::tempdir().unwrap();
        let values = json!({
            "model": {"provider": "groq", "default": "strange-1", "api_key": "k-0123456789",
                "base_url": format!("{}/v1", server.address)},
            "provider_rows": [{"id": "groq", "base_url": format!("{}/v1", server.address),
                "key_hosts": ["<loopback>"]}],
            "models_dev": {"enabled": enabled, "url": format!("{}/api.json", server.address)}});
        assert_eq!(learnt(home.path(), &values).await, expected, "enabled: {enabled}");
        assert_eq!(server.times("/api.json") > 0, enabled);
        assert_eq!(home.path().join("models_dev_cache.json").exists(), enabled);
    }
}
