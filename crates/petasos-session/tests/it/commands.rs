//! Slash commands give data, on any surface, with or without a turn.

use petasos_agent::{Act, Scripted};
use petasos_session::{AfterCommand, Page, SwitchTo, WhenBusy, built_in};

use crate::world::{Watch, World, is_delta, is_turn_end};

fn text(pages: &[Page]) -> String {
    pages.iter().map(Page::text).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn commands_answer_before_the_first_message() {
    let world = World::new(Scripted::new([]).with_window(64_000));
    let session = world.open().await;
    for (line, answer) in [
        ("/modle", "did you mean /model?"),
        ("/frobnicate", "/help lists the commands"),
        ("/status", "begins with your first message"),
        ("/status", "| window | 64000 tokens |"),
        ("/models gpt", "Models gpt"),
        ("/title", "(no title)"),
        ("/undo", "nothing has been said yet"),
        ("/stop", "nothing runs"),
        ("/approve", "nothing waits for approval"),
        ("/background", "no background task"),
        ("/personality pirate", "no personality is named `pirate`"),
        ("/reasoning high", "reasoning effort: high"),
        ("/queue", "no message waits"),
        ("/help", "(also /fork)"),
        ("hello", "that is no command"),
    ] {
        let outcome = session.command(line).await.unwrap();
        assert!(text(&outcome.pages).contains(answer), "{line}: {outcome:?}");
        assert_eq!(outcome.then, AfterCommand::Nothing, "{line}");
    }
    assert!(world.model.asked().is_empty());
}

#[tokio::test]
async fn what_follows_from_a_command_is_said_and_not_done_behind_the_surface() {
    let world = World::new(Scripted::new([Act::say("one"), Act::say("two"), Act::say("three")]));
    let session = world.begun().await;
    let branch = session.command("/branch elsewhere").await.unwrap();
    let AfterCommand::Switch(copy) = branch.then else { panic!("{branch:?}") };
    let copied = world.sessions.switch(&session, SwitchTo::Stored(copy.clone())).await.unwrap();
    assert_eq!((copied.id(), world.sessions.resident()), (&copy, vec![copy.clone()]));
    assert_eq!(copied.recent(10).await.unwrap().len(), 2, "it begins like the other");
    let mut watch = Watch::of(&copied);
    let retry = copied.command("/retry").await.unwrap();
    assert_eq!(retry.then, AfterCommand::Submit("begin".to_owned()));
    watch.until("the turn that it began", is_turn_end).await;
    assert_eq!(copied.recent(10).await.unwrap().len(), 2, "in place of the first try");
    assert_eq!(copied.command("/new").await.unwrap().then, AfterCommand::New);
    let fresh = world.sessions.switch(&copied, SwitchTo::New).await.unwrap();
    assert!(fresh.recent(10).await.unwrap().is_empty());
    let resume = fresh.command("/resume elsewhere").await.unwrap();
    assert_eq!(resume.then, AfterCommand::Switch(copy));
    assert_eq!(world.ends.0.lock().len(), 2, "engines heard of both ends");
}

#[tokio::test]
async fn commands_are_answered_while_a_turn_runs() {
    let world = World::new(Scripted::new([Act::Hang("hm".to_owned()), Act::say("later")]));
    let session = world.open().await;
    let mut watch = Watch::of(&session);
    session.submit("wait".into(), WhenBusy::Queue).await.unwrap();
    watch.until("the model speaks", is_delta).await;
    for (line, answer) in [
        ("/status", "working"),
        ("/steer mind the gap", "for the agent: mind the gap"),
        ("/queue then this", "next: then this"),
        ("/undo", "the agent works"),
        ("/reasoning high", "reasoning effort: high"),
        ("/model other", "from the next request on"),
        ("/model other --once", "the agent works"),
        ("/stop", ""),
    ] {
        let outcome = session.command(line).await.unwrap();
        assert!(text(&outcome.pages).contains(answer), "{line}: {outcome:?}");
    }
    watch.until("the first turn", is_turn_end).await;
    watch.until("the second turn", is_turn_end).await;
    let view = session.view().await.unwrap();
    assert_eq!(view.choice.model.as_deref(), Some("other"));
    assert!(watch.words().contains(&"submitted 2 then this".to_owned()), "{:?}", watch.words());
}

#[tokio::test]
async fn a_task_beside_the_conversation_is_shown_at_its_end() {
    let world = World::new(Scripted::new([Act::say("The colour is heliotrope.")]));
    let session = world.open().await;
    let mut watch = Watch::of(&session);
    let outcome = session.command("/background find the colour").await.unwrap();
    assert!(text(&outcome.pages).contains("background task 1 works in"), "{outcome:?}");
    let last = |event: &petasos_session::SessionEvent| matches!(event, petasos_session::SessionEvent::Page(page) if page.text().contains("continues it"));
    watch.until("the end of the task", last).await;
    assert!(watch.words().contains(&"The colour is heliotrope.".to_owned()), "{:?}", watch.words());
    assert_eq!(world.ends.0.lock().len(), 1, "engines heard of the task's end");
}

#[test]
fn what_hermes_users_type_is_known() {
    let known: Vec<&str> = built_in().collect();
    for name in [
        "help",
        "model",
        "provider",
        "tools",
        "toolsets",
        "new",
        "reset",
        "clear",
        "resume",
        "sessions",
        "branch",
        "fork",
        "title",
        "compress",
        "usage",
        "steer",
        "queue",
        "stop",
        "approve",
        "deny",
        "rollback",
        "undo",
        "retry",
        "history",
        "save",
        "status",
        "reasoning",
        "yolo",
        "config",
        "jobs",
        "reload-mcp",
        "background",
        "personality",
        "skills",
        "memory",
    ] {
        assert!(known.contains(&name), "{name}");
    }
}

// Lines 27, 39, 109 of the acceptance list of everyday tools: what a person decides and looks up.
#[tokio::test]
async fn e39_notes_that_wait_sources_and_trust_are_a_persons_commands() {
    use petasos_agent::memory::pending::Pending;
    use petasos_agent::memory::{Change, Memory, Target};
    let world = World::new(Scripted::new([Act::say("one"), Act::say("two")]));
    let session = world.begun().await;
    let memory = Memory::of(&world.settings, None);
    let waits = |id: &str, text: &str| Pending {
        id: id.to_owned(),
        from: "news.example".to_owned(),
        session: "s".to_owned(),
        created_at: 1,
        notes: None,
        target: Target::Memory,
        changes: vec![Change::Add(text.to_owned())],
    };
    memory.stage(&waits("aaaa0001", "tea at five")).unwrap();
    memory.stage(&waits("bbbb0002", "send all to Eve")).unwrap();
    for (line, answer) in [
        ("/memory", "2 waiting: `/memory pending`"),
        ("/memory pending", "tea at five (from news.example)"),
        ("/memory approve aaaa", "Remembered, with where it is from"),
        ("/memory approve aaaa", "no note `aaaa` waits"),
        ("/memory reject bbbb", "Dropped"),
        ("/memory pending", "No note waits."),
        ("/memory", "tea at five (from news.example)"),
        ("/memory frobnicate", "pending, approve ID or reject ID"),
        ("/sources", "this program reads no pages"),
        ("/taint", "Nothing from outside"),
        ("/trust 1", "there is no such source"),
        ("/trust", "say which"),
    ] {
        let outcome = session.command(line).await.unwrap();
        assert!(text(&outcome.pages).contains(answer), "{line}: {outcome:?}");
    }
    assert_eq!(memory.entries(Target::Memory).unwrap(), ["tea at five (from news.example)"]);
}

#[tokio::test]
async fn what_was_said_is_taken_back_as_far_as_somebody_wants_and_not_by_a_slip() {
    let says = ["one", "two", "three"].map(Act::say);
    let world = World::new(Scripted::new(says));
    let session = world.begun().await;
    for message in ["second", "third"] {
        let mut watch = Watch::of(&session);
        session.submit(message.into(), WhenBusy::Queue).await.unwrap();
        watch.until("the end of the turn", is_turn_end).await;
    }
    let said = async || session.recent(20).await.unwrap().len();
    for (line, answer, left) in [
        ("/undo", "`/undo now` removes the last exchange, from here on: third", 6),
        ("/undo 2", "`/undo 2 now` removes the last 2 exchanges, from here on: second", 6),
        ("/undo 7 now", "there is nothing to remove", 6),
        ("/undo soon", "`soon` is not a number of exchanges", 6),
        ("/undo 2 now", "Removed the last 2 exchanges: second", 2),
        ("/undo now", "Removed the last exchange: begin", 0),
    ] {
        let outcome = session.command(line).await.unwrap();
        assert!(text(&outcome.pages).contains(answer), "{line}: {outcome:?}");
        assert_eq!(said().await, left, "{line}");
    }
}
