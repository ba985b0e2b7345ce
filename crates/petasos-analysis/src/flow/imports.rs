//! Modules that a program imports and that this line or the agent wrote before: they run as part
//! of it, from the program's folder or from where it is started.

use super::engine::Engine;
use super::value::Arg;
use crate::code::Language;
use crate::shell::Span;
use crate::words::lists;

/// So many names of a program are looked for.
const NAMES_MAX: usize = 32;
/// Words before the quoted name of a module.
const LOADERS: &str = "require import from include include_once require_once require_relative load \
    dofile do import_module __import__ run_path run_module spec_from_file_location open";

impl Engine<'_> {
    /// Follows the modules that `text` names; each is looked at once.
    pub(super) fn run_imports(&mut self, language: Language, text: &str, span: Span) {
        if self.state.files.is_empty() && self.facts.scripts.is_none() {
            return;
        }
        let variable = |name: &str| self.state.get(name).map_or("", |value| value.text.as_str());
        let cwd = self.state.cwd.as_deref().unwrap_or_default();
        let paths = ["PYTHONPATH", "PERL5LIB", "NODE_PATH", "RUBYLIB"].map(variable);
        let mut folders = vec![self.folder.clone(), cwd.to_owned(), format!("{cwd}/lib")];
        folders.extend(paths.iter().flat_map(|path| path.split(':').take(8)).map(str::to_owned));
        folders.dedup();
        let mut names = names(language, text);
        if language == Language::Perl {
            names.extend(variable("PERL5OPT").split_whitespace().filter_map(perl_module));
        }
        for file in names.iter().flat_map(|name| candidates(language, name)) {
            for folder in &folders {
                if !self.charge(200, span) {
                    return;
                }
                let path = self.resolve(&match folder.as_str() {
                    "" => file.clone(),
                    folder => format!("{folder}/{file}"),
                });
                if self.imported.contains(&path) {
                    continue;
                }
                let Some(text) = self.held(&path).and_then(|stream| stream.text) else { continue };
                self.imported.insert(path.clone());
                self.run_in_folder(&path, |engine| {
                    engine.run_code(language, Arg::new(text, span), Vec::new(), span)
                });
            }
        }
    }

    /// Runs `work` as the program at `path`: what it imports is looked for beside it.
    pub(super) fn run_in_folder<T>(&mut self, path: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let outer = std::mem::replace(&mut self.folder, folder);
        let done = work(self);
        self.folder = outer;
        done
    }
}

/// The module of `-MName=list`.
pub(crate) fn perl_module(option: &str) -> Option<String> {
    let name = option.strip_prefix("-M").or_else(|| option.strip_prefix("-m"))?;
    Some(name.split('=').next().unwrap_or(name).to_owned())
}

/// The modules that a text names.
fn names(language: Language, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if matches!(language, Language::Python | Language::Perl) {
        let statements = text.split(['\n', ';']).map(str::trim_start);
        for statement in statements {
            let (word, rest) = statement.split_once(' ').unwrap_or((statement, ""));
            if lists("import from use require", word) {
                let modules = rest.split(" import ").next().unwrap_or(rest).split(',');
                let module = |part: &str| {
                    let name = part.split_whitespace().next()?.trim_start_matches('.');
                    (!name.is_empty() && !name.starts_with(['"', '\''])).then(|| name.to_owned())
                };
                found.extend(modules.filter_map(module));
            }
            if found.len() >= NAMES_MAX {
                break;
            }
        }
    }
    // `require('./x')`, `from './x'`, `include "x"`: every quoted text behind a loader.
    let mut parts = text.split(['"', '\'']);
    let mut before = parts.next().unwrap_or_default();
    while let (Some(quoted), Some(after)) = (parts.next(), parts.next()) {
        let head = before.trim_end_matches([' ', '(', '\n']);
        let word = head.rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next();
        if found.len() < NAMES_MAX && lists(LOADERS, word.unwrap_or_default()) {
            found.push(quoted.to_owned());
        }
        before = after;
    }
    found
}

/// The files that a module of that name may be.
fn candidates(language: Language, name: &str) -> Vec<String> {
    let endings: &[&str] = match language {
        Language::Python => &["", ".py", "/__init__.py", "/__main__.py"],
        Language::JavaScript => &["", ".js", ".mjs", ".cjs", ".ts", "/index.js"],
        Language::Ruby => &["", ".rb"],
        Language::Perl => &["", ".pm", ".pl"],
        Language::Other => &["", ".lua"],
        _ => &[""],
    };
    let plain = match language {
        Language::Python if !name.contains('/') && !name.ends_with(".py") => name.replace('.', "/"),
        Language::Perl => name.replace("::", "/"),
        _ => name.strip_prefix("./").unwrap_or(name).to_owned(),
    };
    let packaged = language == Language::JavaScript && !name.starts_with(['.', '/']);
    let plain = if packaged { format!("node_modules/{plain}") } else { plain };
    endings.iter().map(|ending| format!("{plain}{ending}")).collect()
}
