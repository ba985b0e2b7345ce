//! Every configuration key we know, as data: its type, default, meaning, and what a project may do.
//!
//! The table drives strictness, `config explain`, `config get` of defaults and the generated
//! reference. It holds no values: a default is looked up when asked for, so that a start pays
//! nothing for it. In a path, `*` stands for any name (or list item) and `@task` for the name of an
//! auxiliary task.

mod agent;
mod model;
mod security;
mod surfaces;
mod terminal;
mod tools;

use serde::Serialize;
use serde_json::Value;

/// What fits a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// On or off.
    Flag,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Text.
    Text,
    /// Text that is never shown.
    Secret,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of texts; a single text stands for a list of one.
    Names,
    /// A list of anything.
    List,
    /// A map of anything.
    Map,
    /// Anything: checked by the crate that owns it.
    Any,
}

/// Which of two values is the stricter, for keys that guard something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stricter {
    /// On is stricter.
    On,
    /// Off is stricter.
    Off,
    /// A smaller number is stricter.
    Smaller,
    /// Words from loose to strict.
    Order(&'static [&'static str]),
    /// A longer list is stricter: a project's entries are added.
    More,
    /// A shorter list is stricter. Names may stand for groups, so that whoever reads the list
    /// narrows what it comes down to; see `Settings::limit`.
    Fewer,
}

/// What a project's file may do with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Project {
    /// Set it: nothing is at stake but taste. A test names every such key.
    Free,
    /// Only make it stricter.
    Tighten(Stricter),
    /// Nothing: it starts programs, chooses where keys go, or grants something.
    Never,
}

/// One key.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Key {
    /// Dotted path.
    pub path: &'static str,
    /// What fits.
    pub kind: Kind,
    /// The built-in default as JSON, empty when there is none.
    pub default: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// What a project's file may do.
    pub project: Project,
    /// What it waits for, when nothing obeys it yet: it is accepted, so that files of other versions
    /// load, and everything that shows it says that it has no effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<&'static str>,
}

/// A key a project may not set.
const fn key(path: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key { path, kind, default, doc, project: Project::Never, reserved: None }
}

/// A key a project may set.
const fn free(path: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key { path, kind, default, doc, project: Project::Free, reserved: None }
}

impl Key {
    const fn tighten(self, stricter: Stricter) -> Self {
        Self { project: Project::Tighten(stricter), ..self }
    }

    /// Nothing obeys it in this version; a test holds this against the sources.
    const fn reserved(self, waits_for: &'static str) -> Self {
        Self { reserved: Some(waits_for), ..self }
    }

    /// That nothing obeys it in this version and why, for whoever shows it.
    pub fn no_effect(&self) -> Option<String> {
        crate::reserved::said(self)
    }

    /// The default, parsed.
    pub fn default_value(&self) -> Option<Value> {
        if self.default.is_empty() {
            return None;
        }
        // The table is checked by a test; a row that is not JSON has no default.
        serde_json::from_str(self.default).ok()
    }

    /// Whether the path goes through names the user chooses.
    pub fn is_pattern(&self) -> bool {
        self.path.split('.').any(|segment| segment == "*" || segment.starts_with('@'))
    }
}

/// Every key, by section.
pub static TABLE: &[&[Key]] = &[
    security::KEYS,
    terminal::KEYS,
    model::KEYS,
    model::ENDPOINTS,
    model::AUXILIARY,
    agent::KEYS,
    tools::KEYS,
    tools::MCP,
    surfaces::KEYS,
];

/// Names of the auxiliary tasks.
pub static TASKS: &[&str] = &[
    "approval",
    "background_review",
    "compression",
    "curator",
    "flush_memories",
    "goal_judge",
    "kanban_decomposer",
    "mcp",
    "memory_query_rewrite",
    "moa_aggregator",
    "moa_reference",
    "monitor",
    "profile_describer",
    "session_search",
    "skills_hub",
    "title_generation",
    "triage_specifier",
    "tts_audio_tags",
    "video",
    "vision",
    "web_extract",
];

/// Every key.
pub fn all() -> impl Iterator<Item = &'static Key> {
    TABLE.iter().copied().flatten()
}

/// A row, and what of its path is still below.
type Rest = (&'static Key, &'static str);

/// The rows a walk down a document can still end in.
#[derive(Debug, Clone)]
pub(crate) struct Candidates(Option<Vec<Rest>>);

/// What is known below one name.
#[derive(Debug)]
pub(crate) enum Step {
    /// Not in the table.
    Unknown,
    /// A key, with more below it where it is a map.
    Known { own: Option<&'static Key>, below: Candidates },
}

impl Candidates {
    /// The whole table, which is not copied for it.
    pub(crate) fn top() -> Self {
        Self(None)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_some_and(Vec::is_empty)
    }

    fn rows(&self) -> impl Iterator<Item = Rest> {
        let whole = self.0.is_none().then(|| all().map(|key| (key, key.path)));
        whole.into_iter().flatten().chain(self.0.iter().flatten().copied())
    }

    /// One name further down; a written name goes before a pattern.
    pub(crate) fn step(&self, name: &str) -> Step {
        let mut found = self.below(name);
        if found.is_empty() {
            found = self.below("*");
        }
        if found.is_empty() && TASKS.contains(&name) {
            found = self.below("@task");
        }
        if found.is_empty() {
            return Step::Unknown;
        }
        let own = found.iter().find(|(_, rest)| rest.is_empty()).map(|(key, _)| *key);
        found.retain(|(_, rest)| !rest.is_empty());
        Step::Known { own, below: Self(Some(found)) }
    }

    fn below(&self, segment: &str) -> Vec<Rest> {
        let first = segment.as_bytes().first();
        let fits = |(key, rest): Rest| {
            // Most rows differ here already; asking first halves the walk.
            if rest.as_bytes().first() != first {
                return None;
            }
            let tail = rest.strip_prefix(segment)?;
            if tail.is_empty() { Some((key, tail)) } else { Some((key, tail.strip_prefix('.')?)) }
        };
        self.rows().filter_map(fits).collect()
    }

    /// The names that are written out at this depth.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::new();
        for (_, rest) in self.rows() {
            match rest.split('.').next() {
                Some("*") | None => {}
                Some("@task") => names.extend(TASKS),
                Some(name) => names.push(name),
            }
        }
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The key for a path, written out or by pattern.
pub fn find(path: &[String]) -> Option<&'static Key> {
    let mut candidates = Candidates::top();
    let mut found = None;
    for name in path {
        match candidates.step(name) {
            Step::Known { own, below } => {
                found = own;
                candidates = below;
            }
            // Below a key that takes anything, everything is that key's business.
            Step::Unknown => {
                return found.filter(|key| matches!(key.kind, Kind::Any | Kind::Map | Kind::List));
            }
        }
    }
    found
}

/// The default of a key, when it has one.
pub fn default_of(path: &str) -> Option<Value> {
    all().find(|key| key.path == path)?.default_value()
}

/// The known name that looks most like this one, when one does.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|other| (strsim::jaro_winkler(name, other), other))
        .filter(|(likeness, _)| *likeness > 0.84)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, other)| other)
}

/// Whether a key guards something, so that it must be right or the start is refused.
pub fn is_security(path: &str) -> bool {
    let first = path.split('.').next().unwrap_or_default();
    matches!(first, "approvals" | "security" | "permissions")
        || path.starts_with("terminal.sandbox")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_is_sound() {
        let mut seen = BTreeSet::new();
        for row in all() {
            assert!(seen.insert(row.path), "{} stands twice", row.path);
            assert!(!row.doc.is_empty() && !row.doc.ends_with('.'), "{}", row.path);
            let parsed = row.default.is_empty() || row.default_value().is_some();
            assert!(parsed, "{}: default is not JSON", row.path);
            if let (Kind::Choice(words), Some(Value::String(word))) =
                (row.kind, row.default_value())
            {
                assert!(words.contains(&word.as_str()), "{}: {word}", row.path);
            }
            let promised = row.reserved.is_some() && is_security(row.path);
            assert!(!promised, "{}: a guard that nobody keeps", row.path);
            let measured = matches!(
                row.project,
                Project::Tighten(
                    Stricter::Smaller | Stricter::Order(_) | Stricter::On | Stricter::Off
                )
            );
            let comparable = !measured || row.default_value().is_some();
            assert!(comparable, "{}: without a default nothing can be stricter than it", row.path);
        }
    }

    #[test]
    fn a_path_finds_its_row() {
        let row = |path: &str| {
            find(&path.split('.').map(str::to_owned).collect::<Vec<_>>()).map(|key| key.path)
        };
        assert_eq!(row("terminal.timeout"), Some("terminal.timeout"));
        assert_eq!(row("auxiliary.vision.timeout"), Some("auxiliary.@task.timeout"));
        assert_eq!(row("auxiliary.visoin.timeout"), None);
        assert_eq!(row("mcp_servers.git.command"), Some("mcp_servers.*.command"));
        assert_eq!(row("mcp_servers.git.env.TOKEN"), Some("mcp_servers.*.env"));
        assert_eq!(row("terminal"), None);
        assert_eq!(row("no.such"), None);
    }

    #[test]
    fn a_slip_of_the_finger_finds_its_neighbour() {
        assert_eq!(nearest("timout", ["timeout", "backend"]), Some("timeout"));
        assert_eq!(nearest("aprovals", ["approvals", "auxiliary"]), Some("approvals"));
        assert_eq!(nearest("zebra", ["timeout", "backend"]), None);
    }
}
