//! Servers that answer badly: each call ends in its time with a word that helps, and what must
//! not happen twice is asked for once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use petasos_contract::wait::Owned;
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::super::messages::{
    AnyMessage, AppGetOrCreateRequest, AppGetOrCreateResponse, RpcRetryPolicy, StatusDetails,
};
use super::super::wire::Manner;
use super::plane;
use crate::VendorError;

/// What the server does with each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Http(u16),
    Status(&'static str, Option<&'static str>),
    Garbage,
    NotHttp,
    Silent,
}

async fn server(mood: Mood) -> (String, Arc<AtomicUsize>, Owned<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let task = Owned::start(async move {
        let mut tasks = Vec::new();
        while let Ok((socket, _)) = listener.accept().await {
            tasks.push(Owned::start(serve(socket, mood, Arc::clone(&count))));
        }
    });
    (url, asked, task)
}

async fn serve(mut socket: tokio::net::TcpStream, mood: Mood, requests: Arc<AtomicUsize>) {
    if mood == Mood::NotHttp {
        requests.fetch_add(1, Ordering::SeqCst);
        drop(socket.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").await);
        let mut rest = Vec::new();
        drop(socket.read_to_end(&mut rest).await);
        return;
    }
    let mut connection = h2::server::handshake(socket).await.unwrap();
    let mut unanswered = Vec::new();
    while let Some(Ok((_, mut respond))) = connection.accept().await {
        requests.fetch_add(1, Ordering::SeqCst);
        let head = http::Response::builder().header("content-type", "application/grpc");
        match mood {
            Mood::Http(code) => {
                let head = http::Response::builder().status(code).body(()).unwrap();
                drop(respond.send_response(head, true));
            }
            Mood::Status(code, details) => {
                let mut head = head.header("grpc-status", code).header("grpc-message", "no%21");
                if let Some(details) = details {
                    head = head.header("grpc-status-details-bin", details);
                }
                drop(respond.send_response(head.body(()).unwrap(), true));
            }
            Mood::Garbage => {
                let mut body = respond.send_response(head.body(()).unwrap(), false).unwrap();
                drop(body.send_data(bytes::Bytes::from_static(b"<html>not grpc"), true));
            }
            Mood::Silent | Mood::NotHttp => unanswered.push(respond),
        }
    }
}

async fn ask(mood: Mood, manner: Manner) -> (VendorError, usize) {
    let (url, asked, _task) = server(mood).await;
    let plane = plane(&url);
    let started = Instant::now();
    let answer: Result<AppGetOrCreateResponse, _> =
        plane.wire.call("AppGetOrCreate", &AppGetOrCreateRequest::default(), manner).await;
    assert!(started.elapsed() < Duration::from_secs(40), "{mood:?} took {:?}", started.elapsed());
    (answer.unwrap_err(), asked.load(Ordering::SeqCst))
}

#[tokio::test]
async fn bad_answers_end_in_time_and_nothing_is_done_twice() {
    // Long enough for an answer on a busy machine, short for one that never comes.
    let (limit, soon) = (Duration::from_secs(20), Duration::from_millis(800));
    let cases = [
        (Mood::Http(500), "HTTP 500"),
        (Mood::Http(502), "HTTP 502"),
        (Mood::Status("14", None), "unavailable: no!"),
        (Mood::Status("13", None), "internal: no!"),
        (Mood::Garbage, "does not answer in gRPC"),
        (Mood::NotHttp, ""),
        (Mood::Silent, ""),
    ];
    for (mood, word) in cases {
        let limit = if word.is_empty() { soon } else { limit };
        let (error, asked) = ask(mood, Manner::once(limit)).await;
        assert!(matches!(error, VendorError::Unknown { .. }), "{mood:?}: {error:?}");
        assert!(error.to_string().contains(word), "{mood:?}: {error}");
        assert!(asked <= 1 && (asked == 1 || word.is_empty()), "{mood:?}: {asked}");
    }
    let patient = Manner::harmless(Duration::from_secs(4));
    let (error, asked) = ask(Mood::Status("14", None), patient).await;
    assert!(matches!(error, VendorError::Unknown { .. }), "{error:?}");
    assert!(asked > 1, "what is harmless is asked again");
    let (error, _) = ask(Mood::Http(429), Manner::once(limit)).await;
    assert!(matches!(error, VendorError::RateLimited { .. }), "{error:?}");
    let (error, _) = ask(Mood::Status("8", None), Manner::once(limit)).await;
    assert!(matches!(error, VendorError::RateLimited { .. }), "{error:?}");
    // The vendor says when to come back, inside what it attaches to its status.
    let policy = RpcRetryPolicy { retry_after_secs: 60.0 }.encode_to_vec();
    let type_url = "type.googleapis.com/modal.client.RPCRetryPolicy".to_owned();
    let details = StatusDetails { details: vec![AnyMessage { type_url, value: policy }] };
    let details = base64::engine::general_purpose::STANDARD.encode(details.encode_to_vec());
    let (error, asked) = ask(Mood::Status("14", Some(details.leak())), Manner::once(limit)).await;
    assert!(error.to_string().contains("asks to wait 60 s"), "{error}");
    assert_eq!(asked, 1, "it asks for more time than there is");
    let (error, asked) = ask(Mood::Status("16", None), Manner::harmless(limit)).await;
    assert!(matches!(error, VendorError::Credential { .. }), "{error:?}");
    assert_eq!(asked, 1, "a wrong token does not become right");
}
