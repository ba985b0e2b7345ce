//! A process that dies between a question and its answer loses neither.
//!
//! The test starts itself again as the victim, waits until it has put a question, and kills it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_agent::{Act, Scripted};
use petasos_contract::SessionId;
use petasos_contract::address::Address;
use petasos_contract::approval::Scope;
use petasos_contract::message::Message;
use petasos_session::{
    AnswerError, Answerer, Begin, Question, QuestionReply, Session, SessionEvent, WhenBusy,
};
use petasos_store::{QuestionState, QuestionStore as _, SessionStore as _};

use crate::world::{Watch, World, is_question, is_turn_end};

const CLARIFY: &str = r#"{"question": "Which colour?", "choices": ["red", "blue"]}"#;

fn question(event: SessionEvent) -> Arc<Question> {
    match event {
        SessionEvent::QuestionAsked(question) => question,
        other => panic!("{other:?}"),
    }
}

/// Not a test of its own: asks what the file `script` says, writes the question down, and waits.
#[test]
#[ignore = "helper process: started and killed by the tests below, in a folder that they made"]
#[expect(clippy::disallowed_methods, reason = "a note that is there whole or not at all")]
fn victim() {
    let folder = std::env::current_dir().unwrap();
    let Ok(script) = std::fs::read_to_string(folder.join("script")) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let calls: Vec<(&str, &str)> =
            script.lines().map(|line| line.split_once(' ').unwrap()).collect();
        let world = World::over(&folder, Scripted::new([Act::calls("working", &calls)]));
        let session = world.open().await;
        let mut watch = Watch::of(&session);
        session.submit("go".into(), WhenBusy::Refuse).await.unwrap();
        let asked = question(watch.until("the question", is_question).await);
        let note = format!("{} {}", session.id(), asked.id);
        std::fs::write(folder.join("asked.new"), note).unwrap();
        std::fs::rename(folder.join("asked.new"), folder.join("asked")).unwrap();
        watch.until("an answer that never comes", is_turn_end).await;
    });
}

/// Lets a victim ask and kills it; gives its session and the question.
#[expect(clippy::disallowed_methods, reason = "the test starts and kills its own program")]
fn asked_and_killed(folder: &Path, script: &str) -> (SessionId, String) {
    std::fs::write(folder.join("script"), script).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "restart::victim", "--test-threads", "1", "--nocapture"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(folder.join("stderr")).unwrap())
        .spawn()
        .unwrap();
    let late = Instant::now() + Duration::from_mins(2);
    let note = loop {
        if let Ok(note) = std::fs::read_to_string(folder.join("asked")) {
            break note;
        }
        let said = || std::fs::read_to_string(folder.join("stderr")).unwrap_or_default();
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself: {}", said());
        assert!(Instant::now() < late, "it never asked: {}", said());
        std::thread::sleep(Duration::from_millis(10));
    };
    child.kill().unwrap();
    child.wait().unwrap();
    let (session, question) = note.split_once(' ').unwrap();
    (SessionId::new(session), question.to_owned())
}

async fn resumed(world: &World, session: &SessionId) -> (Session, Watch) {
    let choice = world.choice();
    let begin = Begin::Resume { session: session.clone(), choice };
    let session = world.sessions.open(begin).await.unwrap();
    let watch = Watch::of_all(&session);
    (session, watch)
}

fn touched(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("touched")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_kill_between_question_and_answer_keeps_the_question_and_the_turn_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (id, asked) = asked_and_killed(folder.path(), "todo {}\ntouch {}");
    let world = World::over(folder.path(), Scripted::new([Act::say("all done")]));
    let open = world.questions.open(None).await.unwrap();
    assert_eq!(open.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), [asked.as_str()]);
    let (session, mut watch) = resumed(&world, &id).await;
    let same = question(watch.until("the same question", is_question).await);
    assert_eq!((same.id.as_str(), same.number), (asked.as_str(), 1));
    assert!(touched(folder.path()).is_empty(), "nobody has agreed yet");
    let answer = QuestionReply::Allow(Scope::Once);
    session.answer(&same.id, answer.clone(), &Answerer::here()).await.unwrap();
    let end = watch.until("the end of the turn", is_turn_end).await;
    let SessionEvent::TurnEnded { end: Ok(end), .. } = end else { panic!("{end:?}") };
    assert_eq!(end.text, "all done");
    assert_eq!(touched(folder.path()).len(), 1, "it ran once");
    let late = session.answer(&same.id, answer, &Answerer::here()).await;
    assert_eq!(late, Err(AnswerError::Decided { how: "allowed once".to_owned() }));
    let prompt = world.model.asked().last().unwrap().prompt.messages.clone();
    let results = prompt.iter().filter(|message| matches!(message, Message::Tool(_)));
    assert_eq!((prompt.len(), results.count()), (4, 2), "every call has its one result");
}

#[tokio::test]
async fn an_answer_that_came_while_nobody_waited_is_taken_up_once() {
    let folder = tempfile::tempdir().unwrap();
    let (id, asked) = asked_and_killed(folder.path(), "touch {}");
    let script = [Act::say("done"), Act::call("touch", "{}"), Act::say("done again")];
    let world = World::over(folder.path(), Scripted::new(script));
    let asked = petasos_session::QuestionId::new(asked);
    let elsewhere = Address::chat("telegram", "42");
    let stranger = Answerer { name: None, address: Some(elsewhere) };
    let allow = QuestionReply::Allow(Scope::Once);
    let refused = world.questions.answer(&asked, allow.clone(), &stranger).await;
    assert_eq!(refused, Err(AnswerError::Elsewhere));
    let ann = Answerer { name: Some("Ann".to_owned()), address: None };
    world.questions.answer(&asked, allow.clone(), &ann).await.unwrap();
    let late = world.questions.answer(&asked, allow, &ann).await;
    assert_eq!(late, Err(AnswerError::Decided { how: "allowed once by Ann".to_owned() }));
    let (session, mut watch) = resumed(&world, &id).await;
    watch.until("the end of the turn", is_turn_end).await;
    assert_eq!(touched(folder.path()).len(), 1);
    // The same call of a later turn is another one: it is asked about again.
    session.submit("again".into(), WhenBusy::Refuse).await.unwrap();
    let again = question(watch.until("a new question", is_question).await);
    assert_ne!(again.id, asked);
    assert_eq!(touched(folder.path()).len(), 1);
    session.answer(&again.id, QuestionReply::Deny { comment: None }, &ann).await.unwrap();
    watch.until("the end of the turn", is_turn_end).await;
    assert_eq!(touched(folder.path()).len(), 1);
}

#[tokio::test]
async fn a_question_of_the_model_survives_too_and_no_secret_is_kept_with_any() {
    let folder = tempfile::tempdir().unwrap();
    let (id, asked) = asked_and_killed(folder.path(), &format!("clarify {CLARIFY}"));
    let world = World::over(folder.path(), Scripted::new([Act::say("blue then")]));
    let (session, mut watch) = resumed(&world, &id).await;
    let same = question(watch.until("the same question", is_question).await);
    assert_eq!(same.id.as_str(), asked);
    let reply = same.read("2").unwrap();
    session.answer(&same.id, reply, &Answerer::here()).await.unwrap();
    watch.until("the end of the turn", is_turn_end).await;
    let asked = world.model.asked();
    assert!(format!("{:?}", asked.last().unwrap().prompt.messages).contains("blue"));

    let other = tempfile::tempdir().unwrap();
    let (id, asked) = asked_and_killed(other.path(), "touch {}");
    let world = World::over(other.path(), Scripted::new([]));
    let kept = world.store.open(Some(&id)).await.unwrap();
    assert_eq!(kept.first().map(|record| record.asked.id.as_str()), Some(asked.as_str()));
    let text = format!("{kept:?}");
    assert!(text.contains("***") && !text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn whoever_says_something_else_instead_closes_the_question() {
    let folder = tempfile::tempdir().unwrap();
    let (id, asked) = asked_and_killed(folder.path(), "touch {}");
    let world = World::over(folder.path(), Scripted::new([Act::say("as you like")]));
    let engine = Arc::clone(&world.engine);
    let resumed = petasos_agent::Agent::resume(engine, *world.choice(), &id).await;
    let (_agent, repairs) = resumed.unwrap();
    assert_eq!(repairs.len(), 1, "{repairs:?}");
    assert!(repairs[0].contains("had not been started"), "{repairs:?}");
    let asked = petasos_session::QuestionId::new(asked);
    let record = world.store.get(&asked).await.unwrap().unwrap();
    let cancelled = QuestionState::Closed(petasos_store::NotAnswered::Cancelled);
    assert_eq!(record.state, cancelled);
    let late = world.questions.answer(&asked, QuestionReply::Decline, &Answerer::here()).await;
    assert_eq!(late, Err(AnswerError::Decided { how: "it was cancelled".to_owned() }));
    assert!(touched(folder.path()).is_empty());
    assert_eq!(world.store.load(&id).await.unwrap().rows.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_process_answers_a_question_and_the_first_answer_counts() {
    let folder = tempfile::tempdir().unwrap();
    let script = [Act::call("touch", "{}"), Act::say("done")];
    let asking = World::over(folder.path(), Scripted::new(script));
    let session = asking.open().await;
    let mut watch = Watch::of(&session);
    session.submit("go".into(), WhenBusy::Refuse).await.unwrap();
    let asked = question(watch.until("the question", is_question).await);
    // Other programs on the same home, each with a store of its own.
    let others: Vec<World> =
        (0..4).map(|_| World::over(folder.path(), Scripted::new([]))).collect();
    let answers = others.iter().enumerate().map(|(at, world)| {
        let by = Answerer { name: Some(format!("person {at}")), address: None };
        let id = asked.id.clone();
        async move { world.questions.answer(&id, QuestionReply::Allow(Scope::Once), &by).await }
    });
    let answers = futures::future::join_all(answers).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1, "{answers:?}");
    let lost = answers.iter().filter(|it| matches!(it, Err(AnswerError::Decided { .. })));
    assert_eq!(lost.count(), 3, "{answers:?}");
    watch.until("the end of the turn", is_turn_end).await;
    assert!(watch.words().contains(&"answered".to_owned()), "{:?}", watch.words());
    assert_eq!(touched(folder.path()).len(), 1);
}
