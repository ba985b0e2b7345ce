//! What newcomers stumbled over in the chat (docs/concepts/chat.md): each as they tried it, and as
//! it must be.

use serde_json::Value;

use super::pane::{Pane, Start};
use super::{home, terminal, told};
use crate::loopback::{Loopback, Say};
use crate::petasos;

const QUEUES: &str = "display:\n  busy_input_mode: queue\n";
const STEERS: &str = "display:\n  busy_input_mode: steer\n";
/// Works until it is stopped.
const WAITS: &str = "echo begun; sleep 300";

/// The tools that the last request offered.
fn offered(model: &Loopback) -> Vec<String> {
    let asked = model.asked();
    let tools = asked.last().map(|body| body["tools"].clone()).unwrap_or_default();
    let name = |tool: &Value| tool["function"]["name"].as_str().map(str::to_owned);
    tools.as_array().map(|tools| tools.iter().filter_map(name).collect()).unwrap_or_default()
}

#[test]
fn a_continued_chat_keeps_the_toolsets_and_the_model_that_were_chosen_in_it() {
    let model = Loopback::saying(Vec::new());
    let home = home(&model, "");
    let Some(pane) = Pane::open("chosen", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("/toolsets file,flie");
    pane.ready_after("no toolset is named `flie`: did you mean `file`?");
    pane.enter("/toolsets file");
    pane.ready_after("toolsets from the next turn on: file");
    pane.enter("/model another-model");
    pane.ready_after("for this conversation");
    pane.enter("hello");
    pane.ready_after("done");
    pane.press(&["C-d"]);
    pane.see("[ended with 0]");
    let first = offered(&model);
    assert!(first.iter().any(|name| name == "read_file"), "{first:?}");
    assert!(!first.iter().any(|name| name == "terminal"), "{first:?}");
    for words in [&["run", "-c", "again"][..], &["run", "-r", "latest", "once more"]] {
        assert_eq!(petasos(&home).run(words).code, Some(0));
        assert_eq!(offered(&model), first, "{words:?}");
        assert_eq!(model.asked().last().expect("a request")["model"], "another-model");
    }
    let said = petasos(&home).run(&["run", "-c", "-t", "terminal", "with others"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(offered(&model).iter().any(|name| name == "terminal"), "what is asked for goes first");
    petasos(&home).run(&["run", "a new one"]);
    assert!(offered(&model).len() > first.len(), "another conversation is as configured");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let model = Loopback::saying(Vec::new());
    let home = home(&model, "");
    home.write("work/there.txt", "here I am\n");
    let Some(pane) = Pane::open("missing", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("compare @there.txt with @gone.txt ");
    let screen = pane.ready_after("done");
    assert!(screen.contains("there is no such file: @gone.txt"), "{screen}");
    assert!(screen.contains("📎") && told(&model, "user").contains("here I am"), "{screen}");
}

#[test]
fn commands_and_files_are_offered_and_pastes_folded_while_the_agent_works() {
    let model = Loopback::saying(vec![terminal(WAITS)]);
    let home = home(&model, QUEUES);
    let Some(pane) = Pane::open("busy menu", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("wait");
    pane.see("│ begun");
    pane.say("/stat");
    pane.see("› /status");
    pane.press(&["Tab"]);
    pane.see("Enter runs the command");
    pane.press(&["Enter"]);
    pane.see("queued messages");
    let lines: Vec<String> = (1..=40).map(|number| format!("row {number}")).collect();
    pane.paste(&lines.join("\n"));
    let screen = pane.see("[pasted text 1, 40 lines]");
    assert!(!screen.contains("row 39"), "{screen}");
    pane.press(&["Enter"]);
    pane.see("next: row 1");
    pane.press(&["Escape"]);
    pane.ready_after("done");
    assert!(told(&model, "user").ends_with("row 40"), "it is sent whole: {}", told(&model, "user"));
}

#[test]
fn a_message_that_waits_is_taken_back() {
    let model = Loopback::saying(vec![terminal(WAITS)]);
    let home = home(&model, QUEUES);
    let Some(pane) = Pane::open("taken back", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("wait");
    pane.see("│ begun");
    pane.enter("first thought");
    pane.see("next: first thought · ↑ takes it back");
    pane.enter("second thought");
    pane.see("next: second thought");
    pane.press(&["Up"]);
    let back =
        |screen: &str| screen.contains("❯ second thought") && !screen.contains("next: second");
    pane.until("the line again", back);
    pane.press(&["C-u"]);
    pane.see("↑ takes it back");
    pane.enter("/queue drop");
    pane.see("↩ took back: first thought");
    pane.until("an empty queue", |screen| !screen.contains("next: first"));
    pane.press(&["Escape"]);
    pane.ready_after("Interrupted.");
    assert_eq!(model.asked().len(), 1, "nothing that was taken back is said");
}

#[test]
fn words_for_a_turn_that_is_stopped_begin_no_other_one() {
    let model = Loopback::saying(vec![terminal(WAITS), Say::Text("Heard.")]);
    let home = home(&model, STEERS);
    let Some(pane) = Pane::open("unsaid", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("wait");
    pane.see("│ begun");
    pane.enter("mind the gap");
    pane.see("↪ for the agent: mind the gap");
    pane.press(&["Escape"]);
    pane.see("was not said to the agent");
    pane.until("the line again", |screen| screen.trim_end().ends_with("❯ mind the gap"));
    assert_eq!(model.asked().len(), 1);
    pane.press(&["Enter"]);
    pane.ready_after("Heard.");
    assert_eq!(told(&model, "user"), "mind the gap");
}

#[test]
fn a_failed_message_is_marked_where_it_stands_and_where_it_is_sent_along() {
    let model = Loopback::saying(vec![Say::Fail(401), Say::Text("Both are here.")]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("failed", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("the first one");
    let screen = pane.ready_after("/retry sends it again");
    assert!(screen.contains("goes along with your next"), "{screen}");
    pane.press(&["C-d"]);
    pane.see("[ended with 0]");
    let start = Start { arguments: "chat --continue", ..Start::default() };
    let Some(pane) = Pane::open("failed", &home, &start) else { return };
    let screen = pane.ready_after("No reply came to this message");
    assert!(screen.contains("❯ the first one"), "{screen}");
    pane.enter("and the second");
    pane.ready_after("Both are here.");
    let said = model.asked().last().expect("a request")["messages"].to_string();
    let (first, second) = (said.find("the first one"), said.find("and the second"));
    let mark = said.find("got no reply");
    assert!(first < mark && mark < second && first.is_some(), "{said}");
}

#[test]
fn an_interrupted_reply_is_marked_when_the_chat_goes_on() {
    let model = Loopback::saying(vec![Say::Stuck("Once upon a time")]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("stopped once", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("a story");
    pane.see("Once upon a time");
    pane.press(&["Escape"]);
    pane.ready_after("Interrupted.");
    pane.press(&["C-d"]);
    pane.see("[ended with 0]");
    let start = Start { arguments: "chat --continue", ..Start::default() };
    let Some(pane) = Pane::open("stopped once", &home, &start) else { return };
    let screen = pane.ready_after("✗ Interrupted.");
    assert!(screen.contains("Once upon a time"), "{screen}");
}

#[test]
fn exit_leaves_and_turning_approvals_off_is_no_failure() {
    let model = Loopback::saying(Vec::new());
    let home = home(&model, "");
    let Some(pane) = Pane::open("exit", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("/yolo on");
    let screen = pane.ready_after("approvals are off from the next turn on");
    assert!(screen.contains("⚠ approvals are off") && !screen.contains('✗'), "{screen}");
    pane.enter("exit");
    pane.see("[ended with 0]");
    assert!(model.asked().is_empty(), "the model hears nothing of it");
}

/// A window of forty columns that is written to line by line.
#[test]
fn plain_words_are_not_broken_in_a_narrow_window() {
    let says = "Extraordinarily considerate paragraphs nevertheless outlive uncomfortable windows.";
    let model = Loopback::saying(vec![Say::Text(says)]);
    let home = home(&model, "");
    let start = Start { term: "dumb", columns: 40, ..Start::default() };
    let Some(pane) = Pane::open("narrow words", &home, &start) else { return };
    pane.see(">");
    pane.enter("write");
    let screen = pane.see("windows.");
    for word in says.split(' ') {
        assert!(screen.contains(word), "{word} is broken:\n{screen}");
    }
}
