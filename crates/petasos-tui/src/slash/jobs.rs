//! `/jobs`: what this conversation runs in the background.

use std::fmt::Write as _;

use petasos_contract::jobs::{JobId, Lines};

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "jobs",
    aliases: &["ps", "agents", "tasks"],
    usage: "[kill ID|log ID]",
    about: "List background jobs, show or end one",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    let jobs = chat.engine.ports.jobs.clone().ok_or("this program runs no background jobs")?;
    let session = chat.session().ok_or("nothing has been said yet, so nothing runs")?;
    let cx = chat.backstage.context(&session);
    let (verb, id) = words.split_once(' ').unwrap_or((words, ""));
    let job = JobId::new(id.trim());
    let unknown = || format!("no job of this conversation is named `{job}`");
    match verb {
        "kill" | "stop" => {
            let ended = jobs.kill(&job, &cx).await.map_err(|error| error.to_string())?;
            ended.ok_or_else(unknown)?;
            chat.remark(&format!("{job} is ended"));
        }
        "log" | "show" => {
            let page = jobs.log(&job, Lines::Last(50), &cx).await;
            let page = page.map_err(|error| error.to_string())?.ok_or_else(unknown)?;
            chat.tell(&format!("~~~\n{}\n~~~", page.output.trim_end()));
        }
        _ => {
            let mut text = String::new();
            for job in jobs.list(&cx) {
                let state =
                    job.exit_code.map_or("runs".to_owned(), |code| format!("ended with {code}"));
                writeln!(
                    text,
                    "- `{}` {state}, {} s: {}",
                    job.session_id, job.uptime_seconds, job.command
                )
                .unwrap_or_default();
            }
            chat.tell(if text.is_empty() { "no background job" } else { &text });
        }
    }
    Ok(Next::Done)
}
