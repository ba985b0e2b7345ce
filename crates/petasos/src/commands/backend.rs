//! `petasos backend`: the places where commands can run, tried for real.

pub(super) mod check;
mod list;
mod shell;

use std::process::ExitCode;

use clap::{ArgMatches, Subcommand};
use petasos_contract::TaskId;
use petasos_terminal::Own;

use crate::command::{Command, Session, actions, parse};
use crate::host::Host;
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "backend",
    about: "List, test and open the backends that commands run in",
    examples: &[
        ("petasos backend list", "which backends could be used"),
        ("petasos backend check docker", "try one from start to clean-up"),
        ("petasos backend shell", "open a shell in the configured one"),
    ],
    hidden: false,
    arguments: actions::<Action>,
    run,
};

#[derive(Debug, Subcommand)]
enum Action {
    /// List the backends and whether they can be used
    List,
    /// Try a backend from start to clean-up, with timings
    Check(check::Check),
    /// Open a shell in a backend
    Shell(shell::Shell),
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    match parse(matches)? {
        Action::List => list::run(session),
        Action::Check(check) => check.run(session),
        Action::Shell(shell) => shell.run(session),
    }
}

/// The configured backend's name.
pub(super) fn configured(host: &Host) -> &str {
    host.settings().text("terminal.backend").unwrap_or("local")
}

/// A place of its own for this command, so that nothing that is in use is touched.
fn own_place(host: &Host, backend: &str, throw_away: bool) -> Result<TaskId, Report> {
    host.terminal().backend(backend).map_err(|error| {
        Report::new(error.to_string())
            .code("not_found")
            .hint("`petasos backend list` shows what there is")
    })?;
    let task = TaskId::new(format!("backend-{backend}"));
    let own = Own { backend: Some(backend.to_owned()), image: None, throw_away };
    host.terminal().give_place(task.clone(), own);
    Ok(task)
}
