//! `/jobs`: what this conversation runs in the background.

use petasos_contract::jobs::{JobId, JobView, Lines};

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "jobs",
    aliases: &["ps", "agents", "tasks"],
    usage: "[kill ID|log ID]",
    about: "List background jobs, show or end one",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cg",
    run: |live, words| Box::pin(run(live, words)),
};

/// How much of a log is shown.
const LOG_LINES: u64 = 50;

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let jobs = live.engine().ports.jobs.clone().ok_or("this program runs no background jobs")?;
    let cx = live.call_context();
    let (verb, id) = words.split_once(' ').unwrap_or((words, ""));
    let job = JobId::new(id.trim());
    let unknown = || format!("no job of this conversation is named `{job}`");
    match verb {
        "kill" | "stop" => {
            let ended = jobs.kill(&job, &cx).await.map_err(|error| error.to_string())?;
            ended.ok_or_else(unknown)?;
            Ok(CommandOutcome::note(format!("{job} is ended")))
        }
        "log" | "show" => {
            let page = jobs.log(&job, Lines::Last(LOG_LINES), &cx).await;
            let page = page.map_err(|error| error.to_string())?.ok_or_else(unknown)?;
            Ok(CommandOutcome::markdown(format!("~~~\n{}\n~~~", page.output.trim_end())))
        }
        _ => {
            let lines: Vec<String> = jobs.list(&cx).iter().map(line).collect();
            let none = "no background job".to_owned();
            Ok(CommandOutcome::markdown(if lines.is_empty() { none } else { lines.join("\n") }))
        }
    }
}

fn line(job: &JobView) -> String {
    let state = job.exit_code.map_or("runs".to_owned(), |code| format!("ended with {code}"));
    format!("- `{}` {state}, {} s: {}", job.session_id, job.uptime_seconds, job.command)
}
