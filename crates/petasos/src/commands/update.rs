//! `petasos update`: how this copy was installed, and the command that replaces it.
//!
//! Nothing is downloaded: whoever installed the program knows where it comes from, and a program
//! that replaces itself would get round that.

use std::path::Path;
use std::process::ExitCode;

use clap::ArgMatches;
use serde_json::json;

use crate::command::{Command, Session};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "update",
    about: "Show how this copy was installed and how to update it",
    hidden: false,
    arguments: |command| command,
    run,
};

/// How a copy came here, judged by where it stands.
fn installed(program: &Path) -> (&'static str, &'static str) {
    let parts: Vec<&str> =
        program.components().filter_map(|part| part.as_os_str().to_str()).collect();
    let has = |folders: &[&str]| parts.windows(folders.len()).any(|window| window == folders);
    if has(&[".cargo", "bin"]) {
        ("cargo install", "git pull && cargo install --locked --path crates/petasos")
    } else if has(&["target", "release"]) || has(&["target", "debug"]) || has(&["target", "dist"]) {
        ("a build of the source", "git pull && cargo build --release")
    } else if has(&["nix", "store"]) {
        ("Nix", "nix profile upgrade petasos")
    } else if has(&["Cellar"]) || has(&["homebrew"]) {
        ("Homebrew", "brew upgrade petasos")
    } else if parts.get(1).is_some_and(|first| *first == "usr") && !has(&["local"]) {
        ("the system's packages", "use the package manager of your system")
    } else {
        (
            "by hand",
            "replace this file with a newer build: cargo install --locked --path crates/petasos",
        )
    }
}

fn run(_: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let program = std::env::current_exe()
        .map_err(|error| Report::new(format!("this program's file cannot be found: {error}")))?;
    let (how, update) = installed(&program);
    let version = env!("CARGO_PKG_VERSION");
    if session.out.is_json() {
        let program = program.display().to_string();
        session.out.value(&json!({
            "version": version, "program": program, "installed": how, "update": update,
        }));
    } else {
        session.out.line(format!("petasos {version}, {}", program.display()));
        session.out.line(format!("installed: {how}"));
        session.out.line(format!("update:    {update}"));
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_the_program_says_how_it_came_there() {
        for (program, how) in [
            ("/home/me/.cargo/bin/petasos", "cargo install"),
            ("/src/petasos/target/release/petasos", "a build of the source"),
            ("/usr/bin/petasos", "the system's packages"),
            ("/usr/local/bin/petasos", "by hand"),
            ("/opt/petasos", "by hand"),
            ("/opt/homebrew/bin/petasos", "Homebrew"),
        ] {
            assert_eq!(installed(Path::new(program)).0, how, "{program}");
        }
    }
}
