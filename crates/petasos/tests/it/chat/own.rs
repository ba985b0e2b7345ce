//! What the person does themselves: commands, their editor, the shell below, earlier messages.

use std::os::unix::fs::PermissionsExt as _;

use super::pane::{Pane, Start};
use super::{asked, home, terminal, told};
use crate::loopback::{Loopback, Say};

#[test]
fn a_command_of_the_person_is_shown_and_the_model_reads_it() {
    let model = Loopback::saying(vec![terminal("pwd"), Say::Text("I saw it."), Say::Text("Yes.")]);
    let home = home(&model, "");
    std::fs::create_dir_all(home.workspace().join("sub/build")).expect("a folder");
    let Some(pane) = Pane::open("own command", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("!seq 1 12; echo heliotrope");
    let screen = pane.ready_after("heliotrope\n");
    assert!(screen.contains("\n1\n2\n3\n") && screen.contains("\n12\n"), "all of it\n{screen}");
    assert!(model.asked().is_empty(), "nobody was asked");
    pane.enter("!cd sub && false");
    pane.ready_after("✗ exit 1");
    // It is judged like any other.
    pane.enter("!rm -rf build");
    pane.until("a question", |screen| asked(screen, 1));
    pane.press(&["n"]);
    pane.ready_after("✗ Denied by the user");
    assert!(home.workspace().join("sub/build").exists());
    pane.enter("what did I run?");
    pane.ready_after("I saw it.");
    let said = told(&model, "user");
    for part in ["$ seq 1 12; echo heliotrope", "heliotrope\n</output>\n[exit code 0]"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(said.contains("[exit code 1]") && said.ends_with("what did I run?"), "{said}");
    // Both work in one terminal.
    assert!(told(&model, "tool").contains("/sub"), "{}", told(&model, "tool"));
    pane.enter("again?");
    pane.ready_after("Yes.");
    assert_eq!(told(&model, "user"), "again?", "it is told once");
}

#[test]
fn a_command_of_the_person_can_be_stopped() {
    let model = Loopback::saying(vec![]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("own stopped", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("!echo begun; sleep 300");
    pane.see("sleep 300 · 1 s");
    pane.press(&["C-c"]);
    pane.ready_after("Interrupted.");
    pane.enter("!");
    pane.ready_after("!COMMAND runs a command");
}

#[test]
fn a_message_is_written_in_the_editor_of_the_person() {
    let model = Loopback::saying(vec![Say::Text("read"), Say::Text("read again")]);
    let home = home(&model, "");
    let script = "#!/bin/sh\ncp \"$2\" seen; printf ' and more\\nsecond line' >> \"$2\"\n";
    home.write("work/editor", script);
    let editor = home.workspace().join("editor");
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o700)).expect("its mode");
    let variables = format!("VISUAL='{} --wait'", editor.display());
    let start = Start { variables: &variables, ..Start::default() };
    let Some(pane) = Pane::open("editor", &home, &start) else { return };
    pane.see("❯");
    pane.say("a beginning");
    pane.see("❯ a beginning");
    pane.press(&["C-g"]);
    pane.see("❯ a beginning and more\n· second line");
    pane.press(&["Enter"]);
    pane.ready_after("read");
    assert_eq!(told(&model, "user"), "a beginning and more\nsecond line");
    let seen = std::fs::read_to_string(home.workspace().join("seen")).unwrap_or_default();
    assert_eq!(seen, "a beginning");
    let left = std::fs::read_dir(home.user().join(".petasos")).expect("the home").flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("message-"));
    assert_eq!(left.count(), 0, "nothing is left behind");
}

#[test]
fn without_an_editor_nothing_is_lost() {
    let model = Loopback::saying(vec![]);
    let home = home(&model, "");
    let start = Start { variables: "EDITOR=/no/such/editor", ..Start::default() };
    for (start, why) in [(Start::default(), "set VISUAL or EDITOR"), (start, "ended with 127")] {
        let Some(pane) = Pane::open("no editor", &home, &start) else { return };
        pane.see("❯");
        pane.say("half a sentence");
        pane.press(&["C-g"]);
        pane.see(why);
        pane.until("the text", |screen| screen.ends_with("❯ half a sentence"));
    }
}

#[test]
fn the_shell_below_gets_the_terminal_and_gives_it_back() {
    let wait = "while [ ! -e go ]; do sleep 0.1; done";
    let model = Loopback::saying(vec![terminal(wait), Say::Text("it went on")]);
    let home = home(&model, "");
    let Some(pane) = Pane::shell("suspend", &home) else { return };
    pane.see("$");
    pane.enter("petasos chat");
    pane.see("❯");
    pane.say("half a ");
    pane.see("❯ half a");
    pane.press(&["C-z"]);
    pane.see("Stopped");
    pane.enter("echo in the $((40 + 2)) shell");
    pane.see("in the 42 shell");
    pane.enter("fg");
    pane.until("the text again", |screen| screen.ends_with("❯ half a"));
    pane.enter("message");
    pane.see(" · 1 s");
    pane.press(&["C-z"]);
    pane.until("stopped again", |screen| screen.matches("Stopped").count() == 2);
    pane.enter("touch go; fg");
    pane.ready_after("it went on");
    assert_eq!(told(&model, "user"), "half a message");
    pane.enter("/quit");
    pane.until("the shell", |screen| screen.ends_with('$'));
    pane.enter("echo typed is $((40 + 2)) seen");
    pane.see("typed is 42 seen");
}

#[test]
fn a_message_is_edited_with_the_keys_of_vi() {
    let model = Loopback::saying(vec![Say::Text("one"), Say::Text("two"), Say::Text("three")]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("vi keys", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("/vim on");
    pane.ready_after("this.");
    // Every line begins where lines begin, the ones after the first too.
    for (number, answer) in [(1, "one"), (2, "two")] {
        pane.say(&format!("wrong right {number}"));
        pane.press(&["Escape"]);
        pane.see("❮ wrong right");
        pane.say("0dwA!");
        pane.see(&format!("❯ right {number}!"));
        pane.press(&["Enter"]);
        pane.ready_after(answer);
        assert_eq!(told(&model, "user"), format!("right {number}!"));
    }
    // A line that is sent from normal mode is whole, and the next one is typed at once.
    pane.say("the third");
    pane.press(&["Escape"]);
    pane.see("❮ the third");
    pane.press(&["Enter"]);
    pane.ready_after("three");
    assert_eq!(told(&model, "user"), "the third");
    pane.enter("/vim off");
    pane.ready_after("vi keys off.");
}

#[test]
fn earlier_messages_are_searched() {
    let model = Loopback::saying(vec![Say::Text("one"), Say::Text("two"), Say::Text("three")]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("history", &home, &Start::default()) else { return };
    pane.see("❯");
    for (message, answer) in [("find the heliotrope", "one"), ("something else", "two")] {
        pane.enter(message);
        pane.ready_after(answer);
    }
    pane.press(&["C-r"]);
    pane.say("helio");
    pane.see("(earlier: helio)");
    pane.press(&["Enter"]);
    pane.until("the message", |screen| screen.ends_with("❯ find the heliotrope"));
    pane.press(&["Enter"]);
    pane.ready_after("three");
    assert_eq!(told(&model, "user"), "find the heliotrope");
}
