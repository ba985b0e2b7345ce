//! `petasos ps`: the background jobs, also those of earlier runs.

use std::process::ExitCode;

use clap::ArgMatches;
use petasos_contract::jobs::Jobs as _;
use serde_json::json;

use crate::command::{Command, Session};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "ps",
    about: "List background jobs",
    examples: &[("petasos ps", "background jobs of every session")],
    hidden: false,
    arguments: |command| command,
    run,
};

fn run(_: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let jobs = session.host.get()?.with_jobs(|jobs| async move { jobs.list_all() })?;
    if out.is_json() {
        out.value(&json!({ "processes": jobs }));
        return Ok(ExitCode::SUCCESS);
    }
    if jobs.is_empty() {
        out.line("no background job is known");
    }
    for job in jobs {
        let status = json!(job.status);
        let status = status.as_str().unwrap_or_default();
        let code = job.exit_code.map(|code| format!(" ({code})")).unwrap_or_default();
        let pid = job.pid.map(|pid| pid.to_string()).unwrap_or_default();
        out.line(format!(
            "{} {status}{code} {pid:>7} {:>6} s  {}",
            job.session_id, job.uptime_seconds, job.command
        ));
    }
    Ok(ExitCode::SUCCESS)
}
