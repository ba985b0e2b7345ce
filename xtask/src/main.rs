//! The chores of the house: `cargo xtask tidy` and `cargo xtask docs`.
//!
//! This file reads the command line and prints; the work is in `tidy` and `docs`. Exit code 0
//! means nothing to do, 1 something was found, 2 the command line or the checkout is wrong.

mod docs;
mod finding;
mod house;
mod rules;
mod source;
mod tidy;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::finding::Finding;
use crate::house::House;

const USAGE: &str = "usage: cargo xtask tidy [--json] | docs [--check]";

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            say(&mut std::io::stderr(), &format!("error: {error:#}\n"));
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let root = root()?;
    match words.as_slice() {
        ["tidy"] => report(&tidy_and_docs(&root)?, false),
        ["tidy", "--json"] => report(&tidy_and_docs(&root)?, true),
        ["docs"] => {
            let written = docs::write(&House::open(&root)?)?;
            let lines: Vec<String> = written.iter().map(|page| format!("wrote {page}\n")).collect();
            say(&mut std::io::stdout(), &lines.concat());
            Ok(true)
        }
        ["docs", "--check"] => report(&docs::stale(&House::open(&root)?)?, false),
        _ => bail!("{USAGE}"),
    }
}

fn tidy_and_docs(root: &Path) -> Result<Vec<Finding>> {
    let house = House::open(root)?;
    let mut found = tidy::findings(&house);
    found.extend(docs::stale(&house)?);
    Ok(found)
}

fn report(found: &[Finding], json: bool) -> Result<bool> {
    let text = if json {
        serde_json::to_string_pretty(found)? + "\n"
    } else if found.is_empty() {
        "tidy: nothing found\n".to_owned()
    } else {
        let lines: Vec<String> = found.iter().map(|finding| format!("{finding}\n")).collect();
        format!("{}tidy: {} found\n", lines.concat(), found.len())
    };
    say(&mut std::io::stdout(), &text);
    Ok(found.is_empty())
}

/// The checkout this program was built from.
fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(here.parent().context("xtask has no parent folder")?.to_owned())
}

fn say(out: &mut dyn Write, text: &str) {
    // A reader that closed the pipe early has seen what it wanted.
    drop(out.write_all(text.as_bytes()));
}
