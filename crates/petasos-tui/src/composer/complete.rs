//! Completion: commands at the beginning of a message, paths anywhere in it.

use std::path::{Path, PathBuf};

use reedline::{Completer, CompletionResult, Span, Suggestion};

/// More would not be looked through.
const OFFERED_MAX: usize = 100;

/// Knows the commands and looks at folders when asked.
#[derive(Debug)]
pub(super) struct Complete {
    commands: Vec<(String, String)>,
    workspace: PathBuf,
}

impl Complete {
    /// For these commands, and paths from this folder.
    pub(super) fn new(commands: Vec<(String, String)>, workspace: PathBuf) -> Self {
        Self { commands, workspace }
    }

    fn offers(&self, line: &str, at: usize) -> Vec<Suggestion> {
        let before = line.get(..at).unwrap_or(line);
        let start = before.rfind(char::is_whitespace).map_or(0, |space| space + 1);
        let word = before.get(start..).unwrap_or_default();
        let span = Span { start, end: before.len() };
        if start == 0 && word.starts_with('/') && !word.get(1..).unwrap_or_default().contains('/') {
            // A whole name needs no completion: Enter runs it.
            if self.commands.iter().any(|(name, _)| name == word) {
                return Vec::new();
            }
            let commands = self.commands.iter().filter(|(name, _)| name.starts_with(word));
            return commands
                .map(|(name, about)| offer(name.clone(), Some(about), span, true))
                .collect();
        }
        let (mark, path) = word.strip_prefix('@').map_or(("", word), |path| ("@", path));
        let wanted = mark == "@" || path.contains('/') || path.starts_with(['.', '~']);
        if wanted { self.paths(mark, path, span) } else { Vec::new() }
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
        let names = ["/model", "/models", "/new"].map(|name| (name.to_owned(), String::new()));
        let complete = Complete::new(names.to_vec(), folder.clone());
        for (line, expected) in [
            ("/mo", vec!["/model", "/models"]),
            ("/model", vec![]),
            ("tell /mo", vec![]),
            ("look at src/", vec!["src/deep/", "src/main.rs"]),
            ("@src/m", vec!["@src/main.rs"]),
            ("@", vec!["@src/"]),
            ("@.h", vec!["@.hidden"]),
            ("plain", vec![]),
        ] {
            let offered = complete.offers(line, line.len());
            let values: Vec<&str> = offered.iter().map(|it| it.value.as_str()).collect();
            assert_eq!(values, expected, "{line}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
