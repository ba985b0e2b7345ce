//! `petasos resume`: work goes on after `petasos stop --all`.

use std::process::ExitCode;

use clap::{ArgMatches, Args};
use serde_json::json;

use crate::command::{Command, Session};
use crate::halt;
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "resume",
    about: "Resume work after `petasos stop --all`",
    examples: &[("petasos resume", "after `petasos stop --all`")],
    hidden: false,
    arguments: <Resume as Args>::augment_args,
    run,
};

// Arguments of `resume`: none.
#[derive(Debug, Args)]
struct Resume {}

fn run(_: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let was = halt::resume(session.host.get()?.settings().home()).map_err(Report::new)?;
    if out.is_json() {
        out.value(&json!({ "was_stopped": was }));
    } else {
        out.line(if was { "Resumed." } else { "Nothing was stopped." });
    }
    Ok(ExitCode::SUCCESS)
}
