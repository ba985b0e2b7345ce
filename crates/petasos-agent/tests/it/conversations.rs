//! What models do, and what becomes of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_agent::{Act, Agent, Outcome, Scripted, TurnError};
use petasos_contract::event::Event;
use petasos_contract::message::{Assistant, RequestedCall};
use petasos_contract::model::{Finish, ModelError, Reason, Reply, Step};
use serde_json::json;

use crate::world::{World, told, when};

fn reply(text: &str, finish: Finish) -> Act {
    let content = Some(text.to_owned()).filter(|text| !text.is_empty());
    let message = Assistant { content, ..Assistant::default() };
    Act::Give(Box::new(Reply { message, finish, ..Reply::default() }))
}

fn calling(calls: &[(&str, &str, &str)], finish: Finish) -> Act {
    let call = |(id, name, arguments): &(&str, &str, &str)| RequestedCall {
        id: (*id).into(),
        name: (*name).into(),
        arguments: (*arguments).to_owned(),
        provider_data: None,
    };
    let tool_calls = calls.iter().map(call).collect();
    let message = Assistant { tool_calls, ..Assistant::default() };
    Act::Give(Box::new(Reply { message, finish, ..Reply::default() }))
}

#[tokio::test]
async fn a_request_has_the_time_that_its_provider_gives_it() {
    let world = World::new(Scripted::new([Act::say("done")]));
    world.one_turn("go").await.1.unwrap();
    let time = world.model.asked()[0].time;
    assert!(time > Duration::from_hours(2), "the loop sets no limit of its own: {time:?}");
}

#[tokio::test]
async fn a_batch_of_reads_runs_together_and_keeps_its_order() {
    let calls = [
        ("look", r#"{"do":"one","sleep_ms":150}"#),
        ("look", r#"{"do":"two","sleep_ms":150}"#),
        ("look", r#"{"do":"three","sleep_ms":150}"#),
        ("act", r#"{"do":"four"}"#),
    ];
    let world = World::new(Scripted::new([Act::calls("looking", &calls), Act::say("done")]));
    let started = Instant::now();
    let (agent, end) = world.one_turn("go").await;
    assert!(
        started.elapsed() < petasos_testkit::pace::fair(Duration::from_millis(400)),
        "{:?}",
        started.elapsed()
    );
    let end = end.unwrap();
    assert_eq!((end.outcome, end.text.as_str(), end.requests), (Outcome::Replied, "done", 2));
    let told = told(&agent);
    assert_eq!(told[1], "assistant: lookinglook,look,look,act");
    for (at, name) in ["one", "two", "three", "four"].iter().enumerate() {
        assert_eq!(told[at + 2], format!("tool: {{\"did\":\"{name}\"}}"));
    }
    let happened = world.happened();
    assert_eq!(happened.first().unwrap(), "turn_started");
    assert_eq!(happened.last().unwrap(), "turn_ended");
    assert_eq!(happened.iter().filter(|name| *name == "tool_answered").count(), 4);
}

#[tokio::test]
async fn a_tool_that_dies_is_an_error_the_model_reads() {
    let calls = [("act", r#"{"do":"panic"}"#), ("act", r#"{"do":"fail"}"#), ("act", "{}")];
    let world = World::new(Scripted::new([Act::calls("", &calls), Act::say("I see")]));
    let (agent, end) = world.one_turn("go").await;
    assert_eq!(end.unwrap().outcome, Outcome::Replied);
    let told = told(&agent);
    assert!(told[2].contains("Tool execution failed: Panic: the tool died"), "{}", told[2]);
    assert!(told[3].contains("Tool execution failed: Broken"), "{}", told[3]);
    assert!(told[4].contains("did"), "{}", told[4]);
}

#[tokio::test]
async fn a_refusal_ends_the_turn_with_a_whole_transcript() {
    for act in [reply("I cannot", Finish::ContentFilter), Act::Fail(Reason::ContentPolicy)] {
        let world = World::new(Scripted::new([act, Act::say("hello again")]));
        let (mut agent, end) = world.one_turn("something bad").await;
        assert_eq!(end.unwrap().outcome, Outcome::Refused);
        let end = agent.turn("something good".into(), &world.cx()).await.unwrap();
        assert_eq!(end.text, "hello again");
        world.check(&agent).await;
    }
}

#[tokio::test]
async fn malformed_arguments_are_asked_for_again_and_then_shown() {
    let bad = || calling(&[("a", "act", "{\"do\": ")], Finish::ToolCalls);
    let world = World::new(Scripted::new([bad(), bad(), Act::say("fine")]));
    let (agent, end) = world.one_turn("go").await;
    assert_eq!((end.unwrap().requests, told(&agent).len()), (3, 2), "nothing bad was kept");
    let world = World::new(Scripted::new([bad(), bad(), bad(), bad(), Act::say("fine")]));
    let (agent, end) = world.one_turn("go").await;
    assert_eq!(end.unwrap().text, "fine");
    assert!(told(&agent)[2].contains("error"), "{:?}", told(&agent));
    assert!(world.ran.lock().is_empty());
}

#[tokio::test]
async fn other_spellings_are_understood_and_unknown_names_end_the_turn_at_last() {
    let good =
        calling(&[("a", "Act", "{}"), ("a", "LOOK", "{}"), ("", "act", "{}")], Finish::ToolCalls);
    let world = World::new(Scripted::new([good, Act::say("ok")]));
    let (agent, end) = world.one_turn("go").await;
    assert_eq!(end.unwrap().outcome, Outcome::Replied);
    assert_eq!(told(&agent)[1], "assistant: Act,LOOK,act", "the model's own words are kept");
    assert_eq!(world.ran.lock().len(), 3);
    let bad = || Act::calls("", &[("launch", "{}"), ("act", "{}")]);
    let world = World::new(Scripted::new([bad(), bad(), bad()]));
    let (agent, end) = world.one_turn("go").await;
    assert_eq!(end.unwrap().outcome, Outcome::Halted);
    assert_eq!(world.ran.lock().len(), 3, "the known ones ran");
    assert!(told(&agent)[2].contains("Unknown tool"));
}

#[tokio::test]
async fn a_name_that_is_only_alike_runs_nothing_and_is_answered_with_a_suggestion() {
    let near = Act::calls("", &[("looks", r#"{"do":"one"}"#), ("react", r#"{"do":"two"}"#)]);
    let world = World::new(Scripted::new([near, Act::say("I see")]));
    let (agent, end) = world.one_turn("go").await;
    assert_eq!(end.unwrap().text, "I see");
    assert!(world.ran.lock().is_empty(), "{:?}", world.ran.lock());
    let told = told(&agent);
    assert_eq!(told[1], "assistant: looks,react", "nobody rewrites what the model asked for");
    assert!(told[2].contains("Unknown tool: looks"), "{told:?}");
    assert!(told[2].contains(r#""did_you_mean":"look""#), "{told:?}");
}

#[tokio::test]
async fn a_cut_reply_goes_on_and_cut_calls_never_run() {
    let acts = [
        calling(&[("a", "act", "{\"do\":\"ec")], Finish::Length),
        calling(&[("a", "act", "{}")], Finish::Length),
        reply("one, ", Finish::Length),
        reply("two", Finish::Stop),
    ];
    let world = World::new(Scripted::new(acts));
    let (_, end) = world.one_turn("count").await;
    assert_eq!(end.unwrap().text, "one, two");
    assert!(world.ran.lock().is_empty());
    let room: Vec<Option<u32>> =
        world.model.asked().iter().map(|asked| asked.prompt.max_tokens).collect();
    assert_eq!(room, [None, Some(8192), Some(16_384), Some(32_768)]);
}

fn broken(text: &str) -> Act {
    let content = Some(text.to_owned()).filter(|text| !text.is_empty());
    let message = Assistant { content, ..Assistant::default() };
    let (finish, broken) = (Finish::Length, Some("connection reset".to_owned()));
    Act::Give(Box::new(Reply { message, finish, broken, ..Reply::default() }))
}

#[tokio::test]
async fn a_reply_that_the_network_cut_is_continued_with_a_word_about_it() {
    for (acts, wanted) in [
        (vec![broken("one, "), Act::say("two")], "one, two"),
        (vec![broken("Hello wor"), Act::say("Hello world")], "Hello world"),
        (vec![broken("one, "), broken("two, "), Act::say("three")], "one, two, three"),
    ] {
        let world = World::new(Scripted::new(acts));
        let (_, end) = world.one_turn("count").await;
        assert_eq!(end.unwrap().text, wanted);
        let told = |event: &Event| match event {
            Event::Notice { text } => text.contains("connection reset"),
            _ => false,
        };
        assert!(world.saw(told), "nobody glues in silence");
        let room = world.model.asked().iter().all(|asked| asked.prompt.max_tokens.is_none());
        assert!(room, "the model ran out of network, not of room");
    }
}

#[tokio::test]
async fn a_stream_that_always_breaks_or_never_ends_is_a_failure() {
    let endless = "x".repeat(1_500_000);
    for (act, requests) in [(broken("Hello wor"), 3), (broken(""), 3), (broken(&endless), 1)] {
        let world = World::new(Scripted::new([]).otherwise(move |_, _| act.clone()));
        let (agent, end) = world.one_turn("go").await;
        assert!(matches!(end, Err(TurnError::Model(_))), "{end:?}");
        assert_eq!(world.model.asked().len(), requests);
        let kept: usize = told(&agent).iter().map(String::len).sum();
        assert!(kept < 1_000, "{kept} bytes of it are kept");
    }
}

#[tokio::test]
async fn calls_that_are_always_cut_never_run_and_room_only_grows() {
    let cut = || calling(&[("a", "act", "{}")], Finish::Length);
    let settings = json!({ "model": { "max_tokens": 100_000 } });
    let world = World::with(Scripted::new([]).otherwise(move |_, _| cut()), &settings);
    let (_, end) = world.one_turn("go").await;
    let end = end.unwrap();
    assert_eq!(end.outcome, Outcome::Halted);
    assert!(end.text.contains("model.max_tokens"), "{}", end.text);
    assert!(world.ran.lock().is_empty());
    let room = world.model.asked().iter().all(|asked| asked.prompt.max_tokens == Some(100_000));
    assert!(room);
}

#[tokio::test]
async fn silence_is_asked_about_and_then_named() {
    let silent = || reply("", Finish::Stop);
    let world = World::new(Scripted::new([silent(), Act::say("here")]));
    assert_eq!(world.one_turn("go").await.1.unwrap().text, "here");
    let world = World::new(Scripted::new([silent(), silent(), silent(), silent()]));
    let (_, end) = world.one_turn("go").await;
    let end = end.unwrap();
    assert_eq!((end.outcome, end.text.as_str()), (Outcome::Halted, "(empty)"));
}

#[tokio::test]
async fn a_fallback_in_the_middle_of_a_turn_is_told_and_the_turn_goes_on() {
    let message = Assistant { content: Some("from afar".to_owned()), ..Assistant::default() };
    let step = Step::FellBack { provider: "other".to_owned(), model: "m2".to_owned() };
    let second = Reply { message, path: vec![step], ..Reply::default() };
    let acts = [Act::call("act", "{}"), Act::Give(Box::new(second))];
    let world = World::new(Scripted::new(acts));
    assert_eq!(world.one_turn("go").await.1.unwrap().text, "from afar");
    let events = world.watch.0.lock();
    let fell = events.iter().any(|event| match event {
        Event::Replied { path, .. } => matches!(path.first(), Some(Step::FellBack { .. })),
        _ => false,
    });
    assert!(fell);
}

#[tokio::test]
async fn every_failure_of_a_model_leaves_a_conversation_that_can_go_on() {
    for reason in [
        Reason::Auth,
        Reason::Billing,
        Reason::RateLimit,
        Reason::Overloaded,
        Reason::ServerError,
        Reason::Timeout,
        Reason::ModelNotFound,
        Reason::Format,
        Reason::InvalidResponse,
        Reason::NotConfigured,
        Reason::Unknown,
    ] {
        let acts = [Act::call("act", "{}"), Act::Fail(reason), Act::say("back")];
        let world = World::new(Scripted::new(acts));
        let (mut agent, end) = world.one_turn("go").await;
        assert!(matches!(end, Err(TurnError::Model(_))), "{reason:?}: {end:?}");
        let end = agent.turn("again".into(), &world.cx()).await.unwrap();
        assert_eq!(end.text, "back");
        world.check(&agent).await;
    }
}

#[tokio::test]
async fn a_turn_ends_with_its_budget_and_a_summary() {
    let model = Scripted::new([]).otherwise(|prompt, _| {
        if prompt.tool_choice == petasos_contract::model::ToolChoice::Off {
            Act::say("I did three things")
        } else {
            Act::call("act", "{}")
        }
    });
    let world = World::with(model, &json!({ "agent": { "max_turns": 3 } }));
    let (_, end) = world.one_turn("go on for ever").await;
    let end = end.unwrap();
    assert_eq!((end.outcome, end.requests), (Outcome::OutOfBudget, 4));
    assert_eq!(end.text, "I did three things");
    let tools: Vec<usize> =
        world.model.asked().iter().map(|asked| asked.prompt.tools.len()).collect();
    assert!(tools.windows(2).all(|pair| pair[0] == pair[1]), "the prefix stays: {tools:?}");
}

#[tokio::test]
async fn rounds_that_only_run_code_are_free_but_not_for_ever() {
    let endless = || {
        Scripted::new([]).otherwise(|prompt, _| {
            if prompt.tool_choice == petasos_contract::model::ToolChoice::Off {
                Act::say("that was a lot")
            } else {
                Act::call("execute_code", r#"{"code":"print(1)"}"#)
            }
        })
    };
    // As configured: as many again; as asked for on the command line: not one more.
    for (asked, most) in [(None, 7), (Some(3), 4)] {
        let world = World::with(endless(), &json!({ "agent": { "max_turns": 3 } }));
        world.register("execute_code", petasos_contract::tool::RoundKind::Refunded);
        let mut choice = world.choice();
        choice.requests_max = asked;
        let mut agent = Agent::begin(Arc::clone(&world.engine), choice).await.unwrap();
        let end = agent.turn("go on for ever".into(), &world.cx()).await.unwrap();
        assert_eq!((end.outcome, end.requests), (Outcome::OutOfBudget, most));
    }
}

#[tokio::test]
async fn guidance_reaches_the_model_behind_results_or_as_the_next_message() {
    let world = World::new(Scripted::new([
        Act::call("act", r#"{"sleep_ms":100}"#),
        Act::After(Duration::from_millis(100), Box::new(Act::say("first answer"))),
        Act::say("second answer"),
    ]));
    let mut agent = world.agent().await;
    let inbox = agent.inbox();
    let steer = async {
        let asked = || world.saw(|event| matches!(event, Event::ToolStarted { .. }));
        when("a call", asked).await;
        inbox.steer("in blue");
        let reached = || world.saw(|event| matches!(event, Event::Steered { .. }));
        when("guidance at the model", reached).await;
        inbox.steer("and shorter");
    };
    let cx = world.cx();
    let (end, ()) = tokio::join!(agent.turn("paint".into(), &cx), steer);
    assert_eq!(end.unwrap().text, "second answer");
    let told = told(&agent);
    assert!(told[2].contains("in blue"), "{told:?}");
    assert!(told[4].contains("and shorter"), "{told:?}");
    world.check(&agent).await;
}

#[tokio::test]
async fn a_context_that_overflows_is_shortened_and_asked_again() {
    let mut overflow = ModelError::new(Reason::ContextOverflow, "too long");
    overflow.context_length = Some(64_000);
    let big = format!(r#"{{"do":"{}"}}"#, "x".repeat(4000));
    let acts = [
        Act::call("act", &big),
        Act::call("act", &big),
        Act::FailWith(Box::new(overflow)),
        Act::say("made it"),
    ];
    let world = World::with(
        Scripted::new(acts),
        &json!({ "compression": { "protect_last_n": 2, "target_ratio": 0.01 } }),
    );
    let (_, end) = world.one_turn("go").await;
    assert_eq!(end.unwrap().text, "made it");
    assert!(world.happened().contains(&"compressed".to_owned()));
}

#[tokio::test]
async fn a_first_request_that_does_not_fit_says_what_fills_the_window() {
    let mut overflow = ModelError::new(Reason::ContextOverflow, "too long");
    overflow.context_length = Some(16);
    let world = World::with(Scripted::new([Act::FailWith(Box::new(overflow))]), &json!({}));
    let (_, end) = world.one_turn("hi").await;
    let told = end.unwrap_err().to_string();
    assert!(told.contains("instructions and tool definitions need about "), "{told}");
    assert!(told.contains(" of its 16 tokens"), "{told}");
    assert!(told.contains("`-t file`") && told.contains("`platform_toolsets`"), "{told}");
    assert!(!told.contains("sessions fork"), "a new session would not help: {told}");
}
