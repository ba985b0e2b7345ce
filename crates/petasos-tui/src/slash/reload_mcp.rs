//! `/reload-mcp`: reads the configuration again and follows its MCP servers.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "reload-mcp",
    aliases: &[],
    usage: "[now]",
    about: "Follow the MCP servers of the configuration",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    if chat.working.is_some() {
        return Err("tools change between turns only: wait, or /stop first".to_owned());
    }
    let confirm = chat.choice.settings.get("approvals.mcp_reload_confirm");
    let confirm = confirm.and_then(serde_json::Value::as_bool).unwrap_or(true);
    if confirm && words != "now" && chat.agent.is_some() {
        chat.remark(
            "other tools mean that the provider reads this conversation anew, which costs: \
             `/reload-mcp now` goes on (`approvals.mcp_reload_confirm: false` never asks)",
        );
        return Ok(Next::Done);
    }
    let mut agent = chat.agent.take();
    let done = chat.refresh_servers(true, agent.as_mut()).await;
    chat.agent = agent;
    if !done? {
        chat.remark("MCP servers cannot be reloaded here");
    }
    Ok(Next::Done)
}
