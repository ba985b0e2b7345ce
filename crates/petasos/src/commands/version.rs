//! `petasos version`: which version this is, and what is built in.

use std::process::ExitCode;

use clap::ArgMatches;
use serde_json::json;

use crate::command::{Command, Session};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "version",
    about: "Show the version",
    examples: &[("petasos version", "the version"), ("petasos version --json", "for scripts")],
    hidden: false,
    arguments: |command| command,
    run,
};

#[expect(clippy::unnecessary_wraps, reason = "every command has one shape")]
fn run(_: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let version = env!("CARGO_PKG_VERSION");
    let target = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    if session.out.is_json() {
        session.out.value(&json!({ "version": version, "target": target }));
    } else {
        session.out.line(format!("petasos {version} ({target})"));
    }
    Ok(ExitCode::SUCCESS)
}
