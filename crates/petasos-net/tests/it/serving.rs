//! Connections that wait: for a head to end, and for another request.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use petasos_contract::wait::Owned;
use petasos_net::serve::{ServeLimits, serve};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);
const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(2);
const NEVER: Duration = Duration::from_hours(1);
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/// A server that says `here`, with these limits for a head and between two requests.
async fn server(head: Duration, idle: Duration) -> (SocketAddr, Owned<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let limits = ServeLimits { head, idle, ..ServeLimits::default() };
    let serving = serve(listener, limits, CancellationToken::new(), |_, _| async {
        http::Response::new(Full::<Bytes>::from("here"))
    });
    (address, Owned::start(serving))
}

/// What a connection was told before it was closed, and how long after its last byte that was.
fn talk(address: SocketAddr, said: &[&[u8]]) -> (String, Duration) {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let (mut heard, mut last) = (String::new(), Instant::now());
    for (number, bytes) in said.iter().enumerate() {
        // The answer to each request but the last comes before the next one is made.
        while heard.matches("here").count() < number {
            let mut block = [0; 1024];
            let count = socket.read(&mut block).unwrap();
            assert!(count > 0, "closed after {heard:?}");
            heard.push_str(&String::from_utf8_lossy(&block[..count]));
        }
        last = Instant::now();
        socket.write_all(bytes).unwrap();
    }
    let mut rest = Vec::new();
    // Whoever is sent away may see the end as a reset.
    drop(socket.read_to_end(&mut rest));
    heard.push_str(&String::from_utf8_lossy(&rest));
    (heard, last.elapsed())
}

async fn talked(address: SocketAddr, said: &'static [&'static [u8]]) -> (String, Duration) {
    tokio::task::spawn_blocking(move || talk(address, said)).await.unwrap()
}

#[tokio::test]
async fn a_connection_between_two_requests_may_wait_longer_than_a_head() {
    let (address, _serving) = server(SHORT, LONG).await;
    let (heard, waited) = talked(address, &[REQUEST, REQUEST]).await;
    assert_eq!(heard.matches("here").count(), 2, "{heard}");
    assert!(waited >= LONG, "it was closed after {waited:?}");
}

#[tokio::test]
async fn a_head_that_does_not_end_is_not_waited_for() {
    let (address, _serving) = server(SHORT, NEVER).await;
    for said in [&[b"" as &[u8]] as &[&[u8]], &[b"GET / HT"], &[REQUEST, b"GET / HT"]] {
        let (heard, waited) = talked(address, said).await;
        assert_eq!(heard.matches("here").count(), said.len() - 1, "{heard}");
        assert!(waited >= SHORT && waited < PATIENCE, "{waited:?}");
    }
}
