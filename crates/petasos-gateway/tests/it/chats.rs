//! Whole chats: from an arrival at the platform to what arrives back.

use std::sync::Arc;
use std::time::Duration;

use petasos_agent::{Act, Scripted};
use petasos_contract::message::Message;
use petasos_gateway::LoopbackMessage;
use petasos_gateway::platform::{Arrival, ArrivalKind, SendError, Sender};
use petasos_store::{
    ChatKind, InboxState, InboxStore as _, MediaFile, OutboxStore as _, RouteStore as _,
};

use crate::world::{Config, World, forget_owner, holds};

/// Answers with the last thing it was told.
fn echo() -> Scripted {
    Scripted::default().otherwise(|prompt, _| {
        let last = prompt.messages.iter().rev().find_map(|message| match message {
            Message::User { content } => Some(content.text()),
            _ => None,
        });
        Act::Say(format!("heard: {}", last.unwrap_or_default()))
    })
}

fn group(sender: &str, dedup: &str, text: &str) -> Arrival {
    Arrival { chat_kind: ChatKind::Group, ..Arrival::text("g1", sender, dedup, text) }
}

async fn settled(world: &World, count: u64) {
    // The state of a message follows its delivery by one write.
    for _ in 0..2000 {
        let depths = world.store.depths().await.unwrap();
        let undone = depths.iter().any(|(state, count)| !state.is_settled() && *count > 0);
        let delivered: u64 = depths
            .iter()
            .filter(|(state, _)| *state == InboxState::Delivered)
            .map(|(_, n)| n)
            .sum();
        if !undone && delivered >= count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    unreachable!("{:?}", world.store.depths().await.unwrap());
}

#[tokio::test]
async fn a_message_is_answered_once_and_in_its_chat() {
    let world = World::new(echo()).await;
    world.una("1", "hello").await;
    world.una("1", "hello").await;
    assert_eq!(world.texts("c-una", 1).await, ["heard: hello"]);
    world.una("2", "again").await;
    assert_eq!(world.texts("c-una", 2).await, ["heard: hello", "heard: again"]);
    settled(&world, 2).await;
    assert_eq!(world.store.delivery_depths().await.unwrap().len(), 1, "nothing but what was sent");
    let status = world.gateway.status().await.unwrap();
    assert_eq!((status.counts["accepted"], status.counts["repeated"]), (2, 1));
}

#[tokio::test]
async fn s52_e135_a_voice_message_is_its_words_and_a_failure_does_not_stop_the_turn() {
    let world = World::new(echo()).await;
    // What was understood is shown before the answer, without secrets.
    for (dedup, name, count) in [("1", "good.ogg", 2), ("2", "bad.ogg", 3), ("3", "off.ogg", 4)] {
        assert!(world.server.give(spoken(dedup, name)).await);
        world.texts("c-una", count).await;
    }
    let texts = world.texts("c-una", 4).await;
    assert_eq!(texts[0], "🎙️ \"open the door, ••••\"");
    assert!(texts[1].contains("spoken\\] open the door"), "{texts:?}");
    assert!(texts[1].contains("good.ogg"), "the path is told: {texts:?}");
    assert!(texts[2].contains("voice message, not transcribed: timeout"), "{texts:?}");
    assert!(texts[3].contains("voice message of 7 s"), "{texts:?}");
    assert!(texts[3].contains("off.ogg"), "the path is told: {texts:?}");
    for advice in ["stt", "install", "whisper", "setting"] {
        assert!(!texts.concat().contains(advice), "{texts:?}");
    }
}

/// A voice message of this name.
fn spoken(dedup: &str, name: &str) -> Arrival {
    let path = format!("/nowhere/{name}");
    let media = vec![MediaFile { path, mime: "audio/ogg".to_owned(), name: name.to_owned() }];
    Arrival { media, ..Arrival::text("c-una", "una", dedup, "") }
}

#[tokio::test]
async fn e135_what_was_understood_is_not_shown_where_that_is_not_wanted() {
    let config = Config::allowing("una").and(r#"{"stt": {"echo_transcripts": false}}"#);
    let world = World::with(echo(), config).await;
    assert!(world.server.give(spoken("1", "good.ogg")).await);
    let texts = world.texts("c-una", 1).await;
    assert!(texts[0].contains("spoken\\] open the door"), "{texts:?}");
}

#[tokio::test]
async fn s2_s3_people_in_a_group_have_sessions_of_their_own_and_threads_are_shared() {
    let world = World::new(echo()).await;
    let people = [("una", None), ("ben", None), ("una", Some("t")), ("ben", Some("t"))];
    for (at, (who, thread)) in people.into_iter().enumerate() {
        let message = group(who, &at.to_string(), "hi");
        assert!(world.server.give(Arrival { thread: thread.map(str::to_owned), ..message }).await);
        world.texts("g1", at + 1).await;
    }
    world.texts("g1", 4).await;
    let routes = world.store.routes_of("loopback", 10).await.unwrap();
    let mut keys: Vec<String> = routes.iter().map(|route| route.key.to_string()).collect();
    keys.sort();
    assert_eq!(
        keys,
        [
            "agent:main:loopback:group:g1:ben",
            "agent:main:loopback:group:g1:t",
            "agent:main:loopback:group:g1:una"
        ]
    );
    let shared = world.server.sent().into_iter().find(|it| it.text.contains("[una")).is_some();
    assert!(shared, "in a shared thread the model sees who speaks: {:?}", world.server.sent());
    let nobody =
        Arrival { chat: String::new(), sender: Sender::default(), ..group("x", "9", "hi") };
    assert!(world.server.give(nobody).await, "neither chat nor person: no session");
    assert_eq!(world.store.routes_of("loopback", 10).await.unwrap().len(), 3);
}

#[tokio::test]
async fn s35_t1_t2_a_stranger_moves_nothing_and_leaves_no_trace() {
    let acts = [Act::Hang("thinking".to_owned()), Act::say("done")];
    let config = Config::allowing("una").and(r#"{"gateway": {"group_sessions_per_user": false}}"#);
    let world = World::with(Scripted::new(acts), config).await;
    assert!(world.server.give(group("una", "1", "work")).await);
    until_working(&world).await;
    for (dedup, text) in [("2", "stop that"), ("3", "/stop"), ("4", "yes"), ("5", "/approve")] {
        assert!(
            world.server.give(group("eve", dedup, text)).await,
            "acknowledged, so that it is not sent again"
        );
    }
    let status = world.gateway.status().await.unwrap();
    assert_eq!(
        (status.counts["strangers"], status.inbox.get("running"), status.inbox.len()),
        (4, Some(&1), 1)
    );
    assert!(world.server.sent().is_empty(), "silence in a group");
    assert!(world.server.give(group("una", "6", "/stop")).await);
    assert_eq!(world.texts("g1", 1).await, ["Stopped."]);
}

async fn until_working(world: &World) {
    until_asked(world, 1).await;
}

#[tokio::test]
async fn s8_a_message_during_a_turn_waits_steers_or_interrupts_and_ends_once() {
    for (mode, texts) in [
        ("interrupt", vec!["second"]),
        ("queue", vec!["Queued behind 1.", "first", "second"]),
        ("steer", vec!["The running turn gets this.", "first", "second"]),
    ] {
        let acts = if mode == "interrupt" {
            vec![Act::Hang("x".to_owned()), Act::say("second")]
        } else {
            vec![
                Act::After(Duration::from_millis(300), Box::new(Act::say("first"))),
                Act::say("second"),
            ]
        };
        let world = World::new(Scripted::new(acts)).await;
        world.una("0", &format!("/busy {mode}")).await;
        world.texts("c-una", 1).await;
        world.una("1", "one").await;
        until_working(&world).await;
        world.una("2", "two").await;
        let expected = if mode == "steer" { 2 } else { texts.len() } + 1;
        let seen = world.texts("c-una", expected).await;
        if mode == "steer" {
            assert!(seen.contains(&"second".to_owned()), "{mode}: {seen:?}");
        } else {
            assert_eq!(seen.get(1..).unwrap(), texts, "{mode}");
        }
    }
}

#[tokio::test]
async fn s10_the_queue_is_bounded_and_says_so() {
    let world =
        World::new(Scripted::new([Act::Hang("x".to_owned())]).otherwise(|_, _| Act::say("ok")))
            .await;
    world.una("b", "/busy queue").await;
    world.texts("c-una", 1).await;
    world.una("0", "long work").await;
    until_working(&world).await;
    for number in 1..=33 {
        world.una(&number.to_string(), "more").await;
    }
    let seen = world
        .until("a refusal", |sent| sent.iter().any(|it| it.text.contains("queue is full")))
        .await;
    assert!(seen.iter().any(|it| it.text.contains("(32)")), "{seen:?}");
    let depths = world.store.depths().await.unwrap();
    assert!(depths.contains(&(InboxState::RefusedFull, 1)), "{depths:?}");
    world.una("s", "/stop").await;
    world
        .until("the end", |sent| sent.iter().any(|it| it.text.contains("32 waiting messages")))
        .await;
}

fn calls_todo() -> Act {
    Act::call("todo", r#"{"todos": [{"id": "1", "content": "x", "status": "pending"}]}"#)
}

#[tokio::test]
async fn s64_s65_t3_t4_t5_a_card_is_answered_by_its_button_and_by_nobody_else() {
    let config = Config::allowing("una,ben");
    let world = World::with(Scripted::new([calls_todo(), Act::say("listed")]), config).await;
    assert!(world.server.give(group("una", "1", "make a list")).await);
    let cards = world.until("a card", |sent| sent.len() == 1).await;
    let card = &cards[0];
    assert!(
        card.text.contains("needs your consent")
            && card.text.contains("because it changes the list"),
        "{}",
        card.text
    );
    let labels: Vec<&str> = card.buttons.iter().map(|it| it.label.as_str()).collect();
    assert_eq!(labels, ["Once", "Session", "Always", "Deny"]);
    let press = |who: &str, chat: &str, data: &str, dedup: &str| Arrival {
        kind: ArrivalKind::Button(data.to_owned()),
        chat_kind: ChatKind::Group,
        ..Arrival::text(chat, who, dedup, "")
    };
    let once = card.buttons[0].data.clone();
    assert!(once.len() <= 64, "{once}");
    world.server.give(press("eve", "g1", &once, "p1")).await;
    world.server.give(press("ben", "g1", &once, "p2")).await;
    world.server.give(press("una", "g2", &once, "p3")).await;
    world.server.give(press("una", "g1", "pa:xxxxxxxxxxxxxxxx:o", "p4")).await;
    assert_eq!(world.server.sent().len(), 1, "nothing was decided");
    assert!(
        world.server.give(group("una", "2", "ok but first look at the file")).await,
        "no consent"
    );
    world.server.give(press("una", "g1", &once, "p5")).await;
    let seen = world.until("the answer", |sent| sent.iter().any(|it| it.text == "listed")).await;
    world.server.give(press("una", "g1", &once, "p6")).await;
    let words = world.server.words();
    assert_eq!(words.len(), 6, "{words:?}");
    for (word, part) in words.iter().zip([
        "not yours",
        "not yours",
        "No such request here",
        "No such request",
        "allowed once",
        "already decided",
    ]) {
        assert!(word.contains(part), "{words:?}");
    }
    assert!(seen.iter().any(|it| it.text.contains("Your message is queued")), "{seen:?}");
    assert!(
        world.server.edits().iter().any(|(_, text)| text.contains("allowed once by")),
        "the card shows it"
    );
}

#[tokio::test]
async fn s68_s74_words_decide_one_card_and_a_denial_has_its_reason() {
    let world = World::new(Scripted::new([calls_todo(), Act::say("then not")])).await;
    world.una("1", "make a list").await;
    world.until("a card", |sent| sent.len() == 1).await;
    world.una("2", "no 1 use the other list").await;
    let texts = world.texts("c-una", 3).await;
    assert!(texts.iter().any(|text| text.contains("denied by")), "{texts:?}");
    assert!(texts.contains(&"then not".to_owned()));
    let asked = world.model.asked();
    let told = format!("{:?}", asked.last().unwrap().prompt.messages);
    assert!(told.contains("use the other list"), "the model hears why: {told}");
    world.una("3", "/approve 1").await;
    let texts = world.texts("c-una", 4).await;
    assert!(texts[3].contains("already decided"), "{texts:?}");
}

#[tokio::test]
async fn s78_a_question_is_answered_by_number_or_by_words() {
    let ask =
        || Act::call("clarify", r#"{"question": "Which colour?", "choices": ["red", "blue"]}"#);
    let world =
        World::new(Scripted::new([ask(), Act::say("blue it is"), ask(), Act::say("green then")]))
            .await;
    world.una("1", "paint").await;
    let cards = world.until("a question", |sent| sent.len() == 1).await;
    assert!(
        cards[0].text.contains("Which colour?") && cards[0].text.contains("2. blue"),
        "{}",
        cards[0].text
    );
    world.una("2", "2").await;
    world.until("an answer", |sent| sent.iter().any(|it| it.text == "blue it is")).await;
    world.una("3", "paint more").await;
    world
        .until("a question", |sent| {
            sent.iter().filter(|it| it.text.contains("Which colour?")).count() == 2
        })
        .await;
    world.una("4", "something green").await;
    world.until("an answer", |sent| sent.iter().any(|it| it.text == "green then")).await;
    let told = format!("{:?}", world.model.asked().last().unwrap().prompt.messages);
    assert!(told.contains("something green"), "{told}");
}

#[tokio::test]
async fn s37_s39_t22_strangers_get_a_code_and_the_owner_lets_them_in() {
    let world = World::with(echo(), Config::default()).await;
    world.una("1", "hello?").await;
    let texts = world.texts("c-una", 1).await;
    let code = texts[0].split_whitespace().find(|word| {
        word.len() == 8 && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
    });
    let code = code.unwrap().to_owned();
    world.una("2", "hello??").await;
    let status = world.gateway.status().await.unwrap();
    assert_eq!(status.inbox.len(), 0, "nothing of a stranger is kept");
    assert!(status.accounts[0].notice.is_some(), "health says that nobody may write");
    let now = i64::MAX / 4;
    let wrong =
        petasos_gateway::pairing::confirm(&*world.store, "loopback", &code, now).await.unwrap();
    assert_eq!(wrong, petasos_gateway::pairing::Confirmed::Wrong, "it has lapsed");
    let now = petasos_now();
    let done =
        petasos_gateway::pairing::confirm(&*world.store, "loopback", &code, now).await.unwrap();
    assert!(
        matches!(done, petasos_gateway::pairing::Confirmed::Admitted(person) if person.owner && person.user == "una")
    );
    world.una("3", "/whoami").await;
    let texts = world.texts("c-una", 2).await;
    assert!(texts[1].contains("owner") && texts[1].contains("paired"), "{texts:?}");
    assert_eq!(
        texts.iter().filter(|text| text.contains(&code)).count(),
        1,
        "one code in ten minutes"
    );
}

fn petasos_now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

#[tokio::test]
async fn s22_s24_what_may_have_arrived_is_not_doubled_and_what_did_not_is_tried_again() {
    let world = World::new(echo()).await;
    world.server.fail([
        SendError::Transient("connection refused".to_owned()),
        SendError::Ambiguous("timeout".to_owned()),
    ]);
    world.una("1", "hello").await;
    settled(&world, 1).await;
    assert_eq!(world.texts("c-una", 1).await, ["heard: hello"], "once");
    let status = world.gateway.status().await.unwrap();
    assert_eq!(status.counts["failed_sends"], 2);
}

#[tokio::test]
async fn s23_a_slow_chat_does_not_slow_others_and_keeps_its_order() {
    let world = World::new(echo()).await;
    world.server.fail([SendError::RateLimited { after: Duration::from_secs(2) }]);
    world.una("1", "slow").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    world.una("2", "slow too").await;
    let ben = Arrival::text("c-ben", "ben", "b1", "quick");
    assert!(world.server.give(ben).await);
    world
        .until("the other chat", |sent| sent.first().is_some_and(|it| it.lane.chat == "c-ben"))
        .await;
    assert_eq!(world.texts("c-una", 2).await, ["heard: slow", "heard: slow too"]);
}

#[tokio::test]
async fn s26_a_chat_that_is_gone_is_marked_and_healed_by_its_next_message() {
    use petasos_store::AccessStore as _;
    let world = World::new(echo()).await;
    world.server.fail([SendError::Unreachable("the bot was blocked".to_owned())]);
    world.una("1", "hello").await;
    let mark = async || world.store.targets(Some("loopback")).await.unwrap()[0].unreachable.clone();
    holds("the mark of a chat that is gone", async || mark().await.is_some()).await;
    world.una("2", "I am back").await;
    assert_eq!(world.texts("c-una", 1).await, ["heard: I am back"]);
    assert_eq!(mark().await, None);
    let depths = world.store.depths().await.unwrap();
    assert!(depths.iter().any(|(state, _)| *state == InboxState::Undeliverable), "{depths:?}");
}

#[tokio::test]
async fn s49_s55_t11_silence_is_kept_and_files_go_only_where_they_may() {
    let world =
        World::new(Scripted::new([Act::say("[SILENT]"), Act::say("Here.\nMEDIA:/etc/passwd")]))
            .await;
    world.una("1", "shh").await;
    settled(&world, 1).await;
    assert!(world.server.sent().is_empty());
    world.una("2", "send it").await;
    let texts = world.texts("c-una", 1).await;
    assert!(texts[0].contains("file not sent: it is outside"), "{texts:?}");
}

#[tokio::test]
async fn stop_all_ends_turns_and_nothing_starts_until_resumed() {
    let config = Config::allowing("una").and(r#"{"gateway": {"owner": "loopback:una"}}"#);
    let world =
        World::with(Scripted::new([Act::Hang("x".to_owned()), Act::say("after")]), config).await;
    world.una("1", "work").await;
    until_working(&world).await;
    let began = std::time::Instant::now();
    world.una("2", "/stop all").await;
    holds("the end of the turn", async || {
        let depths = world.store.depths().await.unwrap();
        depths.iter().any(|(state, _)| *state == InboxState::Interrupted)
    })
    .await;
    assert!(
        began.elapsed() < petasos_testkit::pace::fair(Duration::from_secs(2)),
        "{:?}",
        began.elapsed()
    );
    let other = Arrival::text("c-una", "una", "3", "more work");
    assert!(world.server.give(other).await, "it is kept");
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(world.model.asked().len(), 1, "nothing starts");
    world.around.resume();
    world.until("what waited", |sent| sent.iter().any(|it| it.text == "after")).await;
}

#[tokio::test]
async fn s17_s18_a_process_that_died_leaves_nothing_undone_and_nothing_twice() {
    let world = World::new(Scripted::new([Act::say("first"), Act::Hang("x".to_owned())])).await;
    world.una("0", "/busy queue").await;
    world.una("1", "one").await;
    world.texts("c-una", 2).await;
    world.una("2", "two").await;
    until_asked(&world, 2).await;
    world.una("3", "three").await;
    let (folder, server) = world.die();
    let folder = folder.unwrap();
    forget_owner(folder.path());
    let world = World::at(folder.path(), server, echo(), Config::allowing("una")).await;
    // The same events again, as a platform does that heard no acknowledgement.
    for (dedup, text) in [("3", "three"), ("2", "two"), ("1", "one")] {
        world.una(dedup, text).await;
    }
    let texts =
        world.until("both answers", |sent| sent.iter().any(|it| it.text == "heard: three")).await;
    let texts: Vec<&str> = texts
        .iter()
        .map(|it| it.text.as_str())
        .filter(|text| !text.starts_with("Queued") && !text.starts_with("While"))
        .collect();
    assert_eq!(texts, ["first", "heard: two", "heard: three"]);
    settled(&world, 3).await;
}

async fn until_asked(world: &World, count: usize) {
    holds("a question to the model", async || world.model.asked().len() >= count).await;
}

#[tokio::test]
async fn s58_s59_commands_are_answered_and_never_reach_the_model() {
    let world = World::new(echo()).await;
    for (number, line) in
        ["/whoami", "/help", "/nonsense", "/status", "/new", "/platform", "!whoami", "/start"]
            .iter()
            .enumerate()
    {
        world.una(&number.to_string(), line).await;
    }
    let count =
        |sent: &[LoopbackMessage]| sent.iter().filter(|it| it.text.contains("You are")).count();
    world.until("both ways of asking", |sent| count(sent) == 2).await;
    let texts = world.texts("c-una", 7).await;
    assert!(texts.iter().any(|text| text.contains("there is no /nonsense")), "{texts:?}");
    assert_eq!(
        texts.iter().filter(|text| text.contains("You are `una`")).count(),
        2,
        "`!` begins a command, too"
    );
    assert!(world.model.asked().is_empty());
    world.una("x", "/etc/hosts is a path").await;
    world.until("an answer", |sent| sent.iter().any(|it| it.text.contains("is a path"))).await;
}

#[tokio::test]
async fn s5_two_chats_on_one_session_take_turns() {
    let world = World::new(echo()).await;
    world.una("1", "hello").await;
    world.texts("c-una", 1).await;
    let routes = world.store.routes_of("loopback", 10).await.unwrap();
    let mut other = routes[0].key.clone();
    other.chat = "c-ben".to_owned();
    world.store.bind(&other, &routes[0].session).await.unwrap();
    for number in 0..20 {
        world.una(&format!("u{number}"), "/queue ").await;
        assert!(
            world
                .server
                .give(Arrival::text("c-ben", "ben", &format!("b{number}"), "from ben"))
                .await
        );
        let arrival = Arrival::text("c-una", "una", &format!("w{number}"), "from una");
        assert!(world.server.give(arrival).await);
        settled(&world, 0).await;
    }
    let asked = world.model.asked().len();
    assert!(asked <= 41, "{asked}");
    let sessions = world.sessions.resident().len();
    assert_eq!(sessions, 1);
}

#[tokio::test]
async fn s13_what_a_chat_chose_is_kept_and_a_new_conversation_is_another_session() {
    let world = World::new(echo()).await;
    world.una("1", "hello").await;
    world.texts("c-una", 1).await;
    let session = async || world.store.routes_of("loopback", 1).await.unwrap()[0].session.clone();
    let before = session().await;
    world.una("2", "/busy queue").await;
    world.una("3", "/new").await;
    let texts = world.texts("c-una", 3).await;
    assert!(texts.iter().any(|text| text.contains(&format!("/resume {before}"))), "{texts:?}");
    assert_ne!(session().await, before);
    world.una("4", "/busy").await;
    let texts = world.texts("c-una", 4).await;
    assert!(texts[3].contains("queue"), "the choice belongs to the chat: {texts:?}");
}

#[tokio::test]
async fn s31_a_drain_keeps_what_comes_meanwhile() {
    let model = Scripted::new([Act::After(Duration::from_millis(200), Box::new(Act::say("done")))])
        .otherwise(|_, _| Act::say("later"));
    let world = Arc::new(World::new(model).await);
    world.una("1", "work").await;
    until_working(&world).await;
    let draining = Arc::clone(&world);
    let drain = petasos_contract::wait::Owned::start(async move { draining.gateway.drain().await });
    holds("the drain", async || world.gateway.status().await.unwrap().draining).await;
    world.una("2", "meanwhile").await;
    drain.join().await.unwrap();
    let texts: Vec<String> = world.server.sent().into_iter().map(|it| it.text).collect();
    assert!(
        texts.contains(&"done".to_owned()) && texts.iter().any(|it| it.contains("Restarting")),
        "{texts:?}"
    );
    let world = Arc::into_inner(world).unwrap();
    let (folder, server) = world.die();
    let folder = folder.unwrap();
    forget_owner(folder.path());
    let config = Config::allowing("una");
    let world = World::at(folder.path(), server, Scripted::new([Act::say("later")]), config).await;
    world.until("the answer", |sent| sent.iter().any(|it| it.text == "later")).await;
}
