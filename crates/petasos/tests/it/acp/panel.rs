//! A client that shows a panel: its terminal, its tabs, its folder. E19 156.

use serde_json::{Value, json};

use super::editor::Editor;
use super::{home, result};
use crate::loopback::{Loopback, Say};

const LISTED: &str = "platform_toolsets: {acp: [hermes-acp, project]}\n";

fn offered(model: &Loopback) -> String {
    model.asked().last().expect("a request")["tools"].to_string()
}

#[test]
fn e156_the_tools_of_a_panel_are_there_with_a_client_that_has_one() {
    let script = || {
        vec![
            Say::Calls(vec![("read_terminal", json!({}))]),
            Say::Calls(vec![("close_terminal", json!({ "process_id": "proc_1" }))]),
            Say::Calls(vec![("project_create", json!({ "name": "Hat shop" }))]),
            Say::Calls(vec![("project_list", json!({}))]),
            Say::Text("done"),
        ]
    };
    let model = Loopback::saying(script());
    let home = home(&model);
    home.write(".petasos/config.yaml", format!("{}{LISTED}", model.config()));
    let panel = json!({ "_meta": { "petasos": { "panel": true } } });
    let mut editor = Editor::greeted(&home, &panel);
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "look"), "end_turn");
    assert!(offered(&model).contains("read_terminal"), "{}", offered(&model));
    let told = model.asked().last().expect("a request").to_string();
    assert!(told.contains("$ make"), "{told}");
    assert!(told.contains("hat-shop"), "{told}");
    assert!(result(&model).contains("hat-shop"));
    // The client moves at the end of the turn: it is told where to.
    let moved: Vec<&Value> =
        editor.trace.iter().filter(|it| it["method"] == "_petasos/panel/move").collect();
    assert_eq!(moved.len(), 1, "{moved:?}");
    assert!(moved[0]["params"]["folder"].as_str().expect("a folder").ends_with("hat-shop"));
    assert_eq!(moved[0]["params"]["sessionId"], json!(session));
    // A client without one is offered none of them.
    let plain = Loopback::saying(vec![Say::Text("done")]);
    let home = super::home(&plain);
    home.write(".petasos/config.yaml", format!("{}{LISTED}", plain.config()));
    let mut editor = Editor::greeted(&home, &json!({}));
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "look"), "end_turn");
    let all = offered(&plain);
    assert!(!all.contains("read_terminal") && !all.contains("project_list"), "{all}");
}
