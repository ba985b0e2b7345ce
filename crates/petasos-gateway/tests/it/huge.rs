//! Files that are far too large: they are cut off, nothing of them is kept, and the memory does not
//! grow with them.

use std::sync::Arc;
use std::time::Duration;

use petasos_agent::{Act, Scripted};
use petasos_contract::wait::Owned;
use petasos_gateway::PLATFORMS;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::doubles;
use crate::suite::{Side as _, arrives};
use crate::world::{Config, World, holds};

/// What the file says that it has.
const BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// How much more memory a process may have needed after it.
const GROWTH_KIB: u64 = 32 * 1024;

/// A server of files with no end.
async fn endless() -> (String, Owned<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let task = Owned::start(async move {
        let piece = vec![0_u8; 65_536];
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = [0_u8; 4096];
            if stream.read(&mut asked).await.unwrap_or(0) == 0 {
                continue;
            }
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n");
            let mut left = BYTES;
            let mut ok = stream.write_all(head.as_bytes()).await.is_ok();
            while ok && left > 0 {
                ok = stream.write_all(&piece).await.is_ok();
                left = left.saturating_sub(65_536);
            }
        }
    });
    (url, task)
}

/// The most memory that this process ever had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

/// Not a test of its own: its memory is that of nobody else.
#[tokio::test]
#[ignore = "helper process: started by the test below"]
async fn taker() {
    let (files, _serving) = endless().await;
    let side = doubles::slack::new().await;
    let home = tempfile::tempdir().unwrap();
    let values =
        json!({ "slack": { "base_url": format!("{}/api", side.url), "files_url": files } });
    let config = Config {
        values: Box::leak(values.to_string().into_boxed_str()),
        variables: side.variables(),
        platforms: PLATFORMS.iter().copied().filter(|def| def.name == "slack").collect(),
        ..Config::default()
    };
    let echo = Scripted::default().otherwise(|_, _| Act::say("a turn"));
    let world = World::at(home.path(), Arc::default(), echo, config).await;
    holds("a connection", async || side.connections() > 0).await;
    side.write(1, "hello");
    arrives(&side, "an answer", |it| it.text == "a turn").await;
    let before = peak();
    side.push(&side.vendor.with_file(2, &format!("{files}/huge.bin")));
    let told = |it: &crate::suite::Arrived| it.text.contains("Your file did not arrive");
    let told = arrives(&side, "a word about it", told).await;
    assert!(told.text.contains("larger than 128000000 bytes"), "{}", told.text);
    let grown = peak().saturating_sub(before);
    assert!(grown < GROWTH_KIB, "{grown} KiB more");
    let kept = std::fs::read_dir(home.path().join("cache/documents")).unwrap().count();
    assert_eq!(kept, 0, "nothing of it is kept");
    assert_eq!(world.model.asked().len(), 1, "and it is no turn");
    println!("2 GiB: {grown} KiB more memory");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test starts its own program")]
fn s52_s54_a_file_of_two_gibibytes_is_cut_off_and_costs_no_memory() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "huge::taker", "--test-threads", "1", "--nocapture"])
        .stdin(std::process::Stdio::null())
        .spawn()
        .unwrap();
    for _ in 0..1200 {
        if let Some(ended) = child.try_wait().unwrap() {
            assert!(ended.success(), "{ended}");
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill().unwrap();
    unreachable!("the file is still being taken after two minutes");
}
