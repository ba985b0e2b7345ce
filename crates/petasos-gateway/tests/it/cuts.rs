//! Telegram's server in trouble: another reader, connections that break, updates that make no sense.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use petasos_contract::wait::Owned;
use petasos_gateway::AccountState;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::telegram::{BotApi, TOKEN, config, echo};
use crate::world::{Config, World, holds};

/// Passes connections on and cuts all of them at a word.
struct Cutter {
    url: String,
    cut: Arc<Notify>,
    opened: Arc<AtomicUsize>,
    _task: Owned<()>,
}

impl Cutter {
    async fn before(url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap().to_string();
        let server = url.trim_start_matches("http://").trim_end_matches("/bot").to_owned();
        let (cut, opened) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let (cuts, count) = (Arc::clone(&cut), Arc::clone(&opened));
        let task = Owned::start(async move {
            let mut open = Vec::new();
            loop {
                let (mut near, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::Relaxed);
                let (cuts, server) = (Arc::clone(&cuts), server.clone());
                open.push(Owned::start(async move {
                    let Ok(mut far) = TcpStream::connect(&server).await else { return };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                        () = cuts.notified() => {}
                    }
                }));
            }
        });
        Self { url: format!("http://{own}/bot"), cut, opened, _task: task }
    }
}

fn account(status: &petasos_gateway::GatewayStatus) -> &petasos_gateway::AccountStatus {
    status.accounts.iter().find(|it| it.platform == "telegram").unwrap()
}

#[tokio::test]
async fn s84_another_reader_is_named_waited_for_and_outlived() {
    let api = BotApi::new().await;
    api.conflict(1);
    api.message(1, 7, "hello");
    let world = World::with(echo(), config(&api.url)).await;
    let named = async {
        loop {
            let status = world.gateway.status().await.unwrap();
            if let AccountState::Retrying(why) = &account(&status).state {
                assert!(why.contains("4242") && !why.contains(TOKEN), "{why}");
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_mins(1), named).await.is_ok());
    let begun = Instant::now();
    api.until("the answer, once the other one is gone", |sent| sent.len() == 1).await;
    assert!(begun.elapsed() > Duration::from_secs(5), "no storm of tries");
    assert!(api.polled() <= 4, "one try, a pause, and those that succeeded: {}", api.polled());
}

#[tokio::test]
async fn s82_cut_connections_lose_nothing_and_do_not_lead_to_a_storm() {
    const ALL: i64 = 12;
    let api = BotApi::new().await;
    let cutter = Cutter::before(&api.url).await;
    let values = json!({
        "telegram": { "base_url": cutter.url, "base_file_url": cutter.url, "poll_seconds": 2 },
        "display": {
            "busy_input_mode": "queue", "quiet": true,
            "platforms": { "telegram": { "streaming": false } },
        },
    });
    let values = Box::leak(values.to_string().into_boxed_str());
    let world = World::with(echo(), Config { values, ..config(&cutter.url) }).await;
    let begun = Instant::now();
    for id in 1..=ALL {
        api.message(id, 7, &format!("m{id}."));
        if id % 3 == 0 {
            cutter.cut.notify_waiters();
        }
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
    let answered = |sent: &[serde_json::Value], id: i64| {
        let part = format!("m{id}.");
        sent.iter().filter(|it| it["text"].as_str().unwrap().contains(&part)).count()
    };
    let sent = api.until("every answer", |sent| (1..=ALL).all(|id| answered(sent, id) > 0)).await;
    for id in 1..=ALL {
        let doubled = answered(&sent, id) > 1;
        let part = format!("m{id}.");
        let labelled = sent.iter().any(|it| {
            let text = it["text"].as_str().unwrap();
            text.contains(&part) && text.contains("(may repeat")
        });
        assert!(!doubled || labelled, "m{id} came twice without a word: {sent:#?}");
    }
    let status = world.gateway.status().await.unwrap();
    let minutes = begun.elapsed().as_secs_f64() / 60.0;
    let most = 8.0 * minutes.max(1.0);
    let reconnects = account(&status).reconnects;
    assert!(f64::from(u32::try_from(reconnects).unwrap()) <= most, "{reconnects} in {minutes}");
    assert!(cutter.opened.load(Ordering::Relaxed) > 1, "connections were really cut");
}

#[tokio::test]
async fn updates_that_make_no_sense_disturb_nobody() {
    let api = BotApi::new().await;
    let odd = [
        json!({ "message": "no object" }),
        json!({ "message": { "message_id": 1 } }),
        json!({ "message": { "message_id": [], "date": "x", "from": 7, "chat": null, "text": 5 } }),
        json!({ "callback_query": { "id": 1, "data": {} } }),
        json!({ "something_new": { "chat": { "id": 7 } } }),
        json!({}),
    ];
    for (id, update) in (1..).zip(&odd) {
        api.update(id, update);
    }
    api.message(50, 7, "\u{202e}abc\u{200b} שלום");
    let world = World::with(echo(), config(&api.url)).await;
    let sent = api.until("the answer", |sent| sent.len() == 1).await;
    let text = sent[0]["text"].as_str().unwrap();
    assert!(text.contains("שלום") && !text.contains('\u{202e}'), "t16: {text:?}");
    let status = world.gateway.status().await.unwrap();
    assert!(matches!(account(&status).state, AccountState::Connected), "{status:?}");
}

#[tokio::test]
async fn a_person_lets_an_account_rest_and_go_on_and_one_that_gave_up_is_tried_again() {
    let api = BotApi::new().await;
    let mut with = config(&api.url);
    with.variables.push(("LOOPBACK_ALLOWED_USERS", "una".to_owned()));
    let folder = tempfile::tempdir().unwrap();
    let at = |config| World::at(folder.path(), Arc::default(), echo(), config);
    let world = at(with).await;
    let state = |world: &World| {
        let accounts = world.gateway.accounts();
        accounts.iter().find(|it| it.def.name == "telegram").unwrap().state().0
    };
    holds("a connection", async || state(&world) == AccountState::Connected).await;
    world.una("1", "/platform pause telegram").await;
    holds("a rest", async || state(&world) == AccountState::Paused).await;
    api.message(1, 7, "are you there?");
    // It rests after a restart, too.
    drop(world);
    crate::world::forget_owner(folder.path());
    let mut with = config(&api.url);
    with.variables.push(("LOOPBACK_ALLOWED_USERS", "una".to_owned()));
    let world = at(with).await;
    holds("a rest", async || state(&world) == AccountState::Paused).await;
    assert!(api.sent().is_empty(), "nobody reads");
    world.una("2", "/platform resume telegram").await;
    api.until("an answer to what waited", |sent| sent.len() == 1).await;
    world.una("3", "/platform resume nothing").await;
    world
        .until("a list", |sent| sent.iter().any(|it| it.text.contains("no account `nothing`")))
        .await;
    // An account that gave up is tried again when a person says so.
    let mut wrong = config(&api.url);
    wrong.variables[0].1 = "4242:wrong".to_owned();
    wrong.variables.push(("LOOPBACK_ALLOWED_USERS", "una".to_owned()));
    let world = World::with(echo(), wrong).await;
    holds("the end", async || matches!(state(&world), AccountState::Fatal(_))).await;
    let since = |world: &World| {
        let accounts = world.gateway.accounts();
        accounts.iter().find(|it| it.def.name == "telegram").unwrap().state().2
    };
    let before = since(&world);
    world.una("1", "/platform resume telegram").await;
    holds("another try", async || since(&world) > before).await;
}
