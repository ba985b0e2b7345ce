//! The user's and the project's own rules: `permissions.allow`, `ask` and `deny`.
//!
//! A rule names a tool, the beginning of a command (word by word, on each command that would run),
//! paths or hosts, and all that it names must hold. Deny beats ask beats allow. The snapshot has
//! already joined the project's `ask` and `deny` to the user's and dropped its `allow`.

pub(crate) mod deed;
mod example;
pub(crate) mod glob;
pub(crate) mod rule;

use std::path::Path;

use petasos_contract::Settings;
use serde_json::Value;

pub use glob::Glob;

pub(crate) use deed::{Access, Deed, Kind, Touch};
pub(crate) use glob::Anchors;
pub(crate) use rule::Rule;

/// Which list a rule stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum List {
    /// Needs no question.
    Allow,
    /// Is asked about.
    Ask,
    /// Is refused.
    Deny,
}

impl List {
    const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    /// Its key in the configuration.
    pub fn key(self) -> &'static str {
        match self {
            Self::Allow => "permissions.allow",
            Self::Ask => "permissions.ask",
            Self::Deny => "permissions.deny",
        }
    }
}

/// A rule that cannot be used, so that nothing starts with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` rule {number} ({rule}): {problem}", list.key())]
pub struct PermissionsError {
    /// The list.
    pub list: List,
    /// Which rule of it, from one.
    pub number: usize,
    /// The rule, in short.
    pub rule: String,
    /// What is wrong, and what to do.
    pub problem: String,
}

/// The rules in force.
#[derive(Debug, Default)]
pub struct Permissions {
    allow: Vec<Rule>,
    ask: Vec<Rule>,
    deny: Vec<Rule>,
}

impl Permissions {
    /// Leaves only the rules that ask and refuse.
    pub(crate) fn forget_allowed(&mut self) {
        self.allow.clear();
    }

    /// Reads and checks every rule of a snapshot.
    pub fn read(settings: &Settings) -> Result<Self, PermissionsError> {
        let anchors = Anchors { home: settings.user_home(), workspace: settings.workspace() };
        let mut found = Self::default();
        for list in List::ALL {
            let Some(value) = settings.get(list.key()).filter(|value| !value.is_null()) else {
                continue;
            };
            let problem = |number, rule: &Value, problem| PermissionsError {
                list,
                number,
                rule: rule::shortened(&rule.to_string()),
                problem,
            };
            let Value::Array(items) = value else {
                return Err(problem(1, value, "the section must be a list of rules".to_owned()));
            };
            for (index, item) in items.iter().enumerate() {
                let failed = |text| problem(index + 1, item, text);
                let (rule, examples) = Rule::read(item).map_err(failed)?;
                if list == List::Allow {
                    rule.refuse_blank_cheque().map_err(failed)?;
                }
                example::check(&rule, list, &examples, anchors).map_err(failed)?;
                found.list_mut(list).push(rule);
            }
        }
        Ok(found)
    }

    /// Every rule with its list, in short.
    pub fn listed(&self) -> impl Iterator<Item = (List, String)> {
        List::ALL
            .into_iter()
            .flat_map(|list| self.list(list).iter().map(move |rule| (list, rule.to_string())))
    }

    /// The rules of one list that this touches.
    pub(crate) fn touching<'a>(
        &'a self,
        list: List,
        deed: &'a Deed,
        anchors: Anchors<'a>,
    ) -> impl Iterator<Item = &'a Rule> {
        self.list(list).iter().filter(move |rule| rule.touches(deed, anchors))
    }

    /// The rules that between them allow all of this; never on the strength of a part.
    pub(crate) fn allowing(&self, deed: &Deed, anchors: Anchors<'_>) -> Option<String> {
        rule::covering(&self.allow, deed, anchors)
    }

    fn list(&self, list: List) -> &[Rule] {
        match list {
            List::Allow => &self.allow,
            List::Ask => &self.ask,
            List::Deny => &self.deny,
        }
    }

    fn list_mut(&mut self, list: List) -> &mut Vec<Rule> {
        match list {
            List::Allow => &mut self.allow,
            List::Ask => &mut self.ask,
            List::Deny => &mut self.deny,
        }
    }
}

/// Whether `path` is `root` or below it, by names.
pub(crate) fn is_within(path: &Path, root: &Path) -> bool {
    path.starts_with(root)
}
