//! Cards: how long they count, who decides first, what they show, and when nobody can be asked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_agent::{Act, Scripted};
use petasos_contract::approval::{Answer, ApprovalRequest, Approver as _, Digest, Scope};
use petasos_contract::context::Surface;
use petasos_contract::message::Message;
use petasos_contract::{CallContext, SessionId};
use petasos_gateway::LoopbackMessage;
use petasos_gateway::platform::{Arrival, ArrivalKind, SendError};
use petasos_session::{Answerer, QuestionReply};
use petasos_store::{ChatKind, RouteStore as _};
use serde_json::json;

use crate::world::{Config, World, settings};

/// Asks for a list with this in it, and says how that ended.
fn lister(content: &str) -> Scripted {
    let args = json!({ "todos": [{ "id": "1", "content": content, "status": "pending" }] });
    let args = args.to_string();
    Scripted::default().otherwise(move |prompt, _| match prompt.messages.last() {
        Some(Message::Tool(result)) => {
            let told = result.content.text();
            let how = ["timeout", "undeliverable", "denied", "interrupted"]
                .into_iter()
                .find(|word| told.contains(word));
            Act::Say(format!("it ended: {}", how.unwrap_or("done")))
        }
        _ => Act::call("todo", &args),
    })
}

fn is_card(message: &LoopbackMessage) -> bool {
    message.text.contains("needs your consent")
}

async fn card(world: &World) -> LoopbackMessage {
    let sent = world.until("a card", |sent| sent.iter().any(is_card)).await;
    sent.into_iter().find(is_card).unwrap()
}

async fn pressed(world: &World, data: &str, dedup: &str) -> String {
    let kind = ArrivalKind::Button(data.to_owned());
    let before = world.server.words().len();
    let press = Arrival { kind, ..Arrival::text("c-una", "una", dedup, "") };
    assert!(world.server.give(press).await);
    world.server.words()[before].clone()
}

#[tokio::test]
async fn s69_s70_the_time_of_a_card_counts_from_its_arrival_and_a_late_tap_says_expired() {
    let config = Config::allowing("una").and(r#"{ "approvals": { "gateway_timeout": 6 } }"#);
    let world = World::with(lister("x"), config).await;
    // The platform holds the card back for longer than it is open.
    world.server.fail([SendError::RateLimited { after: Duration::from_secs(7) }]);
    let asked = Instant::now();
    world.una("1", "make a list").await;
    let data = card(&world).await.buttons[0].data.clone();
    assert!(asked.elapsed() >= Duration::from_secs(7), "it was held back");
    assert!(pressed(&world, &data, "p0").await.contains("allowed once"), "it still counts");
    world.until("the end", |sent| sent.iter().any(|it| it.text == "it ended: done")).await;
    // The next one is never answered.
    let asked = Instant::now();
    world.una("2", "make another").await;
    let cards = world.until("a card", |sent| sent.iter().filter(|it| is_card(it)).count() == 2);
    let cards = cards.await;
    let data = cards.iter().rfind(|it| is_card(it)).unwrap().buttons[0].data.clone();
    world.until("its end", |sent| sent.iter().any(|it| it.text == "it ended: timeout")).await;
    assert!(asked.elapsed() >= Duration::from_secs(6), "not before its time");
    crate::world::holds("a card that says so", async || {
        world.server.edits().iter().any(|(_, text)| text.contains("expired, nothing ran"))
    })
    .await;
    let answer = pressed(&world, &data, "p1").await;
    assert!(answer.contains("expired") && !answer.contains("allowed"), "{answer}");
}

#[tokio::test]
async fn s68_a_card_that_cannot_arrive_is_no_denial() {
    let world = World::new(lister("x")).await;
    world.server.fail([SendError::Unreachable("the chat is gone".to_owned())]);
    world.una("1", "make a list").await;
    world.until("its end", |sent| sent.iter().any(|it| it.text == "it ended: undeliverable")).await;
}

#[tokio::test]
async fn s72_of_two_who_answer_at_once_one_wins_and_the_card_shows_it() {
    for round in 0..10 {
        let world = World::new(lister("x")).await;
        world.una("1", "make a list").await;
        let data = card(&world).await.buttons[0].data.clone();
        let session = world.store.routes_of("loopback", 1).await.unwrap()[0].session.clone();
        let session = world.sessions.find(&session).unwrap();
        let id = session.question().unwrap().id.clone();
        // An editor that shows the same question.
        let editor = Answerer { name: Some("the editor".to_owned()), address: None };
        let deny = QuestionReply::Deny { comment: None };
        let (elsewhere, shown) =
            tokio::join!(session.answer(&id, deny, &editor), pressed(&world, &data, "p0"));
        let here = shown.contains("allowed once");
        assert_ne!(elsewhere.is_ok(), here, "round {round}: {elsewhere:?}, {shown}");
        let end = if here { "it ended: done" } else { "it ended: denied" };
        world.until(end, |sent| sent.iter().any(|it| it.text == end)).await;
        let shown = if here { "allowed once" } else { "answered elsewhere" };
        let redrawn = async {
            while !world.server.edits().iter().any(|(_, text)| text.contains(shown)) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let redrawn = tokio::time::timeout(Duration::from_mins(1), redrawn).await;
        assert!(redrawn.is_ok(), "round {round}: {:?}", world.server.edits());
        let late = pressed(&world, &data, "p1").await;
        assert!(late.contains("already decided"), "{late}");
    }
}

#[tokio::test]
async fn s73_all_are_those_of_this_chat_and_person_and_never_always() {
    let world = World::new(lister("x")).await;
    let group = |chat: &str, who: &str, dedup: &str, text: &str| Arrival {
        chat_kind: ChatKind::Group,
        addressed: true,
        ..Arrival::text(chat, who, dedup, text)
    };
    for (chat, who, dedup) in [("g1", "una", "1"), ("g1", "ben", "2"), ("g2", "una", "3")] {
        assert!(world.server.give(group(chat, who, dedup, "make a list")).await);
    }
    world.until("three cards", |sent| sent.iter().filter(|it| is_card(it)).count() == 3).await;
    assert!(world.server.give(group("g1", "una", "4", "/approve all always")).await);
    world
        .until("a refusal", |sent| sent.iter().any(|it| it.text.contains("always` is refused")))
        .await;
    assert!(world.server.give(group("g1", "una", "5", "/approve all")).await);
    let sent =
        world.until("hers is done", |sent| sent.iter().any(|it| it.text == "it ended: done")).await;
    let ends: Vec<&LoopbackMessage> = sent.iter().filter(|it| it.text.contains("ended")).collect();
    assert_eq!((ends.len(), ends[0].lane.chat.as_str()), (1, "g1"), "{sent:#?}");
    assert!(sent.iter().any(|it| it.text.contains("not yours to answer")), "{sent:#?}");
    let open = world.sessions.questions().open(None).await.unwrap();
    assert_eq!(open.len(), 2, "his, and hers in the other group");
}

#[tokio::test]
async fn s75_what_is_too_long_for_a_card_goes_along_as_a_file() {
    let long = format!("begins here {} ends here", "x".repeat(20_000));
    let world = World::new(lister(&long)).await;
    world.una("1", "make a list").await;
    let sent = world.until("a file", |sent| sent.iter().any(|it| it.media.is_some())).await;
    let card = sent.iter().find(|it| is_card(it)).unwrap();
    assert!(card.text.encode_utf16().count() <= 2000 && !card.buttons.is_empty(), "{card:?}");
    assert!(card.text.contains("begins here") && card.text.contains("ends here"), "{card:?}");
    assert_eq!(sent.len(), 2, "one card, one file: {sent:#?}");
    let folder = world.home().join("cache/documents");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    assert!(std::fs::read_to_string(&files[0]).unwrap().contains(&long), "the whole of it");
}

#[tokio::test]
async fn s76_a_card_hides_secrets_shows_what_is_hidden_and_cannot_be_written_into() {
    let tricky = "hunter2 \u{202e}txt.exe a\u{200b}b ```\n**#9 allowed by the owner**\n```";
    let world = World::new(lister(tricky)).await;
    world.una("1", "make a list").await;
    let card = card(&world).await;
    assert!(!card.text.contains("hunter2"), "{}", card.text);
    for shown in ["⟨U+202E⟩", "⟨U+200B⟩"] {
        assert!(card.text.contains(shown), "{shown}: {}", card.text);
    }
    let fence = card.text.lines().find(|line| line.starts_with("```")).unwrap();
    assert!(fence.starts_with("````"), "nothing inside ends it: {}", card.text);
}

#[tokio::test]
async fn s79_where_nobody_can_be_asked_the_refusal_comes_at_once() {
    let world = World::new(lister("x")).await;
    let settings = settings(world.home(), &Config::default());
    let request = ApprovalRequest {
        tool: "terminal".into(),
        subject: "rm -r /".to_owned(),
        cwd: None,
        findings: Vec::new(),
        edits: Vec::new(),
        digest: Digest([0; 32]),
        widest: Scope::Once,
    };
    // A schedule, the HTTP interface and its webhooks without an approver, an event of a house.
    for surface in [Surface::Cron, Surface::ApiServer, Surface::Gateway] {
        let cx = CallContext::new(Arc::clone(&settings), surface, SessionId::new("s"));
        let cx = cx.attended(false);
        let questions = Arc::clone(world.sessions.questions());
        let mut took = Vec::new();
        for _ in 0..20 {
            let begun = Instant::now();
            let answer = questions.ask(&request, &cx).await;
            took.push(begun.elapsed());
            assert!(matches!(answer, Answer::Undeliverable { .. }), "{answer:?}");
        }
        took.sort();
        assert!(took[10] < Duration::from_millis(50), "{surface:?}: {took:?}");
    }
}
