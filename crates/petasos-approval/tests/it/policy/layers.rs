//! The layers of a judgement, in their order, with the vectors of the specification.

use petasos_approval::Engine;
use petasos_contract::SessionId;
use petasos_contract::approval::{Finding, Intent, Policy, Scope, Verdict};
use petasos_contract::context::Surface;
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::{Plan, ToolName};
use serde_json::json;

use super::{Place, empty, judge, keys, shell, word};

#[test]
fn v22_what_is_never_runnable_is_blocked_with_approvals_off() {
    let place = Place::new();
    let engine = Engine::default();
    let by_mode = place.cx(&json!({"approvals": {"mode": "off"}}));
    let by_variable = place.cx_on(Surface::Cli, &empty(), &[("HERMES_YOLO_MODE", "1")]);
    let by_session = place.cx(&empty());
    engine.set_session_off(&by_session.session, true);
    for cx in [by_mode, by_variable, by_session] {
        assert_eq!(word(&shell(&engine, "rm -rf /", &cx)), "block");
        assert_eq!(shell(&engine, "rm -rf x", &cx), Verdict::Allow);
    }
}

#[test]
fn approvals_off_in_one_session_leave_another_alone() {
    let place = Place::new();
    let engine = Engine::default();
    let (one, mut two) = (place.cx(&empty()), place.cx(&empty()));
    two.session = SessionId::new("two");
    engine.set_session_off(&one.session, true);
    assert_eq!(shell(&engine, "rm -r x", &one), Verdict::Allow);
    assert_eq!(word(&shell(&engine, "rm -r x", &two)), "ask");
    engine.set_session_off(&one.session, false);
    assert_eq!(word(&shell(&engine, "rm -r x", &one)), "ask");
}

#[test]
fn v23_the_users_refusals_hold_with_approvals_off_and_through_any_spelling() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&json!({"approvals": {"mode": "off", "deny": ["git push*", "sudo *"]}}));
    for script in [
        "git push",
        "git   push origin",
        "cd x && git push",
        "/usr/bin/git push",
        "bash -c 'git push'",
        "/usr/bin/sudo ls",
    ] {
        let verdict = shell(&engine, script, &cx);
        assert_eq!(word(&verdict), "block", "{script}");
        assert!(keys(&verdict)[0].starts_with("approvals.deny"), "{script}");
    }
    for script in ["git pull", "echo git push"] {
        assert_eq!(shell(&engine, script, &cx), Verdict::Allow, "{script}");
    }
}

#[test]
fn v29_an_allowed_text_never_carries_a_compound_command() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&json!({"command_allowlist": ["podman *", "rm -r build"]}));
    for script in ["podman system prune -af", "rm -r build", " rm -r build "] {
        assert_eq!(shell(&engine, script, &cx), Verdict::Allow, "{script}");
    }
    for script in [
        "podman ps; rm -r x",
        "podman ps && rm -r x",
        "podman ps | xargs rm -r",
        "podman ps\nrm -r x",
        "podman $(rm -r x)",
        "podman `rm -r x`",
        "rm -r build x",
        "rm -r Build",
    ] {
        assert_eq!(word(&shell(&engine, script, &cx)), "ask", "{script}");
    }
}

#[test]
fn v31_a_place_without_the_host_needs_no_question() {
    let place = Place::new();
    let engine = Engine::default();
    let docker = |more: serde_json::Value| {
        let mut terminal = json!({"backend": "docker"});
        terminal.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        place.cx(&json!({"terminal": terminal}))
    };
    assert_eq!(shell(&engine, "rm -rf x", &docker(empty())), Verdict::Allow);
    let mounted = docker(json!({"docker_volumes": ["/srv:/srv"]}));
    assert_eq!(word(&shell(&engine, "rm -rf x", &mounted)), "ask");
    let cwd = docker(json!({"docker_mount_cwd_to_workspace": true}));
    assert_eq!(word(&shell(&engine, "rm -rf x", &cwd)), "ask");
}

#[test]
fn isolation_does_not_take_back_what_the_user_refused() {
    let place = Place::new();
    let cx = place.cx(&json!({
        "terminal": {"backend": "modal"},
        "approvals": {"deny": ["git push*"]},
    }));
    assert_eq!(word(&shell(&Engine::default(), "git push", &cx)), "block");
}

#[test]
fn inside_the_gateway_the_gateway_cannot_be_stopped() {
    let place = Place::new();
    let engine = Engine::default();
    let off = json!({"approvals": {"mode": "off"}});
    let gateway = place.cx_on(Surface::Gateway, &off, &[]);
    let flagged = place.cx_on(Surface::Cli, &off, &[("_HERMES_GATEWAY", "1")]);
    for cx in [gateway, flagged] {
        assert_eq!(word(&shell(&engine, "petasos gateway restart", &cx)), "block");
    }
    let outside = place.cx(&empty());
    assert_eq!(word(&shell(&engine, "petasos gateway restart", &outside)), "ask");
}

#[test]
fn a_guessed_sudo_password_needs_a_person_each_time() {
    let place = Place::new();
    let engine = Engine::default();
    let off = json!({
        "approvals": {"mode": "off"},
        "command_allowlist": ["sudo with stdin or askpass"],
    });
    let cx = place.cx(&off);
    let Verdict::Ask(findings) = shell(&engine, "echo pw | sudo -S id", &cx) else {
        panic!("not asked")
    };
    assert_eq!(findings[0].widest, Scope::Once);
    let configured = place.cx_on(Surface::Cli, &off, &[("SUDO_PASSWORD", "pw")]);
    assert_eq!(shell(&engine, "echo pw | sudo -S id", &configured), Verdict::Allow);
}

#[test]
fn over_chat_a_program_is_put_up_whole() {
    let place = Place::new();
    let engine = Engine::default();
    let code = Effects::one(Effect::Code {
        language: "python".to_owned(),
        source: "print(1)".to_owned(),
        cwd: place.work(),
    });
    let cases = [
        (Surface::Cli, empty(), "allow"),
        (Surface::Gateway, empty(), "ask"),
        (Surface::Cron, empty(), "block"),
        (Surface::Cron, json!({"approvals": {"cron_mode": "approve"}}), "allow"),
        (Surface::Gateway, json!({"command_allowlist": ["execute_code"]}), "allow"),
        (Surface::Gateway, json!({"approvals": {"mode": "off"}}), "allow"),
        (Surface::Gateway, json!({"terminal": {"backend": "modal"}}), "allow"),
    ];
    for (surface, values, expected) in cases {
        let cx = place.cx_on(surface, &values, &[]);
        let verdict = judge(&engine, "execute_code", &code, &cx);
        assert_eq!(word(&verdict), expected, "{surface:?} {values}");
    }
}

#[test]
fn what_hooks_escalate_is_asked_about_and_can_be_remembered() {
    let place = Place::new();
    let engine = Engine::default();
    let tool = ToolName::new("web_search");
    let escalated = [Finding {
        key: "plugin_rule:budget".into(),
        why: "costs money".to_owned(),
        kind: petasos_contract::approval::FindingKind::Rule,
        span: None,
        widest: Scope::Always,
        stores: None,
    }];
    let plan = Plan::default();
    let intent = Intent { tool: &tool, plan: &plan, escalated: &escalated };
    let asked = engine.judge(&intent, &place.cx(&empty()));
    assert_eq!(keys(&asked), ["plugin_rule:budget"]);
    let remembered = place.cx(&json!({"command_allowlist": ["plugin_rule:budget"]}));
    assert_eq!(engine.judge(&intent, &remembered), Verdict::Allow);
    // A glob is for command texts; it is no key.
    let glob = place.cx(&json!({"command_allowlist": ["plugin_rule:*"]}));
    assert_eq!(word(&engine.judge(&intent, &glob)), "ask");
}

#[test]
fn a_plain_push_is_asked_about_where_the_setting_says_so() {
    let place = Place::new();
    let engine = Engine::default();
    assert_eq!(shell(&engine, "git push", &place.cx(&empty())), Verdict::Allow);
    let cx = place.cx(&json!({"approvals": {"git_push": "ask"}}));
    assert_eq!(keys(&shell(&engine, "git -C x push", &cx)), ["git push"]);
    for script in ["git stash push", "git log --grep push", "echo git push"] {
        assert_eq!(shell(&engine, script, &cx), Verdict::Allow, "{script}");
    }
}

#[test]
fn settings_that_cannot_be_understood_let_nothing_pass() {
    let place = Place::new();
    let cx = place.cx(&json!({"approvals": {"mode": "lenient"}}));
    assert!(Engine::new(&cx.settings).is_err());
    assert_eq!(word(&shell(&Engine::default(), "ls", &cx)), "block");
}

#[test]
fn older_names_of_a_key_still_count() {
    let place = Place::new();
    let cx = place.cx(&json!({"command_allowlist": ["recursive delete (long flag)"]}));
    assert_eq!(shell(&Engine::default(), "rm -r x", &cx), Verdict::Allow);
}
