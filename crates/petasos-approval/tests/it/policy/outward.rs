//! Messages to people, and things in the world that move.

use petasos_approval::Engine;
use petasos_contract::approval::{Answer, Intent, Policy, Scope, Settlement, Verdict};
use petasos_contract::context::Surface;
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::{CallContext, Plan, ToolName};
use serde_json::json;

use super::{Place, empty, judge, word, yes};

fn sent(target: &str) -> Effects {
    Effects::one(Effect::Send { target: target.to_owned() })
}

fn moved(target: &str, guarded: bool) -> Effects {
    let reach = Effects::one(Effect::Reach("home.test".to_owned()));
    reach.and(Effect::Actuate { target: target.to_owned(), guarded })
}

fn answered(engine: &Engine, effects: &Effects, answer: &Answer, cx: &CallContext) {
    let (tool, plan) = (ToolName::new("t"), Plan::default().with_effects(effects.clone()));
    let intent = Intent { tool: &tool, plan: &plan, escalated: &[] };
    let verdict = engine.judge(&intent, cx);
    let settled = Settlement { intent: &intent, verdict: &verdict, answer: Some(answer) };
    engine.settle(&settled, cx).unwrap();
}

#[test]
fn a_message_is_asked_about_once_a_session_and_target() {
    let place = Place::new();
    let (engine, cx) = (Engine::default(), place.cx(&empty()));
    let Verdict::Ask(findings) = judge(&engine, "t", &sent("mail:ada@x.test"), &cx) else {
        panic!("a message passed unasked")
    };
    assert_eq!(findings[0].widest, Scope::Session, "{findings:?}");
    answered(&engine, &sent("mail:ada@x.test"), &yes(Scope::Always), &cx);
    assert_eq!(judge(&engine, "t", &sent("mail:ada@x.test"), &cx), Verdict::Allow);
    assert_eq!(word(&judge(&engine, "t", &sent("mail:eve@x.test"), &cx)), "ask");
    assert_eq!(judge(&engine, "t", &sent("self:ntfy"), &cx), Verdict::Allow);
    let other = Engine::default();
    assert_eq!(word(&judge(&other, "t", &sent("mail:ada@x.test"), &cx)), "ask");
}

/// E19 139.
#[test]
fn a_lock_asks_every_time_and_is_never_opened_unattended() {
    let place = Place::new();
    let (engine, cx) = (Engine::default(), place.cx(&empty()));
    assert_eq!(judge(&engine, "t", &moved("light.hall", false), &cx), Verdict::Allow);
    for _ in 0..2 {
        let Verdict::Ask(findings) = judge(&engine, "t", &moved("lock.door", true), &cx) else {
            panic!("a lock moved unasked")
        };
        assert_eq!(findings[0].widest, Scope::Once);
        answered(&engine, &moved("lock.door", true), &yes(Scope::Always), &cx);
    }
    // Neither a mode nor a setting for places without people opens a door.
    let off = place.cx(&json!({"approvals": {"mode": "off"}}));
    assert_eq!(word(&judge(&engine, "t", &moved("lock.door", true), &off)), "ask");
    let cron = |values| place.cx_on(Surface::Cron, &values, &[]);
    let approving = json!({"approvals": {"cron_mode": "approve"}});
    assert_eq!(word(&judge(&engine, "t", &moved("lock.door", true), &cron(approving))), "block");
    assert_eq!(judge(&engine, "t", &moved("light.hall", false), &cron(empty())), Verdict::Allow);
}

#[test]
fn a_rule_names_a_target() {
    let place = Place::new();
    let engine = Engine::default();
    let rules = json!({"permissions": {
        "allow": [{"target": "lock.shed", "match": ["lock.shed"], "not_match": ["lock.door"]},
                  {"tool": "mail_send", "target": "mail:*@x.test"}],
        "deny": [{"target": "siren.*"}],
    }});
    let cx = place.cx_on(Surface::Cron, &rules, &[]);
    assert_eq!(judge(&engine, "t", &moved("lock.shed", true), &cx), Verdict::Allow);
    assert_eq!(word(&judge(&engine, "t", &moved("lock.door", true), &cx)), "block");
    assert_eq!(word(&judge(&engine, "t", &moved("siren.roof", false), &cx)), "block");
    assert_eq!(judge(&engine, "mail_send", &sent("mail:ada@x.test"), &cx), Verdict::Allow);
    assert_eq!(word(&judge(&engine, "other", &sent("mail:ada@x.test"), &cx)), "block");
}

/// E19 155.
#[test]
fn a_program_on_the_desktop_is_asked_about_once_and_a_database_each_time() {
    let place = Place::new();
    let (engine, cx) = (Engine::default(), place.cx(&empty()));
    let shown = |target: &str| {
        Effects::one(Effect::Actuate {
            target: target.to_owned(),
            guarded: target.starts_with("sql:"),
        })
    };
    let (mail, shop) = (shown("desktop:Mail/foreground"), shown("sql:shop"));
    let Verdict::Ask(findings) = judge(&engine, "t", &mail, &cx) else {
        panic!("a desktop was acted on unasked")
    };
    assert_eq!(findings[0].widest, Scope::Session, "{findings:?}");
    answered(&engine, &mail, &yes(Scope::Session), &cx);
    assert_eq!(judge(&engine, "t", &mail, &cx), Verdict::Allow);
    for other in ["desktop:Bank/foreground", "desktop:Mail/background"] {
        assert_eq!(word(&judge(&engine, "t", &shown(other), &cx)), "ask", "{other}");
    }
    let cron = place.cx_on(Surface::Cron, &empty(), &[]);
    assert_eq!(word(&judge(&engine, "t", &shown("desktop:Bank/foreground"), &cron)), "block");
    for _ in 0..2 {
        assert_eq!(word(&judge(&engine, "t", &shop, &cx)), "ask");
        answered(&engine, &shop, &yes(Scope::Always), &cx);
    }
}
