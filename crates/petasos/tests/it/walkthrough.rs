//! CONTRIBUTING.md, followed literally: one new file makes a working tool.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The code between the walk-through's markers.
fn new_file() -> String {
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
    let block = text
        .split_once("<!-- walkthrough:begin word_count -->")
        .and_then(|(_, rest)| rest.split_once("<!-- walkthrough:end -->"))
        .map(|(block, _)| block)
        .expect("the walk-through's markers");
    let code = block.trim().strip_prefix("```rust\n").and_then(|code| code.strip_suffix("```"));
    code.expect("one Rust block").to_owned()
}

/// Copies what a build needs, and only what changed, so that a second run is incremental.
fn copy_sources(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let name = entry.file_name().to_string_lossy().into_owned();
        let unused = ["target", "fuzz", "docs", "scripts", "examples"].contains(&name.as_str());
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

#[test]
#[expect(clippy::disallowed_methods, reason = "the walk-through runs cargo, so the test does")]
fn one_new_file_adds_a_working_tool() {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("walkthrough");
    copy_sources(&root(), &copy);
    let file = copy.join("crates/petasos-tools/src/builtin/word_count.rs");
    std::fs::write(file, new_file()).expect("the new file");
    // The family's tests run the examples of every tool, the new one included. They share the
    // build of third-party crates with this run, and leave the program under test alone.
    let output = Command::new(env!("CARGO"))
        .args(["test", "--quiet", "--offline", "-p", "petasos-tools", "--test", "it", "example"])
        .current_dir(&copy)
        .env("CARGO_TARGET_DIR", copy.join("../.."))
        .output()
        .expect("cargo runs");
    let told = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&told));
    let index = std::fs::read_to_string(copy.join("crates/petasos-tools/src/builtin.rs"));
    assert!(index.expect("the index").contains("&word_count::TOOL"));
}
