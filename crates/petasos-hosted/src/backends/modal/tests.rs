//! The carrier against the stand-in that the vendor's own library accepts, against a double with
//! direct command routing, and against servers that answer badly.

mod double;
mod faults;
mod golden;

use std::path::Path;

use petasos_contract::Secret;
use petasos_net::{Net, NetOptions, Url};

use super::*;
use crate::test_double;
use double::Double;

pub(super) fn plane(url: &str) -> Plane {
    let net = Arc::new(Net::new(NetOptions::default()));
    let token = (&Secret::new("ak-test"), Secret::new("as-test"));
    Plane::new(net, Url::parse(url).unwrap(), token, String::new())
}

fn settings(persistent: bool) -> HostedSettings {
    HostedSettings { container_persistent: persistent, ..HostedSettings::default() }
}

fn no_sync(home: &Path) -> FileSync {
    let parts = petasos_contract::settings::Parts { home: home.to_owned(), ..Default::default() };
    FileSync::of(&Settings::new(parts))
}

async fn carrier(url: &str, home: &Path, persistent: bool, tls: Tls) -> Modal {
    let books = Books::at(home, "default");
    Modal::open(plane(url), settings(persistent), books, no_sync(home), tls).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_carries_programs_and_is_ended() {
    let test = "a_sandbox_carries_programs_and_is_ended";
    let Some(url) = test_double::told(test, "modal", "MODAL_SERVER_URL") else { return };
    let home = tempfile::tempdir().unwrap();
    let modal = carrier(&url, home.path(), false, Tls::default()).await;
    let has_terminals = modal.live().way.has_terminals().await;
    test_double::carries(&modal, has_terminals).await;
    let sandbox = modal.live().lease.running.sandbox.clone();
    modal.close().await.unwrap();
    assert!(modal.plane.ended(&sandbox).await.unwrap().is_some());
    let written: Vec<_> = std::fs::read_dir(home.path()).unwrap().flatten().collect();
    assert!(!written.iter().any(|entry| entry.file_name() == "modal_snapshots.json"));
}

#[tokio::test(flavor = "multi_thread")]
async fn kept_files_become_an_image_and_a_lost_sandbox_is_replaced() {
    let test = "kept_files_become_an_image_and_a_lost_sandbox_is_replaced";
    let Some(url) = test_double::told(test, "modal", "MODAL_SERVER_URL") else { return };
    let home = tempfile::tempdir().unwrap();
    let modal = carrier(&url, home.path(), true, Tls::default()).await;
    let first = modal.live().lease.running.sandbox.clone();
    modal.plane.terminate(&first).await.unwrap();
    let refused = modal.start(test_double::order("echo x", &[])).await.err().unwrap();
    assert!(matches!(refused, EnvError::NotStarted { .. }), "{refused}");
    modal.revive(&refused).await.unwrap();
    assert_ne!(modal.live().lease.running.sandbox, first);
    assert_eq!(test_double::run(&modal, test_double::order("echo x", &[])).await.output, b"x\n");
    modal.close().await.unwrap();
    let kept = std::fs::read_to_string(home.path().join("modal_snapshots.json")).unwrap();
    assert!(kept.contains("\"default\": \"im-"), "{kept}");
    // The next one begins from that image; nothing of ours is left running.
    let modal = carrier(&url, home.path(), true, Tls::default()).await;
    modal.close().await.unwrap();
    let left = std::fs::read_to_string(home.path().join("modal_sandboxes.json")).unwrap();
    assert_eq!(left.trim(), "{}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_of_a_dead_program_is_ended_by_the_next() {
    let test = "the_sandbox_of_a_dead_program_is_ended_by_the_next";
    let Some(url) = test_double::told(test, "modal", "MODAL_SERVER_URL") else { return };
    let home = tempfile::tempdir().unwrap();
    let plane = plane(&url);
    let app = plane.app().await.unwrap();
    let image = plane.image(&app, "debian:12").await.unwrap();
    let orphan = plane.create(&app, image, "orphan", &settings(false)).await.unwrap();
    let line = format!(r#"{{"{orphan}": {{"owner": {{"pid": 1, "started": 1}}}}}}"#);
    std::fs::File::create(home.path().join("modal_sandboxes.json"))
        .and_then(|mut file| std::io::Write::write_all(&mut file, line.as_bytes()))
        .unwrap();
    Books::at(home.path(), "default").end_orphans(&plane).await;
    assert!(plane.ended(&orphan).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_go_straight_to_the_machine_where_the_vendor_allows_it() {
    let double = Double::start().await;
    let home = tempfile::tempdir().unwrap();
    let modal = carrier(&double.url, home.path(), false, double.tls()).await;
    assert_eq!(modal.live().way.describe(), "direct command routing");
    test_double::carries(&modal, modal.live().way.has_terminals().await).await;
    modal.close().await.unwrap();
    assert_eq!(double.ended(), ["sb-1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_token_of_the_router_is_renewed_and_a_broken_stream_taken_up() {
    let double = Double::start().await;
    let home = tempfile::tempdir().unwrap();
    let modal = carrier(&double.url, home.path(), false, double.tls()).await;
    double.expire();
    assert_eq!(
        test_double::run(&modal, test_double::order("echo renewed", &[])).await.output,
        b"renewed\n"
    );
    double.cut_streams_after(3);
    let said = test_double::run(
        &modal,
        test_double::order("for i in 1 2 3 4 5 6; do echo $i; sleep 0.05; done", &[]),
    );
    assert_eq!(said.await.output, b"1\n2\n3\n4\n5\n6\n");
    assert_eq!(double.starts_of("for i in"), 1, "no command runs twice");
}
