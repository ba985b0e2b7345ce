//! Whether a project's file may set a key to a value, given what holds without it.
//!
//! A project is whatever directory the program was started in, so that its file may only make
//! guards stricter, and may not touch what starts programs, grants something or moves keys.

use serde_json::Value;

use crate::keys::{Key, Project, Stricter};

/// What becomes of a project's value.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It is used, perhaps joined with what was there.
    Used(Value),
    /// What holds without it stays, narrowed to these names by whoever reads it.
    Limits(Vec<String>),
    /// It changes nothing.
    Same,
    /// It is not used, for this reason.
    Ignored(&'static str),
}

/// Decides on one value; `current` is what holds without the project.
pub(crate) fn decide(key: Option<&Key>, current: Option<&Value>, wanted: &Value) -> Outcome {
    let Some(key) = key else { return Outcome::Ignored("a project may not set unknown keys") };
    let stricter = match key.project {
        Project::Free => return Outcome::Used(wanted.clone()),
        Project::Never => return Outcome::Ignored("a project may not set this key"),
        Project::Tighten(_) if current == Some(wanted) => return Outcome::Same,
        Project::Tighten(stricter) => stricter,
    };
    let default = key.default_value();
    let current = current.or(default.as_ref());
    match stricter {
        Stricter::More => joined(current, wanted),
        Stricter::Fewer => limited(wanted),
        _ if is_stricter(stricter, current, wanted) => Outcome::Used(wanted.clone()),
        _ => Outcome::Ignored("a project may only make this key stricter"),
    }
}

/// Whether a value is at least as strict. What cannot be compared is not.
fn is_stricter(stricter: Stricter, current: Option<&Value>, wanted: &Value) -> bool {
    match stricter {
        Stricter::On => wanted == &Value::Bool(true) || current == Some(wanted),
        Stricter::Off => wanted == &Value::Bool(false) || current == Some(wanted),
        // Zero and less often stand for "no limit", or for the reader's own default.
        Stricter::Smaller => match (current.and_then(Value::as_f64), wanted.as_f64()) {
            (Some(current), Some(wanted)) => wanted > 0.0 && wanted <= current,
            _ => false,
        },
        Stricter::Order(words) => {
            let rank = |value: &Value| words.iter().position(|word| value.as_str() == Some(word));
            rank(wanted).is_some_and(|wanted| current.and_then(rank) <= Some(wanted))
        }
        Stricter::More | Stricter::Fewer => false,
    }
}

fn limited(wanted: &Value) -> Outcome {
    let names = match wanted {
        Value::String(one) => vec![one.clone()],
        Value::Array(many) => many.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => return Outcome::Ignored("a project may only name what it narrows this key to"),
    };
    Outcome::Limits(names)
}

fn joined(current: Option<&Value>, wanted: &Value) -> Outcome {
    let mut all = match current {
        Some(Value::Array(items)) => items.clone(),
        _ => Vec::new(),
    };
    if let Value::Array(more) = wanted {
        for item in more {
            if !all.contains(item) {
                all.push(item.clone());
            }
        }
    }
    Outcome::Used(Value::Array(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;
    use serde_json::json;

    #[test]
    fn a_project_may_tighten_and_never_loosen() {
        let cases = [
            ("approvals.mode", Some(json!("smart")), json!("manual"), true),
            ("approvals.mode", Some(json!("smart")), json!("off"), false),
            ("approvals.mode", None, json!("off"), false),
            ("approvals.timeout", Some(json!(60)), json!(30), true),
            ("approvals.timeout", Some(json!(60)), json!(90), false),
            ("security.allow_private_urls", None, json!(true), false),
            ("security.allow_private_urls", Some(json!(true)), json!(false), true),
            ("security.redact_secrets", None, json!(false), false),
            ("terminal.sandbox", None, json!("workspace"), true),
            ("terminal.sandbox", Some(json!("readonly")), json!("workspace"), false),
            ("permissions.allow", None, json!(["x"]), false),
            ("command_allowlist", None, json!(["recursive delete"]), false),
            ("model.base_url", None, json!("https://elsewhere.test"), false),
            ("mcp_servers.*.command", None, json!("sh"), false),
            ("model.default", None, json!("m"), true),
            ("agent.max_turns", Some(json!(10)), json!(5), true),
            ("agent.max_turns", Some(json!(10)), json!(11), false),
            ("agent.max_turns", None, json!(91), false),
            ("agent.max_turns", None, json!(0), false),
            ("terminal.timeout", Some(json!(5)), json!(-1), false),
            ("terminal.sandbox", None, json!("off"), true),
            ("terminal.sandbox_network", None, json!(true), true),
            ("terminal.sandbox_network", Some(json!(false)), json!(true), false),
            ("checkpoints.enabled", None, json!(false), false),
            ("checkpoints.max_snapshots", None, json!(1), false),
        ];
        for (path, current, wanted, used) in cases {
            let key = keys::all().find(|key| key.path == path);
            let outcome = decide(key, current.as_ref(), &wanted);
            assert_eq!(matches!(outcome, Outcome::Used(_)), used, "{path} {current:?} {wanted}");
        }
        assert!(matches!(decide(None, None, &json!(1)), Outcome::Ignored(_)));
    }

    #[test]
    fn a_projects_refusals_are_added() {
        let key = keys::all().find(|key| key.path == "approvals.deny");
        let outcome = decide(key, Some(&json!(["a"])), &json!(["b", "a"]));
        assert_eq!(outcome, Outcome::Used(json!(["a", "b"])));
    }

    #[test]
    fn a_projects_toolsets_limit_what_is_there() {
        let key = keys::all().find(|key| key.path == "toolsets");
        let outcome = decide(key, Some(&json!(["file"])), &json!(["terminal"]));
        assert_eq!(outcome, Outcome::Limits(vec!["terminal".to_owned()]));
        assert_eq!(decide(key, Some(&json!(["file"])), &json!(["file"])), Outcome::Same);
    }
}
