//! `petasos doctor`: true about good and bad homes.

use petasos_testkit::Home;
use serde_json::Value;

use crate::loopback::{Loopback, Say};
use crate::petasos;

/// A home with a model that would answer.
fn working() -> Home {
    Loopback::saying(Vec::new()).home()
}

fn found(home: &Home, part: &str) -> Value {
    let told = petasos(home).run(&["doctor", "--json"]).json();
    let findings = told["findings"].as_array().expect("findings").clone();
    findings.into_iter().find(|finding| finding["part"] == part).unwrap_or_default()
}

#[test]
fn a_home_with_a_model_is_healthy() {
    let finished = petasos(&working()).run(&["doctor", "--json"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
    assert_eq!(finished.json()["healthy"], true);
}

#[test]
fn what_a_turn_would_miss_is_not_green() {
    let fresh = Home::temp();
    let finished = petasos(&fresh).run(&["doctor", "--json"]);
    assert_eq!(finished.code, Some(1), "{}", finished.stdout);
    assert_eq!(found(&fresh, "provider")["health"], "bad");

    let damaged = working();
    damaged.write(".petasos/petasos.db", "no database");
    assert_eq!(found(&damaged, "store")["health"], "bad");

    let home = working();
    let config = home.agent().join("config.yaml");
    let text = std::fs::read_to_string(&config).unwrap();
    let hooks = "hooks: {pre_tool_call: [{command: ./check.sh}]}\ndisplay: {language: x}\n";
    home.write(".petasos/config.yaml", format!("{text}{hooks}"));
    let hook = found(&home, "hooks");
    assert!(hook["what"].as_str().is_some_and(|what| what.contains("./check.sh")), "{hook}");
    let shown = petasos(&home).run(&["doctor"]).stdout;
    assert!(shown.contains("reserved: no effect in this version"), "{shown}");
    for part in ["disk", "store", "git"] {
        assert!(found(&home, part)["what"].is_string(), "{part}: {shown}");
    }
}

#[test]
fn the_configured_place_is_tried_from_start_to_end() {
    let told = petasos(&Home::temp()).run(&["doctor", "--json"]).json();
    let findings = told["findings"].as_array().expect("findings");
    let tried = findings.iter().find(|finding| finding["part"] == "backend").expect("a trial");
    let what = tried["what"].as_str().expect("words");
    for word in ["local: start", "command", "file", "clean up"] {
        assert!(what.contains(word), "{word}: {what}");
    }
}

#[test]
fn an_unknown_key_is_named_with_the_nearest_one() {
    let home = Home::temp();
    home.write(".petasos/config.yaml", "terminal:\n  timeuot: 3\n");
    let finished = petasos(&home).run(&["doctor"]);
    assert!(finished.stdout.contains("timeuot"), "{}", finished.stdout);
    assert!(finished.stdout.contains("terminal.timeout"), "{}", finished.stdout);
}

#[test]
fn a_security_key_that_nobody_reads_refuses_to_start() {
    let home = Home::temp();
    home.write(".petasos/config.yaml", "approvals:\n  mdoe: manual\n");
    let finished = petasos(&home).run(&["doctor", "--json"]);
    assert_eq!(finished.code, Some(1));
    assert_eq!(finished.json()["healthy"], false);
    assert_eq!(petasos(&home).run(&["tools", "list"]).code, Some(1));
}

#[test]
fn a_model_is_asked_for_one_word_unless_that_is_not_wanted() {
    let refuses = || Loopback::saying(vec![crate::loopback::Say::Fail(401); 3]);
    let model = refuses();
    let provider = found(&model.home(), "provider");
    assert_eq!(provider["health"], "bad", "{provider}");
    let what = provider["what"].as_str().unwrap_or_default();
    assert!(what.contains("the double fails"), "in the provider's own words: {what}");
    let model = refuses();
    let finished = petasos(&model.home()).run(&["doctor", "--no-test", "--json"]);
    assert_eq!((finished.code, model.asked().len()), (Some(0), 0), "{finished:?}");
    let provider = found(&working(), "provider");
    assert!(provider["what"].as_str().is_some_and(|what| what.contains("answers in")));
}

#[test]
fn files_that_others_can_read_are_named_and_made_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = working();
    let file = home.write(".petasos/.env", "SOMETHING=1\n");
    let set = |mode| {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("its mode");
    };
    let mode = || std::fs::metadata(&file).expect("the file").permissions().mode() & 0o777;
    set(0o644);
    let shown = petasos(&home).run(&["doctor", "--no-test"]).stdout;
    assert!(shown.contains(".env can be read by others (mode 0644)"), "{shown}");
    assert_eq!(mode(), 0o644, "only looking changes nothing");
    let shown = petasos(&home).run(&["doctor", "--no-test", "--fix"]).stdout;
    assert!(shown.contains(".env is private now"), "{shown}");
    assert_eq!(mode(), 0o600);
    let shown = petasos(&home).run(&["doctor", "--no-test"]).stdout;
    assert!(!shown.contains(".env"), "{shown}");
}

#[test]
fn servers_of_others_are_started_and_one_that_fails_is_named() {
    let home = working();
    home.write("work/server.py", crate::mcp::SERVER);
    let config = home.agent().join("config.yaml");
    let text = std::fs::read_to_string(&config).expect("a file");
    let servers = "mcp_servers:\n  small: {command: python3, args: [server.py]}\n  \
        gone: {command: ./no-such-program}\n  off: {command: python3, enabled: false}\n";
    home.write(".petasos/config.yaml", format!("{text}{servers}"));
    let told = petasos(&home).run(&["doctor", "--no-test", "--json"]).json();
    let findings = told["findings"].as_array().expect("findings").clone();
    let said = |name: &str| {
        let of = |finding: &&Value| {
            finding["part"] == "mcp"
                && finding["what"].as_str().is_some_and(|what| what.starts_with(name))
        };
        findings.iter().find(of).cloned().unwrap_or_default()
    };
    assert_eq!(said("small")["what"], "small: 1 tools", "{findings:?}");
    assert_eq!(said("gone")["health"], "bad", "{findings:?}");
    assert_eq!(said("off")["health"], "good", "{findings:?}");
    assert_eq!(told["healthy"], false);
}

#[test]
fn a_window_that_tools_and_instructions_fill_is_told() {
    let home = working();
    assert_eq!(found(&home, "window"), Value::Null);
    let config = home.agent().join("config.yaml");
    let text = std::fs::read_to_string(&config).unwrap();
    home.write(".petasos/config.yaml", format!("{text}  context_length: 4096\n"));
    let window = found(&home, "window");
    assert_eq!(window["health"], "note", "{window}");
    assert!(window["what"].as_str().is_some_and(|what| what.contains("of its 4096")), "{window}");
    assert!(window["hint"].as_str().is_some_and(|hint| hint.contains("-t file")), "{window}");
}

#[test]
fn setup_tells_of_a_small_window_beside_an_answer() {
    let model = Loopback::saying(vec![Say::Text("ready")]);
    let home = Home::temp();
    let small = "model.context_length=4096";
    let words = ["--set", small, "setup", "--base-url", &model.url, "--yes", "--json"];
    let told = petasos(&home).run(&words).json();
    assert_eq!(told["found"][0]["ok"], true, "{told}");
    let warning = told["found"][0]["warning"].as_str().unwrap_or_default();
    assert!(warning.contains("of its 4096 tokens") && warning.contains("-t file"), "{told}");
}
