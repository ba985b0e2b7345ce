//! The official clients, unmodified and with their defaults, and one that reads strictly.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use petasos_agent::{Act, Scripted};
use petasos_contract::model::Reason;
use petasos_testkit::skip;
use serde_json::Value;

use crate::world::{KEY, OTHER, World};

/// A model that does what the last message says.
fn obedient() -> Scripted {
    Scripted::default().otherwise(|prompt, _| {
        let said = |at: usize| {
            let message = prompt.messages.iter().rev().nth(at);
            serde_json::to_value(message).unwrap_or_default()
        };
        let last = said(0);
        let words = last["content"].to_string();
        if last["role"] == "tool" {
            return Act::say("the list is done");
        }
        match () {
            () if words.contains("use a tool") => Act::calls("I look.", &[("todo", "{}")]),
            () if words.contains("ten tools") => Act::calls("", &[("todo", "{}"); 10]),
            () if words.contains("fail late") => {
                let fails = Box::new(Act::Fail(Reason::ServerError));
                Act::After(Duration::from_millis(1200), fails)
            }
            () if words.contains("fail") => Act::Fail(Reason::ServerError),
            () if words.contains("hang") => Act::Hang("I begin".to_owned()),
            () if words.contains("many") => Act::say(&"wörter 🦀 ".repeat(1000)),
            () if words.contains("how many") => Act::say(&prompt.messages.len().to_string()),
            () => Act::say(&format!("Grüße, {} messages", prompt.messages.len())),
        }
    })
}

#[expect(clippy::disallowed_methods, reason = "the harness names the clients in variables")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Runs a client against a server; gives what it saw.
#[expect(clippy::disallowed_methods, reason = "tests start the clients that they test with")]
async fn driven(world: &World, program: &str, script: &str, modules: &str) -> Value {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/sdk").join(script);
    let mut command = Command::new(program);
    command
        .arg(file)
        .args([&world.url(), OTHER])
        .env("OPENAI_API_KEY", KEY)
        .env("NODE_MODULES", modules);
    let ran = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{script}: {text} {wrong}");
    serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn s100_the_official_python_client() {
    let Some(python) = variable("OPENAI_PYTHON") else {
        return skip("s100_the_official_python_client", "openai", "OPENAI_PYTHON is not set");
    };
    let world = World::new(obedient()).await;
    let saw = driven(&world, &python, "drive.py", "").await;
    assert_eq!(saw["passed"].as_u64(), Some(37), "{saw}");
    failed_once(&world);
}

/// A call that failed was one turn, though the clients retry by themselves.
fn failed_once(world: &World) {
    for word in ["\"fail\"", "\"fail late\""] {
        let asked = world.model.asked();
        let failed = asked.iter().filter(|it| format!("{:?}", it.prompt.messages).contains(word));
        assert_eq!(failed.count(), 1, "{word}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s100_the_official_node_client() {
    let Some(modules) = variable("OPENAI_NODE_MODULES") else {
        return skip("s100_the_official_node_client", "openai", "OPENAI_NODE_MODULES is not set");
    };
    let world = World::new(obedient()).await;
    let saw = driven(&world, "node", "drive.mjs", &modules).await;
    assert_eq!(saw["passed"].as_u64(), Some(30), "{saw}");
    failed_once(&world);
}

#[tokio::test(flavor = "multi_thread")]
async fn s101_a_strict_client_streams_a_turn_with_ten_tools() {
    let Some(modules) = variable("OPENAI_NODE_MODULES") else {
        return skip("s101_a_strict_client", "openai", "OPENAI_NODE_MODULES is not set");
    };
    let world = World::new(obedient()).await;
    let saw = driven(&world, "node", "strict.mjs", &modules).await;
    assert_eq!(saw["passed"].as_u64(), Some(3), "{saw}");
}
