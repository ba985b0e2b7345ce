//! Several programs on one conversation: what is said or asked in one is seen in the other.

use petasos_testkit::Home;
use rustix::process::{Pid, Signal, kill_process};

use super::pane::{Pane, Start};
use super::{home, terminal};
use crate::loopback::{Loopback, Say};
use crate::petasos;

#[test]
fn a_chat_shows_what_a_script_says_in_its_conversation_and_takes_it_over() {
    let model =
        Loopback::saying(vec![Say::Text("chat heard"), Say::Text("run heard"), Say::Text("both")]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("windows", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("from the chat");
    pane.ready_after("chat heard");
    let finished = petasos(&home).run(&["run", "--resume", "latest", "from the script"]);
    assert_eq!((finished.code, finished.stdout.trim()), (Some(0), "run heard"), "{finished:?}");
    assert!(!finished.stderr.contains("repaired"), "{finished:?}");
    let screen = pane.ready_after("run heard");
    assert!(screen.contains("from the script"), "{screen}");
    pane.enter("what was said?");
    pane.ready_after("both");
    let messages = model.asked().last().expect("a request")["messages"].to_string();
    for words in ["from the chat", "chat heard", "from the script", "run heard"] {
        assert_eq!(messages.matches(words).count(), 1, "{words}: {messages}");
    }
}

#[test]
fn a_question_is_answered_from_another_shell_and_survives_the_death_of_its_chat() {
    let rm = || terminal("rm -rf build");
    let model =
        Loopback::saying(vec![rm(), Say::Text("first done"), rm(), Say::Text("second done")]);
    let home = home(&model, "  timeout: 600\n");
    let build = home.workspace().join("build");
    let make = || std::fs::create_dir_all(&build).expect("a folder");
    make();
    let Some(pane) = Pane::open("elsewhere", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("clean up");
    pane.see("Yes, once (y)");
    let id = waiting(&home);
    let answered = petasos(&home).run(&["approval", "answer", &id, "yes"]);
    assert_eq!(answered.code, Some(0), "{answered:?}");
    pane.ready_after("first done");
    assert!(!build.exists());
    let late = petasos(&home).run(&["approval", "answer", &id, "no"]);
    assert!(late.stderr.contains("already decided: allowed once"), "{late:?}");
    make();
    pane.enter("again");
    pane.until("a second question", |screen| super::asked(screen, 2));
    let asked = waiting(&home);
    kill(&home);
    assert!(build.exists());
    let start = Start { arguments: "chat --resume latest", ..Start::default() };
    let Some(next) = Pane::open("elsewhere2", &home, &start) else { return };
    next.see("Yes, once (y)");
    assert_eq!(waiting(&home), asked, "it is the same question");
    next.enter("yes");
    next.ready_after("second done");
    assert!(!build.exists(), "it ran");
    assert_eq!(petasos(&home).run(&["sessions", "verify"]).code, Some(0));
}

/// The one question that waits for an answer.
fn waiting(home: &Home) -> String {
    let listed = petasos(home).run(&["--json", "approval", "waiting"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let questions = listed["questions"].as_array().expect("a list");
    assert_eq!(questions.len(), 1, "{listed}");
    questions[0]["id"].as_str().expect("an id").to_owned()
}

/// Kills the chat of this home, and nothing of it has time to say a word.
fn kill(home: &Home) {
    let home = format!("HOME={}", home.user().display());
    for process in std::fs::read_dir("/proc").expect("the processes of this machine").flatten() {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let ours = environment.split(|byte| *byte == 0).any(|one| one == home.as_bytes());
        let program = command.split(|byte| *byte == 0).next().unwrap_or_default();
        let pid = process.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw);
        if let (true, true, Some(pid)) = (ours, program.ends_with(b"petasos"), pid) {
            kill_process(pid, Signal::KILL).unwrap_or_default();
        }
    }
}
