//! `/usage`: tokens and cost.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "usage",
    aliases: &["cost", "context"],
    usage: "",
    about: "Show what this conversation used",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, _words: &str) -> Result<CommandOutcome, String> {
    let Some(head) = live.head().await.map_err(|error| error.to_string())? else {
        return Ok(CommandOutcome::markdown("nothing has been said yet"));
    };
    let used = head.usage;
    let hit = (used.cache_read * 100).checked_div(used.prompt()).unwrap_or_default();
    let cost =
        if head.cost_usd > 0.0 { format!("${:.4}", head.cost_usd) } else { "unknown".into() };
    Ok(CommandOutcome::markdown(format!(
        "| | |\n|---|---|\n| requests | {} |\n| input tokens | {} ({hit} % from the cache) |\n\
         | output tokens | {} ({} of them reasoning) |\n| cost | {cost} |\n| messages | {} |\n\
         | window | {} |\n",
        used.requests,
        used.prompt(),
        used.output,
        used.reasoning,
        head.messages,
        live.window_told().await,
    )))
}
