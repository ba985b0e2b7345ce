//! `petasos provider`: who would answer, at which address, with which key, and why.

mod list;
mod resolve;

use std::process::ExitCode;

use clap::{ArgMatches, Subcommand};

use crate::command::{Command, Session, actions, parse};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "provider",
    about: "Resolve, explain and test model providers",
    hidden: false,
    arguments: actions::<Action>,
    run,
};

#[derive(Debug, Subcommand)]
enum Action {
    /// List the providers and whether a key for each is at hand
    List,
    /// Print what a choice comes down to: provider, dialect, address, key and its source
    Resolve(resolve::Choice),
    /// Show every candidate that was considered, and why it was taken or refused
    Explain(resolve::Choice),
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    match parse(matches)? {
        Action::List => list::run(session),
        Action::Resolve(choice) => choice.resolve(session),
        Action::Explain(choice) => choice.explain(session),
    }
}
