//! Sending on request: every target syntax, names that are not guessed, and what a sender is told.

use std::sync::Arc;
use std::time::Duration;

use petasos_agent::Scripted;
use petasos_contract::delivery::{Delivered, Deliveries as _, Parcel, Receipt, TargetError};
use petasos_contract::{Address, Settings};
use petasos_gateway::platform::{Arrival, SendError};
use petasos_gateway::{LoopbackServer, PLATFORMS, Post, PostHost};
use petasos_net::Net;
use petasos_sqlite::{OpenOptions, Store};
use petasos_store::{AccessStore as _, GatewayStore, Lane, OutboxStore as _};

use crate::world::{Config, World, settings};

struct Home {
    store: Arc<Store>,
    running: bool,
    stopped: bool,
}

impl PostHost for Home {
    fn store(&self) -> Result<Arc<dyn GatewayStore>, String> {
        Ok(Arc::clone(&self.store) as _)
    }

    fn is_gateway_running(&self) -> bool {
        self.running
    }

    fn stopped(&self) -> Option<String> {
        self.stopped.then(|| "una".to_owned())
    }
}

fn lane(chat: &str, thread: Option<&str>) -> Lane {
    Lane {
        platform: "loopback".to_owned(),
        account: "bot".to_owned(),
        chat: chat.to_owned(),
        thread: thread.map(str::to_owned),
    }
}

/// A post on the platform inside, with or without a gateway that runs.
fn post(store: &Arc<Store>, server: &Arc<LoopbackServer>, running: bool) -> Post {
    let folder = std::env::temp_dir();
    let around = settings(&folder, &Config::default());
    let host = Home { store: Arc::clone(store), running, stopped: false };
    Post::new(Arc::new(host), around, Arc::new(Net::default()), Vec::new())
        .with_account(LoopbackServer::def(), server.account("bot"))
}

fn alone() -> (tempfile::TempDir, Arc<Store>, Arc<LoopbackServer>) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&OpenOptions::new(folder.path().join("petasos.db"))).unwrap();
    (folder, Arc::new(store), Arc::default())
}

async fn send(post: &Post, target: &str, token: &str, text: &str) -> Receipt {
    let to = post.resolve(target, &nowhere()).await.unwrap();
    let wait = Duration::from_secs(30);
    let parcel = Parcel { to, text: text.to_owned(), token: token.to_owned(), wait };
    post.deliver(parcel).await.unwrap()
}

fn nowhere() -> Address {
    Address::chat("cli", "s1")
}

#[tokio::test]
async fn s98_every_target_syntax_leads_somewhere() {
    let (folder, store, _) = alone();
    let config = Config {
        variables: [
            ("TELEGRAM_BOT_TOKEN", "42:abc"),
            ("TELEGRAM_HOME_CHANNEL", "-1007"),
            ("TELEGRAM_HOME_CHANNEL_THREAD_ID", "9"),
            ("MATRIX_HOMESERVER", "http://127.0.0.1:1"),
            ("MATRIX_ACCESS_TOKEN", "t"),
            ("MATRIX_HOME_ROOM", "!home:example.org"),
            ("EMAIL_ADDRESS", "bot@example.org"),
            ("EMAIL_PASSWORD", "p"),
            ("EMAIL_IMAP_HOST", "127.0.0.1"),
            ("EMAIL_SMTP_HOST", "127.0.0.1"),
            ("EMAIL_HOME_ADDRESS", "Me@Example.org"),
            ("IRC_SERVER", "127.0.0.1"),
            ("IRC_CHANNEL", "#here"),
            ("IRC_NICKNAME", "bot"),
            ("MQTT_URL", "mqtt://127.0.0.1"),
            ("NTFY_TOPIC", "topic"),
            ("NTFY_SERVER", "http://127.0.0.1:1"),
        ]
        .map(|(name, value)| (name, value.to_owned()))
        .to_vec(),
        ..Config::default()
    };
    let around: Arc<Settings> = settings(folder.path(), &config);
    let platforms = PLATFORMS.iter().copied().filter(|def| def.name != "loopback").collect();
    let host = Home { store, running: false, stopped: false };
    let post = Post::new(Arc::new(host), around, Arc::new(Net::default()), platforms);
    for (target, leads_to) in [
        ("telegram", "telegram:-1007:9"),
        ("telegram:12345", "telegram:12345"),
        ("Telegram:-100123:17", "telegram:-100123:17"),
        ("telegram:@channel", "telegram:@channel"),
        ("matrix", "matrix:!home:example.org"),
        ("matrix:!a:example.org", "matrix:!a:example.org"),
        (
            "matrix:!a:example.org:8448:$root:example.org",
            "matrix:!a:example.org:8448:$root:example.org",
        ),
        ("email", "email:me@example.org"),
        ("email:You@Example.org", "email:you@example.org"),
        ("irc:#general", "irc:#general"),
        ("irc:una", "irc:una"),
        ("mqtt:kitchen", "mqtt:kitchen"),
        ("ntfy:other", "ntfy:other"),
    ] {
        let found = post.resolve(target, &nowhere()).await.unwrap();
        assert_eq!(found.to_string(), leads_to, "{target}");
        assert_eq!(found.home, !target.contains(':'), "{target}");
    }
    let thread = post.resolve("matrix:!a:b.org:$r", &nowhere()).await.unwrap();
    assert_eq!((thread.chat.as_str(), thread.thread.as_deref()), ("!a:b.org", Some("$r")));
    for target in
        ["irc", "mqtt", "telegram:Family", "matrix:#general", "slack", "origin", "email:x"]
    {
        let refused = post.resolve(target, &nowhere()).await.unwrap_err();
        assert!(matches!(refused, TargetError::NotFound { .. }), "{target}: {refused}");
    }
}

#[tokio::test]
async fn e141_names_are_looked_up_and_never_guessed() {
    let (_folder, store, server) = alone();
    for (chat, name) in [("g1", "General"), ("g2", "Family"), ("g3", "family")] {
        store.know_target(&lane(chat, None), name).await.unwrap();
    }
    store.set_home(&lane("c-una", Some("t")), "Una").await.unwrap();
    let post = post(&store, &server, false);
    let to = async |target: &str| post.resolve(target, &Address::chat("loopback", "c-ben")).await;
    assert_eq!(to("loopback:#general").await.unwrap().to_string(), "loopback:g1");
    assert_eq!(to("loopback").await.unwrap().to_string(), "loopback:c-una:t");
    assert_eq!(to("origin").await.unwrap().to_string(), "loopback:c-ben");
    let Err(TargetError::Ambiguous { mut candidates, .. }) = to("loopback:#Family").await else {
        unreachable!("two places have that name");
    };
    candidates.sort();
    assert_eq!(candidates, ["loopback:g2", "loopback:g3"]);
    let Err(TargetError::NotFound { candidates, .. }) = to("loopback:#genral").await else {
        unreachable!("no place has that name");
    };
    assert!(candidates.contains(&"loopback:g1 (General)".to_owned()), "{candidates:?}");
    let listed = post.destinations().await.unwrap();
    assert_eq!(listed.iter().filter(|it| it.home).count(), 1);
    assert_eq!(listed.len(), 4);
}

#[tokio::test]
async fn a_running_gateway_sends_what_another_part_plans() {
    let world = World::new(Scripted::default()).await;
    let post = post(&world.store, &world.server, true);
    let long = "word ".repeat(900);
    let receipt = send(&post, "loopback:c-ben", "k1", &long).await;
    assert_eq!(receipt.outcome, Delivered::Sent);
    assert_eq!((receipt.parts, receipt.messages.len()), (3, 3));
    assert!(receipt.note.is_none());
    // The same token is one message, whoever asks again.
    let again = send(&post, "loopback:c-ben", "k1", &long).await;
    assert_eq!(again.messages, receipt.messages);
    assert_eq!(world.server.sent().len(), 3);
}

#[tokio::test]
async fn a_reply_goes_to_the_thread_that_asked() {
    let world = World::new(Scripted::default()).await;
    let thread =
        Arrival { thread: Some("t7".to_owned()), ..Arrival::text("c-una", "una", "1", "/whoami") };
    assert!(world.server.give(thread).await);
    world.texts("c-una", 1).await;
    let post = post(&world.store, &world.server, true);
    let mut origin = Address::chat("loopback", "c-una");
    origin.thread = Some("t7".into());
    let to = post.resolve("origin", &origin).await.unwrap();
    assert!(to.is_at(&origin));
    assert_eq!(to.kind, "dm");
}

#[tokio::test]
async fn without_a_gateway_it_is_sent_here_and_once() {
    let (folder, store, server) = alone();
    let post = post(&store, &server, false);
    let receipt = send(&post, "loopback:c-una", "k1", "hello").await;
    assert_eq!(
        (receipt.outcome, receipt.messages.as_slice()),
        (Delivered::Sent, ["m1".to_owned()].as_slice())
    );
    server.fail([SendError::Unreachable("no such chat".to_owned())]);
    let failed = send(&post, "loopback:gone", "k2", "hello").await;
    assert_eq!(failed.outcome, Delivered::Failed);
    assert!(failed.note.unwrap().contains("no such chat"));
    server.fail([SendError::Ambiguous("the line broke".to_owned())]);
    let unknown = send(&post, "loopback:c-una", "k3", "hello").await;
    assert_eq!(unknown.outcome, Delivered::Unknown);
    assert_eq!(server.sent().len(), 2, "not tried again");
    let secret = folder.path().join("petasos.db");
    let receipt =
        send(&post, "loopback:c-una", "k4", &format!("see\nMEDIA:{}", secret.display())).await;
    assert!(receipt.note.unwrap().contains("was not sent") && receipt.media.is_empty());
    assert!(!store.delivery_of("k4").await.unwrap().unwrap().delivery.body.contains("MEDIA:"));
}

#[tokio::test]
async fn nothing_leaves_while_everything_is_stopped() {
    let (folder, store, server) = alone();
    let host = Home { store: Arc::clone(&store), running: false, stopped: true };
    let around = settings(folder.path(), &Config::default());
    let post = Post::new(Arc::new(host), around, Arc::new(Net::default()), Vec::new())
        .with_account(LoopbackServer::def(), server.account("bot"));
    let to = post.resolve("loopback:c-una", &nowhere()).await.unwrap();
    let parcel = Parcel { to, text: "x".to_owned(), token: "k".to_owned(), wait: Duration::ZERO };
    let refused = post.deliver(parcel).await.unwrap_err();
    assert!(refused.contains("petasos resume"), "{refused}");
    assert!(store.delivery_of("k").await.unwrap().is_none() && server.sent().is_empty());
}
