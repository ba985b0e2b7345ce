//! `petasos run` with a scripted model: what goes in, what comes out, and the exit codes.

use petasos_testkit::{Finished, Home};
use serde_json::{Value, json};

use crate::loopback::{Loopback, Say};
use crate::petasos;

fn asked(model: &Loopback) -> Value {
    let asked = model.asked();
    asked.last().expect("a request")["messages"].clone()
}

fn run(home: &Home, arguments: &[&str]) -> Finished {
    petasos(home).run(&[&["run"], arguments].concat())
}

#[test]
fn the_answer_alone_is_printed_and_progress_is_beside_it() {
    let call = Say::Calls(vec![("read_file", json!({ "path": "a.txt" }))]);
    let model = Loopback::saying(vec![call, Say::Text("It says *one*.")]);
    let home = model.home();
    home.write("work/a.txt", "one\n");
    let finished = run(&home, &["what does a.txt say?"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(finished.stdout, "It says *one*.\n");
    assert!(finished.stderr.contains("Read a.txt"), "{}", finished.stderr);
}

#[test]
fn standard_input_and_files_are_part_of_the_prompt() {
    let model = Loopback::saying(vec![Say::Text("ok")]);
    let home = model.home();
    home.write("work/notes.txt", "from a file\n");
    home.write("work/dot.png", crate::media::BITMAP);
    let program = petasos(&home).input("from a pipe\n");
    let finished = program.run(&["run", "look", "--file", "notes.txt", "--file", "dot.png"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let said = asked(&model).to_string();
    for part in ["look", "from a pipe", "from a file", "notes.txt", "data:image/png;base64,iVBO"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let missing = run(&home, &["look", "--file", "nowhere.txt"]);
    assert_eq!(missing.code, Some(2), "{}", missing.stderr);
}

#[test]
fn how_a_turn_ended_is_the_exit_code() {
    let call = || Say::Calls(vec![("read_file", json!({ "path": "a.txt" }))]);
    let model = Loopback::saying(vec![call(), Say::Text("a summary")]);
    let home = model.home();
    let finished = run(&home, &["--max-turns", "1", "go"]);
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    assert_eq!(finished.stdout, "a summary\n");
    let help = petasos(&home).run(&["run", "--help"]).stdout;
    assert!(help.contains("3 requests used up"), "{help}");
}

#[test]
fn a_conversation_goes_on() {
    let model = Loopback::saying(vec![Say::Text("noted"), Say::Text("heliotrope")]);
    let home = model.home();
    run(&home, &["remember heliotrope"]);
    let finished = run(&home, &["--continue", "which word?"]);
    assert_eq!(finished.stdout, "heliotrope\n", "{}", finished.stderr);
    assert!(asked(&model).to_string().contains("remember heliotrope"));
    let unknown = run(&home, &["--resume", "nonsense", "which word?"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("nonsense"), "{}", unknown.stderr);
}

#[test]
fn a_toolset_that_does_not_exist_is_refused_or_named() {
    let model = Loopback::saying(vec![Say::Text("ok")]);
    let home = model.home();
    let refused = run(&home, &["--toolsets", "file,termnal", "go"]);
    assert_eq!((refused.code, model.asked().len()), (Some(1), 0), "{}", refused.stderr);
    assert!(refused.stderr.contains("`termnal`") && refused.stderr.contains("`terminal`"));
    let config = format!("{}platform_toolsets: {{cli: [fle]}}\n", model.config());
    home.write(".petasos/config.yaml", config);
    let named = run(&home, &["go"]);
    assert_eq!(named.code, Some(0), "{}", named.stderr);
    assert!(named.stderr.contains("`platform_toolsets.cli`") && named.stderr.contains("`file`"));
    let doctor = petasos(&home).run(&["doctor"]).stdout;
    assert!(doctor.contains("no toolset is named `fle`"), "{doctor}");
}

#[test]
fn an_unattended_run_writes_the_workspace_only_and_says_so() {
    let command = json!({ "command": "touch inside; touch ../outside" });
    let call = || Say::Calls(vec![("terminal", command.clone())]);
    for (flags, confined) in
        [(&["--unattended"][..], true), (&["--unattended", "--set", "terminal.sandbox=off"], false)]
    {
        let model = Loopback::saying(vec![call(), Say::Text("done")]);
        let home = model.home();
        // A project's file is no person's choice.
        home.write("work/.petasos/config.yaml", "terminal: {sandbox: 'off'}\n");
        // The folder of the test is below the temp folder, which a confined command may write.
        let temp = home.workspace().join("temp").display().to_string();
        std::fs::create_dir(&temp).expect("a folder");
        let program = petasos(&home).with("TMPDIR", &temp);
        let finished = program.run(&[&["run"], flags, &["go"]].concat());
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        let result = asked(&model).to_string();
        if confined && !result.contains("workspace (") {
            petasos_testkit::skip("an unattended run", "sandbox", "this machine confines nothing");
            return;
        }
        assert!(home.workspace().join("inside").exists(), "{result}");
        assert_eq!(!home.workspace().join("../outside").exists(), confined, "{flags:?} {result}");
    }
}

#[test]
fn unattended_means_no_and_yolo_means_yes() {
    for (flag, stays) in [("--unattended", true), ("--yolo", false)] {
        let call = Say::Calls(vec![("terminal", json!({ "command": "rm -rf build" }))]);
        let model = Loopback::saying(vec![call, Say::Text("done")]);
        let home = model.home();
        let config = format!("{}approvals:\n  mode: manual\n", model.config());
        home.write(".petasos/config.yaml", config);
        let build = home.workspace().join("build");
        std::fs::create_dir(&build).expect("a folder");
        let finished = run(&home, &[flag, "clean up"]);
        assert_eq!(finished.code, Some(0), "{flag}: {}", finished.stderr);
        assert_eq!(build.exists(), stays, "{flag}");
    }
}

#[test]
fn scripts_get_versioned_events() {
    let model = Loopback::saying(vec![Say::Text("hello")]);
    let finished = petasos(&model.home()).run(&["run", "--json", "hi"]);
    let events: Vec<Value> =
        finished.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(events.iter().all(|event| event["v"] == 1), "{}", finished.stdout);
    let last = events.last().expect("an event");
    assert_eq!(last["type"], "turn_ended");
    assert_eq!((&last["end"], &last["text"]), (&json!("replied"), &json!("hello")));
}

/// What `scripts/test` tells of the service with a real model.
#[expect(clippy::disallowed_methods, reason = "the services tell their addresses by variables")]
fn real(key: &str) -> Option<String> {
    std::env::var(format!("PETASOS_TEST_LLM_{key}")).ok()
}

/// The small model calls a tool only when it must, so it must, and would talk for minutes if it
/// might, so it may not; the large one (`LLM_MODEL=qwen`) does a task of its own accord.
#[test]
fn a_real_model_goes_through_the_whole_loop() {
    let (Some(url), Some(model)) = (real("OPENAI_BASE_URL"), real("LLM_MODEL_NAME")) else {
        petasos_testkit::skip("a real model", "llm", "PETASOS_TEST_LLM_OPENAI_BASE_URL is not set");
        return;
    };
    let chooses = model.contains("qwen");
    let force = if chooses { "" } else { "tool_choice: required, max_tokens: 120, " };
    let home = Home::temp();
    home.write("work/notes.txt", "The spare key is under the blue pot.\n");
    let skill = "---\nname: weather\ndescription: The weather\n---\nAsk the station.\n";
    home.write(".petasos/skills/weather/SKILL.md", skill);
    home.write(
        ".petasos/config.yaml",
        format!(
            "providers:\n  real:\n    url: {url}\n    model: {model}\n    api_key: none\n    \
             extra_body: {{{force}temperature: 0}}\nmodel:\n  provider: real\n  \
             default: {model}\n  context_length: 4096\n"
        ),
    );
    if chooses {
        let asked = "Read the file notes.txt and tell me where the spare key is.";
        let finished = run(&home, &["--toolsets", "file", asked]);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        assert!(finished.stderr.contains("read_file notes.txt"), "{}", finished.stderr);
        assert!(finished.stdout.contains("blue pot"), "{}", finished.stdout);
    } else {
        let asked = ["--toolsets", "skills", "--max-turns", "1", "Read the skill weather."];
        let finished = run(&home, &asked);
        // One request, the call it was made to ask for (which of the three is up to so small a
        // model), and the summary that ends the turn.
        assert_eq!(finished.code, Some(3), "{}", finished.stderr);
        let called = ["skill_view", "skills_list", "skill_manage"];
        assert!(called.iter().any(|it| finished.stderr.contains(it)), "{}", finished.stderr);
    }
    assert_eq!(petasos(&home).run(&["sessions", "verify"]).code, Some(0));
}

#[test]
fn a_skill_of_the_home_is_read_and_its_variables_reach_commands() {
    let view = Say::Calls(vec![("skill_view", json!({ "name": "weather" }))]);
    let echo = "echo \"station ${WEATHER_STATION-none}\"";
    let show = || Say::Calls(vec![("terminal", json!({ "command": echo }))]);
    let model = Loopback::saying(vec![show(), view, show(), Say::Text("done")]);
    let home = model.home();
    let skill = "---\nname: weather\ndescription: The weather\nrequired_environment_variables:\n  \
                 - name: WEATHER_STATION\n    prompt: Which station?\n---\nAsk the station.\n";
    home.write(".petasos/skills/weather/SKILL.md", skill);
    let allow = ["skills", "allow-env", "weather", "WEATHER_STATION"];
    assert_eq!(petasos(&home).run(&allow).code, Some(0));
    let finished = petasos(&home).with("WEATHER_STATION", "seven").run(&["run", "how warm is it?"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let said = asked(&model).to_string();
    for part in ["Ask the station.", "station none", "station seven"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let model = Loopback::saying(vec![Say::Text("lost"), Say::Text("lost"), Say::Text("read")]);
    let home = model.home();
    let shell = |script: &str| {
        let script = script.replace("petasos", env!("CARGO_BIN_EXE_petasos"));
        petasos_testkit::Program::new("/bin/sh", &home).run(&["-c", &script])
    };
    for command in ["petasos run hi > /dev/full", "petasos run --json hi > /dev/full"] {
        let finished = shell(command);
        assert_eq!(finished.code, Some(1), "{command}: {}", finished.stderr);
        assert!(finished.stderr.contains("the output cannot be written"), "{}", finished.stderr);
    }
    // A reader that has seen enough is no failure.
    let finished = shell("petasos run hi | true; petasos tools list --all | head -1");
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(!finished.stderr.contains("cannot be written"), "{}", finished.stderr);
}

#[test]
fn a_window_that_is_too_small_for_the_tools_is_told_with_the_way_out() {
    let model = Loopback::saying(vec![Say::Fail(413)]);
    let home = model.home();
    let config = format!("{}  context_length: 4096\n", model.config());
    home.write(".petasos/config.yaml", config);
    let ran = petasos(&home).run(&["run", "hello", "--json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    let told: Value = serde_json::from_str(ran.stdout.lines().last().unwrap_or_default()).unwrap();
    let words = told["error"]["message"].as_str().unwrap_or_default();
    assert!(words.contains("of its 4096 tokens"), "{told}");
    let hint = told["error"]["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("-t file") && hint.contains("model.context_length"), "{told}");
}
