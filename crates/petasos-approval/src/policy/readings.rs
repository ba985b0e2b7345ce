//! What a command does by way of files that only the disk tells: programs and modules that the agent
//! wrote and that are found by name, configuration of git, trees that are copied, links made before.
//!
//! Each is read as the command or the write that it comes to, and judged like any other.

mod loaders;
mod trees;

use std::path::{Path, PathBuf};

use petasos_analysis::Facts;

use super::paths;
use crate::permissions::deed::Step;
use crate::permissions::{Access, Touch};

/// So many further readings a command may have.
const READINGS_MAX: usize = 256;

/// What something comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reading {
    /// This command.
    Command(String),
    /// A write to this path.
    Write(PathBuf),
}

/// The place that steps are read in.
pub(super) struct ReadingPlace<'a> {
    facts: &'a Facts,
    cwd: &'a Path,
    home: &'a Path,
}

/// Everything that these steps come to besides what their text says.
pub(super) fn all(steps: &[Step], touched: &[Touch], facts: &Facts) -> Vec<Reading> {
    let place = ReadingPlace {
        facts,
        cwd: Path::new(facts.cwd.as_deref().unwrap_or("/")),
        home: Path::new(&facts.home),
    };
    let mut found = Vec::new();
    for step in steps {
        let Some((program, arguments)) = step.argv.split_first() else { continue };
        let name = program.rsplit('/').next().unwrap_or_default();
        place.program_by_name(program, arguments, &mut found);
        loaders::read(&place, name, arguments, &mut found);
        trees::read(&place, name, arguments, &mut found);
    }
    trees::links(&place, steps, touched, &mut found);
    found.truncate(READINGS_MAX);
    found
}

impl ReadingPlace<'_> {
    /// A path as the command means it.
    fn at(&self, path: &str) -> PathBuf {
        paths::folded(Path::new(path), self.cwd, self.home)
    }

    /// The text of a file that the agent wrote.
    fn written(&self, path: &Path) -> Option<String> {
        self.facts.scripts.as_ref()?.written(path.to_str()?)
    }

    /// A variable that the session exported.
    fn variable(&self, name: &str) -> &str {
        let found = self.facts.variables.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// A bare name that an exported search path leads to a program of the agent's.
    fn program_by_name(&self, program: &str, arguments: &[String], found: &mut Vec<Reading>) {
        let path = self.variable("PATH");
        if program.contains('/') || path.is_empty() {
            return;
        }
        for folder in path.split(':').filter(|folder| !folder.is_empty()) {
            let candidate = self.at(folder).join(program);
            if self.written(&candidate).is_some() {
                let words = std::iter::once(candidate.display().to_string());
                let words = words.chain(arguments.iter().cloned());
                let words: Vec<String> = words.map(|word| quoted(&word)).collect();
                found.push(Reading::Command(words.join(" ")));
                return;
            }
            if candidate.is_file() {
                return;
            }
        }
    }
}

/// One word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The arguments that are no options.
fn operands(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect()
}

/// The value of an option: behind it, or joined to it.
fn option<'a>(arguments: &'a [String], short: &str, long: &str) -> Option<&'a str> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == short || word == long {
            return words.next().map(String::as_str);
        }
        let joined = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
        let short =
            word.strip_prefix(short).filter(|rest| !rest.is_empty() && !word.starts_with("--"));
        if let Some(value) = joined.or(short) {
            return Some(value);
        }
    }
    None
}

/// Whether a path is written by what touches it.
fn writes(touch: &Touch) -> bool {
    touch.access != Access::Read
}
