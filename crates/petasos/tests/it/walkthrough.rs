//! CONTRIBUTING.md, followed literally: one new file makes a working tool.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The files that the walks write, by path.
fn new_files() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
    let walk = |part: &str| {
        let (path, rest) = part.split_once(" -->")?;
        let (block, _) = rest.split_once("<!-- walkthrough:end -->")?;
        let code = block.trim().strip_prefix("```rust\n")?.strip_suffix("```")?;
        Some((path.to_owned(), code.to_owned()))
    };
    let parts = text.split("<!-- walkthrough:begin ").skip(1);
    parts.map(|part| walk(part).expect("a path, one Rust block and an end")).collect()
}

/// Copies what a build needs, and only what changed, so that a second run is incremental.
fn copy_sources(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let name = entry.file_name().to_string_lossy().into_owned();
        let unused = ["target", "docs", "scripts", "examples"].contains(&name.as_str());
        if name.starts_with(".git") || unused && from.join("Cargo.lock").exists() {
            continue;
        }
        if source.is_dir() {
            copy_sources(&source, &target);
        } else if std::fs::read(&source).ok() != std::fs::read(&target).ok() {
            std::fs::copy(&source, &target).expect("a copy");
        }
    }
}

/// Whether a crate is compiled by the tests of the tools, so that the new file is, too.
fn is_built(path: &str) -> bool {
    ["petasos-tools", "petasos-analysis", "petasos-terminal"]
        .iter()
        .any(|name| path.starts_with(&format!("crates/{name}/")))
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the walk-through runs cargo, so the test does")]
fn one_new_file_each_adds_a_tool_a_rule_a_program_and_a_backend_that_work() {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("walkthrough");
    copy_sources(&root(), &copy);
    let files = new_files();
    for (path, code) in &files {
        std::fs::write(copy.join(path), code).expect("the new file");
    }
    // The tests of the families run the examples of every tool and every rule, the new ones
    // included. They share the build of third-party crates with this run, and leave the program
    // under test alone.
    let output = Command::new(env!("CARGO"))
        .args(["test", "--quiet", "--offline", "-p", "petasos-tools", "-p", "petasos-analysis"])
        .args(["--test", "it", "example"])
        .current_dir(&copy)
        .env("CARGO_TARGET_DIR", copy.join("../.."))
        .output()
        .expect("cargo runs");
    let told = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&told));
    let built: Vec<&String> =
        files.iter().map(|(path, _)| path).filter(|it| is_built(it)).collect();
    assert_eq!(built.len(), 4, "{built:?}");
    for path in built {
        let (folder, name) = path.rsplit_once('/').expect("a folder");
        let index = std::fs::read_to_string(copy.join(format!("{folder}.rs"))).expect("the index");
        let member = name.trim_end_matches(".rs");
        assert!(index.contains(&format!("    &{member}::")), "{path}: {index}");
    }
}
