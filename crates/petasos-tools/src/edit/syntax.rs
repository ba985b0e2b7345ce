//! Which language a file's name says it is, and whether a JSON, YAML or TOML text parses.
//!
//! Files that only look like one of these (JSON with comments, templates) are not judged.

use std::path::Path;

use serde::de::IgnoredAny;

/// A language that can be judged here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// JSON.
    Json,
    /// YAML, one document or several.
    Yaml,
    /// TOML.
    Toml,
    /// A programming language, which only its own program can judge.
    Code(Code),
}

/// A programming language whose checker may be installed where the file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// Python.
    Python,
    /// JavaScript.
    JavaScript,
    /// TypeScript.
    TypeScript,
    /// Go.
    Go,
    /// Rust.
    Rust,
}

/// JSON by name, but tools read it with comments.
const COMMENTED: &[&str] = &["tsconfig", "jsconfig", ".eslintrc", "devcontainer", "api-extractor"];

/// The language of a file, when its name tells.
pub(crate) fn language(path: &Path) -> Option<Language> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    let stem = path.file_stem()?.to_str()?;
    match extension.as_str() {
        "json" => {
            let in_editor = path.components().any(|part| part.as_os_str() == ".vscode");
            let commented = COMMENTED.iter().any(|name| stem.starts_with(name)) || in_editor;
            (!commented).then_some(Language::Json)
        }
        "yaml" | "yml" => Some(Language::Yaml),
        "toml" => Some(Language::Toml),
        "py" | "pyi" => Some(Language::Code(Code::Python)),
        "js" | "mjs" | "cjs" => Some(Language::Code(Code::JavaScript)),
        "ts" | "mts" | "cts" => Some(Language::Code(Code::TypeScript)),
        "go" => Some(Language::Code(Code::Go)),
        "rs" => Some(Language::Code(Code::Rust)),
        _ => None,
    }
}

/// What is wrong with a text, if it can be told here.
pub(crate) fn error(language: Language, text: &str) -> Option<String> {
    match language {
        Language::Json => {
            serde_json::from_str::<IgnoredAny>(text).err().map(|error| error.to_string())
        }
        Language::Yaml if is_template(text) => None,
        Language::Yaml => yaml(text),
        Language::Toml => text.parse::<toml::Table>().err().map(|error| told(&error.to_string())),
        Language::Code(_) => None,
    }
}

/// The name for people.
pub(crate) fn name(language: Language) -> &'static str {
    match language {
        Language::Json => "JSON",
        Language::Yaml => "YAML",
        Language::Toml => "TOML",
        Language::Code(_) => "code",
    }
}

fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%") || text.contains("<%")
}

fn yaml(text: &str) -> Option<String> {
    // Keys that occur twice are bad style, not bad syntax, and real files have them.
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
    };
    let parsed = serde_saphyr::from_multiple_with_options::<IgnoredAny>(text, options);
    parsed.err().map(|error| told(&error.to_string()))
}

/// The first lines of a report: which place, and what is wrong there.
fn told(report: &str) -> String {
    report.lines().take(6).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(name: &str, text: &str) -> Option<String> {
        language(Path::new(name)).and_then(|language| error(language, text))
    }

    #[test]
    fn broken_files_are_told_and_good_ones_pass() {
        for (name, text, is_good) in [
            ("a.json", "{\"a\": [1, 2]}", true),
            ("a.json", "{\"a\": [1, 2}", false),
            ("a.json", "", false),
            ("tsconfig.json", "{ // note\n}", true),
            (".vscode/settings.json", "{ // note\n}", true),
            ("a.yaml", "a: 1\nb:\n  - x\n", true),
            ("a.yaml", "a: 1\n---\nb: 2\n", true),
            ("a.yml", "a: [1, 2\nb: 3", false),
            ("a.yml", "a: 1\n b: 2\n", false),
            ("a.yml", "", true),
            ("a.yml", "a: 1\na: 2\n", true),
            ("a.yml", "r: !Ref Name\ns: !Sub '${x}'\nl: !GetAtt [a, b]\n", true),
            ("chart.yaml", "a: {{ .Values.x }}\n", true),
            ("a.toml", "a = 1\n[b]\nc = 'x'\n", true),
            ("a.toml", "a = \n", false),
            ("a.txt", "{{{", true),
        ] {
            assert_eq!(judged(name, text).is_none(), is_good, "{name}: {text}");
        }
    }
}
