//! `petasos kill`: ends a background job with everything it started.

use std::process::ExitCode;

use clap::{ArgMatches, Args};
use petasos_contract::jobs::Jobs as _;
use serde_json::json;

use crate::command::{Command, Session, parse};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "kill",
    about: "End a background job and everything it started",
    examples: &[("petasos kill JOB", "end one, as `petasos ps` names it")],
    hidden: false,
    arguments: <Kill as Args>::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Kill {
    /// The job, as `petasos ps` names it
    job: String,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let Kill { job } = parse(matches)?;
    let out = session.out;
    let (lived, view) = session
        .host
        .get()?
        .with_job(&job, |jobs, id, cx| async move { jobs.kill(&id, &cx).await })?;
    let status = if lived { "killed" } else { "already_exited" };
    if out.is_json() {
        out.value(&json!({ "status": status, "session_id": view.session_id }));
    } else {
        out.line(format!("{}: {}", view.session_id, status.replace('_', " ")));
    }
    Ok(ExitCode::SUCCESS)
}
