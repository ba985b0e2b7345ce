//! The user's and the project's own rules.

use petasos_approval::{Engine, permissions::Permissions};
use petasos_contract::approval::Verdict;
use petasos_contract::effect::{Effect, Effects};
use serde_json::{Value, json};

use super::{Place, empty, judge, keys, shell, word};

fn problem(rules: &Value) -> String {
    let settings = Place::new().settings(&json!({"permissions": rules}), &[]);
    Permissions::read(&settings).unwrap_err().to_string()
}

#[test]
fn an_allowed_command_passes_only_when_all_of_it_is_allowed() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&json!({"permissions": {"allow": [
        {"command": "docker compose down"},
        {"command": ["git", "push", "--force"]},
        {"command": ["rm", "-r", "build"], "exact": true},
    ]}}));
    for script in [
        "docker compose down --volumes",
        "docker compose down && git push --force origin x",
        "docker compose down 2>/dev/null",
        "rm -r build",
    ] {
        assert_eq!(shell(&engine, script, &cx), Verdict::Allow, "{script}");
    }
    for script in [
        "docker compose down; rm -r x",
        "docker compose down > ~/.bashrc",
        "rm -r build other",
        "sudo docker compose down",
        "./docker compose down",
        "git push origin --force",
        "docker compose down $(rm -r x)",
    ] {
        assert_eq!(word(&shell(&engine, script, &cx)), "ask", "{script}");
    }
    assert_eq!(word(&shell(&engine, "docker compose down; rm -rf /", &cx)), "block");
}

#[test]
fn deny_beats_ask_beats_allow() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&json!({"permissions": {
        "allow": [{"command": "make deploy"}, {"tool": "send_message"}],
        "ask": [{"command": "make deploy prod"}, {"tool": "send_*"}],
        "deny": [{"command": "make deploy prod now", "why": "never on a Friday"}],
    }}));
    assert_eq!(shell(&engine, "make deploy", &cx), Verdict::Allow);
    assert_eq!(word(&shell(&engine, "make deploy prod", &cx)), "ask");
    let Verdict::Block(findings) = shell(&engine, "x; make deploy prod now", &cx) else { panic!() };
    assert_eq!(findings[0].why, "never on a Friday");
    let send = Effects::one(Effect::Send { target: "ada".to_owned() });
    assert_eq!(word(&judge(&engine, "send_message", &send, &cx)), "ask");
    assert_eq!(word(&judge(&engine, "send_message", &Effects::none(), &cx)), "ask");
}

#[test]
fn paths_and_hosts_are_refused_at_every_door() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&json!({"permissions": {"deny": [
        {"path": "~/private"},
        {"path": "*.lock", "access": "write"},
        {"host": "*.internal"},
    ]}}));
    let private = place.user().join("private/diary");
    let effects = [
        Effect::Read(private.clone()),
        Effect::Write(private),
        Effect::Write(place.work().join("Cargo.lock")),
        Effect::Reach("db.internal".to_owned()),
    ];
    for effect in effects {
        let verdict = judge(&engine, "any", &Effects::one(effect.clone()), &cx);
        assert_eq!(word(&verdict), "block", "{effect:?}");
    }
    for script in [
        "cat ~/private/diary",
        "cat ~/priv*/diary",
        "curl http://db.internal:8080/x",
        "echo x > ~/private/new",
        "rm -r ~/private",
        "curl http://db.internal/x",
    ] {
        assert_eq!(word(&shell(&engine, script, &cx)), "block", "{script}");
    }
    for script in ["cat Cargo.lock", "cat ~/privately", "curl http://example.org"] {
        assert_eq!(shell(&engine, script, &cx), Verdict::Allow, "{script}");
    }
}

#[test]
fn an_allowed_path_covers_files_and_no_commands() {
    let place = Place::new();
    let engine = Engine::default();
    let cx =
        place.cx(&json!({"permissions": {"allow": [{"path": "~/.npmrc", "access": "write"}]}}));
    let write = Effects::one(Effect::Write(place.user().join(".npmrc")));
    assert_eq!(judge(&engine, "write_file", &write, &cx), Verdict::Allow);
    assert_eq!(word(&judge(&engine, "write_file", &write, &place.cx(&empty()))), "ask");
    let other = Effects::one(Effect::Write(place.user().join(".netrc")));
    assert_eq!(word(&judge(&engine, "write_file", &other, &cx)), "ask");
    assert_eq!(word(&shell(&engine, "rm -r x ~/.npmrc", &cx)), "ask");
}

#[test]
fn examples_are_checked_when_a_rule_is_read() {
    let place = Place::new();
    let good = json!({"permissions": {
        "allow": [{
            "command": "docker compose down",
            "match": ["docker compose down -v"],
            "not_match": ["docker compose up", "docker compose down; ls", "docker compose down > x"],
        }],
        "deny": [
            {"path": "~/private", "match": ["~/private/a"], "not_match": ["~/b"]},
            {"host": "*.internal", "match": ["a.internal"], "not_match": ["internal.example"]},
            {"tool": "send_*", "match": ["send_message"], "not_match": ["read_file"]},
            {"command": "git push", "match": ["cd x && /usr/bin/git push", {"command": "git push"}]},
        ],
    }});
    Permissions::read(&place.settings(&good, &[])).unwrap();
    let cases = [
        json!({"deny": [{"command": "git push", "match": ["git pull"]}]}),
        json!({"deny": [{"command": "git push", "not_match": ["git push x"]}]}),
        json!({"allow": [{"command": "git push", "match": ["git push; ls"]}]}),
        json!({"ask": [{"path": "~/a", "match": ["~/b"]}]}),
    ];
    for rules in cases {
        let told = problem(&rules);
        assert!(told.contains("rule 1") && told.contains("mend the rule"), "{told}");
    }
}

#[test]
fn rules_that_say_nothing_or_everything_are_refused() {
    let cases = [
        (json!({"deny": ["git push"]}), "a rule is a map"),
        (json!({"deny": [{}]}), "names nothing"),
        (json!({"deny": [{"comand": "x"}]}), "unknown field"),
        (json!({"deny": [{"command": ""}]}), "empty"),
        (json!({"deny": [{"command": "a && b"}]}), "one command"),
        (json!({"deny": [{"command": "echo 'a b'"}]}), "list of words"),
        (json!({"deny": [{"tool": "x", "exact": true}]}), "`exact` needs"),
        (json!({"deny": {"command": "x"}}), "list of rules"),
        (json!({"allow": [{"command": "bash"}]}), "allow everything"),
        (json!({"allow": [{"command": "/usr/bin/python3"}]}), "allow everything"),
        (json!({"allow": [{"command": ["*", "x"]}]}), "must be named"),
        (json!({"ask": [{"command": "ls"}, {"tool": ""}]}), "rule 2"),
    ];
    for (rules, expected) in cases {
        let told = problem(&rules);
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn a_projects_file_can_only_tighten() {
    let place = Place::new();
    super::write_file(
        &place.home().join("config.yaml"),
        "permissions:\n  allow:\n    - command: docker compose down\n",
    );
    super::write_file(
        &place.work().join(".petasos/config.yaml"),
        "permissions:\n  allow:\n    - command: git reset --hard\n  ask:\n    - command: docker \
         compose down\n  deny:\n    - command: npm publish\ncommand_allowlist: [recursive delete]\n\
         approvals: {mode: \"off\"}\n",
    );
    let inputs = petasos_config::Inputs {
        environment: [("PETASOS_HOME".to_owned(), place.home().display().to_string())].into(),
        cwd: place.work(),
        user_home: Some(place.user()),
        ..petasos_config::Inputs::default()
    };
    let settings = std::sync::Arc::new(petasos_config::load(&inputs).unwrap());
    let engine = Engine::new(&settings).unwrap();
    let session = petasos_contract::SessionId::new("s");
    let surface = petasos_contract::context::Surface::Cli;
    let cx = petasos_contract::CallContext::new(settings, surface, session);
    for (script, expected) in [
        ("docker compose down", "ask"),
        ("git reset --hard", "ask"),
        ("rm -r x", "ask"),
        ("npm publish", "block"),
    ] {
        assert_eq!(word(&shell(&engine, script, &cx)), expected, "{script}");
    }
    let asked = keys(&shell(&engine, "docker compose down", &cx));
    assert!(asked.iter().any(|key| key.starts_with("permissions.ask")), "{asked:?}");
}
