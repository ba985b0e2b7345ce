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
