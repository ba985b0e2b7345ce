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
    super::now(engine.settle(&settled, cx)).unwrap();
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

/// E19 14.
#[test]
fn e14_a_price_over_the_limit_asks_and_nobody_spends_it_unattended() {
    let place = Place::new();
    let spend = |cents: u32| Effects::one(Effect::Spend { cents });
    let (engine, cx) = (Engine::default(), place.cx(&empty()));
    assert_eq!(judge(&engine, "t", &spend(20), &cx), Verdict::Allow);
    let Verdict::Ask(findings) = judge(&engine, "t", &spend(21), &cx) else {
        panic!("a high price passed unasked")
    };
    assert_eq!((findings[0].key.as_ref(), findings[0].widest), ("spending money", Scope::Once));
    assert!(findings[0].why.contains("0.21 USD"), "{findings:?}");
    // What is agreed to is spent, and a conversation has an end of what it may spend.
    answered(&engine, &spend(190), &yes(Scope::Always), &cx);
    assert_eq!(judge(&engine, "t", &spend(10), &cx), Verdict::Allow);
    assert_eq!(word(&judge(&engine, "t", &spend(11), &cx)), "ask");
    let wide = place.cx(&json!({"spend": {"session_max_cents": 1000}}));
    assert_eq!(judge(&engine, "t", &spend(11), &wide), Verdict::Allow);
    // Nobody watches: the lower limit holds, whatever the mode.
    let alone = place.cx_on(Surface::Cron, &empty(), &[]);
    let fresh = Engine::default();
    assert_eq!(judge(&fresh, "t", &spend(50), &alone), Verdict::Allow);
    assert_ne!(judge(&fresh, "t", &spend(51), &alone), Verdict::Allow);
}
