//! `petasos logs`: what a background job has printed.

use std::process::ExitCode;

use clap::{ArgMatches, Args};
use petasos_contract::jobs::{Jobs as _, Lines};

use crate::command::{Command, Session, parse};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "logs",
    about: "Show the output of a background job",
    hidden: false,
    arguments: <Logs as Args>::augment_args,
    run,
};

/// Arguments of `logs`.
#[derive(Debug, Args)]
struct Logs {
    /// The job, as `petasos ps` names it
    job: String,
    /// How many lines of the end to show
    #[arg(long, default_value_t = 200)]
    last: u64,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let Logs { job, last } = parse(matches)?;
    let out = session.out;
    let page = session.host.get()?.with_job(&job, |jobs, id, cx| async move {
        jobs.log(&id, Lines::Last(last), &cx).await
    })?;
    if out.is_json() {
        out.value(&page);
    } else {
        out.text(&page.output);
    }
    Ok(ExitCode::SUCCESS)
}
