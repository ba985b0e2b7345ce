//! The example plugins do what they say.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use petasos_contract::processes::{HelperSpec, Processes};
use petasos_plugins::plugin::State;
use petasos_terminal::Helpers;
use serde_json::json;
use tokio::io::AsyncReadExt as _;

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

/// What a program prints; nothing when it is not there or fails.
async fn printed(stage: &Stage, argv: &[&str]) -> Option<String> {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    let mut helper =
        Helpers::new().start(HelperSpec::new("node", argv, &stage.settings())).await.ok()?;
    let mut text = String::new();
    helper.stdout.read_to_string(&mut text).await.unwrap();
    let ending = helper.hand.exited().await.unwrap();
    (ending.code() == 0).then_some(text)
}

/// The program that runs is the TypeScript without its types.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "services tell where they are by variables")]
async fn the_typescript_example_is_in_step_with_what_runs() {
    let stage = stage("clock", "typescript");
    let node = std::env::var("MCP_NODE").unwrap_or_else(|_| "node".to_owned());
    let source = example("typescript/index.ts");
    let strip = format!(
        "const {{ stripTypeScriptTypes: strip }} = require('module'); \
         process.stdout.write(strip(require('fs').readFileSync({source:?}, 'utf8')))"
    );
    let Some(stripped) = printed(&stage, &[&node, "--no-warnings", "-e", &strip]).await else {
        let why = "no node of 22.13 or newer; `scripts/services/mcp.sh start` prints MCP_NODE";
        petasos_testkit::skip("plugins::typescript_in_step", "mcp", why);
        return;
    };
    let letters = |text: &str| text.split_whitespace().collect::<String>();
    let runs = std::fs::read_to_string(example("typescript/index.mjs")).unwrap();
    assert_eq!(letters(&stripped), letters(&runs));
}

#[tokio::test]
async fn the_typescript_example_tells_the_time_and_guards() {
    let stage = stage("clock", "typescript");
    let plugins = stage.plugins().await;
    let plugin = Arc::clone(plugins.get("clock").unwrap());
    assert_eq!(plugin.state(), State::Ready, "{plugin:?}");
    assert!(stage.text("clock_now", json!({ "zone": "UTC" })).await.contains("\"zone\":\"UTC\""));
    let refused = stage.text("echo", json!({ "text": "xyzzy" })).await;
    assert_eq!(refused, r#"{"error":"that word is secret"}"#);
}
