//! `petasos approval`: verdicts, explanations, grants and the log, through the program.

use petasos_testkit::Home;
use serde_json::{Value, json};

use crate::petasos;

#[test]
fn a_stream_of_commands_gets_one_verdict_a_line() {
    let lines = [
        json!({ "id": "a", "command": "git status" }),
        json!({ "id": "b", "command": "rm -rf build" }),
        json!({ "id": 3, "command": "rm -rf /" }),
        json!({ "id": "d", "command": "git commit -m 'drop rm -rf / from the docs'" }),
    ];
    let input = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let finished = petasos(&Home::temp()).input(input).run(&["approval", "check", "--jsonl"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let answers: Vec<Value> =
        finished.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let verdicts: Vec<(&Value, &Value)> =
        answers.iter().map(|answer| (&answer["id"], &answer["verdict"])).collect();
    assert_eq!(
        verdicts,
        [
            (&json!("a"), &json!("allow")),
            (&json!("b"), &json!("ask")),
            (&json!(3), &json!("block")),
            (&json!("d"), &json!("allow")),
        ]
    );
    assert_eq!(answers[1]["rules"], json!(["recursive delete"]));
}

#[test]
fn a_line_that_is_no_request_is_told_and_the_others_are_judged() {
    let finished = petasos(&Home::temp())
        .input("nonsense\n{\"id\":1,\"command\":\"ls\"}\n")
        .run(&["approval", "check", "--jsonl"]);
    assert_eq!(finished.code, Some(1));
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert!(lines[0].contains("line 1 is not a request"), "{}", lines[0]);
    assert!(lines[1].contains("allow"), "{}", lines[1]);
}

#[test]
fn an_explanation_shows_what_would_run_and_the_deciding_place() {
    let explained = petasos(&Home::temp())
        .run(&["approval", "explain", "env X=1 bash -c 'rm -rf build'", "--json"])
        .json();
    assert_eq!(explained["verdict"], "ask");
    let leaves = explained["leaves"].as_array().unwrap();
    let inner = leaves.iter().find(|leaf| leaf["argv"][0] == "rm").expect("the inner command");
    assert!(inner["via"].as_array().unwrap().len() >= 2, "{inner}");
    assert_eq!(explained["observed"][0]["key"], "recursive delete");
}

#[test]
fn a_deny_rule_of_the_user_holds_in_every_mode() {
    let home = Home::temp();
    home.write(".petasos/config.yaml", "approvals:\n  mode: 'off'\n  deny: ['git push*']\n");
    let check = |command: &str| {
        petasos(&home).run(&["approval", "check", command, "--json"]).json()["verdict"].clone()
    };
    assert_eq!(check("git push"), "block");
    assert_eq!(check("rm -rf build"), "allow");
    assert_eq!(check("rm -rf /"), "block");
}

#[test]
fn an_entry_of_the_allow_list_is_listed_and_taken_back() {
    let home = Home::temp();
    home.write(".petasos/config.yaml", "# keep me\ncommand_allowlist:\n  - recursive delete\n");
    let check = || {
        petasos(&home).run(&["approval", "check", "rm -rf build", "--json"]).json()["verdict"]
            .clone()
    };
    assert_eq!(check(), "allow");
    let listed = petasos(&home).run(&["approval", "list", "--json"]).json();
    assert_eq!(listed["grants"][0]["entry"], "recursive delete");
    assert_eq!(petasos(&home).run(&["approval", "revoke", "recursive delete"]).code, Some(0));
    assert_eq!(check(), "ask");
    assert_eq!(petasos(&home).run(&["approval", "revoke", "recursive delete"]).code, Some(1));
}

#[test]
fn the_rules_in_force_are_listed() {
    let rules = petasos(&Home::temp()).run(&["approval", "rules", "--json"]).json();
    let keys: Vec<&str> = rules["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["key"].as_str().unwrap())
        .collect();
    assert!(keys.contains(&"recursive delete"), "{keys:?}");
}

#[test]
fn a_narrow_grant_covers_its_own_words_and_nothing_else() {
    let home = Home::temp();
    let check = |command: &str| {
        petasos(&home).run(&["approval", "check", command, "--json"]).json()["verdict"].clone()
    };
    let granted = ["approval", "grant", "--hours", "1", "--json", "--", "rm", "-rf", "build"];
    let made = petasos(&home).run(&granted).json();
    assert_eq!(check("rm -rf build"), "allow");
    assert_eq!(check("rm -rf other"), "ask");
    assert_eq!(check("rm -rf build && rm -rf other"), "ask");
    let id = made["id"].as_str().unwrap();
    assert_eq!(petasos(&home).run(&["approval", "revoke", id]).code, Some(0));
    assert_eq!(check("rm -rf build"), "ask");
}

#[test]
fn a_grant_in_quotes_is_the_same_as_its_words_and_says_when_it_ends() {
    let home = Home::temp();
    let check = || {
        let checked = petasos(&home).run(&["approval", "check", "git push --force", "--json"]);
        checked.json()["verdict"].clone()
    };
    assert_eq!(check(), "ask");
    let made = petasos(&home).run(&["approval", "grant", "git push --force", "--hours", "8"]);
    assert!(made.stdout.contains("`git push --force …`"), "{made:?}");
    assert!(made.stdout.contains("expires in 8 h\n"), "{made:?}");
    assert_eq!(check(), "allow");
    let listed = petasos(&home).run(&["approval", "list"]).stdout;
    assert!(listed.contains("expires in "), "{listed}");
    let granted = ["approval", "grant", "git commit -m 'two words'", "--json"];
    let quoted = petasos(&home).run(&granted).json();
    assert_eq!(quoted["command"], json!(["git", "commit", "-m", "two words"]), "{quoted}");
    for wider in ["A=1 make x", "ls > out", "echo $HOME x", "ls; ls", "say 'open"] {
        let refused = petasos(&home).run(&["approval", "grant", wider]);
        assert_eq!(refused.code, Some(2), "{wider}: {refused:?}");
    }
}

// Acceptance 46: what was decided about a call is told again, with its reason, from the log.
#[test]
fn e46_a_decision_is_explained_by_its_call() {
    let home = Home::temp();
    let asked = petasos(&home).run(&["tools", "call", "terminal", r#"{"command":"rm -rf build"}"#]);
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    for call in ["1", "call-1"] {
        let told = petasos(&home).run(&["approval", "explain", "--call", call]);
        assert_eq!(told.code, Some(0), "{}", told.stderr);
        assert!(told.stdout.contains("rule recursive delete"), "{}", told.stdout);
        assert!(told.stdout.contains("→ ask, undeliverable"), "{}", told.stdout);
    }
    let told = petasos(&home).run(&["--json", "approval", "explain", "--call", "1"]);
    let entry: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(entry["reasons"][0]["key"], "recursive delete");
    let none = petasos(&home).run(&["approval", "explain", "--call", "9", "--session", "x"]);
    assert_eq!(none.code, Some(1));
    assert!(none.stderr.contains("approval log"), "{}", none.stderr);
}
