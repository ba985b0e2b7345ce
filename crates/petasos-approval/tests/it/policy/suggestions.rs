//! Rules proposed from the log: narrow, never against a denial, and valid as written.

use petasos_approval::permissions::{List, Permissions};
use petasos_approval::{Engine, log, suggest::suggest};
use petasos_contract::approval::{Answer, Scope, Who};
use serde_json::{Value, json};

use super::{Place, empty, settle, yes};

#[test]
fn what_was_answered_alike_often_enough_becomes_a_rule() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&empty());
    let no = Answer::Denied { by: Who::Person(None), comment: None };
    for script in [
        "docker compose down -v",
        "docker compose down --rmi all",
        "docker compose down",
        "rm -r build",
        "rm -r build",
        "rm -r build",
        "rm -r once",
    ] {
        settle(&engine, script, &yes(Scope::Once), &cx);
    }
    for _ in 0..3 {
        settle(&engine, "git push --force", &no, &cx);
        settle(&engine, "rm -r keep && rm -r build", &yes(Scope::Once), &cx);
    }
    let found = suggest(&log::read(&place.home(), 1000).unwrap());
    let told: Vec<(List, Value)> =
        found.iter().map(|it| (it.list, it.rule["command"].clone())).collect();
    assert!(told.contains(&(List::Allow, json!(["docker", "compose", "down"]))), "{told:?}");
    assert!(told.contains(&(List::Allow, json!(["rm", "-r", "build"]))), "{told:?}");
    assert!(told.contains(&(List::Deny, json!(["git", "push", "--force"]))), "{told:?}");
    assert_eq!(told.len(), 3, "{told:?}");
    for suggestion in &found {
        let key = suggestion.list.key().strip_prefix("permissions.").unwrap();
        let rules = json!({"permissions": {key: [suggestion.rule]}});
        Permissions::read(&place.settings(&rules, &[])).unwrap();
    }
}
