//! Puts the starter skills into the program: every file below `starter/`, by its path.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script is told its folders by variables, and writes there"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=starter");
    let root = PathBuf::from(named("CARGO_MANIFEST_DIR")?).join("starter");
    let mut files = Vec::new();
    walk(&root, &mut files)?;
    files.sort();
    let mut text = String::from("static FILES: &[(&str, &str)] = &[\n");
    for path in &files {
        let name = path.strip_prefix(&root).unwrap_or(path).display().to_string();
        let line =
            writeln!(text, "    ({name:?}, include_str!({:?})),", path.display().to_string());
        line.map_err(io::Error::other)?;
    }
    text.push_str("];\n");
    fs::write(Path::new(&named("OUT_DIR")?).join("starter.rs"), text)
}

fn named(variable: &str) -> io::Result<String> {
    std::env::var(variable).map_err(io::Error::other)
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "__pycache__") {
                walk(&path, found)?;
            }
        } else {
            found.push(path);
        }
    }
    Ok(())
}
