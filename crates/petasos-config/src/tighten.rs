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
    /// It is not, for this reason.
    Ignored(&'static str),
}

/// Decides on one value; `current` is what holds without the project.
pub(crate) fn decide(key: Option<&Key>, current: Option<&Value>, wanted: &Value) -> Outcome {
    let Some(key) = key else { return Outcome::Ignored("a project may not set unknown keys") };
    let stricter = match key.project {
        Project::Free => return Outcome::Used(wanted.clone()),
        Project::Never => return Outcome::Ignored("a project may not set this key"),
        Project::Tighten(stricter) => stricter,
    };
    let default = key.default_value();
    let current = current.or(default.as_ref());
    if stricter == Stricter::More {
        return joined(current, wanted);
    }
    let Some(current) = current else { return Outcome::Used(wanted.clone()) };
    if is_looser(stricter, current, wanted) {
        Outcome::Ignored("a project may only make this key stricter")
    } else {
        Outcome::Used(wanted.clone())
    }
}

fn is_looser(stricter: Stricter, current: &Value, wanted: &Value) -> bool {
    match stricter {
        Stricter::On => current == &Value::Bool(true) && wanted != &Value::Bool(true),
        Stricter::Off => current == &Value::Bool(false) && wanted != &Value::Bool(false),
        Stricter::Smaller => match (current.as_f64(), wanted.as_f64()) {
            (Some(current), Some(wanted)) => wanted > current,
            _ => true,
        },
        Stricter::Order(words) => {
            let rank = |value: &Value| words.iter().position(|word| value.as_str() == Some(word));
            rank(wanted) < rank(current)
        }
        Stricter::More => false,
    }
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
}
