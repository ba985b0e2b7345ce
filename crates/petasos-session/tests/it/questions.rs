//! Questions to the people of a session: each has an identity, and one is open at a time.

use std::sync::Arc;

use petasos_agent::{Act, Scripted};
use petasos_contract::approval::{Answer, ApprovalRequest, Approver, Digest, Scope, Who};
use petasos_contract::context::Surface;
use petasos_contract::terminal::Passwords;
use petasos_contract::{CallContext, Secret, SessionId};
use petasos_session::{
    AnswerError, Answerer, Outcome, Question, QuestionReply, Session, SessionEvent, WhenBusy,
};

use crate::world::{Watch, World, is_question, is_turn_end};

const CLARIFY: &str = r#"{"question": "Which colour?", "choices": ["red", "blue"]}"#;

fn approval(subject: &str) -> ApprovalRequest {
    ApprovalRequest {
        cwd: None,
        tool: "terminal".into(),
        subject: subject.to_owned(),
        findings: Vec::new(),
        edits: Vec::new(),
        digest: Digest([0; 32]),
        widest: Scope::Session,
    }
}

fn context(world: &World, session: &SessionId) -> CallContext {
    CallContext::new(Arc::clone(&world.settings), Surface::Cli, session.clone())
}

fn question(event: SessionEvent) -> Arc<Question> {
    match event {
        SessionEvent::QuestionAsked(question) => question,
        other => panic!("{other:?}"),
    }
}

async fn answer(session: &Session, question: &Question, line: &str) -> Result<(), AnswerError> {
    session.answer(&question.id, question.read(line).unwrap(), &Answerer::here()).await
}

fn decided(how: &str) -> Result<(), AnswerError> {
    Err(AnswerError::Decided { how: how.to_owned() })
}

#[tokio::test]
async fn the_first_answer_from_any_surface_counts() {
    let world = World::new(Scripted::new([Act::call("clarify", CLARIFY), Act::say("Blue then.")]));
    let session = world.open().await;
    let (mut one, mut two) = (Watch::of(&session), Watch::of(&session));
    session.submit("paint it".into(), WhenBusy::Queue).await.unwrap();
    let asked = question(one.until("the question", is_question).await);
    let same = question(two.until("the question", is_question).await);
    assert_eq!((&asked.id, &session.question().unwrap().id), (&same.id, &asked.id));
    let here = Answerer::here();
    let unfit = session.answer(&asked.id, QuestionReply::Allow(Scope::Once), &here).await;
    assert!(matches!(unfit, Err(AnswerError::Unfit { .. })), "{unfit:?}");
    answer(&session, &same, "2").await.unwrap();
    assert_eq!(answer(&session, &asked, "1").await, decided("answered"));
    one.until("the end of the turn", is_turn_end).await;
    assert!(one.words().contains(&"answered".to_owned()), "{:?}", one.words());
    let results = world.model.asked();
    assert!(format!("{:?}", results.last().unwrap().prompt.messages).contains("blue"));
}

#[tokio::test]
async fn questions_at_once_are_put_one_after_the_other_and_keep_their_answers() {
    let world = World::new(Scripted::new([]));
    let session = world.open().await;
    let mut watch = Watch::of(&session);
    let (cx, people) = (context(&world, session.id()), Arc::clone(&world.questions));
    let (first, second) = (approval("rm one"), approval("rm two"));
    let approver: &dyn Approver = &*people;
    let answers = async {
        for line in ["session", "deny leave it"] {
            let asked = question(watch.until("a question", is_question).await);
            answer(&session, &asked, line).await.unwrap();
        }
    };
    let (one, two, ()) =
        tokio::join!(approver.ask(&first, &cx), approver.ask(&second, &cx), answers);
    assert_eq!(one, Answer::Allowed { scope: Scope::Session, by: Who::Person(None) });
    let comment = Some("leave it".to_owned());
    assert_eq!(two, Answer::Denied { by: Who::Person(None), comment });
    assert_eq!(watch.words(), ["asked", "another waits", "answered", "asked"]);
}

/// The store is looked at meanwhile, a little before or after each answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_put_once_however_quickly_it_is_answered() {
    let world = World::new(Scripted::new([]));
    let session = world.open().await;
    let mut watch = Watch::of(&session);
    let (cx, people) = (context(&world, session.id()), Arc::clone(&world.questions));
    let approver: &dyn Approver = &*people;
    for _ in 0..100 {
        let request = approval("rm one");
        let answers = async {
            let asked = question(watch.until("a question", is_question).await);
            answer(&session, &asked, "yes").await.unwrap();
        };
        let (told, ()) = tokio::join!(approver.ask(&request, &cx), answers);
        assert_eq!(told, Answer::Allowed { scope: Scope::Once, by: Who::Person(None) });
    }
    assert_eq!(watch.words().iter().filter(|word| *word == "asked").count(), 100);
}

#[tokio::test(start_paused = true)]
async fn the_time_to_answer_begins_when_a_question_is_shown() {
    let world = World::unkept(Scripted::new([]));
    let session = world.open().await;
    let mut watch = Watch::of(&session);
    // A chat at a terminal has no limit.
    let cx = CallContext { surface: Surface::OneShot, ..context(&world, session.id()) };
    let (first, second) = (approval("rm one"), approval("rm two"));
    let approver: &dyn Approver = &*world.questions;
    let answers = async {
        watch.until("the first question", is_question).await;
        let asked = question(watch.until("the second question", is_question).await);
        tokio::time::sleep(asked.patience / 2).await;
        answer(&session, &asked, "yes").await.unwrap();
    };
    let (one, two, ()) =
        tokio::join!(approver.ask(&first, &cx), approver.ask(&second, &cx), answers);
    assert!(matches!(one, Answer::Expired { .. }), "{one:?}");
    assert_eq!(two, Answer::Allowed { scope: Scope::Once, by: Who::Person(None) });
}

#[tokio::test]
async fn an_interrupt_withdraws_the_question() {
    let world = World::new(Scripted::new([Act::call("clarify", CLARIFY), Act::say("never")]));
    let session = world.open().await;
    let mut watch = Watch::of(&session);
    session.submit("paint it".into(), WhenBusy::Queue).await.unwrap();
    let asked = question(watch.until("the question", is_question).await);
    assert!(session.interrupt());
    let ended = watch.until("the end of the turn", is_turn_end).await;
    let SessionEvent::TurnEnded { end: Ok(end), .. } = ended else { panic!("{ended:?}") };
    assert_eq!(end.outcome, Outcome::Interrupted);
    let late = answer(&session, &asked, "1").await;
    assert_eq!(late, decided("whoever asked no longer waits"));
    assert!(session.question().is_none());
}

#[tokio::test]
async fn a_password_reaches_whoever_needs_it_and_no_event() {
    let world = World::new(Scripted::new([]));
    let session = world.open().await;
    let mut watch = Watch::of(&session);
    let cx = context(&world, session.id());
    let passwords: &dyn Passwords = &*world.questions;
    let answers = async {
        let asked = question(watch.until("the question", is_question).await);
        answer(&session, &asked, "hunter2 ").await.unwrap();
    };
    let (password, ()) = tokio::join!(passwords.ask("sudo on this machine", &cx), answers);
    assert_eq!(password.as_ref().map(Secret::expose), Some("hunter2 "));
    session.end(petasos_session::EndReason::Shutdown).await.unwrap();
    watch.until("the end", |event| matches!(event, SessionEvent::Ended { .. })).await;
    assert!(!format!("{:?}", watch.seen).contains("hunter2"));
    let elsewhere = context(&world, &SessionId::new("nobody"));
    assert!(passwords.ask("sudo", &elsewhere).await.is_none(), "nobody is connected there");
}
