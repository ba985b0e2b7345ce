//! What the screen shows of the work: edits, output, task lists, attachments, the status line, the
//! menu of commands, and a first start.

use petasos_testkit::Home;
use serde_json::json;

use super::pane::{Pane, Start};
use super::{home, terminal, told};
use crate::loopback::{Loopback, Say};

#[test]
fn an_edit_is_a_diff_and_a_long_one_is_folded() {
    let long: Vec<String> = (1..=60).map(|number| format!("line {number}")).collect();
    let long = long.join("\n") + "\n";
    let model = Loopback::saying(vec![
        Say::Calls(vec![("write_file", json!({ "path": "notes.txt", "content": "one\ntwo\n" }))]),
        Say::Text("written"),
        Say::Calls(vec![(
            "patch",
            json!({ "path": "notes.txt", "old_string": "two", "new_string": "three" }),
        )]),
        Say::Text("patched"),
        Say::Calls(vec![("write_file", json!({ "path": "long.txt", "content": long }))]),
        Say::Text("long one"),
    ]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("diff", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("write");
    let screen = pane.ready_after("written");
    assert!(screen.contains("notes.txt +2 -0") && screen.contains("1 + one"), "{screen}");
    pane.enter("patch");
    let screen = pane.ready_after("patched");
    assert!(screen.contains("2 - two") && screen.contains("2 + three"), "{screen}");
    pane.enter("a long one");
    let screen = pane.ready_after("long one");
    assert!(screen.contains("24 + line 24") && screen.contains("36 more lines"), "{screen}");
    assert!(!screen.contains("line 25"), "{screen}");
    pane.enter("/diff");
    pane.see("60 + line 60");
}

#[test]
fn output_has_its_end_and_its_true_length_and_tasks_their_states() {
    let todos = json!({ "todos": [
        { "id": "1", "content": "Read the code", "status": "completed" },
        { "id": "2", "content": "Fix the bug", "status": "in_progress" },
    ] });
    let model = Loopback::saying(vec![
        Say::Calls(vec![("terminal", json!({ "command": "seq 1 2000" }))]),
        Say::Text("counted"),
        Say::Calls(vec![("todo", todos)]),
        Say::Text("planned"),
    ]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("output", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("count");
    let screen = pane.ready_after("counted");
    assert!(screen.contains("… 1,996 more lines") && screen.contains("│ 2000"), "{screen}");
    pane.enter("plan");
    let screen = pane.ready_after("planned");
    assert!(screen.contains("☑ Read the code") && screen.contains("◐ Fix the bug"), "{screen}");
}

#[test]
fn a_subagent_is_seen_while_it_works_and_named_when_it_ends() {
    // Both ask the model at once; whoever comes first is answered alike.
    let wait = "while [ ! -e go ]; do sleep 0.1; done";
    let goal = json!({ "goal": "look around" });
    let model = Loopback::saying(vec![
        Say::Calls(vec![("delegate_task", goal)]),
        terminal(wait),
        terminal(wait),
        Say::Text("Looked."),
        Say::Text("Looked."),
        Say::Text("So it is done."),
    ]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("subagent", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("delegate it");
    let screen = pane.see("⑂ look around: Running while");
    assert!(screen.contains("Delegated: look around"), "{screen}");
    assert!(screen.contains("runs in the background"), "{screen}");
    home.write("work/go", "");
    let screen = pane.see("⑂ subagent done: look around · ");
    assert!(screen.contains(" · 1 call"), "{screen}");
}

#[test]
fn a_mentioned_file_and_a_large_paste_reach_the_model_whole() {
    let model = Loopback::saying(vec![Say::Text("seen"), Say::Text("pasted")]);
    let home = home(&model, "");
    home.write("work/app.py", "print('hi')\n");
    let Some(pane) = Pane::open("attach", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("look at @app.py please");
    let screen = pane.ready_after("seen");
    assert!(screen.contains("📎"), "{screen}");
    let asked = told(&model, "user");
    assert!(asked.contains("print('hi')") && asked.contains("<file path="), "{asked}");
    let text: Vec<String> = (1..=60).map(|number| format!("row {number}")).collect();
    pane.paste(&text.join("\n"));
    let screen = pane.see("[pasted text 1, 60 lines]");
    assert!(!screen.contains("row 30"), "{screen}");
    pane.press(&["Enter"]);
    pane.ready_after("pasted");
    assert!(told(&model, "user").contains("row 1\n") && told(&model, "user").contains("row 60"));
}

#[test]
fn the_status_line_says_where_one_is_and_a_slash_opens_the_menu() {
    let model = Loopback::saying(vec![Say::Text("hello")]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("status", &home, &Start::default()) else { return };
    let screen = pane.see("❯");
    assert!(screen.contains("double · "), "{screen}");
    pane.enter("hi");
    // What was sent stays without its status.
    pane.ready_after("hello");
    pane.until("one status line", |screen| screen.matches("double · ").count() == 2);
    pane.say("/sta");
    pane.see("Show the state of the session");
    pane.press(&["Enter", "Enter"]);
    pane.see("approvals");
}

#[test]
fn a_first_start_leads_to_a_chat() {
    let model = Loopback::saying(vec![Say::Text("ready"), Say::Text("hello there")]);
    let home = Home::temp();
    let start = Start { arguments: "", ..Start::default() };
    let Some(pane) = Pane::open("first", &home, &start) else { return };
    pane.see("Welcome to Petasos");
    pane.see("pasted key or URL");
    pane.enter(&model.url);
    pane.see("double answers; saved in");
    pane.see("❯");
    pane.enter("hi");
    pane.ready_after("hello there");
}

#[test]
fn replies_are_shown_as_the_display_keys_say() {
    let call = ("terminal", json!({ "command": "echo hi" }));
    let script = || {
        let said = Say::TextAndCall("I look **first**.", call.clone());
        Loopback::saying(vec![said, Say::Text("# Done\n\nAll **good**.")])
    };
    let played = |display: &str| {
        let model = script();
        let home = home(&model, &format!("display:\n{display}"));
        let pane = Pane::open("display keys", &home, &Start::default())?;
        pane.see("❯");
        pane.enter("look");
        let screen = pane.ready_after("good");
        pane.enter("/quit");
        pane.see("[ended with 0]");
        let arguments = Start { arguments: "-c", ..Start::default() };
        let again = Pane::open("display keys", &home, &arguments)?;
        Some((screen, again.ready_after("──")))
    };
    let Some((usual, resumed)) = played("  compact: false\n") else { return };
    assert!(usual.contains("I look first.") && usual.contains("All good.\n\n"), "{usual}");
    assert!(resumed.contains("❯ look") && resumed.contains("All good."), "{resumed}");
    let keys = "  compact: true\n  interim_assistant_messages: false\n  \
                final_response_markdown: raw\n  resume_display: minimal\n";
    let Some((plain, resumed)) = played(keys) else { return };
    assert!(!plain.contains("I look") && plain.contains("# Done\n\nAll **good**.\n"), "{plain}");
    assert!(!plain.contains("**good**.\n\n"), "{plain}");
    assert!(!resumed.contains("good"), "{resumed}");
}
