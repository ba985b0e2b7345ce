//! `/reload-mcp`: follows the MCP servers of the configuration.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "reload-mcp",
    aliases: &[],
    usage: "[now]",
    about: "Reload the MCP servers of the configuration",
    class: CommandClass::Admin,
    mid_run: MidRun::Busy,
    places: "cg",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    if live.is_busy() {
        return Err("tools change between turns only: wait, or /stop first".to_owned());
    }
    let confirm = live.choice.settings.get("approvals.mcp_reload_confirm");
    let confirm = confirm.and_then(serde_json::Value::as_bool).unwrap_or(true);
    if confirm && words != "now" && live.agent.is_some() {
        return Ok(CommandOutcome::note(
            "other tools mean that the provider reads this conversation anew, which costs: \
             `/reload-mcp now` goes on (`approvals.mcp_reload_confirm: false` never asks)",
        ));
    }
    let mut agent = live.agent.take();
    let done = live.refresh_servers(true, agent.as_mut()).await;
    live.agent = agent;
    if done? {
        return Ok(CommandOutcome::default());
    }
    Ok(CommandOutcome::note("MCP servers cannot be reloaded here"))
}
