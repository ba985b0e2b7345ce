//! `petasos run` and `petasos sessions` without a provider: clear errors, nothing lost.

use petasos_testkit::Home;

use crate::petasos;

#[test]
fn running_without_a_provider_says_what_to_set() {
    let home = Home::temp();
    let finished = petasos(&home).run(&["run", "hello"]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("no provider is configured"), "{}", finished.stderr);
    assert_eq!(finished.stdout, "");
}

#[test]
fn running_without_a_prompt_is_bad_usage() {
    assert_eq!(petasos(&Home::temp()).run(&["run"]).code, Some(2));
}

#[test]
fn an_asked_question_is_kept_even_if_nobody_answered() {
    let home = Home::temp();
    petasos(&home).run(&["run", "remember the word heliotrope"]);
    let listed = petasos(&home).run(&["sessions", "list", "--json"]).json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
    let shown = petasos(&home).run(&["sessions", "show", "latest"]).stdout;
    assert!(shown.contains("heliotrope"), "{shown}");
    assert_eq!(petasos(&home).run(&["sessions", "verify"]).code, Some(0));
}

#[test]
fn tools_of_the_loop_are_refused_outside_it() {
    let result = petasos(&Home::temp()).run(&["tools", "call", "todo", "{}"]).json();
    assert!(result["error"].as_str().unwrap().contains("agent loop"), "{result}");
}

#[test]
fn a_script_calls_tools_through_the_door() {
    let home = Home::temp();
    home.write("work/a.txt", "one\n");
    let code = "from petasos_tools import read_file\nprint(read_file(path='a.txt')['total_lines'])";
    let arguments = serde_json::json!({ "code": code }).to_string();
    let result = petasos(&home).run(&["tools", "call", "execute_code", &arguments]).json();
    assert_eq!(result["output"], "1\n", "{result}");
    assert_eq!(result["tool_calls_made"], 1);
}

/// A home with one conversation about a lamp, whose file has a key in it.
fn with_a_conversation() -> (Home, crate::loopback::Loopback) {
    use crate::loopback::{Loopback, Say};
    let model = Loopback::saying(vec![
        Say::Calls(vec![("read_file", serde_json::json!({ "path": "lamp.txt" }))]),
        Say::Text("The lamp is **green**."),
    ]);
    let home = model.home();
    home.write("work/lamp.txt", "green, key sk-0123456789abcdefghij\n");
    let ran = petasos(&home).run(&["run", "what colour is the lamp?"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stdout.trim(), "The lamp is **green**.");
    (home, model)
}

#[test]
fn a_conversation_is_listed_shown_searched_and_exported() {
    let (home, _model) = with_a_conversation();
    let listed = petasos(&home).run(&["sessions", "list"]).stdout;
    assert!(listed.contains("what colour is the lamp?"), "{listed}");
    let shown = petasos(&home).run(&["sessions", "show", "--json"]).json();
    assert_eq!(shown["messages"].as_array().unwrap().len(), 4, "{shown}");
    let hits = petasos(&home).run(&["sessions", "search", "colour", "--json"]).json();
    assert_eq!(hits["hits"][0]["role"], "user", "{hits}");
    let hits = petasos(&home).run(&["sessions", "search", "lamp", "--role", "assistant"]).stdout;
    assert!(hits.contains(">>>lamp<<<"), "{hits}");
    let markdown = petasos(&home).run(&["sessions", "export", "latest", "--format", "md"]).stdout;
    assert!(markdown.contains("The lamp is **green**.") && markdown.contains("## User"));
    assert!(!markdown.contains("sk-0123456789"), "{markdown}");
    let lines = petasos(&home).run(&["sessions", "export", "--all"]).stdout;
    assert_eq!(lines.lines().count(), 5);
    for line in lines.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(["session", "message"].contains(&value["type"].as_str().unwrap()));
    }
}

#[test]
fn an_export_does_not_overwrite_a_file_unasked() {
    let (home, _model) = with_a_conversation();
    let export = |more: &[&str]| {
        petasos(&home).run(&[&["sessions", "export", "latest", "-o", "out.jsonl"], more].concat())
    };
    assert_eq!(export(&[]).code, Some(0));
    let again = export(&[]);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    assert_eq!(export(&["--force", "--json"]).json()["sessions"], 1);
}

#[test]
fn a_conversation_is_renamed_forked_archived_and_deleted() {
    let (home, _model) = with_a_conversation();
    let run = |words: &[&str]| petasos(&home).run(&[&["sessions"], words].concat());
    assert!(run(&["rename", "latest", "Lamp", "colour"]).stdout.contains("`Lamp colour`"));
    assert_eq!(run(&["show", "lamp"]).code, Some(0), "the beginning of a title is enough");
    assert_eq!(run(&["show", "colour"]).code, Some(1), "its end is not");
    let shown = run(&["show", "Lamp colour", "--json"]).json();
    let until = shown["messages"][0]["id"].to_string();
    let fork =
        run(&["fork", "lamp colour", "--until", &until, "--title", "Other", "--json"]).json();
    assert_eq!(
        (&fork["session"]["messages"], &fork["session"]["lineage"]),
        (&1.into(), &"fork".into())
    );
    let taken = run(&["rename", "Other", "Lamp colour", "--json"]);
    assert_eq!(taken.json()["error"]["code"], "title_taken");
    assert_eq!(run(&["archive", "Other"]).code, Some(0));
    assert_eq!(run(&["list", "--json"]).json()["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(run(&["delete", "Other"]).code, Some(2), "nobody is there to confirm");
    assert_eq!(
        run(&["delete", "Other", "nonsense", "--yes", "--json"]).json()["error"]["code"],
        "not_found"
    );
    assert_eq!(
        run(&["delete", "Other", "--yes", "--json"]).json()["deleted"].as_array().unwrap().len(),
        1
    );
    assert_eq!(run(&["show", "Other"]).code, Some(1));
}

#[test]
fn a_damaged_file_is_told_and_repaired() {
    let (home, _model) = with_a_conversation();
    let file = home.agent().join("petasos.db");
    let sound = petasos(&home).run(&["sessions", "verify", "--json"]);
    assert_eq!((sound.code, &sound.json()["sound"]), (Some(0), &true.into()));
    // The first pages hold the schema: without them nothing can be opened.
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[..100].fill(0xff);
    home.write(".petasos/petasos.db", bytes);
    let found = petasos(&home).run(&["sessions", "list", "--json"]);
    assert_eq!(found.code, Some(1));
    assert!(found.stdout.contains("petasos sessions repair"), "{}", found.stdout);
    let repaired = petasos(&home).run(&["sessions", "repair"]);
    assert_eq!(repaired.code, Some(0), "{} {}", repaired.stdout, repaired.stderr);
    assert!(repaired.stdout.contains("damaged-"), "{}", repaired.stdout);
    assert_eq!(petasos(&home).run(&["sessions", "verify"]).code, Some(0));
}

#[test]
fn resuming_without_a_terminal_says_what_else_works() {
    let (home, _model) = with_a_conversation();
    let resumed = petasos(&home).run(&["sessions", "resume"]);
    assert_eq!(resumed.code, Some(2));
    assert!(resumed.stderr.contains("petasos run --resume"), "{}", resumed.stderr);
}
