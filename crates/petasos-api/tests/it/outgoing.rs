//! Webhooks out, to a receiver of a few lines.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};

use aws_lc_rs::hmac::{HMAC_SHA256, Key, verify};
use base64::Engine as _;
use parking_lot::Mutex;
use petasos_agent::{Act, Scripted};
use petasos_api::Outgoing;
use petasos_contract::BoxFuture;
use petasos_net::{Lookup, Net, NetOptions, SiteRules};
use petasos_store::{DeliveryState, OutboxStore as _};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::world::{PATIENCE, SIGNED_WITH, World, settings};

/// A delivery as it arrived: headers in small letters, and the body.
type Arrived = (Vec<(String, String)>, String);

/// Answers with these statuses, one each, and then with 200.
fn receiver(statuses: &'static [u16]) -> (String, Receiver<Arrived>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (send, arrived) = channel();
    std::thread::spawn(move || {
        let mut statuses = statuses.iter();
        for socket in listener.incoming().flatten() {
            let mut reader = BufReader::new(socket);
            let mut headers = Vec::new();
            let mut line = String::new();
            while reader.read_line(&mut line).unwrap() > 2 {
                if let Some((name, value)) = line.trim_end().split_once(": ") {
                    headers.push((name.to_lowercase(), value.to_owned()));
                }
                line.clear();
            }
            let length = headers.iter().find(|(name, _)| name == "content-length");
            let mut body = vec![0; length.unwrap().1.parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            let status = statuses.next().unwrap_or(&200);
            let answer = format!(
                "HTTP/1.1 {status} X\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            reader.into_inner().write_all(answer.as_bytes()).unwrap();
            if send.send((headers, String::from_utf8(body).unwrap())).is_err() {
                return;
            }
        }
    });
    (url, arrived)
}

fn out(url: &str) -> Value {
    json!({ "webhooks_out": [{ "name": "ops", "url": url, "secret_env": "OUT_SECRET", "events": ["turn_ended"] }] })
}

async fn turned(world: &World) {
    let body = json!({ "messages": [{ "role": "user", "content": "x" }] });
    assert_eq!(world.post("/v1/chat/completions", &body).await.status, 200);
    world.until("/ready", |ready| ready["runs"] == 0).await;
    let until = std::time::Instant::now() + PATIENCE;
    while world.store.deliveries(&[DeliveryState::Planned], 9).await.unwrap().is_empty() {
        assert!(std::time::Instant::now() < until, "nothing is planned");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s118_a_turn_is_told_signed_again_later_and_in_the_end_given_up() {
    let (url, arrived) = receiver(&[500, 302, 200]);
    let world = World::with(Scripted::new([Act::say("hello")]), out(&url)).await;
    let outgoing = world.outgoing.clone().unwrap();
    turned(&world).await;
    let mut now = 2_000_000_000_000;
    assert_eq!(outgoing.send_due(now).await.unwrap(), 1);
    assert_eq!(outgoing.send_due(now + 4_000).await.unwrap(), 0, "not before five seconds");
    now += 5_000;
    assert_eq!(outgoing.send_due(now).await.unwrap(), 1, "a redirect is not followed");
    assert_eq!(outgoing.send_due(now + 299_000).await.unwrap(), 0, "not before five minutes");
    assert_eq!(outgoing.send_due(now + 300_000).await.unwrap(), 1);
    let all: Vec<Arrived> = (0..3).map(|_| arrived.recv_timeout(PATIENCE).unwrap()).collect();
    for (headers, body) in &all {
        let header = |name: &str| headers.iter().find(|it| it.0 == name).unwrap().1.clone();
        let signed = format!("{}.{}.{body}", header("webhook-id"), header("webhook-timestamp"));
        let tag = header("webhook-signature");
        let tag =
            base64::engine::general_purpose::STANDARD.decode(tag.strip_prefix("v1,").unwrap());
        let key = Key::new(HMAC_SHA256, SIGNED_WITH.as_bytes());
        assert!(verify(&key, signed.as_bytes(), &tag.unwrap()).is_ok());
    }
    let told: Value = serde_json::from_str(&all[0].1).unwrap();
    assert_eq!((&told["type"], &told["data"]["output"]), (&"turn_ended".into(), &"hello".into()));
    assert_eq!(world.store.deliveries(&[DeliveryState::Sent], 9).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn s118_the_tries_come_in_their_order_and_what_is_given_up_is_listed() {
    let (url, arrived) = receiver(&[500; 8]);
    let world = World::with(Scripted::new([Act::say("hello")]), out(&url)).await;
    let outgoing = world.outgoing.clone().unwrap();
    turned(&world).await;
    let (mut now, minute) = (2_000_000_000_000, 60_000);
    let hour = 60 * minute;
    assert_eq!(outgoing.send_due(now).await.unwrap(), 1);
    for pause in [5_000, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 24 * hour] {
        assert_eq!(outgoing.send_due(now + pause - 1).await.unwrap(), 0, "not before {pause}");
        assert!(world.store.deliveries(&[DeliveryState::Dead], 9).await.unwrap().is_empty());
        now += pause;
        assert_eq!(outgoing.send_due(now).await.unwrap(), 1, "after {pause}");
    }
    let ids = (0..8).map(|_| {
        let (headers, _) = arrived.recv_timeout(PATIENCE).unwrap();
        headers.into_iter().find(|it| it.0 == "webhook-id").unwrap().1
    });
    let ids: std::collections::BTreeSet<String> = ids.collect();
    assert_eq!(ids.len(), 1, "one delivery, known by its name");
    let dead = world.store.deliveries(&[DeliveryState::Dead], 9).await.unwrap();
    assert_eq!((dead.len(), dead[0].error.as_str()), (1, "answered 500"));
    assert_eq!(outgoing.send_due(now + 48 * hour).await.unwrap(), 0, "it is over");
}

#[expect(clippy::disallowed_methods, reason = "tests start the library that they test with")]
#[tokio::test(flavor = "multi_thread")]
async fn s118_the_library_of_standard_webhooks_accepts_what_is_sent_and_nothing_else() {
    let Ok(python) = std::env::var("OPENAI_PYTHON") else {
        return petasos_testkit::skip("s118_the_library", "openai", "OPENAI_PYTHON is not set");
    };
    let (url, arrived) = receiver(&[]);
    let world = World::with(Scripted::new([Act::say("Grüße")]), out(&url)).await;
    turned(&world).await;
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = i64::try_from(since.as_millis()).unwrap();
    world.outgoing.clone().unwrap().send_due(now).await.unwrap();
    let (headers, body) = arrived.recv_timeout(PATIENCE).unwrap();
    let headers: std::collections::HashMap<_, _> = headers.into_iter().collect();
    let program = "import json, sys, standardwebhooks as s\n\
                   w, (h, b) = s.Webhook(sys.argv[1].encode()), json.load(sys.stdin)\n\
                   print(w.verify(b, h)['type'])\n\
                   for bad in (b + ' ', b.replace('Gr', 'gr')):\n    \
                       try: w.verify(bad, h); print('accepted')\n    \
                       except s.WebhookVerificationError: print('refused')\n";
    let mut child = std::process::Command::new(python)
        .args(["-c", program, SIGNED_WITH])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(json!([headers, body]).to_string().as_bytes()).unwrap();
    drop(stdin);
    let told = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&told.stdout), "turn_ended\nrefused\nrefused\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn s118_a_receiver_that_is_gone_is_told_nothing_more() {
    let (url, arrived) = receiver(&[410]);
    let world = World::with(Scripted::new([Act::say("one"), Act::say("two")]), out(&url)).await;
    let outgoing = world.outgoing.clone().unwrap();
    turned(&world).await;
    outgoing.send_due(2_000_000_000_000).await.unwrap();
    turned(&world).await;
    outgoing.send_due(2_000_000_100_000).await.unwrap();
    assert_eq!(world.store.deliveries(&[DeliveryState::Dead], 9).await.unwrap().len(), 2);
    arrived.recv_timeout(PATIENCE).unwrap();
    assert!(arrived.try_recv().is_err());
}

/// Answers with these addresses, one set after the other, and then with the last.
#[derive(Debug)]
struct Bound(Mutex<Vec<Vec<&'static str>>>);

impl Lookup for Bound {
    fn look_up<'a>(&'a self, _: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        let mut sets = self.0.lock();
        let set = if sets.len() > 1 { sets.remove(0) } else { sets[0].clone() };
        let found = set.iter().map(|address| address.parse().unwrap()).collect();
        Box::pin(std::future::ready(Ok(found)))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s118_a_name_that_leads_inside_is_not_reached_whenever_it_is_bound_there() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("https://hook.example:{}/", listener.local_addr().unwrap().port());
    let world = World::with(Scripted::new([Act::say("x")]), out(&url)).await;
    turned(&world).await;
    // At once; beside a good address; and only at the second look, after a good answer.
    for sets in [
        vec![vec!["127.0.0.1"]],
        vec![vec!["93.184.216.34", "127.0.0.1"]],
        vec![vec!["169.254.169.254"]],
        vec![vec!["::ffff:127.0.0.1"], vec!["127.0.0.1"]],
    ] {
        let rules = SiteRules::default().with_names(Arc::new(Bound(Mutex::new(sets))));
        let options = NetOptions { rules: Arc::new(rules), ..NetOptions::default() };
        let home = tempfile::TempDir::new().unwrap();
        let settings = settings(home.path(), out(&url));
        let net = Arc::new(Net::new(options));
        let outgoing = Outgoing::read(&settings, Arc::clone(&world.store) as _, net).unwrap();
        let row = &world.store.deliveries(&[DeliveryState::Planned], 9).await.unwrap()[0];
        let tries = row.attempts;
        outgoing.send_due(4_000_000_000_000 + i64::from(tries) * 100_000_000).await.unwrap();
        let row = &world.store.deliveries(&[DeliveryState::Planned], 9).await.unwrap()[0];
        assert!(row.error.contains("not reached") || row.error.contains("refused"), "{row:?}");
        assert!(row.attempts > tries, "it was tried");
    }
    let nobody = listener.accept().expect_err("nobody came");
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);
    // Unless the operator lists it: then somebody comes, though nobody here speaks TLS.
    let names = Arc::new(Bound(Mutex::new(vec![vec!["127.0.0.1"]])));
    let rules = SiteRules::default().with_names(names).opening("hook.example", None);
    let options = NetOptions { rules: Arc::new(rules), ..NetOptions::default() };
    let home = tempfile::TempDir::new().unwrap();
    let settings = settings(home.path(), out(&url));
    let net = Arc::new(Net::new(options));
    let outgoing = Outgoing::read(&settings, Arc::clone(&world.store) as _, net).unwrap();
    listener.set_nonblocking(false).unwrap();
    let came = std::thread::spawn(move || listener.accept().is_ok());
    outgoing.send_due(6_000_000_000_000).await.unwrap();
    assert!(came.join().unwrap(), "somebody came");
}

#[tokio::test(flavor = "multi_thread")]
async fn s118_one_receiver_hears_everything_in_its_order() {
    let (url, arrived) = receiver(&[500]);
    let world = World::with(Scripted::new([Act::say("one"), Act::say("two")]), out(&url)).await;
    let outgoing = world.outgoing.clone().unwrap();
    turned(&world).await;
    turned(&world).await;
    let until = std::time::Instant::now() + PATIENCE;
    while world.store.deliveries(&[DeliveryState::Planned], 9).await.unwrap().len() < 2 {
        assert!(std::time::Instant::now() < until, "the second is not planned");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let now = 2_000_000_000_000;
    assert_eq!(outgoing.send_due(now).await.unwrap(), 1, "the first one");
    assert_eq!(outgoing.send_due(now + 4_999).await.unwrap(), 0, "nobody overtakes it");
    for _ in 0..2 {
        assert_eq!(outgoing.send_due(now + 5_000).await.unwrap(), 1);
    }
    let said = (0..3).map(|_| {
        let (_, body) = arrived.recv_timeout(PATIENCE).unwrap();
        let body: Value = serde_json::from_str(&body).unwrap();
        body["data"]["output"].as_str().unwrap().to_owned()
    });
    assert_eq!(said.collect::<Vec<_>>(), ["one", "one", "two"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn s118_an_address_inside_the_network_is_not_reached() {
    let home = tempfile::TempDir::new().unwrap();
    let world = World::new(Scripted::default()).await;
    let read = |url: &str| {
        let settings = settings(home.path(), out(url));
        Outgoing::read(&settings, Arc::clone(&world.store) as _, Arc::new(Net::default()))
    };
    for odd in [
        "http://plain.example/hook",
        "file:///etc/passwd",
        "ftp://example.org/",
        "https://una:secret@example.org/",
        "http://127.0.0.1.evil.example/",
        "http://0x7f000001.example/",
    ] {
        assert!(read(odd).is_err(), "{odd}");
    }
    for inside in [
        "https://169.254.169.254/latest",
        "https://[fd00:ec2::254]/latest",
        "https://10.0.0.7/hook",
        "https://192.168.1.1/hook",
        "https://172.16.0.1/hook",
        "https://100.64.0.1/hook",
        "https://[::ffff:10.0.0.1]/hook",
        "https://[fe80::1]/hook",
        "https://0.0.0.0/hook",
        "https://0x0a000001/hook",
        "https://167772161/hook",
        "https://[64:ff9b::a00:1]/hook",
    ] {
        let world = World::with(Scripted::new([Act::say("x")]), out(inside)).await;
        turned(&world).await;
        let outgoing = world.outgoing.clone().unwrap();
        outgoing.send_due(2_000_000_000_000).await.unwrap();
        let rows = world.store.deliveries(&[DeliveryState::Planned], 9).await.unwrap();
        let error = &rows[0].error;
        assert!(error.contains("not reached") || error.contains("refused"), "{inside}: {error}");
    }
}
