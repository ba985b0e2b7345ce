//! `petasos stop --all`: the emergency stop of this home.

use std::process::ExitCode;

use clap::{ArgMatches, Args};
use petasos_contract::jobs::Jobs as _;
use serde_json::json;

use crate::command::{Command, Session, parse};
use crate::halt;
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "stop",
    about: "Stop every turn, job and delivery of this home, until `petasos resume`",
    examples: &[("petasos stop --all", "stop everything that runs in this home")],
    hidden: false,
    arguments: <Stop as Args>::augment_args,
    run,
};

// Arguments of `stop`.
#[derive(Debug, Args)]
struct Stop {
    /// Stop everything of this home (required)
    #[arg(long, required = true)]
    all: bool,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let Stop { all: _ } = parse(matches)?;
    let out = session.out;
    let host = session.host.get()?;
    halt::stop(host.settings().home(), "`petasos stop --all`").map_err(Report::new)?;
    // What no longer lives is no failure: it is stopped.
    let jobs = host.with_jobs(|jobs| async move {
        let mut ended = 0_usize;
        for view in jobs.list_all() {
            let cx = host.call_context(petasos_contract::context::Surface::Cli, view.owner.clone());
            if let Ok(Some((true, _))) = jobs.kill(&view.session_id, &cx).await {
                ended += 1;
            }
        }
        ended
    })?;
    if out.is_json() {
        out.value(&json!({ "stopped": true, "jobs_ended": jobs }));
    } else {
        out.line(format!(
            "Everything is stopped; {jobs} jobs were ended. `petasos resume` resumes."
        ));
    }
    Ok(ExitCode::SUCCESS)
}
