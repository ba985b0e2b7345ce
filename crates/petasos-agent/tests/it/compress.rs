//! Compression: it shrinks or says why not, and the log keeps everything.

use petasos_agent::compress::Stopped;
use petasos_agent::{Act, Scripted};
use petasos_contract::model::{Reason, Role};
use petasos_store::Slice;
use serde_json::{Value, json};

use crate::world::{World, told};

fn small_window() -> Value {
    json!({
        "model": { "context_length": 64000 },
        "compression": { "protect_last_n": 2, "target_ratio": 0.05, "protect_first_n": 1 }
    })
}

/// Calls whose results are large, again and again, then a word.
fn busy(rounds: usize) -> Vec<Act> {
    let big = format!(r#"{{"do":"{}"}}"#, "lorem ipsum ".repeat(3000));
    let mut acts: Vec<Act> = (0..rounds).map(|_| Act::call("act", &big)).collect();
    acts.push(Act::say("done"));
    acts
}

#[tokio::test]
async fn tool_bulk_goes_first_in_the_middle_of_a_turn() {
    let world = World::with(Scripted::new(busy(8)), &small_window());
    let (agent, end) = world.one_turn("work hard").await;
    assert_eq!(end.unwrap().text, "done");
    assert!(world.happened().contains(&"compressed".to_owned()));
    let asked = world.model.asked();
    assert!(asked.iter().all(|asked| asked.role == Role::Main), "no summary was needed");
    let log = world.engine.store.read(agent.session(), Slice::Whole).await.unwrap();
    let kept = log.iter().filter(|row| row.stored.tokens > 5000).count();
    assert_eq!(kept, 16, "every long call and result is still in the log");
    assert!(agent.transcript().tokens() < 54_400);
}

#[tokio::test]
async fn talk_is_summarised_by_the_auxiliary_model_and_tasks_survive() {
    let long = "word ".repeat(30_000);
    let todo = r#"{"todos":[{"id":"1","content":"paint","status":"pending"},
        {"id":"2","content":"done already","status":"completed"}]}"#;
    let model = Scripted::new([
        Act::call("todo", todo),
        Act::say(&long),
        Act::say(&long),
        Act::say("still here"),
    ])
    .with(Role::Compression, [Act::say("They talked a lot.")]);
    let world = World::with(model, &small_window());
    let mut agent = world.agent().await;
    for words in ["one", "two", "three"] {
        agent.turn(words.into(), &world.cx()).await.unwrap();
    }
    world.check(&agent).await;
    let told = told(&agent);
    let summary = told.iter().find(|text| text.contains("They talked a lot.")).unwrap();
    assert!(summary.contains("paint") && !summary.contains("done already"), "{summary}");
    assert_eq!(told.last().unwrap(), "assistant: still here");
    assert!(told.iter().any(|text| text == "user: three"), "the last words stay");
    let (again, _) = world.resume(agent.session()).await;
    assert_eq!(crate::world::told(&again), told, "a resume sees the same");
}

#[tokio::test]
async fn a_model_that_is_away_keeps_the_originals_and_rests() {
    let long = "word ".repeat(20_000);
    let model = Scripted::new([Act::say(&long), Act::say(&long), Act::say("ok")])
        .with(Role::Compression, [Act::Fail(Reason::Auth)]);
    let world = World::with(model, &small_window());
    let mut agent = world.agent().await;
    agent.turn("one".into(), &world.cx()).await.unwrap();
    agent.turn("two".into(), &world.cx()).await.unwrap();
    let before = told(&agent);
    let stopped = agent.compress(None, &world.cx()).await.unwrap_err();
    assert!(matches!(stopped, Stopped::Unavailable { .. }), "{stopped:?}");
    assert_eq!(told(&agent), before);
    let stopped = agent.compress(None, &world.cx()).await.unwrap_err();
    assert!(matches!(stopped, Stopped::Resting { .. }), "{stopped:?}");
    world.check(&agent).await;
}

#[tokio::test]
async fn a_model_that_cannot_help_is_replaced_by_a_digest() {
    let long = "word ".repeat(20_000);
    let model = Scripted::new([Act::say(&long), Act::say(&long)])
        .with(Role::Compression, [Act::Fail(Reason::Format)]);
    let world = World::with(model, &small_window());
    let mut agent = world.agent().await;
    agent.turn("one".into(), &world.cx()).await.unwrap();
    agent.turn("two".into(), &world.cx()).await.unwrap();
    let done = agent.compress(None, &world.cx()).await.unwrap();
    assert!(done.after < done.before && done.how.contains("digest"), "{done:?}");
    world.check(&agent).await;
}

#[tokio::test]
async fn what_cannot_shrink_stops_with_its_reason() {
    let world = World::with(Scripted::new([Act::say("hi")]), &small_window());
    let mut agent = world.agent().await;
    agent.turn("hello".into(), &world.cx()).await.unwrap();
    let stopped = agent.compress(None, &world.cx()).await.unwrap_err();
    assert_eq!(stopped, Stopped::NothingLeft);
    assert_eq!(agent.compress(None, &world.cx()).await.unwrap_err(), Stopped::NothingLeft);
    assert_eq!(told(&agent).len(), 2);
}

#[tokio::test]
async fn asking_too_early_does_not_switch_it_off() {
    let world =
        World::with(Scripted::new([Act::say("hi")].into_iter().chain(busy(8))), &small_window());
    let mut agent = world.agent().await;
    agent.turn("hello".into(), &world.cx()).await.unwrap();
    for _ in 0..4 {
        agent.compress(None, &world.cx()).await.unwrap_err();
    }
    agent.turn("work hard".into(), &world.cx()).await.unwrap();
    assert!(world.happened().contains(&"compressed".to_owned()));
    world.check(&agent).await;
}

#[tokio::test]
async fn a_pass_that_fails_changes_nothing_in_the_store() {
    let long = "word ".repeat(9_000);
    let big = format!(r#"{{"do":"{}"}}"#, "lorem ipsum ".repeat(1000));
    let model = Scripted::new([
        Act::call("act", &big),
        Act::say(&long),
        Act::call("act", &big),
        Act::say(&long),
    ])
    .with(Role::Compression, [Act::Fail(Reason::Auth), Act::say("They worked.")]);
    let world = World::with(model, &small_window());
    let mut agent = world.agent().await;
    agent.turn("one".into(), &world.cx()).await.unwrap();
    agent.turn("two".into(), &world.cx()).await.unwrap();
    let before = world.engine.store.read(agent.session(), Slice::Whole).await.unwrap();
    let stopped = agent.compress(Some("words"), &world.cx()).await.unwrap_err();
    assert!(matches!(stopped, Stopped::Unavailable { .. }), "{stopped:?}");
    let after = world.engine.store.read(agent.session(), Slice::Whole).await.unwrap();
    assert_eq!(after, before, "no row was hidden, none was added");
    world.check(&agent).await;
}

/// Everything but the window as in a small one.
fn no_window() -> Value {
    json!({ "compression": { "protect_last_n": 2, "target_ratio": 0.05, "protect_first_n": 1 } })
}

#[tokio::test]
async fn the_models_own_window_says_when_to_shorten_unless_the_user_does() {
    let rows = [
        ("nobody knows", None, None, None, false),
        ("the model is small", Some(64_000), None, None, true),
        ("the model is large", Some(1_000_000), None, None, false),
        ("the user knows it as small", Some(1_000_000), Some(64_000), None, true),
        ("the user knows it as large", Some(64_000), Some(1_000_000), None, false),
        ("the user means another model", Some(64_000), Some(1_000_000), Some("other"), true),
    ];
    for (name, stated, configured, model, shortened) in rows {
        let mut values = no_window();
        values["model"] = json!({ "default": "usual" });
        if let Some(tokens) = configured {
            values["model"]["context_length"] = json!(tokens);
        }
        let scripted = Scripted::new(busy(8));
        let scripted = stated.into_iter().fold(scripted, Scripted::with_window);
        let world = World::with(scripted, &values);
        let mut agent = world.agent().await;
        agent.choice_mut().model = model.map(str::to_owned);
        agent.turn("work hard".into(), &world.cx()).await.unwrap();
        let happened = world.happened().contains(&"compressed".to_owned());
        assert_eq!(happened, shortened, "{name}");
    }
}

#[tokio::test]
async fn a_model_that_uses_its_window_well_is_shortened_later() {
    let world = World::new(Scripted::new([]));
    let threshold = |model: &str, provider: &str| {
        let mut choice = world.choice();
        (choice.model, choice.provider) = (Some(model.to_owned()), Some(provider.to_owned()));
        let mut compressor = petasos_agent::compress::Compressor::new(&choice);
        compressor.resize(1_000_000);
        compressor.threshold()
    };
    assert_eq!(threshold("gpt-5.5", "openai-codex"), 850_000);
    assert_eq!(threshold("gpt-5.5", "openai"), 500_000);
    assert_eq!(threshold("gpt-5.3-codex-spark", "openai-codex"), 700_000);
    assert_eq!(threshold("arcee-ai/trinity-large", "openrouter"), 750_000);
}

#[tokio::test]
async fn a_result_may_take_its_share_of_the_models_own_window() {
    for (window, whole) in [(1_000_000, true), (20_000, false)] {
        let words = "lorem ipsum ".repeat(1500);
        let call = Act::call("act", &json!({ "do": words }).to_string());
        let model = Scripted::new([call, Act::say("done")]).with_window(window);
        let world = World::with(model, &json!({}));
        let (agent, _) = world.one_turn("look").await;
        let shown = told(&agent).join("\n");
        assert_eq!(!shown.contains("<persisted-output>"), whole, "{window}: {shown}");
    }
}
