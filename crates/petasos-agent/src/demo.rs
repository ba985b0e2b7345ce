//! What the scripted model of the demo says: two short conversations that show the loop at work.
//!
//! The first writes a file, runs a command, meets one that needs approval, reads three things at
//! once and delegates; the second finds the first again. Whoever shows it says that it is scripted.

use petasos_contract::model::Role;

use crate::scripted::{Act, Scripted};

/// What the user says in the first conversation.
pub const FIRST: &str = "Write a small script that greets me, run it, then tidy up.";
/// What the user says in the second conversation.
pub const SECOND: &str = "What did we do about the greeting last time?";

/// The model of the demo.
pub fn script() -> Scripted {
    let write = r##"{"path":"greet.sh","content":"#!/bin/sh\nmkdir -p build\necho \"Hello from $(uname -s)\" | tee build/out.txt\n"}"##;
    let main = [
        Act::calls("I will write the script first.", &[("write_file", write)]),
        Act::calls("Now I run it.", &[("terminal", r#"{"command":"sh greet.sh"}"#)]),
        Act::calls(
            "It works. The build folder is not needed any more; removing it needs your consent.",
            &[("terminal", r#"{"command":"rm -rf build"}"#)],
        ),
        Act::calls(
            "Three things at once, because none of them depends on another.",
            &[
                ("read_file", r#"{"path":"greet.sh"}"#),
                ("search_files", r#"{"pattern":"Hello"}"#),
                ("search_files", r#"{"pattern":"*.sh","target":"files"}"#),
            ],
        ),
        Act::calls(
            "A second pair of eyes reviews the script in a conversation of its own.",
            &[(
                "delegate_task",
                r#"{"goal":"Review greet.sh in one sentence","context":"A greeting script.","background":false}"#,
            )],
        ),
        Act::say(
            "Done: `greet.sh` greets you with the name of the system, and a review found nothing \
             wrong with it. Nothing was removed without your consent.",
        ),
        Act::calls(
            "I will look through earlier conversations.",
            &[("session_search", r#"{"query":"greet* OR greeting"}"#)],
        ),
        Act::say(
            "Last time we wrote `greet.sh`, ran it, asked you before removing its build folder \
             and had it reviewed.",
        ),
    ];
    let child = [
        Act::call("read_file", r#"{"path":"greet.sh"}"#),
        Act::say("greet.sh is short, portable and does what it says."),
    ];
    Scripted::new(main).with(Role::Subagent, child)
}
