//! What comes over the wire from those who mean no good: smuggled requests, too much, too deep, too
//! slow.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use petasos_agent::{Act, Scripted};
use serde_json::json;

use crate::world::{Ask, KEY, World};

/// Sends bytes and reads until the other side closes; nothing when it does not within this time.
fn raw(world: &World, bytes: &[u8]) -> Option<String> {
    let mut socket = TcpStream::connect(world.address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    drop(socket.write_all(bytes));
    let mut all = Vec::new();
    match socket.read_to_end(&mut all) {
        Ok(_) => Some(String::from_utf8_lossy(&all).into_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
            Some(String::from_utf8_lossy(&all).into_owned())
        }
        Err(_) => None,
    }
}

/// A request that would be smuggled: it must never be answered.
const HIDDEN: &str = "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX-Hidden: 1\r\n\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_request_hidden_in_another_one_is_never_answered() {
    let world = World::new(Scripted::default()).await;
    for request in hidden_requests() {
        let shown: String = request.chars().take(220).collect();
        let told = raw(&world, request.as_bytes());
        let told = told.unwrap_or_else(|| unreachable!("the connection stays open: {shown:?}"));
        let answers = told.matches("HTTP/1.1 ").count();
        assert!(answers <= 1, "{shown:?} got {answers} answers: {told}");
        assert!(!told.contains("\"object\":\"list\""), "{shown:?}: {told}");
        assert!(!told.starts_with("HTTP/1.1 2"), "{shown:?}: {told}");
    }
}

fn hidden_requests() -> Vec<String> {
    let auth = format!("Authorization: Bearer {KEY}\r\n");
    let post = |headers: &str, body: &str| {
        format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n{auth}{headers}\r\n{body}"
        )
    };
    vec![
        // Both lengths, in both orders: whoever stands before us may have read the other one.
        post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", &format!("0\r\n\r\n{HIDDEN}")),
        post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", &format!("0\r\n\r\n{HIDDEN}")),
        post("Content-Length: 0\r\nContent-Length: 60\r\n", HIDDEN),
        post("Content-Length: 0, 60\r\n", HIDDEN),
        post("Content-Length: +0\r\n", HIDDEN),
        post("Content-Length: 0x10\r\n", HIDDEN),
        post("Content-Length: -1\r\n", HIDDEN),
        post("Transfer-Encoding: identity\r\n", HIDDEN),
        post("Transfer-Encoding: chunked, identity\r\n", HIDDEN),
        post("Transfer-Encoding: xchunked\r\n", HIDDEN),
        post("Transfer-Encoding:\u{b}chunked\r\n", &format!("0\r\n\r\n{HIDDEN}")),
        post("Transfer-Encoding : chunked\r\n", &format!("0\r\n\r\n{HIDDEN}")),
        post("Transfer-Encoding: chunked\r\n", &format!("zz\r\n\r\n{HIDDEN}")),
        post("Transfer-Encoding: chunked\r\n", &format!("fffffffffffffffff\r\n{HIDDEN}")),
        post("X: a\rTransfer-Encoding: chunked\r\n", &format!("0\r\n\r\n{HIDDEN}")),
        post("X: a\0b\r\nContent-Length: 0\r\n", HIDDEN),
        // Spellings that one reader takes for chunks and another does not.
        post("Transfer-Encoding:\tchunked\u{b}\r\n", &format!("0\r\n\r\n{HIDDEN}")),
        post("Transfer-Encoding\t: chunked\r\n", &format!("0\r\n\r\n{HIDDEN}")),
        post(" Transfer-Encoding: chunked\r\n", &format!("0\r\n\r\n{HIDDEN}")),
        post("Transfer-Encoding: \"chunked\"\r\n", &format!("0\r\n\r\n{HIDDEN}")),
        post("Transfer-Encoding: chunked;q=0.5\r\n", &format!("0\r\n\r\n{HIDDEN}")),
        post("Transfer-Encoding: 'chunked'\r\n", &format!("0\r\n\r\n{HIDDEN}")),
        post("Transfer-Encoding: chunkedchunked\r\n", &format!("0\r\n\r\n{HIDDEN}")),
        post("Transfer-Encoding: cow, chunked\r\nTransfer-Encoding: identity\r\n", HIDDEN),
        post("Transfer_Encoding: chunked\r\nTransfer-Encoding: gzip\r\n", HIDDEN),
        post(
            "Content-Length: 4\r\nTransfer-Encoding: gzip, chunked\r\n",
            &format!("0\r\n\r\n{HIDDEN}"),
        ),
        post(
            "Content-Length: 4\r\nTransfer-Encoding:\r\n chunked\r\n",
            &format!("0\r\n\r\n{HIDDEN}"),
        ),
        // Lengths that are read in more than one way.
        post("Content-Length: 0 0\r\n", HIDDEN),
        post("Content-Length: 1e1\r\n", HIDDEN),
        post("Content-Length: 0.0\r\n", HIDDEN),
        post("Content-Length: 18446744073709551616\r\n", HIDDEN),
        post("Content-Length: \u{664}\r\n", HIDDEN),
        post("Content-Length: 0\r\nContent-Length: +0\r\n", HIDDEN),
        post("Content-Length : 0\r\n", HIDDEN),
        post("Content-Length: 0;x\r\n", HIDDEN),
        // Chunks that end where nobody expects it.
        post("Transfer-Encoding: chunked\r\n", &format!("0x0\r\n\r\n{HIDDEN}")),
        post("Transfer-Encoding: chunked\r\n", &format!("-1\r\n\r\n{HIDDEN}")),
        post("Transfer-Encoding: chunked\r\n", &format!("1_0\r\n\r\n{HIDDEN}")),
        post("Transfer-Encoding: chunked\r\n", &format!("2\r\n{{}}x0\r\n\r\n{HIDDEN}")),
        post("Transfer-Encoding: chunked\r\n", &format!("2\r\n{{}}\n0\n\n{HIDDEN}")),
        post("Transfer-Encoding: chunked\r\n", &format!("\r\n0\r\n\r\n{HIDDEN}")),
        post("Transfer-Encoding: chunked\r\n", &format!("1000000000000000000000\r\n{HIDDEN}")),
        // Names and lines with signs in them that end a line elsewhere.
        post("X\0: a\r\nContent-Length: 0\r\n", HIDDEN),
        post("X(): a\r\nContent-Length: 0\r\n", HIDDEN),
        post(": a\r\nContent-Length: 0\r\n", HIDDEN),
        post("X: a\r\rContent-Length: 0\r\n", HIDDEN),
        format!("POST\t/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n\r\n{HIDDEN}"),
        format!("POST /v1/chat/completions HTTP/1.1x\r\nHost: localhost\r\n\r\n{HIDDEN}"),
        format!("POST /v1/chat/completions HTTP/3.0\r\nHost: localhost\r\n\r\n{HIDDEN}"),
        format!("PO\u{1}ST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n\r\n{HIDDEN}"),
        // The preface of HTTP/2 without an agreement.
        format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{HIDDEN}"),
        format!("GET /v1/models HTTP/1.1\r\n {HIDDEN}"),
        format!("GET /v1/models\u{20}\u{20}HTTP/1.1\r\nHost: localhost\r\n\r\n{HIDDEN}"),
    ]
}

#[tokio::test]
async fn s110_what_is_too_large_or_too_deep_is_refused() {
    let world = World::new(Scripted::new([Act::say("at the limit")])).await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = format!("{{\"messages\":{deep}}}").into_bytes();
    let told = world.ask(Ask::new("POST", "/v1/chat/completions", body)).await;
    assert_eq!(told.error(), (400, "invalid_json".to_owned()));
    let large = |bytes: usize| {
        let message =
            json!({ "messages": [{ "role": "user", "content": "x" }], "user": "" }).to_string();
        let padding = "u".repeat(bytes - message.len());
        message.replace("\"user\":\"\"", &format!("\"user\":\"{padding}\"")).into_bytes()
    };
    let told = world.ask(Ask::new("POST", "/v1/chat/completions", large(10_000_000))).await;
    assert_eq!(told.status, 200, "{:?}", told.error());
    let told = world.ask(Ask::new("POST", "/v1/chat/completions", large(10_000_001))).await;
    assert_eq!(told.error(), (413, "body_too_large".to_owned()));
    let kind = Ask::post("/v1/chat/completions", &json!({})).with("Content-Type", "text/plain");
    assert_eq!(world.ask(kind).await.error(), (415, "unsupported_media_type".to_owned()));
    let broken = Ask::new("POST", "/v1/chat/completions", b"{\"messages\": [".to_vec());
    assert_eq!(world.ask(broken).await.error(), (400, "invalid_json".to_owned()));
    let fits = Ask::get("/v1/models").with("X-Long", &"x".repeat(14 * 1024));
    assert_eq!(world.ask(fits).await.status, 200);
    let head = Ask::get("/v1/models").with("X-Long", &"x".repeat(17 * 1024));
    assert_eq!(world.ask(head).await.status, 431);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_holds_nobody_up() {
    let long = "word ".repeat(200_000);
    let world = World::new(Scripted::default().otherwise(move |prompt, _| {
        let last = serde_json::to_string(prompt.messages.last().unwrap()).unwrap();
        Act::say(if last.contains("long") { &long } else { "short" })
    }))
    .await;
    let body = json!({ "stream": true, "messages": [{ "role": "user", "content": "long" }] });
    let mut slow = Vec::new();
    for _ in 0..5 {
        slow.push(world.open(Ask::post("/v1/chat/completions", &body)).await);
    }
    let body = json!({ "messages": [{ "role": "user", "content": "quick" }] });
    let told = world.post("/v1/chat/completions", &body).await;
    assert_eq!(told.json()["choices"][0]["message"]["content"], "short");
    // Their turns end though nobody has read them.
    world.until("/ready", |ready| ready["runs"] == 0).await;
    drop(slow);
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_ask_for_nothing_keep_nobody_out() {
    let world = World::new(Scripted::default().otherwise(|_, _| Act::say("here"))).await;
    // As many as may be at once, and more: silent ones, and heads that never end.
    let mut slow = Vec::new();
    for number in 0..600 {
        let mut socket = TcpStream::connect(world.address).unwrap();
        if number % 2 == 0 {
            socket.write_all(b"POST /v1/chat/completions HTTP/1.1\r\nHost: loc").unwrap();
        }
        slow.push(socket);
    }
    let body = json!({ "messages": [{ "role": "user", "content": "hello" }] });
    let began = std::time::Instant::now();
    for _ in 0..5 {
        let told = world.post("/v1/chat/completions", &body).await;
        assert_eq!(told.json()["choices"][0]["message"]["content"], "here");
    }
    // Heads may take ten seconds; nobody waits for that.
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
    drop(slow);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_or_a_body_that_never_ends_is_ended() {
    let world = World::new(Scripted::default()).await;
    let began = std::time::Instant::now();
    let told = raw(&world, b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n");
    let told = told.unwrap_or_else(|| unreachable!("the connection stays open"));
    assert!(!told.contains("200 OK"), "{told}");
    assert!(began.elapsed() >= Duration::from_secs(9), "{:?}", began.elapsed());
    // Who shows no key is answered before a body is waited for.
    let began = std::time::Instant::now();
    let unsigned = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n\
                     Connection: close\r\nContent-Length: 1000000\r\n\r\n{";
    let told = raw(&world, unsigned).unwrap_or_default();
    assert!(told.starts_with("HTTP/1.1 401"), "{told}");
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
}

#[tokio::test]
async fn two_values_of_one_header_count_as_neither() {
    let world = World::new(Scripted::default()).await;
    let body = json!({ "messages": [{ "role": "user", "content": "x" }] });
    for name in ["Idempotency-Key", "X-Hermes-Session-Id", "X-Hermes-Session-Key"] {
        let once = Ask::post("/v1/chat/completions", &body).with(name, "one");
        let twice = once.with(&format!("X-Other: 1\r\n{name}"), "two");
        let told = world.ask(twice).await;
        assert_eq!(told.status, 400, "{name}: {told:?}");
    }
    let key = Ask::get("/v1/models")
        .with(&format!("X-Other: 1\r\nAuthorization: Bearer {KEY}\r\nX"), "1");
    assert_eq!(world.ask(key).await.status, 401, "two keys are none");
    let host = Ask::get("/v1/models").with("X-Other: 1\r\nHost", "localhost");
    let told = world.ask(host).await.status;
    assert!(told == 400 || told == 403, "{told}");
    assert!(world.model.asked().is_empty());
}

#[tokio::test]
async fn s110_messages_parts_and_texts_at_their_limit_and_one_over() {
    let world = World::new(Scripted::default().otherwise(|_, _| Act::say("fine"))).await;
    let said = |content: serde_json::Value| json!({ "role": "user", "content": content });
    let messages = |count: usize| vec![said(json!("x")); count];
    let parts =
        |count: usize| vec![said(json!(vec![json!({ "type": "text", "text": "x" }); count]))];
    let text = |signs: usize| vec![said(json!("ä".repeat(signs)))];
    for (at, over) in [
        (messages(2_000), messages(2_001)),
        (parts(1_000), parts(1_001)),
        (text(1_000_000), text(1_000_001)),
    ] {
        let told = world.post("/v1/chat/completions", &json!({ "messages": at })).await;
        assert_eq!(told.status, 200, "{:?}", told.error());
        let told = world.post("/v1/chat/completions", &json!({ "messages": over })).await;
        assert_eq!(told.status, 400, "one more");
    }
}
