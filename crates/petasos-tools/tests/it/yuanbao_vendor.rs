//! A stand-in of Yuanbao: its sign-in, its WebSocket and its file store. The vendor publishes no
//! description: the frames are those of other clients.

use std::net::TcpListener;
use std::sync::Arc;

use aws_lc_rs::digest;
use base64::Engine as _;
use futures::{SinkExt as _, StreamExt as _};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::double::{Double, Said};

const TABLE: &str = include_str!("../doubles/yuanbao.json");

/// A field of a frame: its number and its bytes, or a number.
fn bytes(field: u8, value: &[u8]) -> Vec<u8> {
    assert!(value.len() < 128 * 128, "two bytes tell the length");
    let length = if value.len() < 128 {
        vec![u8::try_from(value.len()).unwrap()]
    } else {
        let low = u8::try_from(value.len() & 0x7f).unwrap() | 0x80;
        vec![low, u8::try_from(value.len() >> 7).unwrap()]
    };
    [vec![field << 3 | 2], length, value.to_vec()].concat()
}

fn number(field: u8, value: u8) -> Vec<u8> {
    vec![field << 3, value]
}

/// The fields of a frame that have a length.
pub(crate) fn fields(mut raw: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut all = Vec::new();
    while let [tag, rest @ ..] = raw {
        if tag.trailing_zeros() >= 3 {
            let end = rest.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
            raw = &rest[end..];
            continue;
        }
        let (length, used) = match rest {
            [low, high, ..] if low & 0x80 != 0 => {
                (usize::from(low & 0x7f) | usize::from(*high) << 7, 2)
            }
            [low, ..] => (usize::from(*low), 1),
            [] => panic!("a frame ends early"),
        };
        all.push((tag >> 3, rest[used..used + length].to_vec()));
        raw = &rest[used + length..];
    }
    all
}

pub(crate) fn text(fields: &[(u8, Vec<u8>)], number: u8) -> String {
    let found = fields.iter().find(|(field, _)| *field == number);
    String::from_utf8(found.map(|(_, value)| value.clone()).unwrap_or_default()).unwrap()
}

fn member(id: &str, name: &str, role: u8) -> Vec<u8> {
    bytes(3, &[bytes(1, id.as_bytes()), bytes(2, name.as_bytes()), number(3, role)].concat())
}

/// What the vendor answers to a command.
fn answer(command: &str) -> Vec<u8> {
    match command {
        "query_group_info" => {
            let parts = [bytes(1, b"Hats"), bytes(2, b"u1"), bytes(3, b"Ada"), number(4, 3)];
            bytes(3, &parts.concat())
        }
        "get_group_member_list" => [
            member("u1", "Ada", 1),
            member("u2", "Ada Two", 1),
            member("u3", "Bob", 1),
            member("b1", "Helper", 3),
            number(5, 1),
        ]
        .concat(),
        "send_group_message" => [number(1, 7), bytes(2, b"muted")].concat(),
        _ => Vec::new(),
    }
}

pub(crate) type Asked = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// The vendor's side of the handshake.
async fn opened(mut peer: TcpStream) -> WebSocketStream<TcpStream> {
    let (mut head, mut byte) = (Vec::new(), [0_u8; 1]);
    while !head.ends_with(b"\r\n\r\n") {
        peer.read_exact(&mut byte).await.unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("sec-websocket-key").then(|| value.trim().to_owned())
    });
    let proof = format!("{}258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key.unwrap());
    let proof = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, proof.as_bytes());
    let proof = base64::engine::general_purpose::STANDARD.encode(proof);
    let told = format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-accept: {proof}\r\n\r\n"
    );
    peer.write_all(told.as_bytes()).await.unwrap();
    WebSocketStream::from_raw_socket(peer, Role::Server, None).await
}

/// The vendor's socket; gives its address and what was asked.
pub(crate) fn socket() -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    let asked = Asked::default();
    let kept = Arc::clone(&asked);
    std::thread::spawn(move || {
        for peer in listener.incoming() {
            let (peer, kept) = (peer.unwrap(), Arc::clone(&kept));
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                peer.set_nonblocking(true).unwrap();
                let peer = TcpStream::from_std(peer).unwrap();
                let mut open = opened(peer).await;
                while let Some(Ok(Message::Binary(frame))) = open.next().await {
                    let whole = fields(&frame);
                    let head = fields(&whole[0].1);
                    let command = text(&head, 2);
                    let body = whole.get(1).map(|it| it.1.clone()).unwrap_or_default();
                    kept.lock().push((command.clone(), body));
                    // A message for the bot comes in between.
                    let push = bytes(1, &[number(1, 2), bytes(4, b"other")].concat());
                    open.send(Message::binary(push)).await.unwrap();
                    let told = [
                        number(1, 1),
                        bytes(2, command.as_bytes()),
                        bytes(4, text(&head, 4).as_bytes()),
                    ];
                    let reply = [bytes(1, &told.concat()), bytes(2, &answer(&command))].concat();
                    open.send(Message::binary(reply)).await.unwrap();
                }
            });
        }
    });
    (url, asked)
}

pub(crate) fn vendor() -> Double {
    Double::start(TABLE, "", |seen| match seen.path.as_str() {
        "/api/v5/robotLogic/sign-token" => {
            let body = &seen.body;
            assert_eq!(body["app_key"], "app");
            assert!(!body.to_string().contains("bot-secret"), "the secret itself is not sent");
            assert_eq!(body["signature"].as_str().unwrap().len(), 64);
            Said::ok(
                json!({ "code": 0, "data": { "token": "tok", "bot_id": "bot7", "source": "bot" } }),
            )
        }
        "/api/resource/genUploadInfo" => {
            assert_eq!(seen.headers["x-token"], "tok");
            Said::ok(json!({ "code": 0, "data": {
                "bucketName": "b", "region": "r", "location": "up/cat.png",
                "encryptTmpSecretId": "id", "encryptTmpSecretKey": "key", "encryptToken": "session",
                "resourceUrl": "https://files.test/cat.png" } }))
        }
        _ => {
            assert!(seen.headers["authorization"].starts_with("q-sign-algorithm=sha1&q-ak=id&"));
            assert_eq!(seen.headers["x-cos-security-token"], "session");
            Said::ok(Value::Null)
        }
    })
}
