//! A project's file is whatever a cloned folder brings along: it can take rights away, and never
//! add one. Held over every key of the table, whatever the user and the project say.

use petasos_config::keys::{self, Key, Kind, Project, Stricter};
use petasos_config::{Inputs, load};
use petasos_contract::Settings;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::Setting;

/// Where nothing is at stake but taste. A key that a project may set is added here on purpose, after
/// asking what a stranger's file could do with it.
const TASTE: &[&str] = &[
    "agent.reasoning_effort",
    "agent.verbose",
    "compression.",
    "display.",
    "model.context_length",
    "model.default",
    "model.max_tokens",
    "model.model",
    "tools.tool_search.",
];

#[test]
fn what_a_project_may_set_freely_is_a_matter_of_taste() {
    let free: Vec<&str> = keys::all()
        .filter(|key| key.project == Project::Free)
        .map(|key| key.path)
        .filter(|path| !TASTE.iter().any(|taste| path.starts_with(taste)))
        .collect();
    assert_eq!(free, [""; 0], "decide what a stranger could do with these, then add them to TASTE");
}

/// Values that fit a key, and some that people write by mistake or on purpose.
fn value(key: &Key) -> BoxedStrategy<Value> {
    let names = prop::collection::btree_set(select(vec!["file", "terminal", "a", "b"]), 0..3);
    match key.kind {
        Kind::Flag => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Integer => (-2_i64..2000).prop_map(Value::from).boxed(),
        Kind::Number => prop_oneof![
            (-2_i64..2000).prop_map(Value::from),
            (0.1_f64..900.0).prop_map(Value::from)
        ]
        .boxed(),
        Kind::Choice(words) => select(words).prop_map(Value::from).boxed(),
        Kind::Names | Kind::List => names.prop_map(|names| json!(names)).boxed(),
        Kind::Text | Kind::Secret => select(vec!["one", "two"]).prop_map(Value::from).boxed(),
        Kind::Map => select(vec!["one", "two"]).prop_map(|name| json!({ name: "x" })).boxed(),
        Kind::Any => prop_oneof![
            select(vec!["one", "two"]).prop_map(Value::from),
            select(vec!["one", "two"]).prop_map(|name| json!({ name: ["x"] })),
        ]
        .boxed(),
    }
}

/// A key, what the user says about it and what the project says.
fn case() -> impl Strategy<Value = (&'static Key, Option<Value>, Value, bool)> {
    select(keys::all().collect::<Vec<_>>())
        .prop_flat_map(|key| (Just(key), prop::option::of(value(key)), value(key), any::<bool>()))
}

fn document(path: &str, value: &Value) -> String {
    let document = path.split('.').rev().fold(value.clone(), |inner, name| json!({ name: inner }));
    document.to_string()
}

/// The path with names in place of patterns.
fn concrete(key: &Key) -> String {
    key.path.replace("@task", "vision").replace('*', "cli")
}

fn effective(settings: &Settings, path: &str, key: &Key) -> Option<Value> {
    settings.get(path).cloned().or_else(|| key.default_value())
}

/// Whether `with` grants nothing that `without` does not, for one key. Written from the meaning of
/// the keys, not with the program's own comparison.
fn is_no_wider(key: &Key, without: Option<&Value>, with: Option<&Value>) -> bool {
    let taste =
        key.project == Project::Free && TASTE.iter().any(|taste| key.path.starts_with(taste));
    if without == with || taste {
        return true;
    }
    let (Some(without), Some(with)) = (without, with) else { return false };
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    match key.project {
        Project::Tighten(Stricter::On) => with == &json!(true),
        Project::Tighten(Stricter::Off) => with == &json!(false),
        Project::Tighten(Stricter::Smaller) => number(with) > 0.0 && number(with) < number(without),
        Project::Tighten(Stricter::Order(words)) => {
            let rank = |value: &Value| words.iter().position(|word| value == word);
            rank(with) > rank(without)
        }
        Project::Tighten(Stricter::More) => {
            let (Some(with), Some(without)) = (with.as_array(), without.as_array()) else {
                return false;
            };
            without.iter().all(|entry| with.contains(entry))
        }
        // Of a list that is narrowed the value itself stays; its reader narrows it.
        Project::Never | Project::Free | Project::Tighten(Stricter::Fewer) => false,
    }
}

/// A few values of each kind, from loose to strict and back.
fn values(key: &Key) -> Vec<Value> {
    match key.kind {
        Kind::Flag => vec![json!(true), json!(false)],
        Kind::Integer => vec![json!(1), json!(7), json!(1_000_000)],
        Kind::Number => vec![json!(0.5), json!(7), json!(1_000_000)],
        Kind::Choice(words) => words.iter().map(|word| json!(word)).collect(),
        Kind::Names | Kind::List => vec![json!([]), json!(["terminal"]), json!(["a", "b"])],
        Kind::Text | Kind::Secret => vec![json!("one"), json!("two")],
        Kind::Map => vec![json!({ "one": "x" }), json!({ "two": "y" })],
        Kind::Any => vec![json!("one"), json!({ "one": ["x"] })],
    }
}

/// Every key, with and without a word of the user: not one of them is left to chance.
#[test]
fn not_one_key_is_widened_by_a_projects_file() {
    let (mut wider, mut judged) = (Vec::new(), 0);
    for key in keys::all() {
        let path = concrete(key);
        let own = values(key);
        for user in [None, own.last()] {
            let mut setting = Setting::new();
            if let Some(user) = user {
                setting = setting.user(&document(&path, user));
            }
            let Ok(without) = load(&setting.inputs()) else { continue };
            let before = effective(&without, &path, key);
            for project in &own {
                setting = setting.project(&document(&path, project));
                let Ok(with) = load(&setting.inputs()) else { continue };
                let after = effective(&with, &path, key);
                judged += 1;
                if !is_no_wider(key, before.as_ref(), after.as_ref()) {
                    wider.push(format!("{path}: {before:?} became {after:?} with {project}"));
                }
            }
        }
    }
    assert_eq!(wider, [""; 0]);
    assert!(judged > 2 * keys::all().count(), "most files were refused: {judged}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn no_key_grants_more_with_a_projects_file_than_without(
        (key, user, project, old_name) in case()
    ) {
        let path = concrete(key);
        let mut setting = Setting::new();
        if let Some(user) = &user {
            setting = setting.user(&document(&path, user));
        }
        let without = load(&setting.inputs());
        let file = if old_name { "work/.hermes/config.yaml" } else { "work/.petasos/config.yaml" };
        std::fs::create_dir_all(setting.path("work/.hermes")).unwrap();
        let setting = setting.put(file, document(&path, &project).as_bytes());
        // A file that is refused starts nothing at all.
        let (Ok(without), Ok(with)) = (without, load(&setting.inputs())) else { return Ok(()) };
        let (before, after) = (effective(&without, &path, key), effective(&with, &path, key));
        prop_assert!(
            is_no_wider(key, before.as_ref(), after.as_ref()),
            "{path}: {before:?} became {after:?} with {project}"
        );
        // Nothing else moved, and what was not used is named.
        let names = |settings: &Settings| settings.values().keys().cloned().collect::<Vec<_>>();
        let added = key.project == Project::Tighten(Stricter::More);
        let unused = before == after && Some(&project) != after.as_ref();
        if unused && !added && with.limit(&path).is_none() {
            prop_assert!(with.notices().iter().any(|notice| notice.key.starts_with(&path)
                || path.starts_with(&notice.key)), "{path}: {project} is ignored in silence");
            prop_assert_eq!(names(&without), names(&with));
        }
    }
}

#[test]
fn a_project_narrows_toolsets_and_the_users_list_stays() {
    let setting = Setting::new()
        .user("platform_toolsets: {cli: [file]}\nagent: {disabled_toolsets: [code_execution]}\n")
        .project(
            "platform_toolsets: {cli: [file, terminal], slack: [web]}\ntoolsets: [all]\n\
             agent: {disabled_toolsets: [], max_turns: 100000}\ncheckpoints: {enabled: false}\n",
        );
    let settings = load(&setting.inputs()).unwrap();
    assert_eq!(settings.get("platform_toolsets"), Some(&json!({ "cli": ["file"] })));
    let limit = |path: &str| settings.limit(path).map(<[String]>::to_vec);
    assert_eq!(limit("platform_toolsets.cli"), Some(vec!["file".into(), "terminal".into()]));
    assert_eq!(limit("platform_toolsets.slack"), Some(vec!["web".into()]));
    assert_eq!(limit("toolsets"), Some(vec!["all".into()]));
    assert_eq!(settings.get("agent.disabled_toolsets"), Some(&json!(["code_execution"])));
    assert_eq!(settings.get("agent.max_turns"), None);
    assert_eq!(settings.get("checkpoints.enabled"), None);
    for ignored in ["agent.max_turns", "checkpoints.enabled"] {
        assert!(settings.notices().iter().any(|notice| notice.key == ignored), "{ignored}");
    }
    let same = load(&setting.user("platform_toolsets: {cli: [file]}\n").inputs()).unwrap();
    assert_ne!(settings.fingerprint(), same.fingerprint());
}

#[test]
fn what_a_person_says_on_the_command_line_is_not_narrowed() {
    let setting = Setting::new().project("toolsets: [file]\nterminal: {timeout: 1}\n");
    let inputs: Inputs = setting.inputs().with_override("toolsets", "[terminal]", "--set");
    let settings = load(&inputs).unwrap();
    assert_eq!(settings.limit("toolsets"), None);
    assert_eq!(settings.get("terminal.timeout"), Some(&json!(1)));
}

#[test]
fn a_projects_file_cannot_carry_the_users_variables_away() {
    let setting = Setting::new()
        .project("model: {default: '${BOX_TOKEN}'}\ndisplay: {skin: '${env:BOX_TOKEN}'}\n")
        .variable("BOX_TOKEN", "tok-0123456789abcdef");
    let settings = load(&setting.inputs()).unwrap();
    assert_eq!(settings.text("model.default"), Some("${BOX_TOKEN}"));
    assert!(!format!("{:?}", settings.values()).contains("tok-0123456789abcdef"));
}
