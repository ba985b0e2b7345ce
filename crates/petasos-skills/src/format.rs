//! `SKILL.md`: YAML front matter, then Markdown.
//!
//! Reading is lenient where older homes and other agents' skills are, and says what is odd; what
//! cannot be understood is never guessed. [`Checked::is_publishable`] holds the standard strictly.

use std::path::Path;

use serde_json::Value;

use crate::front::Front;

/// The file that makes a folder a skill.
pub const MAIN_FILE: &str = "SKILL.md";
/// The folders of a skill that hold what it refers to, in the order that results list them.
pub const SUPPORT: [&str; 4] = ["references", "templates", "assets", "scripts"];
/// The most characters of `SKILL.md`.
pub const MAIN_CHARS_MAX: usize = 100_000;
/// The most characters of a name.
pub const NAME_MAX: usize = 64;
/// The most characters of a description.
pub const DESCRIPTION_MAX: usize = 1024;
const COMPATIBILITY_MAX: usize = 500;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It works, and is not what the standard says.
    Warning,
    /// The skill is not offered.
    Broken,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// How bad it is.
    pub level: Level,
    /// What, for a person.
    pub what: String,
}

/// A text as it was understood.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// What the front matter says.
    pub front: Front,
    /// How it is called.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// What is not as it should be.
    pub problems: Vec<Problem>,
}

impl Checked {
    /// Why it is not offered.
    pub fn broken(&self) -> Option<&str> {
        let broken = self.problems.iter().find(|problem| problem.level == Level::Broken);
        broken.map(|problem| problem.what.as_str())
    }

    /// Whether it keeps the standard to the letter.
    pub fn is_publishable(&self) -> bool {
        self.problems.is_empty()
    }

    fn note(&mut self, level: Level, what: impl Into<String>) {
        self.problems.push(Problem { level, what: what.into() });
    }
}

/// The front matter and the body; `None` where there is no front matter.
pub fn split(text: &str) -> (Option<&str>, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text.strip_prefix("---") else { return (None, text) };
    let Some((blank, rest)) = rest.split_once('\n') else { return (None, text) };
    if !blank.trim().is_empty() {
        return (None, text);
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let (front, body) = (rest.get(..at), rest.get(at + line.len()..));
            return (front, body.unwrap_or_default());
        }
        at += line.len();
    }
    (None, text)
}

/// Whether a new skill may be called so: words of small letters and digits with hyphens between.
pub fn is_standard_name(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    name.len() <= NAME_MAX && name.split('-').all(part)
}

/// Whether an existing skill may be called so.
pub fn is_readable_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    starts && name.len() <= NAME_MAX && name.chars().all(fits)
}

/// Reads a text that lies in this folder.
pub fn check(text: &str, folder: &Path) -> Checked {
    let mut checked = Checked::default();
    let folder = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if text.chars().count() > MAIN_CHARS_MAX {
        checked
            .note(Level::Broken, format!("{MAIN_FILE} has more than {MAIN_CHARS_MAX} characters"));
    }
    let (front, body) = split(text);
    match front {
        Some(front) => match serde_saphyr::from_str::<Value>(front) {
            Ok(Value::Object(fields)) => checked.front = Front::of(&fields),
            Ok(_) => checked.note(Level::Broken, "the front matter is no mapping of fields"),
            Err(error) => {
                let error = error.to_string();
                let line = error.lines().next().unwrap_or_default();
                checked.note(Level::Broken, format!("the front matter is no YAML: {line}"));
            }
        },
        None if text.trim_start().starts_with("---") => {
            checked.note(Level::Broken, "the front matter has no closing `---`");
        }
        None => checked.note(Level::Warning, "there is no front matter"),
    }
    name(&mut checked, &folder);
    description(&mut checked, body);
    let compatibility = checked.front.compatibility.as_deref().unwrap_or_default();
    if compatibility.chars().count() > COMPATIBILITY_MAX {
        checked.note(
            Level::Warning,
            format!("`compatibility` has more than {COMPATIBILITY_MAX} characters"),
        );
    }
    checked
}

fn name(checked: &mut Checked, folder: &str) {
    let written = checked.front.name.clone();
    let written = written.filter(|written| {
        let fits = is_readable_name(written);
        if !fits {
            let shown: String = written.chars().take(NAME_MAX).collect();
            let what = format!("`name: {shown}` is no name: small letters, digits and hyphens");
            checked.note(Level::Warning, what);
        }
        fits
    });
    if let Some(written) = written {
        if !is_standard_name(&written) {
            checked.note(Level::Warning, "the name has `_` or `.`, or a hyphen at an end");
        }
        if written != folder {
            checked.note(Level::Warning, format!("the folder is called `{folder}`"));
        }
        checked.name = written;
        return;
    }
    if checked.front.name.is_none() {
        checked.note(Level::Warning, "`name` is missing");
    }
    let own = folder.to_lowercase().replace(' ', "-");
    if is_readable_name(&own) {
        checked.name = own;
    } else {
        checked.note(Level::Broken, "neither `name` nor the folder gives it a name");
    }
}

fn description(checked: &mut Checked, body: &str) {
    if let Some(text) = checked.front.description.clone() {
        if text.chars().count() > DESCRIPTION_MAX {
            let what = format!("`description` has more than {DESCRIPTION_MAX} characters");
            checked.note(Level::Warning, what);
        }
        checked.description = text.chars().take(DESCRIPTION_MAX).collect();
        return;
    }
    checked.note(Level::Warning, "`description` is missing");
    let plain = |line: &&str| !line.is_empty() && !line.starts_with(['#', '<', '`', '-']);
    let first = body.lines().map(str::trim).find(plain).unwrap_or_default();
    checked.description = first.chars().take(DESCRIPTION_MAX).collect();
    if checked.description.is_empty() {
        checked.note(Level::Broken, "nothing says what it is about: add `description`");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str, folder: &str) -> (String, Vec<String>) {
        let checked = check(text, Path::new(folder));
        let first = checked.broken().map_or("offered", |_| "broken");
        (first.to_owned(), checked.problems.into_iter().map(|problem| problem.what).collect())
    }

    /// S110: the standard's rules, and what older skills may do.
    #[test]
    fn s110_names_lengths_and_fields() {
        let skill =
            |name: &str, about: &str| format!("---\nname: {name}\ndescription: {about}\n---\nx\n");
        let long = |count: usize| "a".repeat(count);
        let cases: Vec<(String, String, &str, Option<&str>)> = vec![
            (skill("brew-tea", "Tea"), "brew-tea".into(), "offered", None),
            (skill("a", "Tea"), "a".into(), "offered", None),
            (skill("7z", "Archives"), "7z".into(), "offered", None),
            (skill(&long(64), "Tea"), long(64), "offered", None),
            (skill(&long(65), "Tea"), "tea".into(), "offered", Some("is no name")),
            (skill("old_name", "Tea"), "old_name".into(), "offered", Some("has `_`")),
            (skill("old.name", "Tea"), "old.name".into(), "offered", Some("has `_`")),
            (skill("a--b", "Tea"), "a--b".into(), "offered", Some("hyphen")),
            (skill("Brew Tea", "Tea"), "brew-tea".into(), "offered", Some("is no name")),
            (skill("brew-tea", "Tea"), "other".into(), "offered", Some("is called `other`")),
            (skill("x", &long(1024)), "x".into(), "offered", None),
            (skill("x", &long(1025)), "x".into(), "offered", Some("more than 1024")),
            ("---\nname: x\n---\n# X\nDoes x.\n".into(), "x".into(), "offered", Some("missing")),
            ("---\nname: x\n---\n".into(), "x".into(), "broken", Some("nothing says")),
            ("# Only text\nDoes x.\n".into(), "x".into(), "offered", Some("no front matter")),
            ("---\nname: x\ndescription: y\n".into(), "x".into(), "broken", Some("closing")),
            ("---\nname: [x\n---\ny".into(), "x".into(), "broken", Some("no YAML")),
            ("---\n- x\n---\ny".into(), "x".into(), "broken", Some("no mapping")),
            (skill("x", "Tea") + &long(100_001), "x".into(), "broken", Some("100000")),
            (
                format!("---\r\nname: x\r\ndescription: 茶を淹れる\r\n---\r\n{}", "茶"),
                "x".into(),
                "offered",
                None,
            ),
        ];
        for (text, folder, state, said) in cases {
            let (found, problems) = problems(&text, &folder);
            let start: String = text.chars().take(60).collect();
            assert_eq!(found, state, "{start}: {problems:?}");
            match said {
                None => assert!(problems.is_empty(), "{start}: {problems:?}"),
                Some(said) => {
                    assert!(problems.iter().any(|p| p.contains(said)), "{start}: {problems:?}");
                }
            }
        }
    }

    #[test]
    fn s110_every_field_is_read_in_both_spellings() {
        let text = "---\nname: all\ndescription: >-\n  Two\n  lines\nlicense: MIT\nversion: 1.2\n\
            compatibility: needs jq\nallowed-tools: Bash(git:*) Read\nplatforms: [MacOS, linux]\n\
            tags: [a, b]\nrelated_skills: other\nrequired_environment_variables:\n  - name: A_KEY\n    \
            prompt: Key?\n  - B_KEY\n  - bad-name\nrequired_credential_files:\n  - path: token.json\n\
            prerequisites:\n  env_vars: [C_KEY, A_KEY]\n  commands: [jq]\nmetadata:\n  author: me\n  \
            hermes:\n    category: tea\n    requires_tools: [terminal]\n    fallback_for_toolsets: [web]\n\
            ---\nBody\n";
        let checked = check(text, Path::new("all"));
        assert_eq!(checked.problems, []);
        let front = checked.front;
        assert_eq!(checked.description, "Two lines");
        assert_eq!(front.variable_names(), ["A_KEY", "B_KEY", "C_KEY"]);
        assert_eq!(front.version.as_deref(), Some("1.2"));
        assert_eq!(front.allowed_tools, ["Bash(git:*)", "Read"]);
        assert_eq!(
            (front.platforms, front.programs),
            (vec!["macos".into(), "linux".into()], vec!["jq".into()])
        );
        assert_eq!(front.credential_files, ["token.json"]);
        assert_eq!(front.category.as_deref(), Some("tea"));
        assert_eq!(front.conditions.requires_tools, ["terminal"]);
        assert_eq!(front.conditions.fallback_for_toolsets, ["web"]);
    }
}
