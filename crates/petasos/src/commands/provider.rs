//! `petasos provider`: who would answer, at which address, with which key, and why.

mod list;
mod resolve;
mod test;
mod usage;

use std::process::ExitCode;

use clap::{ArgMatches, Subcommand};

use crate::command::{Command, Session, parse};
use crate::report::Report;

pub(super) static COMMAND: Command =
    Command::of_actions::<Action>("provider", "Resolve, explain and test model providers", run)
        .examples(&[
            ("petasos provider list", "all providers, and which have a key"),
            ("petasos provider explain", "who would answer, and why"),
            ("petasos provider test", "make one tiny call"),
            ("petasos provider usage", "tokens and cost so far"),
        ]);

#[derive(Debug, Subcommand)]
enum Action {
    /// List the providers, and which have a key
    List,
    /// Print the provider in use: API format, URL, key and its source
    Resolve(resolve::Choice),
    /// Show who would answer, and why
    Explain(resolve::Choice),
    /// Make one tiny call and show who answered, and how fast
    Test(test::Test),
    /// Show what was used, by role, provider and model
    Usage(usage::Usage),
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    match parse(matches)? {
        Action::List => list::run(session),
        Action::Resolve(choice) => choice.resolve(session),
        Action::Explain(choice) => choice.explain(session),
        Action::Test(test) => test.run(session),
        Action::Usage(usage) => usage.run(session),
    }
}
