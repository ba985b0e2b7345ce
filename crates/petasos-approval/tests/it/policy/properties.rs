//! What must hold for any list and any command.

use petasos_approval::Engine;
use petasos_contract::approval::Verdict;
use proptest::prelude::*;
use serde_json::json;

use super::{Place, shell, word};

fn rank(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Ask(_) => 1,
        Verdict::Block(_) => 2,
    }
}

fn part() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "rm", "-r", "-rf", "x", "build", "/", "~", "git", "push", "--force", "reset", "--hard",
        "docker", "ls", "echo", "sudo", "\"a b\"", "'q'", "$X", "podman", "ps", "make",
    ])
}

fn joint() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![" ", " ", " ", " ", "; ", " && ", " | ", " > ", "\n", " || ", " & "])
}

fn script() -> impl Strategy<Value = String> {
    prop::collection::vec((part(), joint()), 1..10).prop_map(|parts| {
        parts.iter().flat_map(|(part, joint)| [*part, *joint]).collect::<String>()
    })
}

fn rule() -> impl Strategy<Value = serde_json::Value> {
    prop_oneof![
        prop::collection::vec(part(), 1..3).prop_map(|words| json!({"command": words})),
        part().prop_map(|tool| json!({"tool": tool})),
        Just(json!({"tool": "term*"})),
        part().prop_map(|path| json!({"path": path})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_text_in_the_allow_list_never_carries_a_compound_command(
        script in script(),
        entry in prop::sample::select(vec!["*", "rm *", "rm*", "podman *", "git*", "?*", "[a-z]*"]),
    ) {
        let place = Place::new();
        let engine = Engine::default();
        let plain = shell(&engine, &script, &place.cx(&json!({})));
        let listed = shell(&engine, &script, &place.cx(&json!({"command_allowlist": [entry]})));
        let compound = script.contains(['\n', ';', '&', '|', '<', '>', '`']) || script.contains("$(");
        prop_assert!(rank(&listed) <= rank(&plain));
        if compound || matches!(plain, Verdict::Block(_)) {
            prop_assert_eq!(listed, plain);
        }
    }

    #[test]
    fn more_rules_that_ask_or_refuse_never_loosen(
        script in script(),
        allow in prop::collection::vec(rule(), 0..3),
        ask in prop::collection::vec(rule(), 0..3),
        deny in prop::collection::vec(rule(), 0..3),
    ) {
        let place = Place::new();
        let engine = Engine::default();
        let before = place.cx(&json!({"permissions": {"allow": allow}}));
        prop_assume!(Engine::new(&before.settings).is_ok());
        let after = place.cx(&json!({"permissions": {"allow": allow, "ask": ask, "deny": deny}}));
        prop_assume!(Engine::new(&after.settings).is_ok());
        let (loose, tight) = (shell(&engine, &script, &before), shell(&engine, &script, &after));
        prop_assert!(rank(&tight) >= rank(&loose), "{} -> {}", word(&loose), word(&tight));
    }

    #[test]
    fn nothing_the_user_allows_makes_the_never_runnable_run(
        script in script(),
        allow in prop::collection::vec(rule(), 0..4),
    ) {
        let place = Place::new();
        let engine = Engine::default();
        let plain = shell(&engine, &script, &place.cx(&json!({})));
        let values = json!({
            "permissions": {"allow": allow},
            "command_allowlist": [script, "*", "recursive delete", "delete of a system directory"],
            "approvals": {"mode": "off"},
        });
        let cx = place.cx(&values);
        prop_assume!(Engine::new(&cx.settings).is_ok());
        if let Verdict::Block(_) = plain {
            prop_assert_eq!(word(&shell(&engine, &script, &cx)), "block");
        }
    }
}
