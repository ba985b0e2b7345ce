//! Clients of others drive the program.

use petasos_testkit::Home;
use serde_json::{Value, json};

use super::{home, result_of, terminal, write};
use crate::loopback::{Loopback, Say};

/// Where the service is; nothing when it is not there.
#[expect(clippy::disallowed_methods, reason = "services tell their addresses by variables")]
fn service(name: &str) -> Option<String> {
    std::env::var(format!("PETASOS_TEST_ACP_{name}")).ok()
}

/// Runs a client of others; gives what it printed.
#[expect(clippy::disallowed_methods, reason = "official clients are programs of their own")]
fn driven(home: &Home, program: &str, arguments: &[&str]) -> Value {
    let output = std::process::Command::new(program)
        .args(arguments)
        .env_clear()
        .env("HOME", home.user())
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir(home.workspace())
        .output()
        .expect("the client starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program}: {told} {}",
        String::from_utf8_lossy(&output.stdout)
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn beside(file: &str) -> String {
    format!("{}/tests/it/acp/{file}", env!("CARGO_MANIFEST_DIR"))
}

/// 133, 135, 136, 139 with the official TypeScript client; every frame is checked by the published
/// schema.
#[test]
fn the_official_typescript_client_drives_an_editor_session() {
    let (Some(sdk), Some(python), Some(validate), Some(schema)) =
        (service("ACP_SDK"), service("ACP_PYTHON"), service("ACP_VALIDATE"), service("ACP_SCHEMA"))
    else {
        let test = "the_official_typescript_client_drives_an_editor_session";
        return petasos_testkit::skip(test, "acp", "the official clients are not installed");
    };
    let edit = json!({ "path": "note.txt", "old_string": "unsaved", "new_string": "edited" });
    let model = Loopback::saying(vec![
        Say::Calls(vec![("read_file", json!({ "path": "note.txt" }))]),
        Say::Calls(vec![("patch", edit)]),
        write("other.txt", "never"),
        terminal("echo made > made.txt"),
        Say::Text("worked. "),
        Say::Stuck("begin "),
        terminal("sleep 60"),
        Say::Text("again."),
    ]);
    let home = home(&model);
    home.write("work/note.txt", "saved words\n");
    let trace = home.user().join("trace.jsonl");
    let cwd = home.workspace();
    let saw = driven(
        &home,
        "node",
        &[
            &beside("drive.mjs"),
            &sdk,
            env!("CARGO_BIN_EXE_petasos"),
            cwd.to_str().expect("text"),
            trace.to_str().expect("text"),
        ],
    );
    assert_eq!(saw["version"], 1);
    assert_eq!(saw["stops"], json!(["end_turn", "cancelled", "cancelled", "end_turn"]), "{saw}");
    assert_eq!(saw["live"], "worked. begin ", "{saw}");
    assert!(saw["text"].as_str().is_some_and(|text| text.ends_with("again.")), "{saw}");
    let permits: Vec<&str> = saw["asked"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["permit"].as_str())
        .collect();
    // What only sleeps changes nothing, and is not asked about.
    assert_eq!(permits, ["allow_once", "deny", "allow_once"], "{saw}");
    assert_eq!(saw["asked"][0]["diff"], json!(["unsaved words\n", "edited words\n"]), "{saw}");
    assert_eq!(saw["asked"][1]["diff"], json!([null, "never"]), "{saw}");
    assert!(cwd.join("made.txt").exists() && !cwd.join("other.txt").exists());
    assert_eq!((saw["forked"].as_bool(), saw["listed"].as_u64()), (Some(true), Some(2)), "{saw}");
    assert_eq!(saw["replayed"], 3, "{saw}");
    let states = saw["calls"].as_object().expect("a map");
    assert!(states.values().all(|state| state == "completed" || state == "failed"), "{saw}");
    // The client's text is what was read and edited.
    assert!(
        result_of(&model, "read_file").contains("unsaved words"),
        "{}",
        result_of(&model, "read_file")
    );
    assert_eq!(saw["buffer"], "edited words\n", "{saw}");
    let checked = validated(&python, &[&validate, &schema, trace.to_str().expect("text")]);
    assert!(checked.is_ok(), "{checked:?}");
}

#[expect(clippy::disallowed_methods, reason = "the check of the schema is a program of its own")]
fn validated(python: &str, arguments: &[&str]) -> Result<String, String> {
    let output =
        std::process::Command::new(python).args(arguments).output().expect("python starts");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    // `session/fork` is not in the stable schema yet, and the killed program leaves nothing open.
    let bad =
        told.lines().filter(|line| line.starts_with("PROBLEM") && !line.contains("session/fork"));
    let bad: Vec<&str> = bad.collect();
    if bad.is_empty() { Ok(told) } else { Err(bad.join("\n")) }
}

/// 142 with the official Python client.
#[test]
fn the_official_python_client_keeps_two_sessions_apart() {
    let Some(python) = service("ACP_PYTHON") else {
        let test = "the_official_python_client_keeps_two_sessions_apart";
        return petasos_testkit::skip(test, "acp", "the official clients are not installed");
    };
    let model = Loopback::saying(vec![
        write("x.txt", "1"),
        Say::Text("one"),
        write("x.txt", "1"),
        Say::Text("two"),
    ]);
    let home = home(&model);
    home.write("work/a/keep", "");
    home.write("work/b/keep", "");
    let (a, b) = (home.workspace().join("a"), home.workspace().join("b"));
    let paths = (a.to_str().expect("text"), b.to_str().expect("text"));
    let program = env!("CARGO_BIN_EXE_petasos");
    let saw = driven(&home, &python, &[&beside("drive.py"), program, paths.0, paths.1]);
    assert_eq!(saw["stops"], json!(["end_turn", "end_turn"]), "{saw}");
    assert_eq!(saw["asked"], json!(["second"]), "{saw}");
    assert_eq!(saw["text"], json!(["one", "two"]), "{saw}");
    assert!(a.join("x.txt").exists() && !b.join("x.txt").exists());
}
