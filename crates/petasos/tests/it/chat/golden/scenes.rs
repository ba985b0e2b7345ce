//! The scenes.

use serde_json::json;

use super::super::pane::Pane;
use super::super::terminal;
use super::Scene;
use crate::loopback::Say;

const MARKDOWN: &str = "# Plan\n\nSome **bold**, *slanted* and `code` words with a \
    [link](https://example.org/a/page).\n\n1. first\n2. second\n   - below\n\n> a quotation that is \
    long enough to be wrapped in a narrow window, but not in a wide one\n\n```rust\nfn main() {\n    \
    println!(\"hello\");\n}\n```\n";
const TABLE: &str = "| Feature | Left to right | Count |\n|:--|:-:|--:|\n| wrapped | A cell with so \
    many words that no narrow window has room for all of them in one line | 12 |\n| short | yes | \
    3400 |\n";
const LETTERS: &str = "Roses are red,\nViolets are blue.\n\n日本語のテキストは幅が二倍です。\n\nשלום \
    עולם and مرحبا بالعالم\n\n🎉 e\u{301} and 👩‍👩‍👧\n";

pub(super) fn ask(pane: &Pane, message: &str, shown: &str) {
    pane.see("❯");
    pane.enter(message);
    pane.ready_after(shown);
}

fn patch() -> Say {
    let edit = json!({ "path": "app.py", "old_string": "print(\"hello\")",
        "new_string": "print(\"good morning\")\n    print(\"how are you?\")" });
    Say::Calls(vec![("patch", edit)])
}

const APP: (&str, &str) = ("work/app.py", "import sys\n\n\ndef main():\n    print(\"hello\")\n");

#[test]
fn greeting() {
    Scene { name: "greeting", ..Scene::USUAL }.holds();
}

#[test]
fn markdown() {
    let says = || vec![Say::Text(MARKDOWN)];
    Scene { name: "markdown", says, play: |pane| ask(pane, "plan", "}"), ..Scene::USUAL }.holds();
}

#[test]
fn table() {
    let says = || vec![Say::Text(TABLE)];
    Scene { name: "table", says, play: |pane| ask(pane, "a table", "3400"), ..Scene::USUAL }
        .holds();
}

#[test]
fn letters() {
    let says = || vec![Say::Text(LETTERS)];
    Scene { name: "letters", says, play: |pane| ask(pane, "letters", "and 👩"), ..Scene::USUAL }
        .holds();
}

#[test]
fn edit() {
    let says = || vec![patch(), Say::Text("Done.")];
    let play = |pane: &Pane| ask(pane, "be polite", "Done.");
    Scene { name: "edit", says, files: &[APP], play, ..Scene::USUAL }.holds();
}

#[test]
fn long_edit() {
    let says = || {
        let lines: Vec<String> = (1..=60).map(|number| format!("line {number}")).collect();
        let write = json!({ "path": "long.txt", "content": lines.join("\n") + "\n" });
        vec![Say::Calls(vec![("write_file", write)]), Say::Text("Done.")]
    };
    Scene { name: "long_edit", says, play: |pane| ask(pane, "write", "Done."), ..Scene::USUAL }
        .holds();
}

#[test]
fn output() {
    let says = || vec![terminal("seq 1 2000"), terminal("echo bad; exit 3"), Say::Text("Done.")];
    Scene { name: "output", says, play: |pane| ask(pane, "count", "Done."), ..Scene::USUAL }
        .holds();
}

#[test]
fn tasks() {
    let says = || {
        let todos = json!({ "todos": [
            { "id": "1", "content": "Read the code", "status": "completed" },
            { "id": "2", "content": "Fix the bug", "status": "in_progress" },
            { "id": "3", "content": "Write a test for it", "status": "pending" },
        ] });
        vec![Say::Calls(vec![("todo", todos)]), Say::Text("Three tasks.")]
    };
    let play = |pane: &Pane| ask(pane, "plan it", "Three tasks.");
    Scene { name: "tasks", says, play, ..Scene::USUAL }.holds();
}

fn asked(pane: &Pane) {
    pane.see("❯");
    pane.enter("clean up");
    pane.see("Yes, once (y)");
}

#[test]
fn approval() {
    let says = || vec![terminal("rm -rf build")];
    let files = &[("work/build/x", "")];
    Scene { name: "approval", says, files, play: asked, ..Scene::USUAL }.holds();
}

#[test]
fn denial() {
    let says = || vec![terminal("rm -rf build"), Say::Text("Then I leave it.")];
    let play = |pane: &Pane| {
        asked(pane);
        pane.enter("deny keep it");
        pane.ready_after("Then I leave it.");
    };
    Scene { name: "denial", says, files: &[("work/build/x", "")], play, ..Scene::USUAL }.holds();
}

#[test]
fn question() {
    let says = || {
        let choices = json!({ "question": "Which colour?", "choices": ["red", "blue"] });
        vec![Say::Calls(vec![("clarify", choices)])]
    };
    let play = |pane: &Pane| {
        pane.see("❯");
        pane.enter("paint it");
        pane.see("2. blue");
    };
    Scene { name: "question", says, play, ..Scene::USUAL }.holds();
}

#[test]
fn plan() {
    let says = || vec![patch(), Say::Text("The plan: be polite in `app.py`.")];
    let play = |pane: &Pane| ask(pane, "be polite", "The plan:");
    Scene { name: "plan", says, files: &[APP], arguments: "--plan", play, ..Scene::USUAL }.holds();
}

#[test]
fn own_command() {
    let play = |pane: &Pane| {
        ask(pane, "!seq 1 5", "5\n");
        ask(pane, "!false", "exit 1");
    };
    Scene { name: "own_command", play, ..Scene::USUAL }.holds();
}

#[test]
fn model_list() {
    let play = |pane: &Pane| {
        pane.see("❯");
        pane.enter("/model");
        pane.see("› double");
    };
    Scene { name: "model_list", play, ..Scene::USUAL }.holds();
}

#[test]
fn command_menu() {
    let play = |pane: &Pane| {
        pane.see("❯");
        pane.say("/re");
        pane.see("/retry");
    };
    Scene { name: "command_menu", play, ..Scene::USUAL }.holds();
}

#[test]
fn file_menu() {
    let play = |pane: &Pane| {
        pane.see("❯");
        pane.say("look at @ma");
        pane.see("@src/main.rs");
    };
    let files = &[("work/src/main.rs", ""), ("work/Makefile", ""), ("work/docs/manual.md", "")];
    Scene { name: "file_menu", files, play, ..Scene::USUAL }.holds();
}

#[test]
fn working() {
    let says = || vec![terminal("echo first; echo second; sleep 300")];
    let play = |pane: &Pane| {
        pane.see("❯");
        pane.enter("wait");
        pane.see("│ second");
        pane.say("half a sentence");
        pane.see("half a sentence");
    };
    Scene { name: "working", says, play, ..Scene::USUAL }.holds();
}

#[test]
fn queued() {
    let says = || vec![terminal("echo begun; sleep 300")];
    let play = |pane: &Pane| {
        pane.see("❯");
        pane.enter("wait");
        pane.see("│ begun");
        pane.enter("and then this");
        pane.see("next: and then this");
    };
    let config = "display:\n  busy_input_mode: queue\n";
    Scene { name: "queued", says, config, play, ..Scene::USUAL }.holds();
}

#[test]
fn interrupted() {
    let says = || vec![Say::Stuck("Once upon a time\n\nthere was")];
    let play = |pane: &Pane| {
        pane.see("❯");
        pane.enter("a story");
        pane.see("there was");
        pane.press(&["Escape"]);
        pane.ready_after("Interrupted.");
    };
    Scene { name: "interrupted", says, play, ..Scene::USUAL }.holds();
}

#[test]
fn refused_key() {
    let says = || vec![Say::Fail(401)];
    let play = |pane: &Pane| ask(pane, "hello", "/provider shows");
    Scene { name: "refused_key", says, play, ..Scene::USUAL }.holds();
}

#[test]
fn wrong_command() {
    let play = |pane: &Pane| ask(pane, "/modle", "did you mean");
    Scene { name: "wrong_command", play, ..Scene::USUAL }.holds();
}

#[test]
fn paste() {
    let play = |pane: &Pane| {
        pane.see("❯");
        let lines: Vec<String> = (1..=60).map(|number| format!("row {number}")).collect();
        pane.say("see ");
        pane.paste(&lines.join("\n"));
        pane.see("60 lines]");
    };
    Scene { name: "paste", play, ..Scene::USUAL }.holds();
}

#[test]
fn no_colour() {
    let says = || vec![Say::Text(MARKDOWN)];
    let play = |pane: &Pane| {
        pane.see(">");
        pane.enter("plan");
        pane.ready_after("}");
    };
    Scene { name: "no_colour", says, variables: "NO_COLOR=1", play, ..Scene::USUAL }.holds();
}

#[test]
fn dumb() {
    let says = || vec![terminal("echo hi"), Say::Text("It *printed* something.")];
    let play = |pane: &Pane| {
        pane.see(">");
        pane.enter("go");
        pane.ready_after("something.");
    };
    Scene { name: "dumb", says, term: "dumb", play, ..Scene::USUAL }.holds();
}

#[test]
fn once() {
    let says = || vec![terminal("echo hi"), Say::Text("It **printed** one line.")];
    let play = |pane: &Pane| drop(pane.see("[ended with 0]"));
    Scene { name: "once", says, arguments: "run go", play, ..Scene::USUAL }.holds();
}

#[test]
fn screen_reader() {
    let says = || vec![terminal("echo hi"), Say::Text("It **printed** one line.")];
    let play = |pane: &Pane| {
        pane.see(">");
        pane.enter("go");
        pane.ready_after("one line.");
    };
    let config = "display:\n  screen_reader: true\n";
    Scene { name: "screen_reader", says, config, play, ..Scene::USUAL }.holds();
}

#[test]
fn few_words() {
    let says =
        || vec![terminal("echo hi"), terminal("exit 3"), Say::Text("It **printed** one line.")];
    let play = |pane: &Pane| ask(pane, "go", "one line.");
    let config = "display:\n  streaming: false\n  tool_progress: off\n";
    Scene { name: "few_words", says, config, play, ..Scene::USUAL }.holds();
}
