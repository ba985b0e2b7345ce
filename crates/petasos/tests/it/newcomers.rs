//! What newcomers stumbled over who had only `--help`: each as they tried it, and as it must be.

use std::time::{Duration, Instant};

use petasos_testkit::Home;
use serde_json::Value;

use crate::loopback::{Loopback, Say};
use crate::petasos;

fn code(value: &Value) -> &str {
    value["error"]["code"].as_str().unwrap_or_default()
}

#[test]
fn a_program_that_does_not_exist_is_said_at_once() {
    let home = Home::temp();
    let begun = Instant::now();
    let added = petasos(&home).run(&["mcp", "add", "gone", "--", "no-such-program-anywhere"]);
    assert!(added.stdout.contains("there is no program `no-such-program-anywhere`"), "{added:?}");
    assert!(!added.stdout.contains("Broken pipe"), "{}", added.stdout);
    assert!(added.stderr.contains("petasos mcp remove gone"), "{}", added.stderr);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn a_server_that_says_nothing_is_waited_for_with_words_and_not_for_long() {
    let home = Home::temp();
    home.write(
        ".petasos/config.yaml",
        "mcp_servers:\n  mute:\n    command: sleep\n    args: ['300']\n",
    );
    let tried = petasos(&home).run(&["mcp", "test", "mute", "--wait", "4"]);
    assert!(tried.stderr.contains("waiting for mute to answer (3 of 4 s)"), "{}", tried.stderr);
    assert!(tried.stdout.contains("it has said nothing yet"), "{}", tried.stdout);
    assert_eq!(tried.code, Some(1));
}

#[test]
fn the_log_of_one_server_has_nothing_of_another() {
    let home = Home::temp();
    let log = "===== one starts\n===== two starts\n[one] a word\n[two] another\n[one] a second\n";
    home.write(".petasos/logs/mcp-stderr.log", log);
    let shown = |name: &str| petasos(&home).run(&["mcp", "logs", name]).stdout;
    assert_eq!(shown("one"), "[one] a word\n[one] a second\n");
    assert_eq!(shown("two"), "[two] another\n");
}

#[test]
fn the_tools_that_are_listed_are_those_that_a_chat_offers_also_of_servers() {
    let home = Home::temp();
    let server = home.write("server.py", crate::mcp::SERVER);
    let config = format!(
        "platform_toolsets: {{cli: [file, small]}}\nmcp_servers:\n  small:\n    command: python3\n    \
         args: ['{}']\n",
        server.display()
    );
    home.write(".petasos/config.yaml", config);
    let names = |words: &[&str]| -> Vec<String> {
        let listed = petasos(&home).run(words).json();
        let name = |row: &Value| row["name"].as_str().unwrap_or_default().to_owned();
        listed["tools"].as_array().map(|rows| rows.iter().map(name).collect()).unwrap_or_default()
    };
    let plain = names(&["tools", "list", "--json"]);
    assert!(plain.iter().any(|name| name == "read_file"), "{plain:?}");
    assert!(plain.iter().any(|name| name.contains("hello")), "the server's own: {plain:?}");
    assert!(!plain.iter().any(|name| name == "terminal"), "not in this configuration: {plain:?}");
    assert_eq!(plain, names(&["tools", "list", "--surface", "cli", "--json"]));
}

#[test]
fn the_file_for_variables_is_named_and_a_token_in_the_configuration_refused() {
    let home = Home::temp();
    let file = home.agent().join(".env").display().to_string();
    for words in [&["gateway", "platforms"][..], &["gateway", "status"]] {
        let said = petasos(&home).run(words);
        assert!(said.stdout.contains(&file), "{words:?}: {}", said.stdout);
    }
    assert!(petasos(&home).run(&["gateway", "--help"]).stdout.contains(".petasos/.env"));
    for key in ["telegram.token", "telegram.bot_token", "platforms.telegram.token"] {
        let set = petasos(&home).run(&["config", "set", key, "1:abc"]);
        assert_eq!(set.code, Some(1), "{key}");
        assert!(set.stderr.contains("TELEGRAM_BOT_TOKEN") && set.stderr.contains(&file), "{set:?}");
    }
    let set = petasos(&home).run(&["config", "set", "telegram.require_mention", "true"]);
    assert_eq!(set.code, Some(0), "what is read can be set: {}", set.stderr);
}

#[test]
fn an_explanation_of_who_may_write_reads_like_sentences() {
    let home = Home::temp();
    let words = ["gateway", "explain", "--platform", "telegram", "--user", "42"];
    let said = petasos(&home).with("TELEGRAM_BOT_TOKEN", "1:a").run(&words).stdout;
    assert!(said.starts_with("42 on telegram is not let in."), "{said}");
    for part in ["Because:", "While busy:", "To let them in: `petasos gateway pair approve"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn scripts_can_tell_failures_apart_and_bad_usage_is_json_too() {
    let failing = |status: u16| {
        let model = Loopback::answering(move |_| Say::Fail(status));
        let home = model.home();
        let ran = petasos(&home).run(&["run", "--json", "hello"]);
        let last = ran.stdout.lines().last().unwrap_or_default().to_owned();
        serde_json::from_str::<Value>(&last).unwrap_or_default()
    };
    assert_eq!(code(&failing(401)), "auth");
    let home = Home::temp();
    for words in [
        &["frob", "--json"][..],
        &["--json", "tools", "call"],
        &["run", "--json", "one", "two"],
        &["tools", "list", "--json", "--frob"],
    ] {
        let ran = petasos(&home).run(words);
        assert_eq!((code(&ran.json()), ran.code), ("usage", Some(2)), "{words:?}");
    }
}

#[test]
fn a_server_of_this_machine_that_is_not_running_is_given_up_soon() {
    let home = Home::temp();
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let config = format!(
        "model: {{provider: custom, default: m, base_url: 'http://127.0.0.1:{port}/v1'}}\n"
    );
    home.write(".petasos/config.yaml", config);
    let ran = petasos(&home).run(&["run", "hello"]);
    assert_eq!(ran.code, Some(1));
    // Waits are whole seconds, rounded up: two short ones, and no long one.
    assert_eq!(ran.stderr.matches("asking again in").count(), 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("asking again in 1 s"), "{}", ran.stderr);
    assert!(ran.stderr.contains("asking again in 2 s"), "{}", ran.stderr);
    let scripted = petasos(&home).run(&["run", "--json", "hello"]);
    let last = scripted.stdout.lines().last().unwrap_or_default().to_owned();
    let last: Value = serde_json::from_str(&last).unwrap_or_default();
    assert_eq!(code(&last), "unreachable", "{}", scripted.stdout);
}

#[test]
fn a_conversation_loses_its_title_only_when_that_is_asked_for() {
    let model = Loopback::saying(Vec::new());
    let home = model.home();
    assert_eq!(petasos(&home).run(&["run", "hello there"]).code, Some(0));
    let sessions = |words: &[&str]| petasos(&home).run(&[&["sessions"], words].concat());
    sessions(&["rename", "latest", "Lamp", "colour"]);
    assert_eq!(sessions(&["rename", "latest"]).code, Some(2));
    assert_eq!(sessions(&["rename", "latest", " "]).code, Some(2));
    let listed = sessions(&["list"]);
    assert!(listed.stdout.starts_with("ID ") && listed.stdout.contains("TITLE"), "{listed:?}");
    assert!(listed.stdout.contains("Lamp colour"), "{}", listed.stdout);
    assert_eq!(sessions(&["rename", "latest", "--clear"]).code, Some(0));
    assert!(sessions(&["list"]).stdout.contains("“hello there”"), "what is no title is quoted");
}

#[test]
fn a_misspelt_board_is_not_begun() {
    let home = Home::temp();
    let kanban = |words: &[&str]| petasos(&home).run(&[&["kanban"], words].concat());
    let begun = kanban(&["--board", "house", "create", "--new-board", "Paint"]);
    assert_eq!(begun.code, Some(0), "{}", begun.stderr);
    for words in [
        &["--board", "huose", "create", "Roof"][..],
        &["use", "huose"],
        &["list", "--board", "huose"],
    ] {
        let wrong = kanban(words);
        assert_eq!(wrong.code, Some(1), "{words:?}");
        assert!(wrong.stderr.contains("did you mean `house`?"), "{}", wrong.stderr);
    }
    assert_eq!(kanban(&["--board", "house", "list"]).code, Some(0));
    assert_eq!(kanban(&["use", "garden", "--new"]).code, Some(0));
}

#[test]
fn a_command_without_a_terminal_is_confined_like_a_call_of_the_tool() {
    let home = Home::temp();
    // Homes of tests are temporary folders, which a confined command may write to.
    let Ok(folder) = tempfile::tempdir_in("/var/lib") else {
        return petasos_testkit::skip("confined term", "root", "/var/lib cannot be written");
    };
    let outside = folder.path().join("outside.txt");
    let write = format!("echo x > {}", outside.display());
    let ran = petasos(&home).run(&["term", &write]);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(!outside.exists() && ran.stderr.contains("write the workspace only"), "{ran:?}");
    let ran = petasos(&home).run(&["--set", "terminal.sandbox=off", "term", &write]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(outside.exists());
}
