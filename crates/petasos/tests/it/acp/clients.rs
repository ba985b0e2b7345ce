//! Clients of others drive the program.

use petasos_testkit::Home;
use serde_json::{Value, json};

use super::{home, result_of, terminal, write};
use crate::loopback::{Loopback, Say};

/// Where the service is; nothing when it is not there.
#[expect(clippy::disallowed_methods, reason = "services tell their addresses by variables")]
pub(super) fn service(name: &str) -> Option<String> {
    std::env::var(format!("PETASOS_TEST_ACP_{name}")).ok()
}

/// Runs a client of others; gives what it printed.
#[expect(clippy::disallowed_methods, reason = "official clients are programs of their own")]
fn printed(home: &Home, program: &str, arguments: &[&str]) -> String {
    let output = std::process::Command::new(program)
        .args(arguments)
        .env_clear()
        .env("HOME", home.user())
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir(home.workspace())
        .output()
        .expect("the client starts");
    let told = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{program}: {told} {text}");
    text
}

/// Runs a client that prints what it saw as JSON.
fn driven(home: &Home, program: &str, arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(home, program, arguments)).expect("JSON")
}

fn beside(file: &str) -> String {
    format!("{}/tests/it/acp/{file}", env!("CARGO_MANIFEST_DIR"))
}

/// What the model does in the scripted session: reads unsaved text, edits it, tries another edit, runs
/// a command, is cancelled in the middle of its words and of a command, and goes on.
fn scripted() -> Vec<Say> {
    let edit = json!({ "path": "note.txt", "old_string": "unsaved", "new_string": "edited" });
    vec![
        Say::Calls(vec![("read_file", json!({ "path": "note.txt" }))]),
        Say::Calls(vec![("patch", edit)]),
        write("other.txt", "never"),
        terminal("echo made > made.txt"),
        Say::Text("worked. "),
        Say::Stuck("begin "),
        terminal("sleep 60"),
        Say::Text("again."),
    ]
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
    let model = Loopback::saying(scripted());
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

/// 133: two hundred sessions, each by another walk through the methods; every frame of both sides is
/// what the published schema says, and nothing else is printed.
#[test]
fn s133_two_hundred_sessions_speak_the_published_schema() {
    let (Some(sdk), Some(python), Some(validate), Some(schema)) =
        (service("ACP_SDK"), service("ACP_PYTHON"), service("ACP_VALIDATE"), service("ACP_SCHEMA"))
    else {
        let test = "s133_two_hundred_sessions_speak_the_published_schema";
        return petasos_testkit::skip(test, "acp", "the official clients are not installed");
    };
    let todos = json!({ "todos": [{ "id": "1", "content": "read", "status": "pending" }] });
    let steps = [
        Say::Text("said."),
        write("note.txt", "new\n"),
        terminal("echo made > made.txt"),
        Say::Calls(vec![("todo", todos)]),
        Say::Calls(vec![
            ("read_file", json!({ "path": "note.txt" })),
            ("read_file", json!({ "path": "absent.txt" })),
        ]),
    ];
    let model = Loopback::saying(steps.iter().cycle().take(3000).cloned().collect());
    let home = home(&model);
    home.write("work/note.txt", "old\n");
    let (trace, cwd) = (home.user().join("trace.jsonl"), home.workspace());
    let (trace, cwd) = (trace.to_str().expect("text"), cwd.to_str().expect("text"));
    let program = env!("CARGO_BIN_EXE_petasos");
    let saw = driven(&home, "node", &[&beside("many.mjs"), &sdk, program, cwd, trace, "200"]);
    assert_eq!((saw["sessions"].as_u64(), saw["stray"].as_u64()), (Some(200), Some(0)), "{saw}");
    assert_eq!(saw["open"], 0, "no call is left open: {saw}");
    assert!(saw["asked"].as_u64() > Some(20), "{saw}");
    // 135: fifty a page, none twice and none left out.
    let (listed, pages) = (saw["listed"].as_u64(), saw["pages"].as_u64());
    assert_eq!((pages, saw["names"].as_u64()), (listed.map(|it| it.div_ceil(50)), listed), "{saw}");
    assert!(pages > Some(1), "{saw}");
    for code in ["-32002", "-32602"] {
        assert!(saw["refused"][code].as_u64() > Some(0), "{saw}");
    }
    let checked = validated(&python, &[&validate, &schema, trace]);
    assert!(checked.is_ok(), "{checked:?}");
}

/// 133 with acpx, a client for the command line.
#[test]
fn s133_acpx_has_a_command_run() {
    let (Some(acpx), Some(python), Some(validate), Some(schema)) = (
        service("ACP_CLIENT"),
        service("ACP_PYTHON"),
        service("ACP_VALIDATE"),
        service("ACP_SCHEMA"),
    ) else {
        let test = "s133_acpx_has_a_command_run";
        return petasos_testkit::skip(test, "acp", "the official clients are not installed");
    };
    let model = Loopback::saying(vec![terminal("echo made > made.txt"), Say::Text("made it.")]);
    let home = home(&model);
    let agent = format!("{} acp", env!("CARGO_BIN_EXE_petasos"));
    let told = printed(
        &home,
        &acpx,
        &["--agent", &agent, "--format", "json", "--json-strict", "--approve-all", "exec", "make"],
    );
    assert!(home.workspace().join("made.txt").exists(), "{told}");
    home.write("trace.jsonl", &told);
    let trace = home.user().join("trace.jsonl");
    let checked = validated(&python, &[&validate, &schema, trace.to_str().expect("text")]);
    assert!(checked.is_ok(), "{checked:?}");
    assert!(told.contains("end_turn"), "{told}");
}

/// 135, 136, 137, 139 with the official Python client: the same session as with the other one.
#[test]
fn the_official_python_client_drives_an_editor_session() {
    let Some(python) = service("ACP_PYTHON") else {
        let test = "the_official_python_client_drives_an_editor_session";
        return petasos_testkit::skip(test, "acp", "the official clients are not installed");
    };
    let model = Loopback::saying(scripted());
    let home = home(&model);
    home.write("work/note.txt", "saved words\n");
    let cwd = home.workspace();
    let arguments =
        [&beside("session.py"), env!("CARGO_BIN_EXE_petasos"), cwd.to_str().expect("text")];
    let saw = driven(&home, &python, &arguments);
    assert_eq!(saw["stops"], json!(["end_turn", "cancelled", "cancelled", "end_turn"]), "{saw}");
    let permits = saw["asked"].as_array().into_iter().flatten();
    let permits: Vec<&str> = permits.filter_map(|it| it["permit"].as_str()).collect();
    assert_eq!(permits, ["allow_once", "deny", "allow_once"], "{saw}");
    assert_eq!(saw["asked"][0]["diff"], json!(["unsaved words\n", "edited words\n"]), "{saw}");
    assert!(cwd.join("made.txt").exists() && !cwd.join("other.txt").exists());
    assert_eq!((saw["forked"].as_bool(), saw["listed"].as_u64()), (Some(true), Some(2)), "{saw}");
    assert_eq!((saw["resumed"].as_u64(), saw["loaded"].as_u64()), (Some(0), Some(3)), "{saw}");
    assert!(result_of(&model, "read_file").contains("unsaved words"));
    assert_eq!(saw["buffer"], "edited words\n", "{saw}");
    let states = saw["calls"].as_object().expect("a map");
    assert!(states.values().all(|state| state == "completed" || state == "failed"), "{saw}");
}
