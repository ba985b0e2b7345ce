//! Questions over a chat: durable, answered once, told apart when they are late or lost.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use petasos_approval::ask::{self, AnswerError, Card, Decided, Desk, Notifier, Reply, State};
use petasos_contract::approval::{Answer, Approver, Scope, Who};
use petasos_contract::context::Surface;
use petasos_contract::{BoxFuture, CallContext, SessionId};
use serde_json::json;
use tokio::sync::mpsc;

use super::{Place, empty, request, yes};

struct Chat {
    shown: Mutex<Option<mpsc::UnboundedSender<Card>>>,
    broken: Option<&'static str>,
}

impl Notifier for Chat {
    fn deliver<'a>(&'a self, card: &'a Card) -> BoxFuture<'a, Result<(), String>> {
        if let Some(shown) = &*self.shown.lock().unwrap() {
            shown.send(card.clone()).unwrap();
        }
        Box::pin(std::future::ready(self.broken.map_or(Ok(()), |reason| Err(reason.to_owned()))))
    }
}

fn desk(place: &Place) -> (Arc<Desk>, mpsc::UnboundedReceiver<Card>) {
    let (shown, seen) = mpsc::unbounded_channel();
    let chat = Chat { shown: Mutex::new(Some(shown)), broken: None };
    (Arc::new(Desk::open(&place.home(), Arc::new(chat)).unwrap()), seen)
}

fn reply(decided: Decided) -> Reply {
    Reply { decided, by: Who::Person(Some("ada".to_owned())), digest: None }
}

fn no() -> Reply {
    reply(Decided::Deny(Some("later".to_owned())))
}

fn chat_cx(place: &Place) -> CallContext {
    place.cx_on(Surface::Gateway, &empty(), &[])
}

#[tokio::test]
async fn the_first_valid_answer_wins_and_later_ones_are_told_so() {
    let place = Place::new();
    let (desk, mut seen) = desk(&place);
    let cx = chat_cx(&place);
    let question = request("rm -r x", Scope::Session);
    let answering = async {
        let card = seen.recv().await.unwrap();
        assert_eq!(card.digest, "07".repeat(32));
        let other = Reply { digest: Some("00".to_owned()), ..no() };
        assert!(matches!(desk.answer(&card.id, &other), Err(AnswerError::OtherAction(_))));
        let wide = reply(Decided::Allow(Scope::Always));
        assert!(matches!(desk.answer(&card.id, &wide), Err(AnswerError::TooWide { .. })));
        assert!(matches!(desk.answer("nothing", &no()), Err(AnswerError::Unknown(_))));
        // From another process it is the same.
        let allowed =
            Reply { digest: Some(card.digest.clone()), ..reply(Decided::Allow(Scope::Session)) };
        ask::answer(&place.home(), &card.id, &allowed).unwrap();
        let late = desk.answer(&card.id, &no()).unwrap_err();
        assert!(late.to_string().contains("already decided: allowed by ada"), "{late}");
    };
    let (got, ()) = tokio::join!(desk.ask(&question, &cx), answering);
    assert_eq!(
        got,
        Answer::Allowed { scope: Scope::Session, by: Who::Person(Some("ada".to_owned())) }
    );
}

#[tokio::test(start_paused = true)]
async fn v30_an_unanswered_question_expires() {
    let place = Place::new();
    let (desk, mut seen) = desk(&place);
    let question = request("rm -r x", Scope::Always);
    for (values, seconds) in [(empty(), 300), (json!({"approvals": {"gateway_timeout": 60}}), 60)] {
        let cx = place.cx_on(Surface::Gateway, &values, &[]);
        let got = desk.ask(&question, &cx).await;
        assert_eq!(got, Answer::Expired { after: Duration::from_secs(seconds) });
        let card = seen.recv().await.unwrap();
        let late = desk.answer(&card.id, &no()).unwrap_err();
        assert!(
            matches!(late, AnswerError::AlreadyDecided { state, .. } if *state == State::Expired)
        );
    }
}

#[tokio::test]
async fn a_surface_that_cannot_show_it_is_undeliverable_at_once() {
    let place = Place::new();
    let chat = Chat { shown: Mutex::new(None), broken: Some("the chat is gone") };
    let desk = Desk::open(&place.home(), Arc::new(chat)).unwrap();
    let got = desk.ask(&request("rm -r x", Scope::Always), &chat_cx(&place)).await;
    assert_eq!(got, Answer::Undeliverable { reason: "the chat is gone".to_owned() });
    assert!(ask::pending(&place.home()).is_empty());
}

#[tokio::test]
async fn the_oldest_question_of_a_session_is_answered_first() {
    let place = Place::new();
    let (desk, mut seen) = desk(&place);
    let (cx, mut other) = (chat_cx(&place), chat_cx(&place));
    other.session = SessionId::new("two");
    let questions = ["rm -r a", "rm -r b", "rm -r c"].map(|text| request(text, Scope::Always));
    let answering = async {
        for _ in 0..3 {
            seen.recv().await.unwrap();
        }
        assert_eq!(desk.pending(&cx.session).len(), 2);
        let told = desk.redeliver(&cx.session).await;
        assert_eq!(told.len(), 2);
        desk.answer_oldest(&cx.session, &reply(Decided::Allow(Scope::Once))).unwrap().unwrap();
        assert!(desk.answer_all(&cx.session, &no()).iter().all(Result::is_ok));
        desk.end_session(&other.session);
    };
    let (one, two, three, ()) = tokio::join!(
        desk.ask(&questions[0], &cx),
        desk.ask(&questions[1], &cx),
        desk.ask(&questions[2], &other),
        answering
    );
    assert!(matches!(one, Answer::Allowed { scope: Scope::Once, .. }), "{one:?}");
    assert!(matches!(two, Answer::Denied { by: Who::Person(Some(_)), .. }), "{two:?}");
    assert!(matches!(three, Answer::Denied { by: Who::Rule(_), .. }), "{three:?}");
}

#[tokio::test]
async fn after_a_restart_open_questions_are_listed_and_an_answer_is_told_that_nobody_waits() {
    let place = Place::new();
    let (desk, mut seen) = desk(&place);
    let cx = chat_cx(&place);
    let question = request("rm -r x", Scope::Always);
    let card = {
        let mut asking = Box::pin(desk.ask(&question, &cx));
        tokio::select! {
            got = &mut asking => panic!("{got:?}"),
            card = seen.recv() => {
                // As a killed process leaves it: nothing is dropped in order.
                std::mem::forget(asking);
                card.unwrap()
            }
        }
    };
    drop(desk);
    let pending = ask::pending(&place.home());
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0].id, card.id);
    let told = ask::answer(&place.home(), &card.id, &no()).unwrap_err();
    assert!(matches!(told, AnswerError::WaiterGone(_)), "{told}");
    assert!(ask::pending(&place.home()).is_empty());
}

#[tokio::test]
async fn a_question_given_up_is_withdrawn() {
    let place = Place::new();
    let (desk, mut seen) = desk(&place);
    let cx = chat_cx(&place);
    let question = request("rm -r x", Scope::Always);
    tokio::select! {
        got = desk.ask(&question, &cx) => panic!("{got:?}"),
        card = seen.recv() => assert!(card.is_some()),
    }
    assert!(ask::pending(&place.home()).is_empty());
}

#[tokio::test]
async fn closing_the_desk_releases_everybody() {
    let place = Place::new();
    let (desk, mut seen) = desk(&place);
    let cx = chat_cx(&place);
    let question = request("rm -r x", Scope::Always);
    let closing = async {
        seen.recv().await.unwrap();
        tokio::task::yield_now().await;
        desk.close("the chat was left");
    };
    let (got, ()) = tokio::join!(desk.ask(&question, &cx), closing);
    assert_eq!(got, Answer::Undeliverable { reason: "the chat was left".to_owned() });
    assert_ne!(got, yes(Scope::Once));
}

#[tokio::test]
async fn records_hold_no_secrets() {
    let place = Place::new();
    let (desk, mut seen) = desk(&place);
    let cx = place.cx_on(Surface::Gateway, &empty(), &[("BOX_TOKEN", "swordfish-0123")]);
    let question = request("rm -r swordfish-0123", Scope::Always);
    tokio::select! {
        got = desk.ask(&question, &cx) => panic!("{got:?}"),
        card = seen.recv() => assert_eq!(card.unwrap().subject, "rm -r [masked]"),
    }
}
