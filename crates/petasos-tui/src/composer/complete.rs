//! Completion: commands at the beginning of a message and their words, paths anywhere in it, files
//! by parts of their names behind an `@`.

use std::path::{Path, PathBuf};

use reedline::{Completer, CompletionResult, Span, Suggestion};

use super::files::Files;

/// More would not be looked through.
const OFFERED_MAX: usize = 100;

/// Files that are offered by parts of their names.
const FOUND_MAX: usize = 12;

/// A command as it is completed.
#[derive(Debug, Clone)]
pub struct Offered {
    /// With its slash.
    pub name: String,
    /// What it does.
    pub about: String,
    /// What may follow, for people: `[on|off]`.
    pub usage: String,
}

/// Knows the commands and looks at folders when asked.
#[derive(Debug)]
pub(crate) struct Complete {
    commands: Vec<Offered>,
    workspace: PathBuf,
    files: Files,
}

impl Complete {
    /// For these commands, and paths from this folder.
    pub(crate) fn new(commands: Vec<Offered>, workspace: PathBuf) -> Self {
        Self { commands, workspace, files: Files::default() }
    }

    /// What fits at this place of a line.
    pub(crate) fn offers(&mut self, line: &str, at: usize) -> Vec<Suggestion> {
        let before = line.get(..at).unwrap_or(line);
        let start = before.rfind(char::is_whitespace).map_or(0, |space| space + 1);
        let word = before.get(start..).unwrap_or_default();
        let span = Span { start, end: before.len() };
        if start == 0 && word.starts_with('/') && !word.get(1..).unwrap_or_default().contains('/') {
            // A whole name needs no completion: Enter runs it.
            if self.commands.iter().any(|command| command.name == word) {
                return Vec::new();
            }
            let commands = self.commands.iter().filter(|command| command.name.starts_with(word));
            return commands
                .map(|command| offer(command.name.clone(), Some(&command.about), span, true))
                .collect();
        }
        let name = before.split_whitespace().next().unwrap_or_default();
        if let Some(command) = self.commands.iter().find(|command| command.name == name) {
            let words = choices(&command.usage).filter(|choice| choice.starts_with(word));
            let offers: Vec<Suggestion> =
                words.map(|word| offer(word.to_owned(), None, span, true)).collect();
            if !offers.is_empty() {
                return offers;
            }
        }
        let (mark, path) = word.strip_prefix('@').map_or(("", word), |path| ("@", path));
        let wanted = mark == "@" || path.contains('/') || path.starts_with(['.', '~']);
        let mut offers = if wanted { self.paths(mark, path, span) } else { Vec::new() };
        if mark == "@" && !path.is_empty() {
            // A whole path needs no completion: Enter sends the line.
            if self.workspace.join(path).is_file() {
                return Vec::new();
            }
            for found in self.files.found(&self.workspace, path, FOUND_MAX) {
                let value = format!("@{found}");
                if offers.iter().all(|offer| offer.value != value) {
                    offers.push(offer(value, None, span, true));
                }
            }
        }
        offers
    }

    fn paths(&self, mark: &str, path: &str, span: Span) -> Vec<Suggestion> {
        let (folder, name) =
            path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
        let shown = path.strip_suffix(name).unwrap_or_default();
        let from = match folder {
            "" if path.starts_with('/') => PathBuf::from("/"),
            folder => self.workspace.join(Path::new(folder)),
        };
        let Ok(entries) = std::fs::read_dir(from) else { return Vec::new() };
        let mut found: Vec<Suggestion> = entries
            .flatten()
            .filter_map(|entry| {
                let own = entry.file_name().into_string().ok()?;
                let hidden = own.starts_with('.') && !name.starts_with('.');
                if hidden || !own.starts_with(name) {
                    return None;
                }
                let folder = entry.path().is_dir();
                let end = if folder { "/" } else { "" };
                Some(offer(format!("{mark}{shown}{own}{end}"), None, span, !folder))
            })
            .take(OFFERED_MAX)
            .collect();
        found.sort_by(|a, b| a.value.cmp(&b.value));
        found
    }
}

impl Completer for Complete {
    fn complete(&mut self, line: &str, at: usize) -> CompletionResult {
        CompletionResult::fresh(self.offers(line, at))
    }
}

/// The words that a usage such as `[on|off] [name]` gives to choose from.
fn choices(usage: &str) -> impl Iterator<Item = &str> {
    let groups = usage.split(['[', ']']).filter(|group| group.contains('|'));
    let words = groups.flat_map(|group| group.split('|')).map(str::trim);
    // A word that stands for others is no word to type.
    words.filter(|word| {
        *word != "name" && word.chars().all(|sign| sign.is_ascii_lowercase() || sign == '-')
    })
}

fn offer(value: String, about: Option<&String>, span: Span, space: bool) -> Suggestion {
    let description = about.cloned();
    Suggestion { value, description, span, append_whitespace: space, ..Suggestion::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_paths_are_completed_where_they_belong() {
        let folder = std::env::temp_dir().join(format!("petasos-complete-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("src/deep")).unwrap();
        std::fs::File::create(folder.join("src/main.rs")).unwrap();
        std::fs::File::create(folder.join(".hidden")).unwrap();
        let named = |(name, usage): (&str, &str)| Offered {
            name: name.to_owned(),
            about: String::new(),
            usage: usage.to_owned(),
        };
        let commands = [("/model", ""), ("/models", ""), ("/new", ""), ("/plan", "[on|off]")];
        let mut complete = Complete::new(commands.map(named).to_vec(), folder.clone());
        for (line, expected) in [
            ("/mo", vec!["/model", "/models"]),
            ("/model", vec![]),
            ("tell /mo", vec![]),
            ("look at src/", vec!["src/deep/", "src/main.rs"]),
            ("@src/m", vec!["@src/main.rs"]),
            ("@", vec!["@src/"]),
            ("@.h", vec!["@.hidden"]),
            ("see @main", vec!["@src/main.rs"]),
            ("@src/main.rs", vec![]),
            ("/plan o", vec!["on", "off"]),
            ("plain", vec![]),
        ] {
            let offered = complete.offers(line, line.len());
            let values: Vec<&str> = offered.iter().map(|it| it.value.as_str()).collect();
            assert_eq!(values, expected, "{line}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
