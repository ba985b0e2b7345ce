//! `petasos chat` in a real terminal: keys in, screens out, a scripted model behind.

mod complaints;
mod confined;
mod first;
mod flow;
mod golden;
mod hangup;
mod newcomers;
mod once;
mod own;
pub(crate) mod pane;
mod pick;
mod picture;
mod plan;
mod seen;
mod shown;
mod windows;

use std::time::{Duration, Instant};

use petasos_testkit::Home;
use serde_json::{Value, json};

use crate::loopback::{Loopback, Say};
use crate::petasos;
use pane::{Pane, Start};

const DOCUMENT: &str =
    "# Plan\n\nSome **bold** words:\n\n- one\n- two\n\n```rust\nlet x = 1;\n```\n";

/// The file of a golden screen.
pub(crate) fn golden_file(scene: &str) -> std::path::PathBuf {
    golden::file(scene)
}

fn home(model: &Loopback, more: &str) -> Home {
    let home = Home::temp();
    let approvals = "approvals:\n  mode: manual\n";
    home.write(".petasos/config.yaml", format!("{}{approvals}{more}", model.config()));
    home
}

fn terminal(command: &str) -> Say {
    Say::Calls(vec![("terminal", json!({ "command": command }))])
}

/// Whether so many approvals were asked for and the last one waits for its answer.
fn asked(screen: &str, times: usize) -> bool {
    screen.matches("needs your approval").count() == times && screen.contains("Yes, once (y)")
}

/// The last words that the model was told by a role.
fn told(model: &Loopback, role: &str) -> String {
    let asked = model.asked();
    let messages = asked.last().map(|body| body["messages"].clone()).unwrap_or_default();
    let messages = messages.as_array().cloned().unwrap_or_default();
    let last = messages.iter().rev().find(|message| message["role"] == role).cloned();
    match last.map(|message| message["content"].clone()) {
        Some(Value::String(text)) => text,
        other => other.unwrap_or_default().to_string(),
    }
}

#[test]
fn a_conversation_is_shown_as_it_happens() {
    let model = Loopback::saying(vec![
        Say::Text(DOCUMENT),
        terminal("echo one; echo two"),
        Say::Text("It printed two lines."),
    ]);
    let home = home(&model, "");
    // Without any command at a terminal it is a chat, too.
    let start = Start { arguments: "", ..Start::default() };
    let Some(pane) = Pane::open("chat", &home, &start) else { return };
    pane.see("❯");
    pane.enter("make a plan");
    let screen = pane.ready_after("```");
    for part in ["Plan", "Some bold words:", "• one", "• two", "```rust", "let x = 1;"] {
        assert!(screen.contains(part), "{part}\n{screen}");
    }
    assert!(!screen.contains("**"), "{screen}");
    pane.enter("run something");
    let screen = pane.ready_after("It printed two lines.");
    assert!(screen.contains("💻 Ran echo one; echo two · "), "{screen}");
    assert!(screen.contains("│ one") && screen.contains("│ two"), "{screen}");
    assert_eq!(told(&model, "user"), "run something");
    pane.enter("/quit");
    let screen = pane.see("[ended with 0]");
    assert!(screen.contains("petasos chat --resume "), "{screen}");
}

#[test]
fn a_message_may_have_many_lines() {
    let model = Loopback::saying(vec![Say::Text("first heard"), Say::Text("second heard")]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("lines", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.say("alpha");
    pane.press(&["M-Enter"]);
    pane.say("beta");
    pane.press(&["C-j"]);
    pane.enter("gamma");
    pane.ready_after("first heard");
    assert_eq!(told(&model, "user"), "alpha\nbeta\ngamma");
    pane.enter("delta\\");
    pane.see("· ");
    pane.enter("epsilon");
    pane.ready_after("second heard");
    assert_eq!(told(&model, "user"), "delta\nepsilon");
    pane.press(&["Up"]);
    let again = |screen: &str| screen.matches("❯ delta\\\n· epsilon").count() == 2;
    pane.until("the message before, again", again);
}

#[test]
fn an_approval_is_asked_between_the_lines() {
    let rm = || terminal("rm -rf build");
    let model = Loopback::saying(vec![
        rm(),
        Say::Text("so not"),
        rm(),
        Say::Text("done once"),
        rm(),
        Say::Text("done always"),
        rm(),
        Say::Text("not asked"),
    ]);
    let home = home(&model, "");
    let build = home.workspace().join("build");
    let make = || std::fs::create_dir_all(&build).expect("a folder");
    make();
    let Some(pane) = Pane::open("approval", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("clean up");
    let screen = pane.see("Yes, once (y)");
    assert!(screen.contains("`terminal` needs your approval:"), "{screen}");
    assert!(pane.styled().contains("\u{1b}[1m\u{1b}[31mbuild"), "{:?}", pane.styled());
    pane.enter("deny keep it");
    pane.ready_after("so not");
    assert!(build.exists());
    assert!(told(&model, "tool").contains("keep it"), "{}", told(&model, "tool"));
    pane.enter("again");
    pane.until("a second question", |screen| asked(screen, 2));
    pane.enter("/approve");
    pane.ready_after("done once");
    assert!(!build.exists());
    make();
    pane.enter("and again");
    pane.until("a third question", |screen| asked(screen, 3));
    // What is stored needs an Enter behind its key.
    pane.press(&["a"]);
    pane.see("Enter allows and remembers it");
    assert!(build.exists());
    pane.press(&["Enter"]);
    pane.ready_after("done always");
    make();
    pane.enter("once more");
    let screen = pane.ready_after("not asked");
    assert_eq!(screen.matches("needs your approval").count(), 3, "{screen}");
    assert!(!build.exists());
}

#[test]
fn an_interrupt_ends_a_tool_at_once_and_leaves_a_valid_conversation() {
    let model = Loopback::saying(vec![terminal("sleep 300"), Say::Text("still here")]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("interrupt", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("wait");
    pane.see("sleep 300 · 1 s");
    let pressed = std::time::Instant::now();
    pane.press(&["C-c"]);
    pane.ready_after("Interrupted.");
    assert!(pressed.elapsed().as_secs() < 3, "{:?}", pressed.elapsed());
    pane.enter("are you there?");
    pane.ready_after("still here");
    pane.press(&["C-c"]);
    pane.see("Ctrl-C again leaves");
    pane.press(&["C-c"]);
    pane.see("[ended with 0]");
    assert_eq!(petasos(&home).run(&["sessions", "verify"]).code, Some(0));
}

#[test]
fn a_conversation_is_resumed_and_branched() {
    let model = Loopback::saying(vec![Say::Text("Noted: heliotrope."), Say::Text("You said so.")]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("resume", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("remember heliotrope");
    pane.ready_after("Noted");
    pane.press(&["C-d"]);
    pane.see("[ended with 0]");
    let start = Start { arguments: "chat --continue", ..Start::default() };
    let Some(pane) = Pane::open("resume", &home, &start) else { return };
    let screen = pane.ready_after("Noted: heliotrope.");
    assert!(screen.contains("❯ remember heliotrope"), "{screen}");
    pane.enter("/branch elsewhere");
    pane.ready_after("this is a copy");
    pane.enter("what did I say?");
    pane.ready_after("You said so.");
    let asked = model.asked();
    let messages = asked.last().expect("a request")["messages"].to_string();
    assert!(messages.contains("remember heliotrope"), "{messages}");
    pane.enter("/sessions");
    let screen = pane.ready_after("/resume ID");
    assert!(screen.contains("elsewhere") && screen.contains("remember heliotrope"), "{screen}");
    pane.enter("/undo");
    let screen = pane.see("Go back before");
    assert!(screen.contains("› what did I say?  removes 1 exchange"), "{screen}");
    pane.press(&["Enter"]);
    pane.ready_after("Removed the last exchange: what did I say?");
}

#[test]
fn commands_answer_and_a_wrong_one_names_the_nearest() {
    let model = Loopback::saying(vec![]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("commands", &home, &Start::default()) else { return };
    pane.see("❯");
    for (line, answer) in [
        ("/modle", "did you mean /model?"),
        ("/frobnicate", "/help lists the commands"),
        ("/status", "begins with your first message"),
        ("/tools read_file", "read_file"),
        ("/busy queue", "waits for the end of the turn"),
        ("/title", "(no title)"),
        ("/undo", "nothing has been said yet"),
        ("/stop", "nothing runs"),
        ("/config approvals.mode", "manual"),
        ("/version", "petasos 0"),
        ("/background", "no background task"),
        ("/bg stop 7", "no background task has the number 7"),
        ("/personality", "concise"),
        ("/personality pirate", "no personality is named `pirate`"),
        ("/skills", "petasos-help"),
        ("/memory", "nothing yet"),
        ("/copy", "nothing has been said yet"),
    ] {
        pane.enter(line);
        pane.ready_after(answer);
    }
    pane.enter("/help");
    let screen = pane.ready_after("Tab completes");
    assert!(screen.contains("/rollback") && screen.contains("also /fork"), "{screen}");
    // With the Tab in one piece, as a quick hand or a slow line has it.
    pane.say("/versi\t");
    pane.until("the name of the command", |screen| screen.ends_with("❯ /version"));
    pane.press(&["C-u"]);
    pane.say("/");
    pane.see("Approve the open question");
    pane.say("person\t");
    pane.until("the name of the command", |screen| screen.ends_with("❯ /personality"));
    assert!(model.asked().is_empty());
}

#[test]
fn words_typed_while_the_agent_works_are_not_lost() {
    let wait = "while [ ! -e go ]; do sleep 0.1; done";
    let model =
        Loopback::saying(vec![terminal(wait), Say::Text("first done"), Say::Text("second done")]);
    let home = home(&model, "display:\n  busy_input_mode: queue\n");
    let Some(pane) = Pane::open("queue", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("begin");
    pane.see(" · 1 s");
    pane.enter("/steer mind the gap");
    pane.see("for the agent: mind the gap");
    pane.enter("then this");
    pane.see("next: then this");
    home.write("work/go", "");
    pane.ready_after("second done");
    let asked = model.asked();
    let second = asked.get(1).expect("a second request")["messages"].to_string();
    assert!(second.contains("mind the gap"), "{second}");
    assert_eq!(told(&model, "user"), "then this");
}

#[test]
fn what_is_typed_before_and_at_the_end_of_a_turn_is_in_the_composer() {
    let wait = "while [ ! -e go ]; do sleep 0.1; done";
    let model =
        Loopback::saying(vec![terminal(wait), Say::Text("first done"), Say::Text("second done")]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("typeahead", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("begin");
    pane.see(" · 1 s");
    pane.say("half a ");
    pane.see("❯ half a");
    home.write("work/go", "");
    // Letter by letter over the end of the turn: whoever reads the keys, none may be dropped.
    for letter in "sentence is here".chars() {
        pane.say(&letter.to_string());
    }
    pane.until("the text in the composer", |screen| {
        screen.contains("first done") && screen.ends_with("❯ half a sentence is here")
    });
    pane.press(&["Enter"]);
    pane.ready_after("second done");
    assert_eq!(told(&model, "user"), "half a sentence is here");
}

#[test]
fn lines_sent_at_the_very_end_of_a_turn_are_all_said() {
    const COUNT: usize = 6;
    let model = Loopback::saying(vec![Say::Text("ok"); COUNT]);
    let home = home(&model, "display:\n  busy_input_mode: queue\n");
    let Some(pane) = Pane::open("sent ahead", &home, &Start::default()) else { return };
    pane.see("❯");
    for number in 0..COUNT {
        pane.enter(&format!("message {number}"));
        pane.until("its answer", |_| model.asked().len() > number);
    }
    pane.ready_after("ok");
    assert_eq!(told(&model, "user"), format!("message {}", COUNT - 1));
    let last = model.asked().last().expect("a request")["messages"].to_string();
    for number in 0..COUNT {
        assert!(last.contains(&format!("message {number}\"")), "{number}: {last}");
    }
}

#[test]
fn two_questions_at_once_both_get_their_own_answers() {
    let wait = "while [ ! -e go ]; do sleep 0.1; done";
    let question = json!({ "question": "Which colour?", "choices": ["red", "blue"] });
    let model = Loopback::saying(vec![
        terminal(wait),
        terminal("rm -rf build"),
        Say::Calls(vec![("clarify", question)]),
        Say::Text("It is removed."),
        Say::Text("Blue then."),
    ]);
    let home = home(&model, "");
    let build = home.workspace().join("build");
    std::fs::create_dir_all(&build).expect("a folder");
    let Some(pane) = Pane::open("two questions", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("paint it");
    pane.see(" · 1 s");
    pane.enter("/background clean up");
    pane.see("Yes, once (y)");
    home.write("work/go", "");
    pane.see("another question waits");
    pane.enter("once");
    pane.see("2. blue");
    pane.see("It is removed.");
    assert!(!build.exists());
    pane.enter("2");
    pane.ready_after("Blue then.");
    assert!(told(&model, "tool").contains("blue"), "{}", told(&model, "tool"));
}

#[test]
fn the_end_of_a_job_waits_for_the_conversation_that_began_it() {
    let job = json!({
        "command": "while [ ! -e go ]; do sleep 0.1; done; echo it is over; touch over",
        "background": true, "notify_on_complete": true,
    });
    let model = Loopback::saying(vec![
        Say::Calls(vec![("terminal", job)]),
        Say::Text("It runs."),
        Say::Text("Still listening."),
        Say::Text("So it has ended."),
    ]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("job of another", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("start it");
    pane.ready_after("It runs.");
    pane.enter("/new");
    pane.ready_after("a new conversation begins");
    home.write("work/go", "");
    pane.until("the end of the job", |_| home.workspace().join("over").exists());
    pane.enter("are you there?");
    let screen = pane.ready_after("Still listening.");
    assert!(!screen.contains("finished (exit 0)"), "{screen}");
    pane.enter("/resume start it");
    let screen = pane.ready_after("So it has ended.");
    assert!(screen.contains("finished (exit 0)"), "{screen}");
    assert!(told(&model, "user").contains("it is over"), "{}", told(&model, "user"));
}

#[test]
fn escape_stops_the_turn() {
    let model = Loopback::saying(vec![terminal("sleep 300"), Say::Text("still here")]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("escape", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("wait");
    pane.see("sleep 300 · 1 s");
    pane.press(&["Escape"]);
    pane.ready_after("Interrupted.");
}

#[test]
fn a_task_beside_the_conversation_is_told_at_its_end() {
    let model = Loopback::saying(vec![Say::Text("The colour is heliotrope."), Say::Text("Aye.")]);
    let home = home(&model, "personalities:\n  pirate: Talk like a pirate.\n");
    let Some(pane) = Pane::open("background", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("/background find the colour");
    pane.see("background task 1 works in");
    let screen = pane.see("continues it");
    assert_eq!(screen.matches("double · ~/work").count(), 1, "one status line: {screen}");
    assert!(screen.contains("background task 1 (find the colour): replied"), "{screen}");
    assert!(screen.contains("The colour is heliotrope."), "{screen}");
    pane.enter("/personality pirate");
    pane.ready_after("personality: pirate");
    pane.enter("hello");
    pane.ready_after("Aye.");
    let asked = model.asked();
    let system = asked.last().expect("a request")["messages"][0].to_string();
    assert!(system.contains("Talk like a pirate."), "{system}");
    assert_eq!(told(&model, "user"), "hello");
}

#[test]
fn hooks_hear_of_conversations_that_are_left() {
    let model = Loopback::saying(vec![Say::Text("one"), Say::Text("two")]);
    let hook = "  - command: 'cat >> heard; echo >> heard'\n      shell: true\n";
    let hooks = format!("hooks:\n  on_session_finalize:\n  {hook}  on_session_reset:\n  {hook}");
    let home = home(&model, &format!("{hooks}hooks_auto_accept: true\n"));
    let start = Start { arguments: "--accept-hooks chat", ..Start::default() };
    let Some(pane) = Pane::open("left", &home, &start) else { return };
    pane.see("❯");
    pane.enter("first");
    pane.ready_after("one");
    pane.enter("/new");
    pane.ready_after("a new conversation begins");
    pane.enter("second");
    pane.ready_after("two");
    pane.enter("/quit");
    pane.see("[ended with 0]");
    let heard = std::fs::read_to_string(home.workspace().join("heard")).unwrap_or_default();
    let heard: Vec<Value> =
        heard.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let said: Vec<String> = heard
        .iter()
        .map(|one| format!("{} {}", one["hook_event_name"], one["extra"]["reason"]))
        .collect();
    let expected = [
        r#""on_session_finalize" "new_session""#,
        r#""on_session_reset" "new_session""#,
        r#""on_session_finalize" "shutdown""#,
    ];
    assert_eq!(said, expected, "{heard:?}");
}

#[test]
fn a_question_of_the_agent_is_answered_inline() {
    let question = json!({ "question": "Which colour?", "choices": ["red", "blue"] });
    let model =
        Loopback::saying(vec![Say::Calls(vec![("clarify", question)]), Say::Text("Blue then.")]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("clarify", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("paint it");
    pane.see("2. blue");
    pane.enter("2");
    pane.ready_after("Blue then.");
    assert!(told(&model, "tool").contains("blue"));
}

#[test]
fn no_colour_means_no_colour() {
    let model = Loopback::saying(vec![Say::Text(DOCUMENT)]);
    let home = home(&model, "");
    let start = Start { variables: "NO_COLOR=1", ..Start::default() };
    let Some(pane) = Pane::open("no colour", &home, &start) else { return };
    pane.see(">");
    pane.enter("make a plan");
    let screen = pane.ready_after("let x = 1;");
    assert!(screen.contains("# Plan") && screen.contains("**bold**"), "{screen}");
    assert!(!pane.styled().contains('\u{1b}'), "{:?}", pane.styled());
}

#[test]
fn a_dumb_terminal_is_enough() {
    let model =
        Loopback::saying(vec![Say::Text(DOCUMENT), terminal("rm -rf build"), Say::Text("Fine.")]);
    let home = home(&model, "");
    std::fs::create_dir_all(home.workspace().join("build")).expect("a folder");
    let start = Start { term: "dumb", ..Start::default() };
    let Some(pane) = Pane::open("dumb", &home, &start) else { return };
    pane.see(">");
    pane.enter("make a plan");
    let screen = pane.ready_after("```");
    assert!(screen.contains("Some **bold** words"), "{screen}");
    pane.enter("clean up");
    pane.see("[n]o");
    pane.enter("once");
    let screen = pane.ready_after("Fine.");
    let (call, reply) = (screen.rfind("Ran rm -rf build ·"), screen.rfind("Fine."));
    assert!(call.is_some() && call < reply, "the call stands before the reply\n{screen}");
    assert!(!pane.styled().contains('\u{1b}'), "{:?}", pane.styled());
    assert!(!home.workspace().join("build").exists());
    pane.press(&["C-d"]);
    pane.see("[ended with 0]");
}

#[test]
fn lines_of_a_pipe_are_said_one_after_the_other() {
    let model = Loopback::saying(vec![Say::Text("one heard"), Say::Text("two heard")]);
    let home = home(&model, "");
    let finished = petasos(&home).input("first\nsecond\n").run(&["chat"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let (one, two) = (finished.stdout.find("one heard"), finished.stdout.find("two heard"));
    assert!(one.is_some() && one < two, "{}", finished.stdout);
    assert!(!finished.stdout.contains("stopp"), "{}", finished.stdout);
    assert_eq!(told(&model, "user"), "second");
}

#[test]
fn a_narrow_window_and_a_resized_one_are_enough() {
    let wait = "while [ ! -e go ]; do sleep 0.1; done";
    let long = "The quick brown fox jumps over the lazy dog and then sleeps for a while.";
    let model = Loopback::saying(vec![Say::Text(long), terminal(wait), Say::Text(long)]);
    let home = home(&model, "");
    let start = Start { columns: 32, ..Start::default() };
    let Some(pane) = Pane::open("narrow", &home, &start) else { return };
    pane.see("❯");
    pane.enter("go");
    pane.ready_after("while.");
    let rows = pane.rows();
    assert!(rows.iter().any(|row| row.starts_with("The quick brown fox jumps over")), "{rows:?}");
    assert!(rows.iter().any(|row| row.starts_with("the lazy dog and then sleeps")), "{rows:?}");
    pane.enter("wait");
    pane.see(" · 1 s");
    for columns in [24, 70, 50] {
        pane.resize(columns);
    }
    home.write("work/go", "");
    let screen =
        pane.until("the second answer", |screen| screen.matches("quick brown").count() == 2);
    assert_eq!(screen.matches("❯ wait").count(), 1, "{screen}");
}

#[test]
fn a_chat_whose_window_was_closed_ends() {
    let model = Loopback::saying(vec![]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("closed", &home, &Start::default()) else { return };
    pane.see("❯");
    let home_of_the_chat = format!("HOME={}", home.user().display());
    assert!(lives(&home_of_the_chat));
    drop(pane);
    let deadline = Instant::now() + Duration::from_secs(20);
    while lives(&home_of_the_chat) {
        assert!(Instant::now() < deadline, "it goes on without a terminal");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether a process has this in its environment.
fn lives(variable: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("the processes of this machine");
    let has = |bytes: Vec<u8>| bytes.split(|byte| *byte == 0).any(|one| one == variable.as_bytes());
    processes.flatten().any(|one| std::fs::read(one.path().join("environ")).is_ok_and(has))
}

#[test]
fn a_window_counts_wherever_it_is_written() {
    let model = Loopback::saying(vec![]);
    let own = |more: &str| {
        format!(
            "model:\n  provider: custom:box\n  default: double\ncustom_providers:\n  - name: box\n    \
             base_url: {}\n    api_key: sk-loopback-0123456789\n{more}",
            model.url
        )
    };
    for (config, tokens) in [
        (model.config(), "256000"),
        (format!("{}  context_length: 20000\n", model.config()), "20000"),
        (format!("{}models:\n  double:\n    context_length: 30000\n", model.config()), "30000"),
        (own("    context_length: 40000\n"), "40000"),
        (own("    models:\n      double:\n        context_length: 50000\n"), "50000"),
    ] {
        let home = Home::temp();
        home.write(".petasos/config.yaml", &config);
        let finished = petasos(&home).input("/status\n").run(&["chat"]);
        let shown = format!("{}{}", finished.stdout, finished.stderr);
        assert!(shown.contains(&format!("{tokens} tokens")), "{config}: {shown}");
        let explained = petasos(&home).run(&["provider", "explain"]).stdout;
        assert!(explained.contains(&format!("{tokens} tokens")), "{config}: {explained}");
    }
}
