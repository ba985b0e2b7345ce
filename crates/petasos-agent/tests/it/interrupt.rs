//! Stop means stop: within a second, at every step, with a whole transcript.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use petasos_agent::{Act, Outcome, Scripted};
use petasos_contract::BoxFuture;
use petasos_contract::event::{Event, EventSink, Subscriber};
use petasos_contract::hook::{Directive, Hook, HookError, HookKind, HookSet, Moment};
use petasos_contract::model::Role;
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::world::{World, told, when};

/// Interrupts as soon as something happened; the turn must end within a second.
async fn interrupted_at(world: &World, moment: impl Fn(&Event) -> bool) -> Vec<String> {
    let mut agent = world.agent().await;
    let cx = world.cx();
    let cancel = cx.cancel.clone();
    let stop = async {
        when("the moment to interrupt", || world.saw(&moment)).await;
        cancel.cancel();
        Instant::now()
    };
    let (end, stopped) = tokio::join!(agent.turn("go".into(), &cx), stop);
    assert!(
        stopped.elapsed() < petasos_testkit::pace::fair(Duration::from_secs(1)),
        "{:?}",
        stopped.elapsed()
    );
    assert_eq!(end.unwrap().outcome, Outcome::Interrupted);
    world.check(&agent).await;
    let before = told(&agent);
    // The same conversation goes on afterwards, here and after a restart.
    let (mut again, repairs) = world.resume(agent.session()).await;
    assert!(repairs.is_empty(), "{repairs:?}");
    let end = again.turn("and now?".into(), &world.cx()).await.unwrap();
    assert_eq!(end.text, "here I am");
    world.check(&again).await;
    before
}

fn started(event: &Event) -> bool {
    matches!(event, Event::ToolStarted { .. })
}

#[tokio::test]
async fn before_the_first_request() {
    let world = World::new(Scripted::new([Act::say("here I am")]));
    let mut agent = world.agent().await;
    let cx = world.cx();
    cx.cancel.cancel();
    let end = agent.turn("go".into(), &cx).await.unwrap();
    assert_eq!((end.outcome, end.requests), (Outcome::Interrupted, 0));
    let end = agent.turn("and now?".into(), &world.cx()).await.unwrap();
    assert_eq!(end.text, "here I am");
    world.check(&agent).await;
}

#[tokio::test]
async fn while_the_model_speaks() {
    let acts = [Act::Hang("I was about to".to_owned()), Act::say("here I am")];
    let world = World::new(Scripted::new(acts));
    let told = interrupted_at(&world, |event| matches!(event, Event::Delta { .. })).await;
    assert_eq!(told, ["user: go", "assistant: I was about to"], "what had come is kept");
    assert_eq!(
        sent_last(&world),
        ["user: go", "assistant: I was about to\n\n[Interrupted by the user]", "user: and now?"],
        "the cancelled request is not glued to the next one"
    );
}

#[tokio::test]
async fn before_the_model_says_a_word() {
    let world = World::new(Scripted::new([Act::Hang(String::new()), Act::say("here I am")]));
    let mut agent = world.agent().await;
    let cx = world.cx();
    let stop = async {
        when("a request", || !world.model.asked().is_empty()).await;
        cx.cancel.cancel();
    };
    let (end, ()) = tokio::join!(agent.turn("go".into(), &cx), stop);
    assert_eq!(end.unwrap().outcome, Outcome::Interrupted);
    agent.turn("and now?".into(), &world.cx()).await.unwrap();
    world.check(&agent).await;
    assert_eq!(
        sent_last(&world),
        ["user: go", "assistant: [Interrupted by the user]", "user: and now?"]
    );
}

/// Waits for ever at one moment, and says that it has come.
struct Holds(HookKind, Notify);

impl Hook for Holds {
    fn name(&self) -> &'static str {
        "holds"
    }

    fn wants(&self) -> HookSet {
        HookSet::of(&[self.0])
    }

    fn fire<'a>(&'a self, _: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        self.1.notify_one();
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn while_a_hook_of_the_conversation_holds_it() {
    for kind in [
        HookKind::OnSessionStart,
        HookKind::PreLlmCall,
        HookKind::PreVerify,
        HookKind::TransformLlmOutput,
        HookKind::PostLlmCall,
        HookKind::OnSessionEnd,
    ] {
        let world = World::new(Scripted::new([Act::say("done"), Act::say("here I am")]));
        let holds = Arc::new(Holds(kind, Notify::new()));
        world.engine.dispatcher.hooks().register(&(Arc::clone(&holds) as Arc<dyn Hook>));
        let mut agent = world.agent().await;
        let cx = world.cx();
        let stop = async {
            holds.1.notified().await;
            cx.cancel.cancel();
            Instant::now()
        };
        let (end, stopped) = tokio::join!(agent.turn("go".into(), &cx), stop);
        assert!(
            stopped.elapsed() < petasos_testkit::pace::fair(Duration::from_secs(1)),
            "{kind:?}: {:?}",
            stopped.elapsed()
        );
        end.unwrap();
        world.check(&agent).await;
        assert_eq!(told(&agent)[0], "user: go", "{kind:?}: it was stored first");
    }
}

/// What the model was sent last.
fn sent_last(world: &World) -> Vec<String> {
    let asked = world.model.asked();
    let messages = &asked.last().unwrap().prompt.messages;
    messages.iter().map(crate::world::line).collect()
}

#[tokio::test]
async fn while_a_tool_runs_and_others_wait() {
    let calls = [("act", r#"{"do":"wait"}"#), ("act", "{}"), ("look", "{}")];
    let world = World::new(Scripted::new([Act::calls("", &calls), Act::say("here I am")]));
    let told = interrupted_at(&world, started).await;
    assert_eq!(told.len(), 6);
    assert!(told[2].contains("cancelled"), "{told:?}");
    assert!(told[3].contains("was not started"), "{told:?}");
    assert_eq!(world.ran.lock().as_slice(), ["wait"]);
}

#[tokio::test]
async fn while_a_batch_runs_together() {
    let calls = [("look", r#"{"do":"wait"}"#), ("look", "{}"), ("look", r#"{"do":"wait"}"#)];
    let world = World::new(Scripted::new([Act::calls("", &calls), Act::say("here I am")]));
    let told = interrupted_at(&world, started).await;
    assert_eq!(told.len(), 6, "one result each, and the mark: {told:?}");
}

#[tokio::test]
async fn as_soon_as_a_call_is_asked_for() {
    let acts = [Act::call("act", r#"{"do":"wait"}"#), Act::say("here I am")];
    let world = World::new(Scripted::new(acts));
    interrupted_at(&world, |event| matches!(event, Event::ToolRequested { .. })).await;
}

#[tokio::test]
async fn while_somebody_is_asked() {
    struct Silent;
    impl petasos_agent::Asker for Silent {
        fn ask<'a>(
            &'a self,
            _: &'a petasos_agent::Question,
            _: &'a petasos_contract::CallContext,
        ) -> petasos_contract::BoxFuture<'a, Result<String, String>> {
            Box::pin(std::future::pending())
        }
    }
    let acts = [Act::call("clarify", r#"{"question":"Well?"}"#), Act::say("here I am")];
    let mut world = World::new(Scripted::new(acts));
    Arc::get_mut(&mut world.engine).unwrap().asker = Some(Arc::new(Silent));
    let told = interrupted_at(&world, started).await;
    assert!(told[2].contains("cancelled"), "{told:?}");
}

#[tokio::test]
async fn while_subagents_work() {
    let tasks = r#"{"tasks":[{"goal":"a"},{"goal":"b"}]}"#;
    let model = Scripted::new([Act::call("delegate_task", tasks), Act::say("here I am")])
        .otherwise(|_, role| {
            assert_eq!(role, Role::Subagent);
            Act::call("act", r#"{"do":"wait"}"#)
        });
    let world = World::new(model);
    let deep = |event: &Event| match event {
        Event::Subagent { event, .. } => started(event),
        _ => false,
    };
    interrupted_at(&world, deep).await;
    let ended = || {
        let events = world.watch.0.lock();
        events.iter().filter(|event| matches!(event, Event::SubagentEnded { .. })).count()
    };
    when("the end of the children, with whole transcripts", || ended() == 2).await;
}

#[tokio::test]
async fn while_the_conversation_is_summarised() {
    let big = "word ".repeat(60_000);
    let model = Scripted::new([Act::say(&big), Act::say("here I am")])
        .with(Role::Compression, [Act::Hang("so far".to_owned()), Act::say("short")]);
    let values = json!({ "model": { "context_length": 64000 }, "compression": { "protect_last_n": 1, "protect_first_n": 0 } });
    let world = World::with(model, &values);
    let mut agent = world.agent().await;
    agent.turn("tell me everything".into(), &world.cx()).await.unwrap();
    let cx = world.cx();
    let (cancel, model) = (cx.cancel.clone(), Arc::clone(&world.model));
    let stop = async move {
        let asked = || model.asked().iter().any(|asked| asked.role == Role::Compression);
        when("a summary", asked).await;
        cancel.cancel();
        Instant::now()
    };
    let (end, stopped) = tokio::join!(agent.turn("more".into(), &cx), stop);
    assert!(stopped.elapsed() < petasos_testkit::pace::fair(Duration::from_secs(1)));
    assert_eq!(end.unwrap().outcome, Outcome::Interrupted);
    assert_eq!(told(&agent).len(), 4, "nothing was lost");
    world.check(&agent).await;
}

/// Interrupts at the event of one number; nothing when the turn has fewer.
struct At {
    number: usize,
    seen: AtomicUsize,
    cancel: CancellationToken,
}

impl Subscriber for At {
    fn take(&self, _: Event) {
        if self.seen.fetch_add(1, Ordering::Relaxed) == self.number {
            self.cancel.cancel();
        }
    }
}

#[tokio::test]
async fn at_every_event_of_a_busy_turn() {
    let acts = || {
        [
            Act::calls("first I look", &[("look", "{}"), ("look", "{}"), ("act", "{}")]),
            Act::call("todo", r#"{"todos":[{"id":"a","content":"b","status":"pending"}]}"#),
            Act::call("delegate_task", r#"{"goal":"help"}"#),
            Act::call("clarify", r#"{"question":"Well?"}"#),
            Act::call("act", r#"{"do":"fail"}"#),
            Act::say("done"),
        ]
    };
    let mut stopped = 0;
    for number in 0.. {
        let model = Scripted::new(acts()).otherwise(|_, _| Act::say("here I am"));
        let world = World::new(model);
        let mut agent = world.agent().await;
        let mut cx = world.cx();
        let cancel = cx.cancel.clone();
        let at = Arc::new(At { number, seen: AtomicUsize::new(0), cancel });
        cx.events = EventSink::to(Arc::clone(&at) as _);
        let began = Instant::now();
        let end = agent.turn("go".into(), &cx).await.unwrap();
        assert!(
            began.elapsed() < petasos_testkit::pace::fair(Duration::from_secs(2)),
            "event {number}: {:?}",
            began.elapsed()
        );
        world.check(&agent).await;
        if at.seen.load(Ordering::Relaxed) <= number {
            assert_eq!((end.outcome, end.text.as_str()), (Outcome::Replied, "done"));
            break;
        }
        stopped += usize::from(end.outcome == Outcome::Interrupted);
        let (mut again, repairs) = world.resume(agent.session()).await;
        assert!(repairs.is_empty(), "event {number}: {repairs:?}");
        again.turn("and now?".into(), &world.cx()).await.unwrap();
        world.check(&again).await;
    }
    assert!(stopped > 20, "only {stopped} moments were interrupted");
}
