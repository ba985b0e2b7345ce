//! Where nobody can be asked: scheduled runs, subagents, programs without a person.

use petasos_approval::Engine;
use petasos_contract::approval::{Scope, Verdict};
use petasos_contract::context::{Principal, Surface};
use serde_json::json;

use super::{Place, empty, shell, word};

#[test]
fn a_scheduled_run_is_denied_what_is_flagged_unless_told_otherwise() {
    let place = Place::new();
    let engine = Engine::default();
    let cron = |values| place.cx_on(Surface::Cron, &values, &[]);
    assert_eq!(shell(&engine, "ls", &cron(empty())), Verdict::Allow);
    let Verdict::Block(findings) = shell(&engine, "rm -r x", &cron(empty())) else { panic!() };
    assert!(findings[0].why.contains("approvals.cron_mode"), "{findings:?}");
    for word_for_yes in ["approve", "off", "allow", "yes"] {
        let cx = cron(json!({"approvals": {"cron_mode": word_for_yes}}));
        assert_eq!(shell(&engine, "rm -r x", &cx), Verdict::Allow, "{word_for_yes}");
        assert_eq!(word(&shell(&engine, "rm -rf /", &cx)), "block");
        assert_eq!(word(&shell(&engine, "echo p | sudo -S id", &cx)), "block");
    }
    // What was approved for good holds for jobs, too.
    let known = cron(json!({"command_allowlist": ["recursive delete"]}));
    assert_eq!(shell(&engine, "rm -r x", &known), Verdict::Allow);
}

#[test]
fn without_a_person_a_question_goes_to_the_approver_unless_told_otherwise() {
    let place = Place::new();
    let engine = Engine::default();
    for surface in [Surface::OneShot, Surface::ApiServer, Surface::Embedded] {
        let cx = place.cx_on(surface, &empty(), &[]).attended(false);
        assert_eq!(word(&shell(&engine, "rm -r x", &cx)), "ask", "{surface:?}");
        let approving = json!({"approvals": {"headless_mode": "approve", "deny": ["git push*"]}});
        let cx = place.cx_on(surface, &approving, &[]).attended(false);
        assert_eq!(shell(&engine, "rm -r x", &cx), Verdict::Allow, "{surface:?}");
        assert_eq!(word(&shell(&engine, "rm -rf /", &cx)), "block");
        assert_eq!(word(&shell(&engine, "git push", &cx)), "block");
    }
    // The setting is for places without people.
    let cx = place.cx(&json!({"approvals": {"headless_mode": "approve"}}));
    assert_eq!(word(&shell(&engine, "rm -r x", &cx)), "ask");
}

#[test]
fn a_subagent_may_not_ask() {
    let place = Place::new();
    let engine = Engine::default();
    let mut cx = place.cx(&empty());
    cx.principal = Principal::Subagent;
    assert_eq!(word(&shell(&engine, "rm -r x", &cx)), "block");
    let mut deep = place.cx(&empty());
    (deep.principal, deep.depth) = (Principal::Code, 1);
    assert_eq!(word(&shell(&engine, "rm -r x", &deep)), "block");
    let mut cx = place.cx(&json!({"delegation": {"subagent_auto_approve": true}}));
    cx.principal = Principal::Subagent;
    assert_eq!(shell(&engine, "rm -r x", &cx), Verdict::Allow);
    assert_eq!(word(&shell(&engine, "rm -rf /", &cx)), "block");
}

#[test]
fn our_own_program_takes_the_verdict_of_what_it_runs_and_never_loosens() {
    let place = Place::new();
    let engine = Engine::default();
    let approving = json!({
        "approvals": {"headless_mode": "approve", "mode": "off"},
        "command_allowlist": ["change to agent policy", "petasos approval grant rm"],
    });
    let cx = place.cx_on(Surface::OneShot, &approving, &[]);
    for script in [
        "petasos --set approvals.mode=off term 'rm -rf victim'",
        "HERMES_YOLO_MODE=1 petasos term ls",
        "petasos approval grant rm",
        "$(readlink /proc/$PPID/exe) --set approvals.mode=off term 'ls'",
    ] {
        let Verdict::Ask(findings) = shell(&engine, script, &cx) else { panic!("{script}") };
        assert!(findings.iter().all(|it| it.widest == Scope::Once), "{script}: {findings:?}");
    }
    let asking = place.cx(&empty());
    for (script, expected) in [
        ("petasos term 'rm -rf build'", "ask"),
        ("petasos term 'rm -rf /'", "block"),
        ("cd /; petasos term --workdir / --timeout 5 'rm -rf *'", "block"),
        (r#"petasos tools call terminal '{"command":"rm -rf ~"}'"#, "block"),
        (r#"petasos tools call write_file '{"path":"~/.bashrc","content":"x"}'"#, "ask"),
        (r#"petasos tools call write_file '{"path":"notes.txt","content":"x"}'"#, "allow"),
        ("echo 'rm -rf /' | petasos backend shell", "block"),
        ("petasos term 'cargo test'", "allow"),
    ] {
        assert_eq!(word(&shell(&engine, script, &asking)), expected, "{script}");
    }
}

#[test]
fn below_a_supervisor_nothing_spares_a_question() {
    let place = Place::new();
    let loose = json!({
        "approvals": {"mode": "off", "headless_mode": "approve"},
        "command_allowlist": ["recursive delete"],
        "permissions": {"allow": [{"command": "rm"}]},
    });
    let cx = place.cx(&loose);
    assert_eq!(shell(&Engine::default(), "rm -r x", &cx), Verdict::Allow);
    let engine = Engine::default().supervised(true);
    engine.set_session_off(&cx.session, true);
    assert_eq!(word(&shell(&engine, "rm -r x", &cx)), "ask");
    assert_eq!(word(&shell(&engine, "ls", &cx)), "allow");
}
