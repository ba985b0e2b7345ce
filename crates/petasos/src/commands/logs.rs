//! `petasos logs`: the program's own log, or what a background job has printed.

mod own;

use std::process::ExitCode;

use clap::{ArgMatches, Args, ValueEnum};
use petasos_contract::jobs::{Jobs as _, Lines};

use crate::command::{Command, Session, parse};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "logs",
    about: "Show the program's log, or the output of a background job",
    examples: &[
        ("petasos logs", "the end of the program's log"),
        ("petasos logs -f --level warn", "follow warnings and errors"),
        ("petasos logs JOB", "the output of a background job"),
    ],
    hidden: false,
    arguments: <Logs as Args>::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Logs {
    /// A job, as `petasos ps` names it (default: the program's own log)
    job: Option<String>,
    /// How many lines to show
    #[arg(long, short = 'n', default_value_t = 200)]
    last: u64,
    /// Only lines of this level and above
    #[arg(long, value_enum, default_value_t = Least::Trace, conflicts_with = "job")]
    level: Least,
    /// Only lines about this session
    #[arg(long, conflicts_with = "job")]
    session: Option<String>,
    /// Follow the log as it grows
    #[arg(long, short, conflicts_with = "job")]
    follow: bool,
}

/// From severe to chatty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Least {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let logs: Logs = parse(matches)?;
    let Some(job) = &logs.job else { return own::show(&logs, session) };
    let (out, last) = (session.out, logs.last);
    let page = session
        .host
        .get()?
        .with_job(job, |jobs, id, cx| async move { jobs.log(&id, Lines::Last(last), &cx).await })?;
    if out.is_json() {
        out.value(&page);
    } else if page.total_lines == 0 && page.output.is_empty() {
        out.remark(format!("{job} has printed nothing"));
    } else {
        out.text(&page.output);
    }
    Ok(ExitCode::SUCCESS)
}
