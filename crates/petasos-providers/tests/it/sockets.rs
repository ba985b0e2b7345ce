//! Responses over a WebSocket, against a server that speaks the real protocol.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use futures::{SinkExt as _, StreamExt as _};
use petasos_contract::context::Surface;
use petasos_contract::event::{Event, EventSink, Subscriber};
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
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::tungstenite::protocol::Role as Side;

#[derive(Default)]
struct Seen {
    handshakes: Vec<String>,
    frames: Vec<Value>,
    posts: usize,
}

/// A server that offers a socket, or refuses it and answers over HTTP.
struct Server {
    address: String,
    seen: Arc<Mutex<Seen>>,
    _task: Owned<()>,
}

impl Server {
    /// `lives` is how many answers a socket gives before it is closed; none at all refuses it.
    async fn start(lives: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = Arc::clone(&seen);
        let task = Owned::start(async move {
            let mut served = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                served.spawn(serve(stream, Arc::clone(&shared), lives));
            }
        });
        Self { address, seen, _task: task }
    }
}

async fn serve(mut stream: TcpStream, seen: Arc<Mutex<Seen>>, lives: usize) {
    let head = head(&mut stream).await;
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("sec-websocket-key").then(|| value.trim().to_owned())
    });
    let Some(key) = key else {
        seen.lock().unwrap().posts += 1;
        let body = answer(7).into_iter().map(|event| format!("data: {event}\n\n"));
        let body: String = body.collect();
        let text = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        drop(stream.write_all(text.as_bytes()).await);
        return;
    };
    seen.lock().unwrap().handshakes.push(head);
    if lives == 0 {
        let text =
            "HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        drop(stream.write_all(text.as_bytes()).await);
        return;
    }
    let proof = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let proof =
        aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, proof.as_bytes());
    let proof = base64::engine::general_purpose::STANDARD.encode(proof);
    let text = format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: {proof}\r\n\r\n"
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut socket = WebSocketStream::from_raw_socket(stream, Side::Server, None).await;
    for number in 0..lives {
        let Some(Ok(Frame::Text(text))) = socket.next().await else { return };
        seen.lock().unwrap().frames.push(serde_json::from_str(&text).unwrap());
        for event in answer(number) {
            socket.send(Frame::text(event.to_string())).await.unwrap();
        }
    }
    drop(socket.close(None).await);
}

/// Reads the head, and the body of a request that has one.
async fn head(stream: &mut TcpStream) -> String {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return head.to_owned();
            }
        }
        let count = stream.read(&mut piece).await.unwrap();
        assert!(count > 0, "the request ended early");
        bytes.extend_from_slice(&piece[..count]);
    }
}

fn answer(number: usize) -> Vec<Value> {
    let id = format!("resp_{number}");
    let part =
        json!({"type": "output_text", "text": format!("answer {number}"), "annotations": []});
    let item = json!({"id": "msg_1", "type": "message", "role": "assistant",
        "status": "completed", "content": [part]});
    vec![
        json!({"type": "response.created", "response": {"id": id, "status": "in_progress"}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"id": id, "status": "completed",
            "output": [item], "usage": {"input_tokens": 1, "output_tokens": 1}}}),
    ]
}

#[derive(Default)]
struct Notices(Mutex<Vec<String>>);

impl Subscriber for Notices {
    fn take(&self, event: Event) {
        if let Event::Notice { text } = event {
            self.0.lock().unwrap().push(text);
        }
    }
}

struct World {
    client: Client,
    cx: CallContext,
    notices: Arc<Notices>,
}

fn world(server: &Server) -> World {
    let values = json!({
        "model": {"provider": "custom:box", "default": "m"},
        "providers": {"box": {"base_url": server.address, "api_key": "key-0123456789",
            "api_mode": "codex_responses", "context_length": 8192, "supports_websockets": true}}});
    let settings =
        Settings::new(Parts { values: values.as_object().cloned().unwrap(), ..Parts::default() });
    let net = Arc::new(Net::default());
    let routes = Arc::new(VaultRoutes::new(Arc::clone(&net)));
    let client = Client::new(routes, net, Table::built_in()).with_pace(0.001);
    let notices = Arc::new(Notices::default());
    let mut cx = CallContext::new(Arc::new(settings), Surface::Cli, "s".into());
    cx.events = EventSink::to(notices.clone());
    World { client, cx, notices }
}

impl World {
    /// One more question of the conversation; gives the answer's text.
    async fn ask(&self, messages: &mut Vec<Message>, text: &str) -> String {
        messages.push(Message::user(text));
        let prompt = Prompt { messages: messages.clone(), ..Prompt::default() };
        let reply = self.client.ask(&prompt, Role::Main, &self.cx).await.unwrap();
        let text = reply.message.text().to_owned();
        messages.push(Message::Assistant(reply.message));
        text
    }
}

#[tokio::test]
async fn a_conversation_keeps_its_socket_and_sends_only_what_is_new() {
    let server = Server::start(10).await;
    let (world, mut messages) = (world(&server), Vec::new());
    assert_eq!(world.ask(&mut messages, "one").await, "answer 0");
    assert_eq!(world.ask(&mut messages, "two").await, "answer 1");
    let seen = server.seen.lock().unwrap();
    assert_eq!((seen.handshakes.len(), seen.posts), (1, 0));
    assert!(seen.handshakes[0].contains("key-0123456789"), "the key goes with the handshake");
    assert!(seen.frames[0].get("previous_response_id").is_none());
    assert!(seen.frames[0].get("stream").is_none(), "{}", seen.frames[0]);
    assert_eq!(seen.frames[1]["previous_response_id"], "resp_0");
    let sent = seen.frames[1]["input"].as_array().unwrap();
    assert_eq!(sent.len(), 1, "only the new message: {sent:?}");
}

#[tokio::test]
async fn a_socket_that_closed_is_opened_again_with_the_whole_conversation() {
    let server = Server::start(1).await;
    let (world, mut messages) = (world(&server), Vec::new());
    assert_eq!(world.ask(&mut messages, "one").await, "answer 0");
    assert_eq!(world.ask(&mut messages, "two").await, "answer 0");
    let seen = server.seen.lock().unwrap();
    assert_eq!(seen.handshakes.len(), 2);
    let last = seen.frames.last().unwrap();
    assert!(last.get("previous_response_id").is_none(), "{last}");
    assert!(last["input"].as_array().unwrap().len() > 1, "{last}");
}

#[tokio::test]
async fn an_endpoint_without_sockets_is_asked_over_http_and_that_is_said_once() {
    let server = Server::start(0).await;
    let (world, mut messages) = (world(&server), Vec::new());
    assert_eq!(world.ask(&mut messages, "one").await, "answer 7");
    assert_eq!(world.ask(&mut messages, "two").await, "answer 7");
    let notices = world.notices.0.lock().unwrap();
    let about: Vec<_> = notices.iter().filter(|text| text.contains("over HTTP")).collect();
    assert_eq!(about.len(), 1, "{notices:?}");
    assert_eq!(server.seen.lock().unwrap().posts, 2);
}
