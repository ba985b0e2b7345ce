//! What a person complained about who tried the chat for a day (docs/concepts/chat.md): each as it
//! was tried, and as it must be.

use serde_json::Value;

use super::pane::{Pane, Start};
use super::{asked, home, terminal, told};
use crate::loopback::{Loopback, Say};
use crate::petasos;

#[test]
fn p0_yes_for_the_session_allows_what_was_shown_and_no_other_folder() {
    let model = Loopback::saying(vec![
        terminal("rm -rf build"),
        Say::Text("It is gone."),
        terminal("rm -rf ../precious"),
        Say::Text("Then not."),
    ]);
    let home = home(&model, "");
    home.write("work/build/x", "");
    let precious = home.write("precious/x", "");
    let Some(pane) = Pane::open("narrow", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("clean up");
    let screen = pane.until("the question", |screen| asked(screen, 1));
    let flat = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("would allow: recursive delete: only"), "{screen}");
    assert!(flat.contains("work/build and below"), "{screen}");
    pane.press(&["s", "Enter"]);
    pane.see("? yes, for this session");
    pane.ready_after("It is gone.");
    pane.enter("and the other");
    pane.until("another question", |screen| asked(screen, 2));
    pane.press(&["n"]);
    pane.ready_after("Then not.");
    assert!(precious.exists() && !home.workspace().join("build").exists());
}

/// What the model was last told, as `role: words`.
fn conversation(model: &Loopback) -> Vec<String> {
    let last = model.asked().last().expect("a request")["messages"].clone();
    let said = |message: &Value| {
        let words = message["content"].as_str().unwrap_or_default();
        format!("{}: {words}", message["role"].as_str().unwrap_or_default())
    };
    last.as_array().expect("messages").iter().skip(1).map(said).collect()
}

#[test]
fn p0_a_stopped_request_is_kept_and_marked_and_never_part_of_the_next() {
    let model = Loopback::saying(vec![Say::Stuck("word1 word2 word3"), Say::Text("Here.")]);
    let home = home(&model, "");
    let Some(pane) = Pane::open("stopped", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("slow please");
    pane.see("word3");
    pane.press(&["Escape"]);
    pane.ready_after("Interrupted.");
    pane.enter("next thing");
    pane.ready_after("Here.");
    let said = conversation(&model);
    assert_eq!(said.first().map(String::as_str), Some("user: slow please"), "{said:?}");
    assert_eq!(said.last().map(String::as_str), Some("user: next thing"), "{said:?}");
    let between = said.get(1..said.len() - 1).unwrap_or_default().join("\n");
    assert!(between.starts_with("assistant: word1 word2 word3"), "{said:?}");
    assert!(between.to_lowercase().contains("interrupted"), "it is marked: {said:?}");
}

#[test]
fn p1_a_typed_yes_means_yes_and_nothing_runs_while_somebody_thinks() {
    let model = Loopback::saying(vec![terminal("rm -rf build"), Say::Text("It is gone.")]);
    // A tool that runs for long is told after this time; a question is no tool that runs.
    let home = home(&model, "");
    home.write("work/build/x", "");
    let Some(pane) = Pane::open("yes", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("clean up");
    let screen = pane.until("the question", |screen| asked(screen, 1));
    assert!(!screen.contains("still running") && !screen.contains("within 60 s"), "{screen}");
    pane.enter("yes");
    pane.ready_after("It is gone.");
    assert!(!home.workspace().join("build").exists());
    assert!(told(&model, "tool").contains("exit_code"), "{}", told(&model, "tool"));
}

#[test]
fn p1_continue_stays_in_its_folder_and_tells_the_model_where_it_is() {
    let model = Loopback::saying(vec![Say::Text("one"), Say::Text("two")]);
    let home = home(&model, "");
    let other = home.write("other/x", "").parent().expect("a folder").to_path_buf();
    assert_eq!(petasos(&home).run(&["run", "first"]).code, Some(0));
    let elsewhere = petasos(&home).at(&other).run(&["run", "-c", "again"]);
    assert_eq!(elsewhere.code, Some(1), "{elsewhere:?}");
    assert!(elsewhere.stderr.contains("no conversation began in"), "{}", elsewhere.stderr);
    let here = petasos(&home).run(&["run", "-c", "again"]);
    assert_eq!(here.stdout.trim(), "two", "{here:?}");
    let system = model.asked().last().expect("a request")["messages"][0].to_string();
    assert!(system.contains(&home.workspace().display().to_string()), "{system}");
    let listed = petasos(&home).at(&other).run(&["sessions", "list"]).stdout;
    assert!(listed.contains("in ~/work"), "those of other folders say which: {listed}");
}

#[test]
fn p2_instructions_of_every_level_are_found_from_a_subfolder_and_named() {
    let model = Loopback::saying(vec![Say::Text("one")]);
    let home = home(&model, "");
    home.write("work/.git/HEAD", "ref: refs/heads/main\n");
    home.write("work/AGENTS.md", "Use tabs everywhere.\n");
    home.write("work/sub/CLAUDE.md", "Speak of lamps.\n");
    let deep = home.write("work/sub/deep/x", "").parent().expect("a folder").to_path_buf();
    let ran = petasos(&home).at(&deep).run(&["run", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let system = model.asked().last().expect("a request")["messages"][0].to_string();
    assert!(system.contains("Use tabs everywhere."), "{system}");
    assert!(system.contains("Speak of lamps."), "{system}");
}

#[test]
fn p2_a_verdict_is_an_exit_code_for_scripts() {
    let model = Loopback::saying(Vec::new());
    let home = home(&model, "");
    for (command, code) in [("ls", 0), ("rm -rf build", 10), ("rm -rf /", 20)] {
        let checked = petasos(&home).run(&["approval", "check", command]);
        assert_eq!(checked.code, Some(code), "{command}: {checked:?}");
    }
}

#[test]
fn p2_commands_that_people_try_are_there_and_wrong_ones_are_answered() {
    let model = Loopback::saying(Vec::new());
    let home = home(&model, "");
    for (words, shown) in [
        (&["help"][..], "Talk:"),
        (&["help", "run"], "Exit codes"),
        (&["version"], "petasos "),
        (&["completions", "bash"], "_petasos"),
        (&["man"], ".TH petasos"),
        (&["update"], "installed:"),
    ] {
        let ran = petasos(&home).run(words);
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
        assert!(ran.stdout.contains(shown), "{words:?}: {}", ran.stdout);
    }
    for (words, hint) in [
        (&["rnu"][..], "did you mean `petasos run`?"),
        (&["what", "is", "this"], "a prompt needs quotes: `petasos \"what is this\"`"),
        (&["frobnicate"], "petasos chat \"frobnicate\""),
    ] {
        let ran = petasos(&home).run(words);
        assert_eq!(ran.code, Some(2), "{words:?}: {ran:?}");
        assert!(ran.stderr.contains(hint), "{words:?}: {}", ran.stderr);
    }
}

#[test]
fn p2_a_grant_for_this_folder_names_it() {
    let model = Loopback::saying(Vec::new());
    let home = home(&model, "");
    let made = petasos(&home).run(&["approval", "grant", "git", "push", "--project", "."]);
    let here = std::fs::canonicalize(home.workspace()).expect("a folder");
    assert!(made.stdout.contains(&here.display().to_string()), "{}", made.stdout);
}
