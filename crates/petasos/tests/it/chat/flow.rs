//! What stays in the scrollback while the window changes, what is shown whole, and what is pasted.

use std::os::unix::fs::PermissionsExt as _;

use super::pane::{Pane, Start};
use super::{home, terminal, told};
use crate::loopback::{Loopback, Say};
use crate::petasos;

/// So many words may stand twice where the size changed: those of one row.
const ROW_WORDS: usize = 30;

/// Every word of a reply is there, in its order, and once. A frame that is on its way to the
/// terminal while its size changes cannot know of it: its last row may stay behind, once.
fn assert_once(screen: &str, count: usize, resizes: usize) {
    let words: Vec<&str> =
        screen.split_whitespace().filter(|word| word.starts_with("word")).collect();
    let mut once: Vec<&str> = Vec::new();
    for word in &words {
        if !once.contains(word) {
            once.push(word);
        }
    }
    let expected: Vec<String> = (1..=count).map(|number| format!("word{number}")).collect();
    assert_eq!(once, expected, "{screen}");
    let again = words.len() - once.len();
    assert!(again <= resizes * ROW_WORDS, "{again} words stand twice\n{screen}");
}

#[test]
fn a_reply_is_there_once_whatever_the_window_does_while_it_comes() {
    const WORDS: usize = 900;
    let model = Loopback::saying(vec![Say::Text("An earlier answer."), Say::Words(WORDS)]);
    let home = home(&model, "");
    let start = Start { columns: 100, ..Start::default() };
    let Some(pane) = Pane::open("resized", &home, &start) else { return };
    pane.see("❯");
    pane.enter("first");
    pane.ready_after("An earlier answer.");
    pane.enter("write");
    // A word that was not there when the window changed: it was drawn since.
    let mut seen = 0;
    let widths = [60, 20, 200, 40, 120, 30, 80];
    for columns in widths {
        let further = pane.until("more words", |screen| newest(screen) > seen + 20);
        seen = newest(&further);
        pane.resize(columns);
    }
    let screen = pane.ready_after(&format!("word{WORDS}"));
    assert_once(&screen, WORDS, widths.len());
    assert_eq!(screen.matches("An earlier answer.").count(), 1, "{screen}");
    assert_eq!(screen.matches("❯ first").count(), 1, "{screen}");
}

/// The number of the last word on the screen.
fn newest(screen: &str) -> usize {
    let numbers =
        screen.split_whitespace().filter_map(|word| word.strip_prefix("word")?.parse().ok());
    numbers.max().unwrap_or_default()
}

#[test]
fn a_paste_that_is_taller_than_the_window_leaves_what_was_there() {
    let model = Loopback::saying(vec![
        Say::Text("An earlier answer."),
        Say::Text("got it"),
        terminal("while [ ! -e go ]; do sleep 0.1; done"),
        Say::Text("done with it"),
        Say::Text("the second too"),
    ]);
    let home = home(&model, "display:\n  busy_input_mode: queue\n");
    let Some(pane) = Pane::open("tall paste", &home, &Start::default()) else { return };
    let rows: Vec<String> = (1..=120).map(|number| format!("pasted row {number}")).collect();
    let whole = rows.join("\n");
    pane.see("❯");
    pane.enter("first");
    pane.ready_after("An earlier answer.");
    pane.paste(&whole);
    pane.see("[pasted text 1, 120 lines]");
    pane.press(&["Enter"]);
    pane.ready_after("got it");
    assert_eq!(told(&model, "user"), whole);
    // And while the agent works.
    pane.enter("wait");
    pane.see(" · 1 s");
    pane.paste(&whole);
    pane.see("Enter queues this for after the turn");
    assert!(pane.screen().contains("[pasted text 1, 120 lines]"), "it is a chip here, too");
    pane.press(&["Enter"]);
    pane.see("next: pasted row 1");
    home.write("work/go", "");
    let screen = pane.ready_after("the second too");
    assert_eq!(told(&model, "user"), whole);
    for once in ["❯ first", "An earlier answer.", "got it", "done with it"] {
        assert_eq!(screen.matches(once).count(), 1, "{once}\n{screen}");
    }
}

#[test]
fn a_key_shows_whole_what_was_folded() {
    let lines: Vec<String> = (1..=40).map(|number| format!("line {number}")).collect();
    let write = serde_json::json!({ "path": "long.txt", "content": lines.join("\n") + "\n" });
    let model = Loopback::saying(vec![
        terminal("seq 1001 1030"),
        Say::Calls(vec![("write_file", write)]),
        Say::Text("Done."),
    ]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("whole", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("go");
    let screen = pane.ready_after("Done.");
    assert!(screen.contains("16 more lines (Ctrl-O shows all)"), "{screen}");
    assert!(!screen.contains("│ 1003") && !screen.contains("+ line 33"), "{screen}");
    pane.say("half a word");
    pane.press(&["C-o"]);
    let screen = pane.see("+ line 40");
    for part in ["│ 1003", "│ 1030", "+ line 1\n", "+ line 33"] {
        assert!(screen.contains(part), "{part}\n{screen}");
    }
    pane.until("what was typed", |screen| screen.ends_with("❯ half a word"));
}

const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[test]
fn a_picture_of_the_clipboard_goes_with_the_message() {
    let model = Loopback::saying(vec![Say::Text("A dot."), Say::Text("The same.")]);
    let home = home(&model, "");
    let script = format!("#!/bin/sh\necho {PICTURE} | base64 -d\n");
    let program = home.write("bin/wl-paste", script);
    let run = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, run).expect("a program");
    let variables = format!("PATH={}:/usr/bin:/bin", program.parent().expect("a folder").display());
    let start = Start { variables: &variables, ..Start::default() };
    let Some(pane) = Pane::open("pasted picture", &home, &start) else { return };
    pane.see("❯");
    pane.say("what is this? ");
    pane.press(&["C-v"]);
    pane.see("❯ what is this? [picture 1]");
    pane.press(&["Enter"]);
    pane.ready_after("A dot.");
    let last = model.asked().last().expect("a request")["messages"].to_string();
    assert!(last.contains("image_url") && last.contains("what is this?"), "{last}");
    // A file that is dropped on the window comes as its path.
    let file = std::fs::read_dir(home.agent().join("pasted")).expect("a folder");
    let file = file.flatten().next().expect("a picture").path();
    let mode = std::fs::metadata(&file).expect("it").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    pane.paste(&file.display().to_string());
    pane.see("❯ [picture 1]");
    pane.press(&["Enter"]);
    pane.ready_after("The same.");
}

#[test]
fn colours_are_those_of_the_skin() {
    let model = Loopback::saying(vec![Say::Text("Some `code`."), Say::Text("More `code`.")]);
    let home = home(&model, "display:\n  skin: light\n");
    let Some(pane) = Pane::open("skin", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("go");
    pane.ready_after("Some code.");
    assert!(pane.styled().contains("\u{1b}[38;5;23mcode"), "{:?}", pane.styled());
    pane.enter("/skin mono");
    pane.ready_after("Colours: mono.");
    pane.enter("again");
    pane.ready_after("More code.");
    let styled = pane.styled();
    let (_, after) = styled.rsplit_once("again").expect("the message");
    assert!(!after.contains("38;5;") && !after.contains("[36m"), "{after:?}");
    pane.enter("/skin pink");
    pane.ready_after("`pink` is none of");
}

#[test]
fn a_chat_that_fails_is_in_the_log_in_the_words_of_the_provider() {
    let model = Loopback::saying(vec![Say::Fail(401)]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("failed chat", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("hello");
    let screen = pane.ready_after("/retry");
    assert!(screen.contains("the double fails"), "{screen}");
    pane.enter("/quit");
    pane.see("[ended with 0]");
    let told = petasos(&home).run(&["logs"]).stdout;
    assert!(told.contains("the double fails"), "{told}");
}
