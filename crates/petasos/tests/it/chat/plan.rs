//! Plan mode: everything may be looked at, nothing is changed, until the person says go.

use serde_json::json;

use super::pane::{Pane, Start};
use super::{home, terminal, told};
use crate::loopback::{Loopback, Say};
use crate::petasos;

#[test]
fn a_plan_changes_nothing_until_the_person_says_go() {
    let write =
        || Say::Calls(vec![("write_file", json!({ "path": "made.txt", "content": "made\n" }))]);
    let model = Loopback::saying(vec![
        Say::Calls(vec![
            ("read_file", json!({ "path": "there.txt" })),
            ("write_file", json!({ "path": "made.txt", "content": "made\n" })),
            ("terminal", json!({ "command": "touch touched" })),
            ("terminal", json!({ "command": "ls -l | wc -l" })),
        ]),
        Say::Text("The plan: write made.txt."),
        write(),
        Say::Text("It is written."),
    ]);
    let home = home(&model, "");
    home.write("work/there.txt", "it is there\n");
    // Not to be asked is no permission to begin.
    let start = Start { arguments: "--plan --yolo", ..Start::default() };
    let Some(pane) = Pane::open("plan", &home, &start) else { return };
    let screen = pane.see("❯");
    assert!(screen.contains("plan mode · "), "{screen}");
    pane.enter("write made.txt");
    let screen = pane.ready_after("The plan: write made.txt.");
    assert!(screen.contains("plan mode is on"), "{screen}");
    let made = |name: &str| home.workspace().join(name).exists();
    assert!(!made("made.txt") && !made("touched"));
    let results = model.asked().last().expect("a request")["messages"].to_string();
    assert!(results.contains("it is there"), "{results}");
    assert_eq!(results.matches("Not run: plan mode is on").count(), 2, "{results}");
    assert!(told(&model, "user").contains("Plan mode is on"), "{}", told(&model, "user"));
    pane.enter("/status");
    pane.ready_after("plan mode");
    pane.enter("/go and be quick");
    let screen = pane.ready_after("It is written.");
    assert!(made("made.txt"), "{screen}");
    assert_eq!(told(&model, "user"), "Go ahead: carry out the plan. and be quick");
    let last = screen.lines().rev().nth(1).unwrap_or_default();
    assert!(!last.contains("plan mode"), "{screen}");
    pane.enter("/go");
    pane.ready_after("plan mode is not on");
    pane.enter("/plan");
    let screen = pane.ready_after("Plan mode is on: nothing is changed");
    assert!(screen.contains("still run"), "{screen}");
}

#[test]
fn a_script_can_ask_for_a_plan_alone() {
    let model = Loopback::saying(vec![
        terminal("echo x > made.txt"),
        Say::Calls(vec![(
            "memory",
            json!({ "action": "add", "target": "memory", "content": "x" }),
        )]),
        Say::Calls(vec![("execute_code", json!({ "code": "open('made.txt', 'w')" }))]),
        terminal("cat there.txt"),
        Say::Text("planned"),
    ]);
    let home = home(&model, "");
    home.write("work/there.txt", "it is there\n");
    let finished = petasos(&home).run(&["run", "--plan", "--yolo", "make it"]);
    assert_eq!((finished.code, finished.stdout.trim()), (Some(0), "planned"), "{finished:?}");
    let results = model.asked().last().expect("a request")["messages"].to_string();
    assert_eq!(results.matches("Not run: plan mode is on").count(), 3, "{results}");
    assert!(results.contains("it is there"), "{results}");
    assert!(!home.workspace().join("made.txt").exists());
}

#[test]
fn a_conversation_that_plans_goes_on_planning_when_it_is_resumed() {
    let touch = || terminal("touch touched");
    let model = Loopback::saying(vec![
        touch(),
        Say::Text("Planned."),
        touch(),
        Say::Text("Still planned."),
        touch(),
        Say::Text("Only planned."),
        touch(),
        Say::Text("It is done."),
    ]);
    let home = home(&model, "");
    let made = || home.workspace().join("touched").exists();
    let Some(pane) = Pane::open("plan again", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("/plan");
    pane.ready_after("Plan mode is on");
    pane.enter("touch it");
    pane.ready_after("Planned.");
    pane.enter("/quit");
    pane.see("[ended with 0]");
    let start = Start { arguments: "-c --yolo", ..Start::default() };
    let Some(pane) = Pane::open("plan again", &home, &start) else { return };
    pane.see("plan mode · ");
    pane.enter("and now?");
    pane.ready_after("Still planned.");
    pane.enter("/quit");
    pane.see("[ended with 0]");
    let ran = petasos(&home).run(&["run", "-c", "--yolo", "go on"]);
    assert_eq!(ran.stdout.trim(), "Only planned.", "{ran:?}");
    assert!(ran.stderr.contains("in plan mode: nothing is changed"), "{}", ran.stderr);
    assert!(!made());
    let Some(pane) = Pane::open("plan again", &home, &start) else { return };
    pane.see("plan mode · ");
    pane.enter("/go");
    pane.ready_after("It is done.");
    assert!(made());
    pane.enter("/quit");
    pane.see("[ended with 0]");
    let Some(pane) = Pane::open("plan again", &home, &start) else { return };
    let screen = pane.ready_after("It is done.");
    assert!(!screen.contains("plan mode · "), "{screen}");
}
