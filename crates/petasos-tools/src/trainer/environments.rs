//! Environments of the trainer, found by reading their files. None is imported for that: a listing
//! runs nobody's code.

use std::path::Path;

use serde::Serialize;

/// The base class that makes an environment.
const BASE: &str = "BaseEnv";
/// The largest file that is read.
const BYTES_MAX: u64 = 1 << 20;

/// An environment, by its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Environment {
    pub(crate) name: String,
    pub(crate) class_name: String,
    pub(crate) file_path: String,
    pub(crate) description: String,
}

/// The environments of a folder, in the order of their files.
pub(crate) fn scan(folder: &Path) -> Vec<Environment> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == "py"))
        .filter(|path| {
            let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("_");
            !name.starts_with('_')
        })
        .collect();
    files.sort();
    files.iter().flat_map(|path| read(path)).collect()
}

fn read(path: &Path) -> Vec<Environment> {
    let is_small = path.metadata().is_ok_and(|it| it.is_file() && it.len() <= BYTES_MAX);
    let text = is_small.then(|| std::fs::read_to_string(path).ok()).flatten().unwrap_or_default();
    let stem = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(class_name) = class(line, lines.get(at + 1..).unwrap_or_default()) else {
            continue;
        };
        let body = lines.get(at + 1..).unwrap_or_default();
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        found.push(Environment {
            name: attribute(body, "name").unwrap_or_else(|| stem.to_owned()),
            class_name,
            file_path: path.display().to_string(),
            description: docstring(body).unwrap_or_else(|| format!("Environment from {file}")),
        });
    }
    found
}

/// The name of a class whose bases have the one that counts; they may go on over several lines.
fn class(line: &str, rest: &[&str]) -> Option<String> {
    let (name, bases) = line.strip_prefix("class ")?.split_once('(')?;
    let mut bases = bases.to_owned();
    for more in rest {
        if bases.contains(')') {
            break;
        }
        bases.push_str(more);
    }
    let bases = bases.split(')').next().unwrap_or_default();
    let is_base = |base: &str| base.trim().rsplit('.').next() == Some(BASE);
    bases.split(',').any(is_base).then(|| name.trim().to_owned())
}

/// Lines that belong to the class: up to the next one at the left edge.
fn body<'a>(lines: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let is_inside = |line: &&&str| {
        line.trim().is_empty() || line.starts_with([' ', '\t', ')']) || line.starts_with('#')
    };
    lines.iter().take_while(is_inside).copied()
}

/// A text that the class gives to one of its names.
fn attribute(lines: &[&str], name: &str) -> Option<String> {
    body(lines).find_map(|line| {
        let (left, right) = line.split_once('=')?;
        let left = left.split(':').next()?;
        let indent = left.chars().take_while(|it| it.is_whitespace()).count();
        let text = right.trim();
        let quote = text.chars().next().filter(|it| matches!(it, '"' | '\''))?;
        let inside = text.strip_prefix(quote)?.split(quote).next()?;
        (left.trim() == name && indent <= 4).then(|| inside.to_owned())
    })
}

/// The first line of what the class says about itself.
fn docstring(lines: &[&str]) -> Option<String> {
    let mut text = body(lines).map(str::trim).skip_while(|line| line.is_empty());
    let first = text.next()?;
    let marks = ["\"\"\"", "'''", "\"", "'"];
    let (mark, said) = marks.iter().find_map(|mark| Some((*mark, first.strip_prefix(mark)?)))?;
    let said = said.split(mark).next().unwrap_or_default().trim();
    let said = if said.is_empty() { text.next()?.split(mark).next()?.trim() } else { said };
    (!said.is_empty()).then(|| said.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_are_read_and_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let mode = petasos_fs::Mode::Exactly(0o600);
            petasos_fs::write(&folder.path().join(name), text.as_bytes(), mode).unwrap();
        };
        put(
            "math.py",
            "import os\nos.remove('/nowhere')\n\nclass MathEnv(BaseEnv):\n    \"\"\"Sums.\n\n    More.\"\"\"\n    \
             name = \"sums\"\n\nclass Other(object):\n    name = 'no'\n",
        );
        put("code.py", "class CodeEnv(\n    envs.BaseEnv,\n    Mixin,\n):\n    x = 1\n");
        put("_hidden.py", "class H(BaseEnv):\n    pass\n");
        put("config.py", "class C(BaseEnvConfig):\n    pass\n");
        let found = scan(folder.path());
        let told: Vec<_> = found
            .iter()
            .map(|it| (it.name.as_str(), it.class_name.as_str(), it.description.as_str()))
            .collect();
        assert_eq!(
            told,
            [("code", "CodeEnv", "Environment from code.py"), ("sums", "MathEnv", "Sums.")]
        );
    }
}
