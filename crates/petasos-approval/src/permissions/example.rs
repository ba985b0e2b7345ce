//! Examples that a rule carries: checked when the rule is read, by the code that will judge.

use petasos_contract::effect::Effect;
use serde::Deserialize;
use serde_json::Value;

use super::List;
use super::deed::{Access, Deed, Kind, Touch};
use super::glob::Anchors;
use super::rule::{Rule, covering, shortened};
use crate::policy::inspect;
use petasos_analysis::Facts;

/// What a rule says about itself.
#[derive(Debug, Default)]
pub(super) struct Examples {
    pub(super) matching: Vec<Value>,
    pub(super) not_match: Vec<Value>,
}

/// An example that names more than the rule's main part.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spelled {
    tool: Option<String>,
    command: Option<String>,
    path: Option<String>,
    access: Option<Access>,
    host: Option<String>,
    target: Option<String>,
}

/// Fails with the first example that does not come out as promised.
pub(super) fn check(
    rule: &Rule,
    list: List,
    examples: &Examples,
    anchors: Anchors<'_>,
) -> Result<(), String> {
    let cases = examples.matching.iter().map(|example| (example, true));
    for (example, wanted) in cases.chain(examples.not_match.iter().map(|it| (it, false))) {
        let deed = deed(rule, example, anchors)?;
        let rules = std::slice::from_ref(rule);
        let speaks = match list {
            List::Allow => covering(rules, &deed, anchors).is_some(),
            List::Ask | List::Deny => rule.touches(&deed, anchors),
        };
        if speaks != wanted {
            let (is, promise) =
                if wanted { ("does not match", "match") } else { ("matches", "not_match") };
            let shown = shortened(&example.to_string());
            return Err(format!(
                "its `{promise}` example {shown} {is}; mend the rule or the example"
            ));
        }
    }
    Ok(())
}

/// A bare text is of the rule's most telling part; what it leaves out is taken as given.
fn deed(rule: &Rule, example: &Value, anchors: Anchors<'_>) -> Result<Deed, String> {
    let spelled = match example {
        Value::String(text) => {
            let mut spelled = Spelled::default();
            let part = if !rule.command.is_empty() {
                &mut spelled.command
            } else if !rule.paths.is_empty() {
                &mut spelled.path
            } else if !rule.hosts.is_empty() {
                &mut spelled.host
            } else if !rule.targets.is_empty() {
                &mut spelled.target
            } else {
                &mut spelled.tool
            };
            *part = Some(text.clone());
            spelled
        }
        other => serde_json::from_value(other.clone())
            .map_err(|error| format!("its example {other} cannot be read: {error}"))?,
    };
    let given = |glob: Option<&super::Glob>| glob.map(|glob| glob.as_str().to_owned());
    let tool = spelled.tool.or_else(|| given(rule.tools.first())).unwrap_or_default();
    let access = spelled.access.or(rule.access).unwrap_or(Access::Write);
    let host = spelled.host.or_else(|| given(rule.hosts.first()));
    let target = spelled.target.or_else(|| given(rule.targets.first()));
    let path = spelled.path.or_else(|| rule.paths.first().map(|glob| glob.as_str().to_owned()));
    let mut deed = match spelled.command {
        Some(script) => {
            let facts = Facts {
                home: anchors.home.to_string_lossy().into_owned(),
                cwd: Some(anchors.workspace.to_string_lossy().into_owned()),
                ..Facts::default()
            };
            let effect = Effect::Command { script, cwd: anchors.workspace.to_path_buf() };
            inspect::effect(&effect, &tool, &facts).deed
        }
        None if path.is_some() => Deed::new(&tool, Kind::File),
        None if host.is_some() => Deed::new(&tool, Kind::Host),
        None if target.is_some() => Deed::new(&tool, Kind::Target),
        None => Deed::new(&tool, Kind::Other),
    };
    if deed.kind != Kind::Program {
        deed.touched.extend(path.map(|path| Touch {
            access,
            path: absolute(&path, anchors),
            recursive: false,
        }));
        deed.hosts.extend(host);
        deed.targets.extend(target);
    }
    Ok(deed)
}

fn absolute(path: &str, anchors: Anchors<'_>) -> String {
    let found = match path.strip_prefix("~/") {
        Some(rest) => anchors.home.join(rest),
        None => anchors.workspace.join(path),
    };
    found.to_string_lossy().into_owned()
}
