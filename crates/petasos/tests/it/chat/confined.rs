//! A chat in the sandbox: the status line says so, and what is refused is one question.

use super::pane::{Pane, Start};
use super::{home, terminal};
use crate::loopback::{Loopback, Say};

#[test]
fn a_refusal_of_the_sandbox_is_one_question_in_the_chat() {
    // Homes of tests are temporary folders, which a confined command may write to.
    let Ok(outside) = tempfile::tempdir_in("/var/lib") else {
        return petasos_testkit::skip("confined chat", "root", "/var/lib cannot be written");
    };
    let file = outside.path().join("outside.txt");
    let command = format!("echo x > {} && echo it is there", file.display());
    let model = Loopback::saying(vec![terminal(&command), Say::Text("Done.")]);
    let home = home(&model, "terminal:\n  sandbox: workspace\n");
    let Some(pane) = Pane::open("confined chat", &home, &Start::default()) else { return };
    let screen = pane.ready_after("sandbox workspace");
    assert!(screen.contains("sandbox: workspace"), "the status line\n{screen}");
    pane.enter("go");
    let screen = pane.see("Yes, once (y)");
    assert!(screen.contains("refused by the sandbox"), "{screen}");
    assert!(screen.contains("outside.txt"), "{screen}");
    pane.press(&["y"]);
    pane.ready_after("Done.");
    assert!(file.exists());
}
