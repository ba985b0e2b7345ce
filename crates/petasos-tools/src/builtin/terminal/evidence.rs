//! Whether a command checked the work: its tests, types, style or build, and with which result.
//!
//! The model is told in one word what it can claim afterwards. Only commands that do nothing else
//! count: a test run in a pipe shows the end of the pipe.

use serde_json::{Value, json};

use super::words::{Simple, simples};

/// What a command proves, when it proves something.
pub(super) fn of(command: &str, code: i32) -> Option<Value> {
    if command.contains(['|', '\n']) {
        return None;
    }
    let simples = simples(command);
    // The last one decides the code.
    let simple = simples.last().filter(|simple| !simple.is_sent_away)?;
    let kind = kind(simple.program())?;
    let scope = if names_a_part(simple) { "targeted" } else { "full" };
    Some(json!({
        "status": if code == 0 { "passed" } else { "failed" },
        "kind": kind,
        "scope": scope,
        "canonical_command": simple.program().join(" "),
    }))
}

fn kind(words: &[String]) -> Option<&'static str> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let program = word(0).rsplit('/').next().unwrap_or_default();
    let by_script = |script: &str| match script.split([':', '-']).next().unwrap_or_default() {
        "test" | "tests" | "check" => Some("test"),
        "lint" => Some("lint"),
        "typecheck" | "types" | "tsc" => Some("typecheck"),
        "build" => Some("build"),
        _ => None,
    };
    match (program, word(1)) {
        ("ruff", "format") => None,
        ("cargo", "test" | "nextest")
        | ("go", "test")
        | ("pytest" | "jest" | "vitest" | "mocha" | "tox" | "ctest" | "phpunit" | "rspec", _) => {
            Some("test")
        }
        ("cargo", "clippy")
        | ("go", "vet")
        | ("ruff" | "eslint" | "flake8" | "pylint" | "shellcheck" | "golangci-lint", _) => {
            Some("lint")
        }
        ("cargo", "check") | ("mypy" | "pyright" | "tsc", _) => Some("typecheck"),
        ("cargo" | "go", "build") => Some("build"),
        ("npm" | "pnpm" | "yarn" | "bun", "run") => by_script(word(2)),
        ("npm" | "pnpm" | "yarn" | "bun", script) => by_script(script),
        ("make" | "just" | "mvn" | "gradle" | "gradlew" | "rake", target) => by_script(target),
        (python, "-m") if python.starts_with("python") => match word(2) {
            "pytest" | "unittest" => Some("test"),
            "mypy" => Some("typecheck"),
            "ruff" | "flake8" | "pylint" => Some("lint"),
            _ => None,
        },
        _ => None,
    }
}

/// Whether only some of the tests or files are meant.
fn names_a_part(simple: &Simple) -> bool {
    let words = simple.program();
    let chosen = ["-k", "-t", "-run", "--test", "-p", "--package", "--lib", "--filter"];
    let is_path = |word: &str| word.contains('/') && word != "./..." || word.contains("::");
    let is_file = |word: &str| {
        let ending = word.rsplit_once('.').map(|(_, ending)| ending);
        ending.is_some_and(|ending| matches!(ending, "py" | "js" | "ts" | "tsx" | "go" | "rs"))
    };
    let rest = words.iter().skip(1).map(String::as_str);
    rest.into_iter().any(|word| {
        let name = word.split('=').next().unwrap_or(word);
        chosen.contains(&name) || !word.starts_with('-') && (is_path(word) || is_file(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_told_with_their_kind_scope_and_result() {
        for (command, code, expected) in [
            ("cargo test", 0, Some(["passed", "test", "full"])),
            ("cd app && cargo test -p one", 101, Some(["failed", "test", "targeted"])),
            ("RUST_LOG=x python3 -m pytest -q tests/test_a.py", 0, {
                Some(["passed", "test", "targeted"])
            }),
            ("npm run lint", 1, Some(["failed", "lint", "full"])),
            ("npm test", 0, Some(["passed", "test", "full"])),
            ("go test ./...", 0, Some(["passed", "test", "full"])),
            ("npx tsc --noEmit", 2, Some(["failed", "typecheck", "full"])),
            ("cargo test | tail -5", 0, None),
            ("cargo test; echo done", 0, None),
            ("cargo test &", 0, None),
            ("echo cargo test", 0, None),
            ("npm install", 0, None),
        ] {
            let found = of(command, code);
            let words = found
                .as_ref()
                .map(|found| ["status", "kind", "scope"].map(|key| found[key].as_str().unwrap()));
            assert_eq!(words, expected, "{command}");
        }
        let told = of("PORT=1 cargo test --all", 0).unwrap();
        assert_eq!(told["canonical_command"], "cargo test --all");
    }
}
