//! Two programs on one session: each has a store of its own over the same file, as two processes do.

use petasos_agent::{Act, Scripted};
use petasos_contract::approval::Scope;
use petasos_contract::event::Event;
use petasos_session::{
    Answerer, Begin, Outcome, QuestionReply, Session, SessionEvent, SessionLimits, WhenBusy,
};
use petasos_store::SessionStore as _;

use crate::world::{Watch, World, is_delta, is_question, is_turn_end};

/// What another process added, as `role text`.
fn added(event: &SessionEvent) -> Option<String> {
    match event {
        SessionEvent::Agent(Event::MessageAdded { role, text, .. }) => {
            Some(format!("{role} {text}"))
        }
        _ => None,
    }
}

fn is_added(wanted: &str) -> impl Fn(&SessionEvent) -> bool {
    move |event| added(event).as_deref() == Some(wanted)
}

async fn joined(world: &World, session: &Session) -> (Session, Watch) {
    let begin = Begin::Resume { session: session.id().clone(), choice: world.choice() };
    let joined = world.sessions.open(begin).await.unwrap();
    let watch = Watch::of_all(&joined);
    (joined, watch)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_sees_every_message_of_the_other_once_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str| {
        let name = name.to_owned();
        Scripted::new([]).otherwise(move |_, _| Act::say(&format!("answer of {name}")))
    };
    let (one, two) =
        (World::over(folder.path(), script("one")), World::over(folder.path(), script("two")));
    let here = one.begun().await;
    let mut watch = Watch::of(&here);
    let (there, mut watched) = joined(&two, &here).await;
    for round in 0..3 {
        let from_two = format!("two says {round}");
        there.submit(from_two.as_str().into(), WhenBusy::Queue).await.unwrap();
        watch.until("the other's words", is_added(&format!("user {from_two}"))).await;
        watch.until("the other's answer", is_added("assistant answer of two")).await;
        watched.until("the end of the turn", is_turn_end).await;
        let from_one = format!("one says {round}");
        here.submit(from_one.as_str().into(), WhenBusy::Queue).await.unwrap();
        watched.until("the other's words", is_added(&format!("user {from_one}"))).await;
        watched.until("the other's answer", is_added("assistant answer of one")).await;
        watch.until("the end of the turn", is_turn_end).await;
    }
    let told = |watch: &Watch| watch.seen.iter().filter_map(added).collect::<Vec<_>>();
    let of = |name: &str| -> Vec<String> {
        let each =
            |round| [format!("user {name} says {round}"), format!("assistant answer of {name}")];
        (0..3).flat_map(each).collect()
    };
    assert_eq!((told(&watch), told(&watched)), (of("two"), of("one")));
    let words = format!("{:?} {:?}", watch.words(), watched.words());
    assert!(!words.contains("repaired"), "{words}");
    assert_eq!(one.store.load(here.id()).await.unwrap().rows.len(), 14);
}

/// Two programs say something in turn, the second right behind the first, whether the conversation is
/// in the memory of the first or not.
async fn answers_at_once(limits: SessionLimits) {
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str| {
        let name = name.to_owned();
        Scripted::new([]).otherwise(move |_, _| Act::say(&format!("answer of {name}")))
    };
    let one = World::over_limited(folder.path(), script("one"), limits);
    let two = World::over(folder.path(), script("two"));
    let here = one.begun().await;
    let mut watch = Watch::of(&here);
    let (there, mut watched) = joined(&two, &here).await;
    for round in 0..12 {
        there.submit(format!("two {round}").as_str().into(), WhenBusy::Queue).await.unwrap();
        watched.until("the end of the turn", is_turn_end).await;
        here.submit(format!("one {round}").as_str().into(), WhenBusy::Queue).await.unwrap();
        watch.until("the end of the turn", is_turn_end).await;
    }
    let told: Vec<String> = watch.seen.iter().filter_map(added).collect();
    let both = |round| [format!("user two {round}"), "assistant answer of two".to_owned()];
    assert_eq!(told, (0..12).flat_map(both).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_other_said_is_shown_however_soon_a_turn_follows() {
    answers_at_once(SessionLimits::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_other_said_is_shown_by_a_session_that_was_not_in_memory() {
    let cold_after = Some(std::time::Duration::from_millis(1));
    answers_at_once(SessionLimits { cold_after, ..SessionLimits::default() }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_of_a_session_that_is_not_in_memory_hear_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let cold_after = Some(std::time::Duration::from_millis(20));
    let limits = SessionLimits { cold_after, ..SessionLimits::default() };
    let one = World::over_limited(folder.path(), Scripted::new([Act::say("begun")]), limits);
    let two = World::over(folder.path(), Scripted::new([Act::say("heard")]));
    let here = one.begun().await;
    let mut watch = Watch::of(&here);
    let (there, _watched) = joined(&two, &here).await;
    while !one.sessions.resident().is_empty() {
        tokio::task::yield_now().await;
    }
    there.submit("is anybody there".into(), WhenBusy::Queue).await.unwrap();
    watch.until("what was said elsewhere", is_added("user is anybody there")).await;
    watch.until("what was answered there", is_added("assistant heard")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_of_another_process_is_waited_for_and_not_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let script = [Act::say("begun"), Act::Hang("hm".to_owned())];
    let one = World::over(folder.path(), Scripted::new(script));
    let two = World::over(folder.path(), Scripted::new([Act::say("my turn")]));
    let here = one.begun().await;
    let mut watch = Watch::of(&here);
    here.submit("a long one".into(), WhenBusy::Queue).await.unwrap();
    watch.until("the model speaks", is_delta).await;
    let (there, mut watched) = joined(&two, &here).await;
    there.submit("and then".into(), WhenBusy::Queue).await.unwrap();
    let waits = |event: &SessionEvent| matches!(event, SessionEvent::Agent(Event::Notice { text }) if text.starts_with("waiting: a turn in process"));
    watched.until("that it waits", waits).await;
    assert!(here.interrupt());
    let ended = watch.until("the end of the turn", is_turn_end).await;
    let SessionEvent::TurnEnded { end: Ok(end), .. } = ended else { panic!("{ended:?}") };
    assert_eq!(end.outcome, Outcome::Interrupted);
    let ended = watched.until("the end of the turn", is_turn_end).await;
    let SessionEvent::TurnEnded { end: Ok(end), .. } = ended else { panic!("{ended:?}") };
    assert_eq!(end.text, "my turn");
    watch.until("what was said elsewhere", is_added("user and then")).await;
    watch.until("what was answered there", is_added("assistant my turn")).await;
    let words = format!("{:?}", watched.words());
    assert!(!words.contains("repaired"), "{words}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_of_one_process_is_shown_and_answered_in_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let script = [Act::say("begun"), Act::call("touch", "{}"), Act::say("done")];
    let one = World::over(folder.path(), Scripted::new(script));
    let two = World::over(folder.path(), Scripted::new([]));
    let here = one.begun().await;
    let (there, mut watched) = joined(&two, &here).await;
    let mut watch = Watch::of(&here);
    here.submit("go".into(), WhenBusy::Queue).await.unwrap();
    let question = |event: SessionEvent| match event {
        SessionEvent::QuestionAsked(question) => question,
        other => panic!("{other:?}"),
    };
    let asked = question(watch.until("the question", is_question).await);
    let same = question(watched.until("the same question", is_question).await);
    assert_eq!((&asked.id, &there.question().unwrap().id), (&same.id, &asked.id));
    there.answer(&same.id, QuestionReply::Allow(Scope::Once), &Answerer::here()).await.unwrap();
    watch.until("the end of the turn", is_turn_end).await;
    // The question and the rows are followed on two ways; either may be the first.
    let closed = |event: &SessionEvent| matches!(event, SessionEvent::QuestionClosed { .. });
    let answer = is_added("assistant done");
    let both = |event: &SessionEvent| closed(event) || answer(event);
    let first = watched.until("that it is closed, or the answer", both).await;
    let other = watched.until("the other of the two", both).await;
    assert_ne!(closed(&first), closed(&other));
    assert!(there.question().is_none());
    let touched = std::fs::read_to_string(folder.path().join("touched")).unwrap();
    assert_eq!(touched.lines().count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_taken_back_in_one_window_is_gone_in_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let one = World::over(folder.path(), Scripted::new([Act::say("begun")]));
    let two = World::over(folder.path(), Scripted::new([Act::say("again")]));
    let here = one.begun().await;
    let (there, mut watched) = joined(&two, &here).await;
    let undone = here.command("/undo now").await.unwrap();
    assert!(format!("{undone:?}").contains("Removed the last exchange"), "{undone:?}");
    let gone = |event: &SessionEvent| matches!(event, SessionEvent::Page(page) if page.text().contains("removed elsewhere"));
    watched.until("that it was taken back", gone).await;
    assert!(there.recent(10).await.unwrap().is_empty());
    there.submit("anew".into(), WhenBusy::Queue).await.unwrap();
    watched.until("the end of the turn", is_turn_end).await;
    let prompt = &two.model.asked()[0].prompt.messages;
    assert_eq!(prompt.len(), 1, "{prompt:?}");
}
