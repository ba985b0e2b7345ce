//! `/status`: how the session is.

use std::path::Path;

use petasos_contract::context::Phase;

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;
use crate::services::Topic;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "status",
    aliases: &["session", "info"],
    usage: "",
    about: "Show the state of the session",
    class: CommandClass::Everybody,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, _words: &str) -> Result<CommandOutcome, String> {
    let head = live.head().await.map_err(|error| error.to_string())?;
    let (id, title, count) = match &head {
        Some(head) => {
            (head.id.as_str(), head.title.as_deref().unwrap_or("(no title)"), head.messages)
        }
        None => ("(begins with your first message)", "", 0),
    };
    let window = live.window_told().await;
    let settings = &live.choice.settings;
    let named = |chosen: &Option<String>, key: &str| {
        let configured = settings.text(key).map(str::to_owned);
        chosen.clone().or(configured).unwrap_or_else(|| "(not set)".to_owned())
    };
    let model = named(&live.choice.model, "model.default");
    let provider = named(&live.choice.provider, "model.provider");
    let toolsets = live.services().describe(Topic::Usable, "", &live.choice).await?;
    let instructions = instructions(settings.workspace());
    let state = if live.is_busy() { "working" } else { "idle" };
    let approvals = if live.services().approvals_off() { "off" } else { "ask" };
    let plan = if live.choice.phase == Phase::Plan { "on" } else { "off" };
    let sandbox = settings.text("terminal.sandbox").unwrap_or("off");
    Ok(CommandOutcome::markdown(format!(
        "| | |\n|---|---|\n| session | {id} {title} |\n| messages | {count} |\n\
         | model | {model} from {provider} |\n| window | {window} |\n\
         | toolsets | {toolsets} |\n| workspace | {} |\n\
         | instructions | {instructions} |\n\
         | state | {state} |\n| plan mode | {plan} |\n| queued messages | {} |\n| approvals | {approvals} |\n\
         | sandbox | {sandbox} |\n",
        settings.workspace().display(),
        live.queue.len(),
    )))
}

/// The files that tell agents about this project.
fn instructions(workspace: &Path) -> String {
    let files = petasos_agent::context_files(workspace);
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    if names.is_empty() { "none (AGENTS.md)".to_owned() } else { names.join(", ") }
}
