//! Real terminals: size, questions, typing.

use std::time::Duration;

use petasos_contract::jobs::{Jobs, Notify};
use petasos_contract::terminal::{Command, Ended, Terminal};

use crate::stage::{Stage, command, eventually};

fn on_terminal(script: &str) -> Command {
    Command { pty: true, ..command(script) }
}

#[tokio::test]
async fn a_program_on_a_terminal_sees_one() {
    let stage = Stage::new();
    let ran = stage.run_in(&stage.cx(), on_terminal("tty; stty size; test -t 0 && echo yes")).await;
    assert_eq!(ran.ended, Ended::Exited(0));
    assert!(ran.output.contains("/dev/pts/"), "{}", ran.output);
    assert!(ran.output.contains("30 120\nyes\n"), "{}", ran.output);
}

#[tokio::test]
async fn a_question_is_handed_over_and_can_be_answered() {
    let stage = Stage::new();
    let rows = [
        ("read -p 'Go on? [y/N] ' a; echo got $a", "Go on? [y/N]", "y\n", "got y"),
        ("read -s -p 'Password: ' a; echo; echo got ${#a}", "Password:", "hunter22\n", "got 8"),
        ("python3 -q", ">>>", "print(6*7)\nexit()\n", "42"),
    ];
    for (script, question, typed, shows) in rows {
        let ran = stage.run_in(&stage.cx(), on_terminal(script)).await;
        let Ended::NeedsInput { job, prompt } = ran.ended else { panic!("{script}: {ran:?}") };
        assert_eq!(prompt, question, "{script}");
        let cx = stage.cx();
        stage.engine.jobs().write(&job, typed.into(), &cx).await.unwrap().unwrap();
        let (_, view) = stage.engine.jobs().wait(&job, Duration::from_secs(20), &cx).await.unwrap();
        assert_eq!(view.exit_code, Some(0), "{script}: {}", view.output_preview);
        assert!(view.output_preview.contains(shows), "{script}: {}", view.output_preview);
        assert!(!view.output_preview.contains("hunter22"), "{}", view.output_preview);
    }
}

#[tokio::test]
async fn a_full_screen_program_waits_for_keys() {
    let stage = Stage::new();
    let started =
        stage.engine.start(on_terminal("vim -u NONE x"), Notify::Silent, &stage.cx()).await;
    let job = started.unwrap().job;
    let cx = stage.cx();
    let waits = || stage.engine.jobs().poll(&job, &cx).unwrap().needs_input.is_some();
    eventually("a wait for keys", waits).await;
    stage.engine.jobs().write(&job, b"ihello\x1b:wq\r".to_vec(), &cx).await.unwrap();
    stage.engine.jobs().wait(&job, Duration::from_secs(20), &cx).await.unwrap();
    assert_eq!(std::fs::read_to_string(stage.path().join("x")).unwrap(), "hello\n");
}
