//! The example plugins do what they say.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use petasos_contract::processes::{HelperSpec, Processes};
use petasos_plugins::plugin::State;
use petasos_terminal::Helpers;
use serde_json::json;

use crate::stage::Stage;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins").join(name)
}

fn stage(name: &str, from: &str) -> Stage {
    let stage = Stage::new(json!({ "plugins": { "enabled": [name] } }));
    let folder = stage.home.path().join("petasos/plugins").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    for entry in std::fs::read_dir(example(from)).unwrap().flatten() {
        if entry.path().is_file() {
            std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
    }
    stage
}

#[tokio::test]
async fn the_python_example_keeps_notes() {
    let stage = stage("notes", "python");
    let plugins = stage.plugins().await;
    stage.call("note_add", json!({ "text": "milk" })).await;
    assert_eq!(stage.text("note_list", json!({})).await, r#"{"notes": ["milk"]}"#);
    let said = plugins.run_command("notes", "", &stage.cx()).await.unwrap().unwrap();
    assert!(said.starts_with("1 notes"), "{said}");
}

#[tokio::test]
async fn the_rust_example_counts_words() {
    let stage = stage("words", "rust");
    let program = std::env::current_exe().unwrap();
    let program = program.parent().unwrap().parent().unwrap().join("examples/plugin_words");
    let there = stage.home.path().join("petasos/plugins/words/plugin_words");
    std::fs::copy(program, there).unwrap();
    let plugins = stage.plugins().await;
    assert_eq!(plugins.get("words").unwrap().state(), State::Ready);
    let counted = stage.text("word_count", json!({ "text": "one two three" })).await;
    assert_eq!(counted, r#"{"words":3}"#);
}

/// Whether a `node` that runs TypeScript as it is exists here.
async fn has_node(stage: &Stage) -> bool {
    let argv = ["node", "--experimental-strip-types", "--eval", "0"].map(str::to_owned);
    let spec = HelperSpec::new("node", argv.into(), &stage.settings());
    match Helpers::new().start(spec).await {
        Ok(helper) => helper.hand.exited().await.is_ok_and(|ending| ending.code() == 0),
        Err(_) => false,
    }
}

#[tokio::test]
async fn the_typescript_example_tells_the_time_and_guards() {
    let stage = stage("clock", "typescript");
    if !has_node(&stage).await {
        petasos_testkit::skip("plugins::typescript", "node", "22.6 or newer runs TypeScript");
        return;
    }
    let plugins = stage.plugins().await;
    let plugin = Arc::clone(plugins.get("clock").unwrap());
    assert_eq!(plugin.state(), State::Ready, "{plugin:?}");
    assert!(stage.text("clock_now", json!({ "zone": "UTC" })).await.contains("\"zone\":\"UTC\""));
    let refused = stage.text("echo", json!({ "text": "xyzzy" })).await;
    assert_eq!(refused, r#"{"error":"that word is secret"}"#);
}
