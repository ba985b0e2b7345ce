//! `petasos setup`: finds, tries and saves, without anybody to ask.

use petasos_testkit::Home;

use crate::loopback::{Loopback, Say};
use crate::petasos;

#[test]
fn a_server_that_answers_is_saved_and_used() {
    let model = Loopback::saying(vec![Say::Text("ready"), Say::Text("hello")]);
    let home = Home::temp();
    let told = petasos(&home).run(&["setup", "--base-url", &model.url, "--yes", "--json"]).json();
    assert_eq!(
        (&told["found"][0]["ok"], &told["chosen"]["model"]),
        (&true.into(), &"double".into()),
        "{told}"
    );
    assert!(told["saved"].as_str().expect("a file").ends_with("config.yaml"));
    let ran = petasos(&home).run(&["run", "say hello"]);
    assert_eq!(ran.stdout.trim(), "hello", "{}", ran.stderr);
    assert_eq!(model.asked().len(), 2);
}

#[test]
fn the_sandbox_is_chosen_in_setup() {
    let model = Loopback::saying(vec![Say::Text("ready")]);
    let home = Home::temp();
    let setup = ["setup", "--base-url", &model.url, "--yes", "--sandbox", "workspace", "--json"];
    let told = petasos(&home).run(&setup).json();
    assert_eq!(told["sandbox"], "workspace", "{told}");
    let set = petasos(&home).run(&["config", "get", "terminal.sandbox"]);
    assert!(set.stdout.contains("workspace"), "{}", set.stdout);
}

#[test]
fn a_script_that_does_not_say_yes_changes_nothing() {
    let model = Loopback::saying(vec![]);
    let home = Home::temp();
    let told = petasos(&home).run(&["setup", "--base-url", &model.url, "--json"]);
    assert_eq!(told.code, Some(1), "nothing was saved");
    let told = told.json();
    assert_eq!(told["chosen"]["provider"], "custom", "{told}");
    assert_eq!(told["saved"], serde_json::Value::Null);
    assert!(!home.agent().join("config.yaml").exists());
}

#[test]
fn what_does_not_answer_is_told_and_not_saved() {
    let model = Loopback::saying(vec![Say::Fail(400); 20]);
    let home = Home::temp();
    let told = petasos(&home).run(&["setup", "--base-url", &model.url, "--yes", "--json"]);
    assert_eq!(told.code, Some(1));
    let told = told.json();
    assert_eq!(
        (&told["found"][0]["ok"], &told["chosen"]),
        (&false.into(), &serde_json::Value::Null)
    );
    assert!(!home.agent().join("config.yaml").exists());
}

#[test]
fn keys_in_variables_are_found_without_a_call() {
    let told = petasos(&Home::temp())
        .with("DEEPSEEK_API_KEY", "ds-0123456789abcdef")
        .run(&["setup", "--provider", "deepseek", "--no-test", "--json"])
        .json();
    assert_eq!(told["found"][0]["source"], "env:DEEPSEEK_API_KEY", "{told}");
    assert!(!told.to_string().contains("0123456789"), "{told}");
}

#[test]
fn a_provider_without_a_key_says_how_to_get_one() {
    let home = Home::temp();
    let told = petasos(&home).run(&["setup", "--provider", "deepseek", "--yes", "--json"]);
    assert_eq!(told.json()["error"]["code"], "missing_api_key");
}
