//! `petasos run` at a terminal: the answer as it comes, and what goes on until then.

use super::pane::{Pane, Start};
use super::{home, terminal};
use crate::loopback::{Loopback, Say};

const WAIT: &str = "while [ ! -e go ]; do sleep 0.1; done; echo it went";

#[test]
fn an_answer_streams_and_calls_are_seen_as_they_run() {
    let model = Loopback::saying(vec![terminal(WAIT), Say::Text("It **went**.\n\n- one\n")]);
    let home = home(&model, "");
    let start = Start { arguments: "run 'wait for it'", ..Start::default() };
    let Some(pane) = Pane::open("run live", &home, &start) else { return };
    pane.see("sleep 0.1; done; echo it went · 1 s");
    home.write("work/go", "");
    let screen = pane.see("[ended with 0]");
    assert!(screen.contains("It went.") && screen.contains("• one"), "{screen}");
    assert!(screen.contains("↳ it went"), "{screen}");
    assert_eq!(screen.matches("It went.").count(), 1, "once\n{screen}");
    assert!(!screen.contains("thinking"), "{screen}");
}

#[test]
fn a_stopped_answer_keeps_what_came() {
    let model = Loopback::saying(vec![Say::Stuck("Once upon a time\n\nthere was")]);
    let home = home(&model, "");
    let start = Start { arguments: "run 'a story'", ..Start::default() };
    let Some(pane) = Pane::open("run stopped", &home, &start) else { return };
    pane.see("there was");
    pane.press(&["C-c"]);
    let screen = pane.see("[ended with 130]");
    assert!(screen.contains("Once upon a time") && screen.contains("Interrupted."), "{screen}");
}

#[test]
fn a_file_gets_the_answer_alone_and_the_terminal_what_goes_on() {
    let model = Loopback::saying(vec![terminal(WAIT), Say::Text("It went.")]);
    let home = home(&model, "");
    let start = Start { arguments: "run 'wait for it' > answer.txt", ..Start::default() };
    let Some(pane) = Pane::open("run to a file", &home, &start) else { return };
    pane.see("sleep 0.1; done; echo it went · 1 s");
    home.write("work/go", "");
    let screen = pane.see("[ended with 0]");
    assert!(!screen.contains("It went."), "{screen}");
    let answer = std::fs::read_to_string(home.workspace().join("answer.txt")).unwrap_or_default();
    assert_eq!(answer, "It went.\n");
}

#[test]
fn a_question_stands_still_while_it_waits() {
    let model = Loopback::saying(vec![terminal("rm -rf build"), Say::Text("Gone.")]);
    let home = home(&model, "");
    std::fs::create_dir_all(home.workspace().join("build")).expect("a folder");
    let start = Start { arguments: "run 'clean up'", ..Start::default() };
    let Some(pane) = Pane::open("run asks", &home, &start) else { return };
    pane.see("needs your approval");
    pane.enter("y");
    let screen = pane.see("[ended with 0]");
    assert!(screen.contains("Gone."), "{screen}");
    assert!(!home.workspace().join("build").exists());
}

#[test]
fn a_dumb_terminal_gets_plain_words() {
    let model = Loopback::saying(vec![terminal("echo hi"), Say::Text("It **went**.")]);
    let home = home(&model, "");
    let start = Start { arguments: "run go", term: "dumb", ..Start::default() };
    let Some(pane) = Pane::open("run dumb", &home, &start) else { return };
    let screen = pane.see("[ended with 0]");
    assert!(screen.contains("It **went**."), "{screen}");
    assert!(!pane.styled().contains('\u{1b}'), "{:?}", pane.styled());
}

#[test]
fn nothing_is_no_prompt() {
    let model = Loopback::saying(vec![]);
    for words in ["", "  \n"] {
        let finished = crate::petasos(&home(&model, "")).input("").run(&["run", words]);
        assert_eq!(finished.code, Some(2), "{finished:?}");
        assert!(finished.stderr.contains("there is no prompt"), "{finished:?}");
    }
    assert!(model.asked().is_empty());
}
