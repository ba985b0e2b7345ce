//! Somebody else's scanner before each command. The scanner here is a shell script that keeps to
//! the real one's contract: `check --json … -- <command>`, an exit code, and a report.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use petasos::Host;
use petasos_contract::approval::{Answer, ApprovalRequest, Approver, Scope, Who};
use petasos_contract::call::{RawArguments, ToolCall};
use petasos_contract::context::Surface;
use petasos_contract::settings::Parts;
use petasos_contract::{BoxFuture, CallContext, CallId, SessionId, Settings, ToolName};
use petasos_testkit::Home;
use serde_json::{Value, json};

use crate::petasos;

/// Notes where it runs and what it is shown; what it says depends on a word in the command.
const SCRIPT: &str = r#"#!/bin/sh
for shown do :; done
printf '%s|%s|%s\n' "$PWD" "$*" "$(env | grep -c PETASOS_CANARY)" >> SEEN
report='{"findings": [{"rule_id": "odd_host", "severity": "HIGH", "title": "An odd host", "description": "it looks like another"}]}'
case $shown in
    *slow*) exec sleep 60 ;;
    *crash*) exit 101 ;;
    *mute*) exit 1 ;;
    *block*) echo "$report"; exit 1 ;;
    *warn*) echo "$report"; exit 2 ;;
esac
"#;

/// A home with a scanner in it.
struct Watched {
    home: Home,
    seen: PathBuf,
}

impl Watched {
    fn new(settings: &str) -> Self {
        let home = Home::temp();
        let seen = home.write("seen", "");
        let script = SCRIPT.replace("SEEN", &seen.display().to_string());
        let program = home.write(".petasos/bin/tirith", script);
        fs::set_permissions(program, Permissions::from_mode(0o755)).expect("an executable");
        home.write(".petasos/config.yaml", settings);
        Self { home, seen }
    }

    fn seen(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.seen).expect("a list");
        text.lines().map(str::to_owned).collect()
    }

    fn call(&self, command: &str) -> Value {
        let arguments = json!({ "command": command }).to_string();
        petasos(&self.home).run(&["tools", "call", "terminal", &arguments]).json()
    }
}

#[test]
fn what_it_finds_must_be_agreed_to_and_the_rest_runs() {
    let watched = Watched::new("");
    assert_eq!(watched.call("echo fine")["output"], "fine\n");
    for (command, key) in [
        ("echo warn", "tirith:odd_host"),
        ("echo block", "tirith:odd_host"),
        ("echo mute", "tirith:block"),
    ] {
        let refused = watched.call(command);
        assert_eq!(refused["outcome"], "undeliverable", "{refused}");
        assert_eq!(refused["pattern_keys"], json!([key]), "{refused}");
    }
    let user = watched.home.user().canonicalize().expect("a home");
    let first =
        format!("{}|check --json --non-interactive --shell posix -- echo fine|0", user.display());
    assert_eq!(watched.seen()[0], first);
}

#[test]
fn one_question_names_its_finding_beside_those_of_the_rules() {
    let refused = Watched::new("").call("rm -rf warn");
    assert_eq!(refused["pattern_keys"], json!(["recursive delete", "tirith:odd_host"]));
}

#[test]
fn it_is_not_shown_what_settings_decide_without_it() {
    let unseen = |settings: &str, command: &str| {
        let watched = Watched::new(settings);
        watched.call(command);
        assert_eq!(watched.seen(), Vec::<String>::new(), "{settings} {command}");
    };
    unseen("", "rm -rf /");
    unseen("security:\n  tirith_enabled: false\n", "echo warn");
    unseen("approvals:\n  mode: 'off'\n", "echo warn");
    unseen("command_allowlist: ['echo warn']\n", "echo warn");
    let listed = Watched::new("command_allowlist: ['echo warn']\n").call("echo warn; echo warn");
    assert_eq!(listed["pattern_keys"], json!(["tirith:odd_host"]), "{listed}");
}

#[test]
fn a_scan_that_fails_follows_the_setting() {
    for command in ["echo crash", "echo slow"] {
        let open = Watched::new("security:\n  tirith_timeout: 0.5\n").call(command);
        assert_eq!(open["exit_code"], 0, "{open}");
        let closed = "security:\n  tirith_timeout: 0.5\n  tirith_fail_open: false\n";
        let closed = Watched::new(closed).call(command);
        assert_eq!(closed["pattern_keys"], json!(["tirith:unavailable"]), "{closed}");
    }
}

#[test]
fn one_that_is_not_installed_is_missed_only_by_who_wants_it() {
    let call = |settings: &str| {
        let home = Home::temp();
        home.write(".petasos/config.yaml", settings);
        petasos(&home).run(&["tools", "call", "terminal", r#"{"command": "echo a"}"#]).json()
    };
    assert_eq!(call("")["output"], "a\n");
    assert_eq!(call("security:\n  tirith_path: /nowhere\n")["output"], "a\n");
    let keys = call("security:\n  tirith_fail_open: false\n")["pattern_keys"].clone();
    assert_eq!(keys, json!(["tirith:unavailable"]));
}

#[test]
fn an_explanation_shows_it_the_command_too() {
    let watched = Watched::new("");
    let explain = |words: &[&str]| {
        let all: Vec<&str> = ["approval", "explain"].iter().chain(words).copied().collect();
        petasos(&watched.home).run(&all)
    };
    let explained = explain(&["echo warn", "--json"]).json();
    assert_eq!(explained["verdict"], "ask");
    assert_eq!(explained["rules_say"], "allow");
    assert_eq!(explained["scanned"][0]["outcome"], "warn");
    assert_eq!(explained["observed"][0]["key"], "tirith:odd_host");
    let printed = explain(&["echo fine"]).stdout;
    assert!(printed.contains("/bin/tirith: allow after"), "{printed}");
}

#[test]
fn the_doctor_shows_it_a_harmless_command() {
    let told = |settings: &str| {
        let watched = Watched::new(settings);
        let told = petasos(&watched.home).run(&["doctor", "--json"]).json();
        let findings = told["findings"].as_array().expect("findings").clone();
        findings.into_iter().find(|finding| finding["part"] == "scanner").expect("a scanner")
    };
    assert_eq!(told("")["health"], "good");
    let missing = told("security:\n  tirith_path: /nowhere\n");
    assert_eq!(missing["health"], "note", "{missing}");
    assert!(missing["what"].as_str().expect("words").contains("pass without its word"));
    let missed = told("security:\n  tirith_path: /nowhere\n  tirith_fail_open: false\n");
    assert_eq!(missed["health"], "bad", "{missed}");
}

/// Agrees to everything for good, and counts.
struct Generous {
    asked: AtomicUsize,
}

impl Approver for Generous {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Answer> {
        assert_eq!(request.widest, Scope::Session, "always is not on offer");
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Answer::Allowed { scope: Scope::Always, by: Who::Person(None) } })
    }
}

/// A conversation in this process.
struct Conversation {
    host: Host,
    people: Arc<Generous>,
}

impl Conversation {
    fn new(home: &Home, values: &Value) -> Self {
        let settings = Settings::new(Parts {
            home: home.agent(),
            user_home: home.user().to_path_buf(),
            workspace: home.workspace(),
            temp: std::env::temp_dir(),
            values: values.as_object().cloned().unwrap_or_default(),
            ..Parts::default()
        });
        let people = Arc::new(Generous { asked: AtomicUsize::new(0) });
        Self { host: Host::with_settings(Arc::new(settings)), people }
    }

    /// Calls one after another; gives how often somebody was asked.
    fn run(&self, commands: &[(&str, &str)]) -> usize {
        let door = self.host.dispatcher(Some(Arc::clone(&self.people) as _)).expect("a door");
        let calls = async {
            for (session, command) in commands {
                let cx = self.host.call_context(Surface::Cli, SessionId::new(*session));
                let arguments = json!({ "command": command }).to_string();
                let call = ToolCall {
                    id: CallId::new("one"),
                    name: ToolName::new("terminal"),
                    arguments: RawArguments::Text(arguments),
                };
                let result = door.dispatch(call, &cx).await;
                let text = format!("{result:?}");
                assert!(text.contains("exit_code"), "{text}");
            }
        };
        self.host.wait(calls).expect("a runtime");
        self.people.asked.load(Ordering::Relaxed)
    }
}

#[test]
fn an_approval_lasts_for_its_session_and_is_written_nowhere() {
    let watched = Watched::new("# mine\n");
    let conversation = Conversation::new(&watched.home, &json!({}));
    let calls = [("one", "echo warn"), ("one", "echo warn again"), ("two", "echo warn")];
    assert_eq!(conversation.run(&calls), 2);
    let config = fs::read_to_string(watched.home.agent().join("config.yaml")).expect("a file");
    assert_eq!(config, "# mine\n");
}

#[test]
fn one_that_fails_again_and_again_is_left_alone() {
    let watched = Watched::new("");
    let conversation = Conversation::new(&watched.home, &json!({}));
    let calls = ["crash", "crash", "fine", "crash", "crash", "crash", "fine", "fine"];
    let calls = calls.map(|word| format!("echo {word}"));
    let calls: Vec<(&str, &str)> = calls.iter().map(|call| ("one", call.as_str())).collect();
    assert_eq!(conversation.run(&calls), 0);
    assert_eq!(watched.seen().len(), 6, "{:?}", watched.seen());
}

#[test]
fn a_text_too_long_for_the_scanner_is_asked_about_and_not_its_failure() {
    let watched = Watched::new("");
    let conversation = Conversation::new(&watched.home, &json!({}));
    let long = format!("cat > file <<'E'\n{}E\n", "a line of text\n".repeat(10_000));
    let calls: Vec<(&str, &str)> =
        [long.as_str(); 4].into_iter().chain(["echo fine"]).map(|call| ("one", call)).collect();
    // Nobody can hide from the scanner behind a long text: it is asked about, once here.
    assert_eq!(conversation.run(&calls), 1);
    assert_eq!(watched.seen().len(), 1, "{:?}", watched.seen());
    assert!(Path::new(&watched.home.workspace()).join("file").exists());
}
