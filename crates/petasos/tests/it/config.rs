//! `petasos config`: what holds, why, and changing it.

use petasos_testkit::Home;
use serde_json::json;

use crate::petasos;

#[test]
fn a_default_has_a_value_and_a_source() {
    let home = Home::temp();
    let answer = petasos(&home).run(&["config", "get", "terminal.timeout", "--json"]).json();
    assert_eq!(answer["value"], 180);
    assert_eq!(answer["source"]["kind"], "default");
    assert_eq!(petasos(&home).run(&["config", "get", "terminal.timeout"]).stdout, "180\n");
}

#[test]
fn setting_a_value_keeps_comments_and_can_be_read_back() {
    let home = Home::temp();
    let file = home.write(
        ".petasos/config.yaml",
        "# mine\nterminal:\n  timeout: 60 # a minute\n  backend: local\n",
    );
    let finished = petasos(&home).run(&["config", "set", "terminal.timeout", "90"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let text = std::fs::read_to_string(file).unwrap();
    assert_eq!(text, "# mine\nterminal:\n  timeout: 90 # a minute\n  backend: local\n");
    assert_eq!(petasos(&home).run(&["config", "get", "terminal.timeout"]).stdout, "90\n");
}

#[test]
fn a_value_that_is_taken_back_leaves_the_comments_and_says_what_holds() {
    let home = Home::temp();
    let text = "# mine\nterminal:\n  timeout: 60\n  backend: local # here\n";
    let file = home.write(".petasos/config.yaml", text);
    let unset = |key: &str| petasos(&home).run(&["config", "unset", key]);
    let told = unset("terminal.timeout");
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert!(told.stdout.contains("now holds: 180  from built-in default"), "{}", told.stdout);
    let left = std::fs::read_to_string(&file).unwrap();
    assert_eq!(left, "# mine\nterminal:\n  backend: local # here\n");
    assert!(unset("terminal.timeout").stdout.contains("terminal.timeout was not set in"));
    // A key that refuses every start is mended like any other.
    home.write(".petasos/config.yaml", "approvals:\n  mdoe: manual\n  mode: manual\n");
    let mended = petasos(&home).run(&["config", "unset", "approvals.mdoe", "--json"]);
    assert_eq!((mended.code, &mended.json()["changed"]), (Some(0), &json!(true)));
    assert_eq!(petasos(&home).run(&["config", "check"]).code, Some(0));
}

#[test]
fn without_a_key_every_known_one_is_listed() {
    let home = Home::temp();
    let listed = petasos(&home).run(&["config", "explain"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let row = listed.stdout.lines().find(|row| row.starts_with("terminal.timeout  "));
    assert!(row.is_some_and(|row| row.len() > 30), "{}", listed.stdout);
    let listed = petasos(&home).run(&["config", "explain", "--json"]).json();
    let rows = listed["keys"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["key"] == "terminal.timeout" && row["default"] == 180));
    assert!(rows.iter().all(|row| row["doc"].is_string()), "{listed}");
}

#[test]
fn an_explanation_shows_every_candidate_and_why_it_lost() {
    let home = Home::temp();
    home.write(".petasos/config.yaml", "terminal:\n  timeout: 60\n");
    let explanation = petasos(&home)
        .with("TERMINAL_TIMEOUT", "30")
        .run(&["config", "explain", "terminal.timeout", "--json"])
        .json();
    let candidates = explanation["candidates"].as_array().unwrap();
    let values: Vec<_> = candidates.iter().map(|one| one["value"].clone()).collect();
    assert_eq!(values[0], json!(60), "{explanation}");
    assert!(values.len() >= 3, "{explanation}");
    assert!(candidates[1..].iter().all(|one| one["passed_over"].is_string()), "{explanation}");
}

#[test]
fn the_sandbox_of_a_run_without_a_person_is_explained() {
    let home = Home::temp();
    let explained = |home: &Home| {
        petasos(home).run(&["config", "explain", "terminal.sandbox", "--json"]).json()
    };
    assert_eq!(explained(&home)["unattended"], "workspace");
    home.write("work/.petasos/config.yaml", "terminal: {sandbox: 'off'}\n");
    assert_eq!(explained(&home)["unattended"], "workspace", "a project is no person");
    home.write(".petasos/config.yaml", "terminal: {sandbox: 'off'}\n");
    assert_eq!(explained(&home).get("unattended"), None);
    let shown = petasos(&Home::temp()).run(&["config", "explain", "terminal.sandbox"]).stdout;
    assert!(shown.contains("\"workspace\"  where nobody can be asked"), "{shown}");
}

#[test]
fn what_a_project_may_not_do_is_named_by_doctor_and_check() {
    let home = Home::temp();
    home.write(".petasos/config.yaml", "platform_toolsets: {cli: [file]}\n");
    home.write(
        "work/.hermes/config.yaml",
        "platform_toolsets: {cli: [file, terminal]}\ncheckpoints: {enabled: false}\n",
    );
    for command in [&["config", "check"][..], &["doctor"]] {
        let shown = petasos(&home).run(command).stdout;
        assert!(shown.contains("`checkpoints.enabled`"), "{command:?}: {shown}");
        assert!(shown.contains("a project may only make this key stricter"), "{shown}");
    }
    let offered = petasos(&home).run(&["tools", "list", "--surface", "cli"]).stdout;
    assert!(offered.contains("read_file") && !offered.contains("terminal"), "{offered}");
}

#[test]
fn a_value_that_does_not_fit_is_refused_and_nothing_is_written() {
    let home = Home::temp();
    let finished = petasos(&home).run(&["config", "set", "terminal.timeout", "soon"]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("terminal.timeout"), "{}", finished.stderr);
    // Nothing was saved in which a check could find it.
    assert!(!finished.stderr.contains("config check"), "{}", finished.stderr);
    let unknown = petasos(&home).run(&["config", "set", "terminal.timeuot", "3"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("terminal.timeout"), "{}", unknown.stderr);
    assert!(!home.agent().join("config.yaml").exists());
}

#[test]
fn a_check_lists_what_is_wrong_with_its_place() {
    let home = Home::temp();
    home.write(".petasos/config.yaml", "approvals:\n  mdoe: manual\nterminl: {}\n");
    let finished = petasos(&home).run(&["config", "check", "--json"]);
    assert_eq!(finished.code, Some(1));
    let checkup = finished.json();
    assert_eq!(checkup["usable"], false);
    assert_eq!(checkup["problems"][0]["at"]["line"], 2, "{checkup}");
}

#[test]
fn a_secret_in_the_file_is_never_printed() {
    let home = Home::temp();
    home.write(".petasos/config.yaml", "model:\n  api_key: sk-canary-0123456789\n");
    for words in [
        &["config", "get", "model"][..],
        &["config", "get", "model.api_key", "--json"],
        &["config", "explain", "model.api_key", "--json"],
        &["doctor"],
    ] {
        let finished = petasos(&home).run(words);
        assert!(!finished.stdout.contains("canary"), "{words:?}: {}", finished.stdout);
    }
}

#[test]
fn a_flag_overrides_for_one_run() {
    let home = Home::temp();
    let run =
        petasos(&home).run(&["--set", "terminal.timeout=5", "config", "get", "terminal.timeout"]);
    assert_eq!(run.stdout, "5\n");
}

/// A key that nothing obeys is called so wherever it is shown or set.
#[test]
fn what_is_reserved_is_called_so_wherever_it_is_shown() {
    const NOTE: &str = "reserved: no effect in this version";
    let key = "agent.prefill_messages_file";
    let home = Home::temp();
    let ran = |words: &[&str]| {
        let finished = petasos(&home).run(words);
        format!("{}{}", finished.stdout, finished.stderr)
    };
    let listed = ran(&["config", "explain"]);
    let row = |key: &str| listed.lines().find(|row| row.starts_with(&format!("{key}  ")));
    assert!(row(key).is_some_and(|row| row.contains(NOTE)), "{listed}");
    assert!(row("agent.max_turns").is_some_and(|row| !row.contains(NOTE)), "{listed}");
    assert!(ran(&["config", "set", key, "a.json"]).contains(NOTE));
    assert!(!ran(&["config", "set", "agent.max_turns", "9"]).contains(NOTE));
    for words in [&["config", "explain", key][..], &["config", "check"], &["doctor"]] {
        let shown = ran(words);
        assert!(shown.contains(NOTE), "{words:?}: {shown}");
    }
    let page = ran(&["docs", "config"]);
    let row = page.lines().find(|row| row.contains(key));
    assert!(row.is_some_and(|row| row.contains(NOTE)), "{row:?}");
}
