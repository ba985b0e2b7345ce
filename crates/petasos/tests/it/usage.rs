//! What every command has in common: help, exit codes, JSON, no traces left behind.

use petasos_testkit::Home;

use crate::{petasos, run};

#[test]
fn bad_usage_exits_with_two() {
    for words in [
        &["frob"][..],
        &["tools"],
        &["tools", "call"],
        &["tools", "list", "--frob"],
        &["--set", "no-equals-sign", "tools", "list"],
    ] {
        let finished = run(words);
        assert_eq!(finished.code, Some(2), "{words:?}: {finished:?}");
        assert_eq!(finished.stdout, "", "{words:?}");
        assert!(
            finished.stderr.contains("Usage") || finished.stderr.contains("error:"),
            "{words:?}"
        );
    }
}

#[test]
fn help_and_version_are_no_errors() {
    for words in
        [&["--help"][..], &["--version"], &["tools", "--help"], &["tools", "call", "--help"]]
    {
        let finished = run(words);
        assert_eq!(finished.code, Some(0), "{words:?}");
        assert!(!finished.stdout.is_empty(), "{words:?}");
    }
}

#[test]
fn reading_leaves_nothing_behind() {
    let home = Home::temp();
    for words in [&["tools", "list"][..], &["doctor"], &["toolsets", "list"], &["config", "path"]] {
        petasos(&home).run(words);
    }
    assert!(!home.agent().exists());
}

#[test]
fn a_broken_config_stops_every_command_and_says_where() {
    let home = Home::temp();
    home.write(".petasos/config.yaml", "terminal:\n  timeout: 180\n bad indent: [\n");
    let finished = petasos(&home).run(&["tools", "list"]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("config.yaml"), "{}", finished.stderr);
    assert!(finished.stderr.contains("hint:"), "{}", finished.stderr);
    let json = petasos(&home).run(&["tools", "list", "--json"]).json();
    assert_eq!(json["error"]["code"], "config");
}

/// What somebody stumbled over who had only `--help`: silence, and errors without a next step.
#[test]
fn what_cannot_be_done_is_said_with_the_next_step() {
    let home = Home::temp();
    for (words, code, said) in [
        (&["run"][..], 2, "petasos run \""),
        (&["approval", "check"], 2, "petasos approval check 'COMMAND'"),
        (&["approval", "check", ""], 2, "there is no command"),
        (&["approval", "explain", " "], 2, "petasos approval explain 'COMMAND'"),
        (&["approval", "check", "rm", "-rf", "build"], 2, "petasos approval check 'rm -rf build'"),
        (&["approval", "grant", "rm", "-r", "--project", "."], 2, "approval grant 'rm -r'\n"),
        (&["approval", "grant", "ls", "--hours", "0"], 2, "--hours"),
        (&["approval", "grant", "git push && ls"], 2, "not one plain command"),
        (&["settings"], 2, "did you mean `petasos config`?"),
        (&["config", "explain", "timeout"], 1, ".timeout`?"),
        (&["config", "explain", "terminal.timeuot"], 1, "did you mean `terminal.timeout`?"),
        (&["config", "explain", "nosuch"], 1, "`petasos config explain` lists"),
        (&["approval", "revoke", "x"], 1, "petasos approval list"),
        (&["hooks", "revoke", "x"], 1, "petasos hooks list"),
        (&["mcp", "test"], 0, "petasos mcp add"),
        (&["cron", "logs"], 0, "petasos cron list"),
        (&["kanban", "list"], 0, "petasos kanban create"),
        (&["webhook", "list"], 0, "WEBHOOK_ENABLED=true"),
        (&["sessions", "show", "x"], 1, "petasos sessions list"),
        (&["skills", "show", "x"], 1, "petasos skills list"),
        (&["serve", "token", "list"], 0, "petasos serve token create"),
        (&["plugins", "run", "--help"], 0, "Usage: petasos plugins run"),
        (&["setup", "--base-url", "http://127.0.0.1:1/v1", "--yes"], 1, "is the server running?"),
    ] {
        let finished = petasos(&home).run(words);
        assert_eq!(finished.code, Some(code), "{words:?}: {finished:?}");
        let shown = format!("{}{}", finished.stdout, finished.stderr);
        assert!(shown.contains(said), "{words:?}: {shown}");
    }
}

/// Scripts read the exit code of a command whatever becomes of its output.
#[test]
fn a_reader_that_left_does_not_change_what_a_command_exits_with() {
    let home = Home::temp();
    let line = "2026-11-18T12:00:00Z INFO petasos: a line\n";
    home.write(".petasos/logs/agent.log", line);
    for (words, code) in [
        ("approval check 'rm -rf /'", "20"),
        ("approval check 'rm -rf build' --json", "10"),
        ("approval check ls", "0"),
        ("kanban show nosuch --json", "1"),
        ("config check --set nosuch=1", "1"),
        ("run --json hi", "1"),
        ("--set nothing tools list --json", "2"),
        ("tools list --all", "0"),
        // What would go on for ever ends with its reader.
        ("logs --follow", "0"),
    ] {
        let program = env!("CARGO_BIN_EXE_petasos");
        // The pipe is closed for certain when nothing can be written to it.
        let script = format!(
            "trap '' PIPE; {{ while echo x; do :; done 2>/dev/null; {program} {words}; \
             echo $? >&2; }} | true"
        );
        let finished = petasos_testkit::Program::new("/bin/sh", &home).run(&["-c", &script]);
        let said = finished.stderr.lines().last();
        assert_eq!(said, Some(code), "{words}: {}", finished.stderr);
    }
}

#[test]
fn output_to_a_pipe_has_no_colour() {
    let finished = run(&["toolsets", "list"]);
    assert!(!finished.stdout.contains('\u{1b}'));
}

/// The source files below a folder, as one text.
fn sources(folder: &std::path::Path, whole: &mut String) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, whole);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            whole.push_str(&std::fs::read_to_string(path).unwrap_or_default());
        }
    }
}

#[test]
fn what_the_page_of_the_chat_names_is_there() {
    let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let page = std::fs::read_to_string(root.join("docs/concepts/chat.md")).expect("the page");
    let mut code = String::new();
    sources(&root.join("crates"), &mut code);
    let mut named = 0;
    for row in page.lines().filter(|row| row.starts_with("| ")) {
        let Some(shown) = row.trim_end_matches([' ', '|']).rsplit(" | ").next() else { continue };
        for name in shown.split('`').skip(1).step_by(2) {
            let there = match name.strip_suffix(".txt") {
                Some(scene) => super::chat::golden_file(scene).is_file(),
                None if name.contains('/') => root.join(name).exists(),
                None => code.contains(&format!("fn {name}(")),
            };
            assert!(there || name.contains(' '), "the page names `{name}`, which is gone");
            named += 1;
        }
    }
    assert!(named > 60, "{named} names were looked for");
}
