//! The carrier against the stand-in that the vendor's own library accepts, and against a server
//! that answers badly.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use petasos_contract::Secret;
use petasos_contract::wait::Owned;
use petasos_net::{Net, NetOptions, Url};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::api::{BuildInfo, Limits, NewSandbox};
use super::*;
use crate::{HostedSettings, test_double};

fn api(url: &str, key: &str) -> Api {
    let net = Arc::new(Net::new(NetOptions::default()));
    Api::new(net, Url::parse(url).unwrap(), Secret::new(key), None)
}

fn stand_in(test: &str) -> Option<Api> {
    let url = test_double::told(test, "daytona", "DAYTONA_API_URL")?;
    let key = test_double::told(test, "daytona", "DAYTONA_API_KEY")?;
    Some(api(&url, &key))
}

fn plan(persistent: bool) -> Plan {
    let settings = HostedSettings { container_persistent: persistent, ..HostedSettings::default() };
    Plan::of(&settings, "default", None)
}

fn no_sync(home: &std::path::Path) -> FileSync {
    let parts = petasos_contract::settings::Parts { home: home.to_owned(), ..Default::default() };
    FileSync::of(&Settings::new(parts))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_carries_programs_and_is_gone_at_the_end() {
    let Some(api) = stand_in("a_sandbox_carries_programs_and_is_gone_at_the_end") else { return };
    let home = tempfile::tempdir().unwrap();
    let carrier = Daytona::open(api.clone(), plan(false), no_sync(home.path())).await.unwrap();
    let has_terminals = has_terminals(&*carrier.live().toolbox).await;
    test_double::carries(&carrier, has_terminals).await;
    let id = carrier.live().id.clone();
    let toolbox = carrier.live().toolbox.clone();
    api.upload(&toolbox.url, &[("/tmp/a/b", b"\0\xff")]).await.unwrap();
    let said = test_double::run(&carrier, test_double::order("cat /tmp/a/b", &[])).await;
    assert_eq!(said.output, b"\0\xff");
    carrier.close().await.unwrap();
    assert!(matches!(api.get(&id).await, Err(VendorError::Missing { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_sandbox_sleeps_and_comes_back_with_its_files() {
    let Some(api) = stand_in("a_kept_sandbox_sleeps_and_comes_back_with_its_files") else { return };
    let home = tempfile::tempdir().unwrap();
    let mut kept = plan(true);
    kept.name = format!("hermes-test-{}", petasos_terminal::ids::hex(4));
    let carrier = Daytona::open(api.clone(), kept.clone(), no_sync(home.path())).await.unwrap();
    test_double::run(&carrier, test_double::order("echo kept > ~/note", &[])).await;
    carrier.close().await.unwrap();
    let carrier = Daytona::open(api.clone(), kept, no_sync(home.path())).await.unwrap();
    assert_eq!(
        test_double::run(&carrier, test_double::order("cat ~/note", &[])).await.output,
        b"kept\n"
    );
    // Stopped behind our back: the start fails for certain, and the sandbox is brought back.
    api.stop(&carrier.live().id).await.unwrap();
    let refused = carrier.start(test_double::order("echo again", &[])).await.err().unwrap();
    assert!(matches!(refused, EnvError::NotStarted { .. }), "{refused}");
    carrier.revive(&refused).await.unwrap();
    assert_eq!(
        test_double::run(&carrier, test_double::order("cat ~/note", &[])).await.output,
        b"kept\n"
    );
    api.delete(&carrier.live().id).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_of_a_dead_program_is_removed_by_the_next() {
    let Some(api) = stand_in("the_sandbox_of_a_dead_program_is_removed_by_the_next") else {
        return;
    };
    let dead = NewSandbox { labels: sandbox::labels_of("1-1"), ..empty() };
    let alive = NewSandbox { labels: sandbox::labels_of(&crate::Owner::this().label()), ..empty() };
    let (dead, alive) = (api.create(&dead).await.unwrap(), api.create(&alive).await.unwrap());
    sandbox::remove_orphans(&api).await;
    assert!(matches!(api.get(&dead.id).await, Err(VendorError::Missing { .. })));
    api.get(&alive.id).await.unwrap();
    api.delete(&alive.id).await.unwrap();
}

fn empty() -> NewSandbox {
    NewSandbox {
        name: format!("hermes-test-{}", petasos_terminal::ids::hex(6)),
        labels: BTreeMap::new(),
        cpu: 1,
        memory: 1,
        disk: 1,
        auto_stop_interval: 0,
        auto_delete_interval: None,
        target: None,
        build_info: BuildInfo { dockerfile_content: "FROM debian:12\n".to_owned() },
    }
}

/// A server that gives every request the same answer, or none; counts the requests that create.
struct Bad {
    url: String,
    creations: Arc<AtomicUsize>,
    _task: Owned<()>,
}

impl Bad {
    async fn start(answer: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api", listener.local_addr().unwrap());
        let creations = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&creations);
        let task = Owned::start(async move {
            let mut open = Vec::new();
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut head = vec![0; 4096];
                let read = socket.read(&mut head).await.unwrap_or(0);
                if head[..read].starts_with(b"POST /api/sandbox ") {
                    count.fetch_add(1, Ordering::SeqCst);
                }
                match answer {
                    Some(answer) => drop(socket.write_all(answer.as_bytes()).await),
                    None => open.push(socket),
                }
            }
        });
        Self { url, creations, _task: task }
    }
}

#[tokio::test]
async fn bad_answers_end_in_time_with_a_word_and_create_nothing_twice() {
    let limited = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 120\r\nconnection: close\r\ncontent-length: 22\r\n\r\n{\"message\":\"slow down\"}";
    let failed = "HTTP/1.1 500 Oops\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let garbage = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 6\r\n\r\n<html>";
    let nonsense = "SSH-2.0-OpenSSH_9.2\r\n";
    let cases = [
        (Some(limited), "asks to wait 120 s"),
        (Some(failed), "HTTP 500"),
        (Some(garbage), "cannot be read"),
        (Some(nonsense), ""),
        (None, ""),
    ];
    for (answer, word) in cases {
        let server = Bad::start(answer).await;
        let mut api = api(&server.url, "key");
        let short = Duration::from_millis(900);
        api.limits = Limits { short, create: short };
        let started = Instant::now();
        let home = tempfile::tempdir().unwrap();
        let opened = Daytona::open(api, plan(false), no_sync(home.path())).await;
        let error = opened.err().unwrap().to_string();
        assert!(error.contains(word), "{answer:?}: {error}");
        assert!(started.elapsed() < Duration::from_secs(6), "{answer:?}: {:?}", started.elapsed());
        assert!(server.creations.load(Ordering::SeqCst) <= 1, "{answer:?}");
    }
}

#[tokio::test]
async fn a_wrong_key_is_said_and_a_missing_one_makes_it_unusable() {
    let Some(good) = stand_in("a_wrong_key_is_said_and_a_missing_one_makes_it_unusable") else {
        return;
    };
    drop(good);
    let url = test_double::told("", "daytona", "DAYTONA_API_URL").unwrap();
    let refused = api(&url, "wrong").get("x").await;
    assert!(matches!(refused, Err(VendorError::Credential { .. })), "{refused:?}");
    assert!(
        usable(&Settings::from_values(serde_json::Map::new()))
            .unwrap_err()
            .contains("DAYTONA_API_KEY")
    );
}
