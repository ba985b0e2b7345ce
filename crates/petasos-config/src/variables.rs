//! Every environment variable we know, with its meaning and who wins against the file, in one table.
//!
//! A row with [`Names::Ours`] is spelled `PETASOS_X` (first) or `HERMES_X`; other rows have the name
//! the world gave them. Rules that are not data: for credentials and endpoints a line in `.env`
//! beats an export that was left in a shell; for settings the process environment beats `.env`.

mod secrets;
mod settings;

use serde::Serialize;

/// How a variable is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Names {
    /// `PETASOS_X`, else `HERMES_X`.
    Ours(&'static str),
    /// This name.
    Fixed(&'static str),
    /// Starts and ends like this, with something between.
    Like(&'static str, &'static str),
}

/// Who wins when a variable and a file say different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wins {
    /// The variable.
    Variable,
    /// A file that sets the key.
    File,
    /// A file that has the section, whether or not it sets the key.
    Section(&'static str),
}

/// What a variable is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// Sets a key of the configuration.
    Setting(&'static str, Wins),
    /// A credential.
    Secret,
    /// Where a credential goes: travels with it.
    Endpoint,
    /// Says what this process is part of.
    Role,
    /// A directory or a program.
    Place,
    /// Read by the part that it names.
    Plain,
}

/// One variable.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Row {
    /// Its spellings.
    pub names: Names,
    /// What it is for.
    pub meaning: Meaning,
    /// What it does.
    pub doc: &'static str,
}

const fn row(names: Names, meaning: Meaning, doc: &'static str) -> Row {
    Row { names, meaning, doc }
}

/// Every variable.
pub fn all() -> impl Iterator<Item = &'static Row> {
    settings::ROWS.iter().chain(secrets::ROWS)
}

impl Row {
    /// The names it goes by, the strongest first; patterns have none.
    pub fn spellings(&self) -> Vec<String> {
        match self.names {
            Names::Ours(name) => vec![format!("PETASOS_{name}"), format!("HERMES_{name}")],
            Names::Fixed(name) => vec![name.to_owned()],
            Names::Like(..) => Vec::new(),
        }
    }

    /// Whether this row is about that variable.
    pub fn matches(&self, name: &str) -> bool {
        match self.names {
            Names::Ours(own) => unprefixed(name) == Some(own),
            Names::Fixed(own) => name == own,
            Names::Like(start, end) => name
                .strip_prefix(start)
                .and_then(|rest| rest.strip_suffix(end))
                .is_some_and(|middle| !middle.is_empty()),
        }
    }

    /// The spelling for people.
    pub fn shown(&self) -> String {
        match self.names {
            Names::Ours(name) => format!("PETASOS_{name}"),
            Names::Fixed(name) => name.to_owned(),
            Names::Like(start, end) => format!("{start}*{end}"),
        }
    }
}

fn unprefixed(name: &str) -> Option<&str> {
    name.strip_prefix("PETASOS_").or_else(|| name.strip_prefix("HERMES_"))
}

/// The row about a variable.
pub fn find(name: &str) -> Option<&'static Row> {
    all().find(|row| row.matches(name))
}

/// Whether a name looks as if its value must not be shown.
pub fn looks_secret(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "KEY",
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "CREDENTIAL",
        "CREDS",
        "AUTH",
        "BEARER",
        "DSN",
        "WEBHOOK",
        "COOKIE",
    ];
    let upper = name.to_ascii_uppercase();
    WORDS.iter().any(|word| upper.contains(word))
}

/// Whether the value of a variable must not be shown.
pub fn is_secret(name: &str) -> bool {
    match find(name) {
        Some(row) => row.meaning == Meaning::Secret,
        None => looks_secret(name),
    }
}

/// Whether the process environment beats a line of `.env`: only for what is known to be neither a
/// credential nor its endpoint.
pub(crate) fn process_first(name: &str) -> bool {
    find(name).is_some_and(|row| !matches!(row.meaning, Meaning::Secret | Meaning::Endpoint))
}

/// The known name nearest to a `PETASOS_` or `HERMES_` variable that nobody reads.
pub(crate) fn nearest_of_ours(name: &str) -> Option<String> {
    let (prefix, own) = name.split_once('_')?;
    let ours = all().filter_map(|row| match row.names {
        Names::Ours(name) => Some(name),
        Names::Fixed(_) | Names::Like(..) => None,
    });
    crate::keys::nearest(own, ours).map(|found| format!("{prefix}_{found}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_is_sound() {
        let mut seen = BTreeSet::new();
        for row in all() {
            assert!(seen.insert(row.shown()), "{} stands twice", row.shown());
            assert!(!row.doc.is_empty() && !row.doc.ends_with('.'), "{}", row.shown());
            if let Meaning::Setting(key, _) = row.meaning {
                let known = crate::keys::all().any(|other| other.path == key);
                assert!(known || key.contains('@'), "{}: no key `{key}`", row.shown());
            }
        }
    }

    #[test]
    fn both_prefixes_and_patterns_find_their_row() {
        for name in ["PETASOS_YOLO_MODE", "HERMES_YOLO_MODE"] {
            assert_eq!(find(name).unwrap().shown(), "PETASOS_YOLO_MODE");
        }
        assert_eq!(find("AUXILIARY_VISION_API_KEY").unwrap().meaning, Meaning::Secret);
        assert_eq!(find("TELEGRAM_ALLOWED_USERS").unwrap().meaning, Meaning::Plain);
        assert!(find("YOLO_MODE").is_none());
        assert!(is_secret("MY_BOX_TOKEN") && !is_secret("TERMINAL_ENV"));
        assert_eq!(nearest_of_ours("PETASOS_YOLO_MOD").as_deref(), Some("PETASOS_YOLO_MODE"));
    }
}
