//! More scenes: lists to choose from, what waits, what runs beside, and how one types.

use serde_json::json;

use super::super::pane::Pane;
use super::super::terminal;
use super::Scene;
use super::scenes::ask;
use crate::loopback::Say;

/// Calls that wait behind a question are named below it.
#[test]
fn several_questions() {
    let says = || {
        let remove = |folder: &str| {
            let command = format!("rm -rf {folder}");
            ("terminal", json!({ "command": command }))
        };
        vec![Say::Calls(["a", "b", "c"].map(remove).to_vec())]
    };
    let play = |pane: &Pane| {
        pane.see("❯");
        pane.enter("clean up");
        pane.see("then: ");
    };
    Scene { name: "several_questions", says, play, ..Scene::USUAL }.holds();
}

#[test]
fn background_job() {
    let says = || {
        let job = json!({ "command": "sleep 300", "background": true });
        vec![Say::Calls(vec![("terminal", job)]), Say::Text("It runs.")]
    };
    let play = |pane: &Pane| {
        pane.see("❯");
        pane.enter("start it");
        pane.ready_after("1 job");
    };
    Scene { name: "background_job", says, play, ..Scene::USUAL }.holds();
}

#[test]
fn session_list() {
    let says = || vec![Say::Text("Heliotrope."), Say::Text("Twelve.")];
    let play = |pane: &Pane| {
        ask(pane, "which colour was it?", "Heliotrope.");
        ask(pane, "/new", "the others");
        ask(pane, "count the lamps", "Twelve.");
        pane.enter("/resume");
        pane.see("› which colour");
    };
    Scene { name: "session_list", says, play, ..Scene::USUAL }.holds();
}

#[test]
fn exchange_list() {
    let says = || vec![Say::Text("One."), Say::Text("Two.")];
    let play = |pane: &Pane| {
        ask(pane, "the first question", "One.");
        ask(pane, "another one", "Two.");
        pane.enter("/undo");
        pane.see("› another one");
    };
    Scene { name: "exchange_list", says, play, ..Scene::USUAL }.holds();
}

#[test]
fn taken_back() {
    let says = || vec![Say::Text("One."), Say::Text("Two.")];
    let play = |pane: &Pane| {
        ask(pane, "the first question", "One.");
        ask(pane, "another one", "Two.");
        pane.enter("/undo");
        pane.see("› another one");
        pane.press(&["Down", "Enter"]);
        pane.ready_after("/rollback does that.");
    };
    Scene { name: "taken_back", says, play, ..Scene::USUAL }.holds();
}

#[test]
fn argument_menu() {
    let play = |pane: &Pane| {
        pane.see("❯");
        pane.say("/busy ");
        pane.until("no menu of commands", |screen| screen.ends_with("❯ /busy"));
        pane.press(&["Tab"]);
        pane.see("steer");
    };
    Scene { name: "argument_menu", play, ..Scene::USUAL }.holds();
}

#[test]
fn steering() {
    let says = || vec![terminal("echo begun; sleep 300")];
    let play = |pane: &Pane| {
        pane.see("❯");
        pane.enter("wait");
        pane.see("│ begun");
        pane.say("mind the gap");
        pane.see("mind the gap");
    };
    let config = "display:\n  busy_input_mode: steer\n";
    Scene { name: "steering", says, config, play, ..Scene::USUAL }.holds();
}

#[test]
fn attached() {
    let says = || vec![Say::Text("It says hello.")];
    let play = |pane: &Pane| ask(pane, "what does @notes.txt say?", "hello.");
    let files = &[("work/notes.txt", "hello\n")];
    Scene { name: "attached", says, files, play, ..Scene::USUAL }.holds();
}

#[test]
fn no_approvals() {
    let says = || vec![terminal("rm -rf build"), Say::Text("Gone.")];
    let play = |pane: &Pane| ask(pane, "clean up", "Gone.");
    let files = &[("work/build/x", "")];
    Scene { name: "no_approvals", says, files, arguments: "--yolo", play, ..Scene::USUAL }.holds();
}

#[test]
fn footer() {
    let says = || vec![Say::Text("Hello.")];
    let play = |pane: &Pane| ask(pane, "hi", "out");
    let config = "display:\n  show_cost: true\n";
    Scene { name: "footer", says, config, play, ..Scene::USUAL }.holds();
}

/// Letters are commands after Escape, and the sign before the line says so.
#[test]
fn vi_keys() {
    let play = |pane: &Pane| {
        pane.see("❯");
        pane.say("wrong right words");
        pane.see("right words");
        pane.press(&["Escape"]);
        pane.see("❮");
        pane.say("0dw");
        pane.see("❮ right words");
    };
    let config = "display:\n  vi_mode: true\n";
    Scene { name: "vi_keys", config, play, ..Scene::USUAL }.holds();
}

#[test]
fn wrong_word() {
    let play = |pane: &Pane| drop(pane.see("[ended with 2]"));
    Scene { name: "wrong_word", arguments: "sesions list", play, ..Scene::USUAL }.holds();
}

#[test]
fn command_help() {
    let play = |pane: &Pane| drop(pane.see("[ended with 0]"));
    Scene { name: "command_help", arguments: "rollback --help", play, ..Scene::USUAL }.holds();
}
