//! Lists to choose from, the menu while typing, and files behind an `@`.

use serde_json::json;

use super::pane::{Pane, Start};
use super::{home, told};
use crate::loopback::{Loopback, Say};
use crate::petasos;

#[test]
fn conversations_of_this_folder_come_first_and_are_found_by_words() {
    let model = Loopback::saying(vec![Say::Text("noted"); 6]);
    let home = home(&model, "");
    for message in ["remember heliotrope", "count the lamps"] {
        assert_eq!(petasos(&home).run(&["run", message]).code, Some(0));
    }
    let Some(pane) = Pane::shell("pick a session", &home) else { return };
    pane.see("$");
    pane.enter("mkdir -p ../far && cd ../far && petasos run 'far away'; cd ../work; clear");
    pane.until("a clean shell", |screen| model.asked().len() == 3 && screen.trim() == "$");
    pane.enter("petasos");
    pane.see("❯");
    pane.enter("/resume");
    let screen = pane.see("› ");
    let at = |words: &str| screen.find(words).unwrap_or_else(|| panic!("{words}\n{screen}"));
    assert!(at("count the lamps") < at("far away"), "this folder first\n{screen}");
    assert!(at("remember heliotrope") < at("far away"), "{screen}");
    pane.say("helio");
    pane.until("one match", |screen| {
        screen.contains("› remember heliotrope") && !screen.contains("far away  just")
    });
    pane.press(&["Enter"]);
    pane.ready_after("noted");
    pane.enter("what was it?");
    pane.until("an answer", |_| model.asked().len() == 4);
    let asked = model.asked().last().expect("a request")["messages"].to_string();
    assert!(asked.contains("remember heliotrope"), "{asked}");
}

#[test]
fn a_list_can_be_left_and_nothing_is_chosen() {
    let model = Loopback::saying(vec![Say::Text("still here")]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("leave a list", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("/model");
    let screen = pane.see("› double");
    assert!(screen.contains("type to search"), "{screen}");
    pane.say("xyz");
    pane.see("no matches");
    pane.press(&["Enter"]);
    pane.press(&["Escape"]);
    pane.until("a prompt", |screen| screen.ends_with('❯') && !screen.contains("no matches"));
    pane.enter("/model");
    pane.see("› double");
    pane.press(&["Enter"]);
    pane.ready_after("(for this conversation)");
    pane.enter("/resume");
    pane.ready_after("No conversation to choose from yet.");
    pane.enter("hello");
    pane.ready_after("still here");
}

#[test]
fn a_model_that_its_provider_does_not_list_is_named() {
    let model = Loopback::saying(vec![]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("unlisted", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("/model duoble");
    pane.ready_after("the provider does not list `duoble`");
}

#[test]
fn files_come_back_from_a_list_of_checkpoints() {
    let model = Loopback::saying(vec![
        Say::Calls(vec![("write_file", json!({ "path": "notes.txt", "content": "new\n" }))]),
        Say::Text("written"),
    ]);
    let home = home(&model, "");
    home.write("work/notes.txt", "old\n");
    let Some(pane) = Pane::open("pick a checkpoint", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("/rollback");
    pane.ready_after("No checkpoint to choose from yet.");
    pane.enter("write");
    pane.ready_after("written");
    pane.enter("/rollback");
    pane.see("› ");
    pane.press(&["Enter"]);
    pane.ready_after("Restored 1 file");
    let text = std::fs::read_to_string(home.workspace().join("notes.txt")).unwrap_or_default();
    assert_eq!(text, "old\n");
}

#[test]
fn a_file_is_found_by_a_part_of_its_name() {
    let model = Loopback::saying(vec![Say::Text("seen"), Say::Text("seen again")]);
    let home = home(&model, "");
    home.write("work/src/deep/application.py", "print('hi')\n");
    home.write("work/.gitignore", "built\n");
    home.write("work/built/application.py", "print('built')\n");
    std::fs::create_dir_all(home.workspace().join(".git")).expect("a folder");
    let Some(pane) = Pane::open("pick a file", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.say("look at @applic");
    let screen = pane.see("@src/deep/application.py");
    assert!(!screen.contains("built/"), "what git ignores is left out\n{screen}");
    pane.press(&["Tab"]);
    pane.see("❯ look at @src/deep/application.py");
    pane.press(&["Enter"]);
    pane.ready_after("seen");
    assert!(told(&model, "user").contains("print('hi')"), "{}", told(&model, "user"));
    // An address is no file.
    pane.enter("write to me@example.org");
    pane.ready_after("seen again");
    assert_eq!(told(&model, "user"), "write to me@example.org");
}

#[test]
fn the_words_of_a_command_are_completed() {
    let model = Loopback::saying(vec![]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("arguments", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.say("/busy qu");
    pane.see("❯ /busy qu");
    pane.press(&["Tab"]);
    pane.see("❯ /busy queue");
    pane.press(&["Enter"]);
    pane.ready_after("waits for the end of the turn");
}
