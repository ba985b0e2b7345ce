//! K1 to K13: the process dies at each of these points, twenty times, and the next one finds what the
//! table says: one answer, one question, or a repeat that says so.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use petasos_agent::{Act, Scripted};
use petasos_contract::message::Message;
use petasos_gateway::platform::{Arrival, ArrivalKind};
use petasos_gateway::{LoopbackMessage, LoopbackServer};
use petasos_sqlite::Store;
use petasos_store::{CursorStore as _, InboxState, InboxStore as _, RouteStore as _};
use tempfile::TempDir;
use tokio::sync::Notify;

use crate::mortal::When;
use crate::mortal::When::{After, Before};
use crate::world::{Config, World, forget_owner, holds, within};

/// So often each point is tried.
const ROUNDS: usize = 20;

fn echo() -> Scripted {
    Scripted::default().otherwise(|prompt, _| {
        let said = prompt.messages.iter().rev().find_map(|message| match message {
            Message::User { content } => Some(content.text()),
            _ => None,
        });
        Act::Say(format!("heard: {}", said.unwrap_or_default()))
    })
}

/// A process that dies at this point, and what it leaves.
struct Life {
    folder: TempDir,
    server: Arc<LoopbackServer>,
    /// The store of the process before: a process that is killed writes nothing afterwards.
    before: Mutex<Weak<Store>>,
}

impl Life {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), server: Arc::default(), before: Mutex::default() }
    }

    async fn begin(&self, model: Scripted, dies: Option<(&'static str, When, u32)>) -> World {
        let config = Config { dies, ..Config::allowing("una,ben") };
        self.begin_with(model, config).await
    }

    async fn begin_with(&self, model: Scripted, config: Config) -> World {
        // One more write of the process before is behind all that it had begun.
        let before = self.before.lock().upgrade();
        if let Some(before) = before {
            before.set_cursor("test", "", "last", "").await.unwrap();
        }
        forget_if_there(self.folder.path());
        let world = World::at(self.folder.path(), Arc::clone(&self.server), model, config).await;
        *self.before.lock() = Arc::downgrade(&world.store);
        world
    }

    /// The platform delivers until it is acknowledged; the process dies at its point.
    async fn dies_at(&self, point: (&'static str, When, u32), texts: &[&str]) {
        let world = self.begin(echo(), Some(point)).await;
        let deliver = async {
            for (at, text) in texts.iter().enumerate() {
                world.una(&at.to_string(), text).await;
                // The next one is written when this one is answered.
                holds("an answer", async || {
                    world.store.depths().await.unwrap().iter().all(|it| it.0.is_settled())
                })
                .await;
            }
            std::future::pending::<()>().await;
        };
        let died = tokio::time::timeout(Duration::from_mins(1), world.mortal.died());
        tokio::select! {
            died = died => assert!(died.is_ok(), "{point:?} is never reached"),
            () = deliver => {}
        }
    }

    /// The next process takes up what is there, and dies at this point: maybe while it starts.
    async fn dies_again(&self, point: (&'static str, When, u32)) {
        let died = Arc::new(Notify::new());
        let config = Config {
            dies: Some(point),
            died: Some(Arc::clone(&died)),
            ..Config::allowing("una,ben")
        };
        let lives = async {
            let _world = self.begin_with(echo(), config).await;
            std::future::pending::<()>().await;
        };
        let died = within("the death of a process that takes up the work", died.notified());
        tokio::select! { () = died => {}, () = lives => {} }
    }

    /// The next process, to which the platform delivers again what it was not told about.
    async fn lives_on(&self, texts: &[&str]) -> World {
        let world = self.begin(echo(), None).await;
        for (at, text) in texts.iter().enumerate() {
            world.una(&at.to_string(), text).await;
        }
        world
    }
}

fn forget_if_there(home: &std::path::Path) {
    if home.join("petasos.db").exists() {
        forget_owner(home);
    }
}

/// Waits until nothing is undone, and gives what stands in Una's chat.
async fn rests(world: &World) -> Vec<String> {
    for _ in 0..6000 {
        let depths = world.store.depths().await.unwrap();
        let undone = |(state, count): &(InboxState, u64)| {
            *count > 0 && (!state.is_settled() || *state == InboxState::Answered)
        };
        if !depths.iter().any(undone) {
            let sent = world.server.sent();
            return sent.iter().map(|it| it.text.clone()).collect();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    unreachable!("{:?}", world.store.depths().await.unwrap());
}

/// Dies at a point in the middle of one message: the next process leaves exactly one answer.
async fn one_answer(point: (&'static str, When, u32)) {
    for round in 0..ROUNDS {
        let life = Life::new();
        life.dies_at(point, &["hello"]).await;
        let world = life.lives_on(&["hello"]).await;
        assert_eq!(rests(&world).await, ["heard: hello"], "{point:?}, round {round}");
    }
}

#[tokio::test]
async fn s18_k1_k2_before_and_after_a_message_is_stored() {
    one_answer(("accept", Before, 0)).await;
    one_answer(("accept", After, 0)).await;
    one_answer(("bind_first", After, 0)).await;
}

#[tokio::test]
async fn s18_k3_k4_queued_and_running() {
    one_answer(("queue", After, 0)).await;
    one_answer(("claim", After, 0)).await;
}

#[tokio::test]
async fn s18_k8_k9_k12_between_the_answer_and_its_arrival() {
    one_answer(("finish", Before, 0)).await;
    one_answer(("finish", After, 0)).await;
    one_answer(("take_due", After, 0)).await;
    one_answer(("set_parts", After, 0)).await;
    // The platform drops a repeat with our token.
    one_answer(("part_sent", Before, 0)).await;
    one_answer(("part_sent", After, 0)).await;
    one_answer(("end_attempt", Before, 0)).await;
}

#[tokio::test]
async fn s18_k3_a_queue_keeps_its_order_over_a_death() {
    for _ in 0..ROUNDS {
        let life = Life::new();
        let config = Config {
            dies: Some(("queue", After, 4)),
            ..Config::allowing("una")
                .and(r#"{ "display": { "busy_input_mode": "queue", "quiet": true } }"#)
        };
        let hang = Scripted::default().otherwise(|_, _| Act::Hang(String::new()));
        let world = life.begin_with(hang, config).await;
        let texts = ["one", "two", "three", "four", "five"];
        let deliver = async {
            for (at, text) in texts.iter().enumerate() {
                world.una(&at.to_string(), text).await;
            }
            std::future::pending::<()>().await;
        };
        let died = within("the death of the process", world.mortal.died());
        tokio::select! { () = died => {}, () = deliver => {} }
        drop(world);
        let world = life.lives_on(&texts).await;
        let sent = rests(&world).await;
        let heard: Vec<&String> = sent.iter().filter(|it| it.starts_with("heard")).collect();
        assert_eq!(
            heard,
            ["heard: one", "heard: two", "heard: three", "heard: four", "heard: five"]
        );
    }
}

const LIST: &str = r#"{"todos": [{"id": "1", "content": "x", "status": "pending"}]}"#;

/// Searches once, then hangs.
fn stuck_after_a_call() -> Scripted {
    Scripted::new([Act::call("session_search", r#"{"query": "nothing"}"#)])
        .otherwise(|_, _| Act::Hang(String::new()))
}

#[tokio::test]
async fn s18_k5_between_two_calls_the_turn_goes_on() {
    for round in 0..ROUNDS {
        let life = Life::new();
        let world = life.begin(stuck_after_a_call(), None).await;
        world.una("0", "hello").await;
        holds("the second question", async || world.model.asked().len() >= 2).await;
        drop(world);
        let model = Scripted::default().otherwise(|prompt, _| {
            let results =
                prompt.messages.iter().filter(|it| matches!(it, Message::Tool(_))).count();
            Act::Say(format!("done with {results} result"))
        });
        let world = life.begin(model, None).await;
        world.una("0", "hello").await;
        assert_eq!(rests(&world).await, ["done with 1 result"], "round {round}");
        assert_eq!(world.model.asked().len(), 1, "no call is made again");
    }
}

#[tokio::test]
async fn s18_k6_a_call_without_a_result_is_asked_about_and_answered_once() {
    for round in 0..ROUNDS {
        let life = Life::new();
        let stuck = Scripted::default().otherwise(|_, _| Act::call("stuck", "{}"));
        let world = life.begin(stuck, None).await;
        world.una("0", "hello").await;
        // The note that the call begins is stored before it does.
        let begun = || {
            let direct = rusqlite::Connection::open(life.folder.path().join("petasos.db")).unwrap();
            let sql = "SELECT count(*) FROM calls WHERE ended = 0";
            direct.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap()
        };
        let begins = async {
            while begun() == 0 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let begins = tokio::time::timeout(Duration::from_mins(1), begins).await;
        assert!(begins.is_ok(), "the call never begins");
        drop(world);
        let model = Scripted::default().otherwise(|prompt, _| {
            let closed = prompt.messages.iter().rev().find_map(|message| match message {
                Message::Tool(result) => Some(result.content.text()),
                _ => None,
            });
            let unknown = closed.unwrap_or_default().contains("may not have taken effect");
            Act::Say(format!("unknown: {unknown}"))
        });
        let world = life.begin(model, None).await;
        world.una("0", "hello").await;
        let asked = world.texts("c-una", 1).await;
        assert!(asked[0].contains("stuck") && asked[0].contains("do not know"), "{asked:?}");
        assert!(world.model.asked().is_empty(), "nothing goes on by itself");
        let go = world.server.sent()[0].buttons[0].data.clone();
        for dedup in ["p0", "p1"] {
            let kind = ArrivalKind::Button(go.clone());
            let press = Arrival { kind, ..Arrival::text("c-una", "una", dedup, "") };
            assert!(world.server.give(press).await);
        }
        let sent = world.texts("c-una", 2).await;
        assert_eq!(sent[1..], ["unknown: true"], "round {round}");
        assert_eq!(rests(&world).await.len(), 2, "one question and one answer");
    }
}

#[tokio::test]
async fn s18_a_reply_and_its_answer_are_stored_in_one_step() {
    let life = Life::new();
    life.dies_at(("finish", Before, 0), &["hello"]).await;
    let direct = rusqlite::Connection::open(life.folder.path().join("petasos.db")).unwrap();
    let count = |sql: &str| direct.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM messages WHERE role = 'assistant'"), 1);
    assert_eq!(count("SELECT count(*) FROM inbox WHERE state IN ('answered', 'delivered')"), 1);
    assert_eq!(count("SELECT count(*) FROM outbox WHERE body = 'heard: hello'"), 1);
    // Where the answer cannot be planned, the reply is not stored either: the turn runs again.
    drop(direct);
    let life = Life::new();
    let world = life.begin(echo(), None).await;
    let direct = rusqlite::Connection::open(life.folder.path().join("petasos.db")).unwrap();
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON outbox WHEN new.class = 'final' \
                  BEGIN SELECT RAISE(ABORT, 'no room'); END";
    direct.execute_batch(refuse).unwrap();
    world.una("0", "hello").await;
    let failed = async {
        while world.model.asked().is_empty() || world.gateway.status().await.unwrap().working > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_mins(1), failed).await.is_ok());
    let count = |sql: &str| direct.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM messages WHERE role = 'assistant'"), 0);
    direct.execute_batch("DROP TRIGGER refuse").unwrap();
    drop((world, direct));
    let world = life.lives_on(&["hello"]).await;
    assert_eq!(rests(&world).await, ["heard: hello"]);
}

#[tokio::test]
async fn s18_s66_k7_an_open_card_works_after_the_restart() {
    for _ in 0..ROUNDS {
        let life = Life::new();
        let asks = || {
            Scripted::default().otherwise(|prompt, _| match prompt.messages.last() {
                Some(Message::Tool(_)) => Act::say("listed"),
                _ => Act::call("todo", LIST),
            })
        };
        let world = life.begin(asks(), None).await;
        world.una("0", "make a list").await;
        let card = |sent: &[LoopbackMessage]| sent.iter().any(|it| !it.buttons.is_empty());
        let data = world.until("a card", card).await[0].buttons[0].data.clone();
        // Whoever dies no longer waits for the answer.
        world.sessions.questions().suspend();
        drop(world);
        let world = life.begin(asks(), None).await;
        let press =
            Arrival { kind: ArrivalKind::Button(data), ..Arrival::text("c-una", "una", "p", "") };
        // The card is known once its session is open again.
        let pressed = async {
            while !world.server.words().last().is_some_and(|word| word.contains("allowed")) {
                let dedup = format!("p{}", world.server.words().len());
                assert!(world.server.give(Arrival { dedup, ..press.clone() }).await);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let pressed = tokio::time::timeout(Duration::from_secs(30), pressed).await;
        assert!(pressed.is_ok(), "{:?}", world.server.words().last());
        let sent = rests(&world).await;
        assert_eq!(
            sent.iter().filter(|it| it.contains("needs your consent")).count(),
            1,
            "{sent:?}"
        );
        assert_eq!(sent.iter().filter(|it| *it == "listed").count(), 1, "{sent:?}");
    }
}

#[tokio::test]
async fn s67_a_call_that_is_not_what_was_asked_about_is_asked_anew() {
    let life = Life::new();
    let asks = || {
        Scripted::default().otherwise(|prompt, _| match prompt.messages.last() {
            Some(Message::Tool(_)) => Act::say("listed"),
            _ => Act::call("todo", LIST),
        })
    };
    let world = life.begin(asks(), None).await;
    world.una("0", "make a list").await;
    let cards = |sent: &[LoopbackMessage]| -> Vec<String> {
        let cards = sent.iter().filter(|it| it.text.contains("needs your consent"));
        cards.map(|it| it.buttons[0].data.clone()).collect()
    };
    let old = cards(&world.until("a card", |sent| cards(sent).len() == 1).await).remove(0);
    world.sessions.questions().suspend();
    drop(world);
    // What would run now is something else than what the card shows.
    let direct = rusqlite::Connection::open(life.folder.path().join("petasos.db")).unwrap();
    direct.busy_timeout(Duration::from_secs(30)).unwrap();
    let other = "UPDATE questions SET digest = CASE substr(digest, 1, 1) WHEN '0' THEN '1' \
                 ELSE '0' END || substr(digest, 2)";
    assert_eq!(direct.execute(other, []).unwrap(), 1);
    drop(direct);
    let world = life.begin(asks(), None).await;
    let both = cards(&world.until("another card", |sent| cards(sent).len() == 2).await);
    assert_ne!(both[0], both[1]);
    let press = |data: &str, dedup: &str| Arrival {
        kind: ArrivalKind::Button(data.to_owned()),
        ..Arrival::text("c-una", "una", dedup, "")
    };
    assert!(world.server.give(press(&old, "p0")).await);
    let told = world.server.words().last().cloned().unwrap_or_default();
    assert!(!told.contains("allowed"), "{told}");
    assert!(!world.server.sent().iter().any(|it| it.text == "listed"), "nothing ran");
    assert!(world.server.give(press(&both[1], "p1")).await);
    world.until("the answer", |sent| sent.iter().any(|it| it.text == "listed")).await;
}

#[tokio::test]
async fn s18_k10_some_parts_are_there_and_the_rest_follows() {
    for _ in 0..ROUNDS {
        let life = Life::new();
        let long = || Scripted::default().otherwise(|_, _| Act::Say("word ".repeat(1000)));
        let world = life.begin(long(), Some(("part_sent", After, 1))).await;
        let deliver = async {
            world.una("0", "tell me").await;
            std::future::pending::<()>().await;
        };
        let died = within("the death of the process", world.mortal.died());
        tokio::select! { () = died => {}, () = deliver => {} }
        drop(world);
        let world = life.begin(long(), None).await;
        let sent = rests(&world).await;
        let words: usize = sent.iter().map(|it| it.matches("word").count()).sum();
        assert_eq!(words, 1000, "whole and once: {} parts", sent.len());
    }
}

#[tokio::test]
async fn s18_k13_a_command_takes_effect_once() {
    for round in 0..ROUNDS {
        // Its effect is there, and its answer is not.
        let life = Life::new();
        life.dies_at(("finish", Before, 1), &["hello", "/new now"]).await;
        let world = life.begin(echo(), None).await;
        let session = world.store.routes_of("loopback", 1).await.unwrap()[0].session.clone();
        world.una("1", "/new now").await;
        let sent = rests(&world).await;
        assert_eq!(sent.iter().filter(|it| it.contains("New conversation")).count(), 1, "{sent:?}");
        let now = world.store.routes_of("loopback", 1).await.unwrap()[0].session.clone();
        assert_eq!(session, now, "round {round}: one new conversation");
        drop(world);
        // What cannot be done twice is not.
        let life = Life::new();
        life.dies_at(("recast", Before, 0), &["one", "two", "/retry"]).await;
        let world = life.lives_on(&["one", "two", "/retry"]).await;
        let sent = rests(&world).await;
        let told = sent.iter().filter(|it| it.contains("interrupted during /retry")).count();
        assert_eq!(told, 1, "{sent:?}");
        for heard in ["heard: one", "heard: two"] {
            assert_eq!(sent.iter().filter(|it| *it == heard).count(), 1, "{sent:?}");
        }
    }
}

#[tokio::test]
async fn s61_a_restart_is_answered_before_and_told_after_and_once() {
    let life = Life::new();
    let config = || Config::allowing("una").and(r#"{ "gateway": { "owner": "loopback:una" } }"#);
    let world = life.begin_with(echo(), config()).await;
    world.una("0", "/restart").await;
    let asked =
        tokio::time::timeout(Duration::from_mins(1), world.gateway.asked_to_restart()).await;
    assert!(asked.is_ok());
    world.gateway.drain().await;
    assert_eq!(world.server.sent()[0].text, "Restarting; what you write meanwhile is kept.");
    drop(world);
    for _ in 0..2 {
        let world = life.begin_with(echo(), config()).await;
        world.una("0", "/restart").await;
        world.texts("c-una", 2).await;
        let again =
            tokio::time::timeout(Duration::from_millis(200), world.gateway.asked_to_restart());
        assert!(again.await.is_err(), "a repeated event restarts nothing");
        let texts: Vec<String> = world.server.sent().iter().map(|it| it.text.clone()).collect();
        assert_eq!(texts[1..], ["I am back."]);
    }
}

#[tokio::test]
async fn s33_three_cut_restarts_hold_a_message_and_the_next_one_frees_the_chat() {
    let life = Life::new();
    life.dies_at(("claim", After, 0), &["hello"]).await;
    for _ in 0..2 {
        life.dies_again(("claim", After, 0)).await;
    }
    let world = life.begin(echo(), None).await;
    let held = world.texts("c-una", 1).await;
    assert!(held[0].contains("again and again"), "{held:?}");
    assert!(world.model.asked().is_empty(), "nothing resumes by itself");
    world.una("1", "are you there?").await;
    let freed = world.texts("c-una", 2).await;
    assert_eq!(freed[1], "heard: are you there?");
}
