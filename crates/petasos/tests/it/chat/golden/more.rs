//! More scenes: pages of commands, what was folded, and words in another order.

use serde_json::json;

use super::super::pane::Pane;
use super::super::terminal;
use super::Scene;
use super::scenes::ask;
use crate::loopback::Say;

#[test]
fn status_page() {
    let play = |pane: &Pane| ask(pane, "/status", "sandbox");
    // Of these two work on any machine, and one needs a desktop.
    let arguments = "chat -t file,terminal,computer_use";
    Scene { name: "status_page", arguments, play, ..Scene::USUAL }.holds();
}

#[test]
fn help_page() {
    let play = |pane: &Pane| ask(pane, "/help", "until fg");
    Scene { name: "help_page", play, ..Scene::USUAL }.holds();
}

#[test]
fn skin_names() {
    let play = |pane: &Pane| {
        ask(pane, "/skin", "Colours: default.");
        ask(pane, "/skin light", "Colours: light.");
    };
    Scene { name: "skin_names", play, ..Scene::USUAL }.holds();
}

#[test]
fn verbose() {
    let says = || vec![terminal("seq 1 8"), Say::Text("Eight lines.")];
    let config = "display:\n  tool_progress: verbose\n";
    let play = |pane: &Pane| ask(pane, "count", "Eight lines.");
    Scene { name: "verbose", says, config, play, ..Scene::USUAL }.holds();
}

#[test]
fn whole() {
    let says = || vec![terminal("seq 1 12"), Say::Text("Twelve lines.")];
    let play = |pane: &Pane| {
        ask(pane, "count", "Twelve lines.");
        pane.press(&["C-o"]);
        pane.ready_after("│ 12\n");
    };
    Scene { name: "whole", says, play, ..Scene::USUAL }.holds();
}

const RIGHT_TO_LEFT: &str = "# שלום עולם\n\nזהו משפט עם word אחת באמצע (ובסוגריים) 42.\n\n- פריט ראשון\n- second item\n\n| שם | value |\n|---|---|\n| אבג | 12 |\n";

#[test]
fn logical() {
    let says = || vec![Say::Text(RIGHT_TO_LEFT)];
    let play = |pane: &Pane| ask(pane, "hebrew", "12");
    Scene { name: "logical", says, play, ..Scene::USUAL }.holds();
}

#[test]
fn reordered() {
    let says = || vec![Say::Text(RIGHT_TO_LEFT)];
    let config = "display:\n  bidi: reorder\n";
    let play = |pane: &Pane| ask(pane, "hebrew", "12");
    Scene { name: "reordered", says, config, play, ..Scene::USUAL }.holds();
}

const CJK: &str = "日本語の長い文は、単語の間に空白がないので、行の終わりで折り返されます。「引用」も句読点も行頭に来ません。\n\n中文的长句子也没有空格，所以应该在字与字之间换行，而不是整句移到下一行。\n\n한국어는 띄어쓰기가 있어서 단어 사이에서 줄이 바뀝니다.\n";

#[test]
fn east_asian() {
    let says = || vec![Say::Text(CJK)];
    let play = |pane: &Pane| ask(pane, "cjk", "바뀝니다.");
    Scene { name: "east_asian", says, play, ..Scene::USUAL }.holds();
}

#[test]
fn always() {
    let says = || {
        let rm = || terminal("rm -rf build");
        vec![rm(), Say::Text("Gone."), rm(), Say::Text("Again.")]
    };
    let play = |pane: &Pane| {
        pane.see("❯");
        pane.enter("clean up");
        pane.see("Yes, once (y)");
        pane.press(&["s", "Enter"]);
        pane.ready_after("Gone.");
        pane.enter("again");
        pane.ready_after("Again.");
    };
    Scene { name: "always", says, files: &[("work/build/x", "")], play, ..Scene::USUAL }.holds();
}

#[test]
fn earlier_messages() {
    let says = || vec![Say::Text("One."), Say::Text("Two.")];
    let play = |pane: &Pane| {
        ask(pane, "the first question", "One.");
        ask(pane, "another one", "Two.");
        pane.press(&["C-r"]);
        pane.say("first");
        pane.see("the first question\n");
    };
    Scene { name: "earlier_messages", says, play, ..Scene::USUAL }.holds();
}

#[test]
fn tool_error() {
    let says = || {
        vec![
            Say::Calls(vec![("read_file", json!({ "path": "gone.txt" }))]),
            Say::Calls(vec![("read_file", json!({ "pth": "gone.txt" }))]),
            Say::Text("It is not there."),
        ]
    };
    let play = |pane: &Pane| ask(pane, "read it", "It is not there.");
    Scene { name: "tool_error", says, play, ..Scene::USUAL }.holds();
}

#[test]
fn empty_reply() {
    let says = || vec![Say::Text(""); 9];
    let play = |pane: &Pane| ask(pane, "say nothing", "empty reply");
    Scene { name: "empty_reply", says, play, ..Scene::USUAL }.holds();
}

/// What a model reads of it has a hole in the middle; people are told how long it is.
#[test]
fn many_lines() {
    let says = || vec![terminal("seq 1 20000"), Say::Text("Counted.")];
    let play = |pane: &Pane| ask(pane, "count", "Counted.");
    Scene { name: "many_lines", says, play, ..Scene::USUAL }.holds();
}

/// A message that waited is seen again where its turn begins.
#[test]
fn next_turn() {
    let says = || vec![terminal("echo begun; sleep 300"), Say::Text("The second answer.")];
    let play = |pane: &Pane| {
        pane.see("❯");
        pane.enter("wait");
        pane.see("│ begun");
        pane.enter("and then this");
        pane.see("next: and then this");
        pane.press(&["Escape"]);
        pane.ready_after("The second answer.");
    };
    let config = "display:\n  busy_input_mode: queue\n";
    Scene { name: "next_turn", says, config, play, ..Scene::USUAL }.holds();
}

/// One key answers a question of the agent, too.
#[test]
fn answered() {
    let says = || {
        let choices = json!({ "question": "Which colour?", "choices": ["red", "blue"] });
        vec![Say::Calls(vec![("clarify", choices)]), Say::Text("Painted.")]
    };
    let play = |pane: &Pane| {
        pane.see("❯");
        pane.enter("paint it");
        pane.see("2. blue");
        pane.say("2");
        pane.ready_after("Painted.");
    };
    Scene { name: "answered", says, play, ..Scene::USUAL }.holds();
}
