//! With nothing configured, the policy says of a command what the rules say.

use std::sync::Arc;
use std::time::Instant;

use petasos_approval::policy::explain::Checker;
use petasos_approval::{Facts, judge_command};
use petasos_contract::Settings;
use petasos_contract::settings::Parts;
use serde_json::Value;

#[test]
fn nothing_is_lost_or_added_between_rules_and_policy() {
    let settings = Settings::new(Parts {
        home: "/home/user/.petasos".into(),
        user_home: "/home/user".into(),
        workspace: "/home/user/project".into(),
        ..Parts::default()
    });
    let checker = Checker::new(Arc::new(settings)).unwrap();
    let facts = Facts {
        home: "/home/user".to_owned(),
        cwd: Some("/home/user/project".to_owned()),
        agent_home: Some("/home/user/.petasos".to_owned()),
        ..Facts::default()
    };
    let text = include_str!("../../../../petasos-analysis/tests/data/dev.jsonl");
    let commands: Vec<String> = text
        .lines()
        .filter_map(|line| {
            serde_json::from_str::<Value>(line).ok()?["command"].as_str().map(str::to_owned)
        })
        .collect();
    assert!(commands.len() > 100);
    for command in &commands {
        let rules = serde_json::to_value(judge_command(command, &facts).verdict).unwrap();
        assert_eq!(rules, checker.check(command).verdict, "{command}");
    }
    let started = Instant::now();
    for command in &commands {
        std::hint::black_box(checker.check(command));
    }
    println!("{} commands in {:?}", commands.len(), started.elapsed());
}

#[test]
fn an_explanation_names_leaves_effects_and_what_was_set_aside() {
    let values = serde_json::json!({"command_allowlist": ["recursive delete"]});
    let settings = super::Place::new().settings(&values, &[]);
    let checker = Checker::new(settings.clone()).unwrap();
    let told =
        serde_json::to_value(checker.explain("rm -r a && git reset --hard", Vec::new()).unwrap())
            .unwrap();
    assert_eq!(told["verdict"], "ask");
    assert_eq!(told["leaves"][0]["argv"], serde_json::json!(["rm", "-r", "a"]));
    assert_eq!(told["observed"][0]["waived"], serde_json::json!({"always": "recursive delete"}));
    assert!(told["observed"][1].get("waived").is_none(), "{told}");
    let rules = petasos_approval::policy::explain::rules(&settings).unwrap();
    assert!(rules.iter().any(|rule| rule.key == "recursive delete" && rule.severity == "ask"));
}
