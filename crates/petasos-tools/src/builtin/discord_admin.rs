//! `discord_admin`: a server as those who run it see it.

use std::sync::Arc;

use petasos_contract::ToolDef;
use petasos_contract::tool::{Example, InPlanMode, Provenance};
use petasos_vendors::discord::ADMIN;
use serde_json::{Value, json};

use crate::guild::{self, Guild};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "discord_admin",
    toolset: "discord_admin",
    description: "Run a Discord server",
    requires_env: &["DISCORD_BOT_TOKEN"],
    in_plan_mode: InPlanMode::ByEffects,
    provenance: Provenance::Foreign,
    check: Some(&guild::BOT),
    schema,
    examples: &[
        Example {
            title: "the servers of the bot",
            args: r#"{"action":"list_guilds"}"#,
            shows: r#""guilds":["#,
        },
        Example {
            title: "what an action needs is said",
            args: r#"{"action":"delete_message","channel_id":"1"}"#,
            shows: "needs message_id",
        },
    ],
    build: |_| Arc::new(Guild::new(ADMIN)),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    let actions: Vec<&str> = ADMIN.iter().map(|action| action.name).collect();
    json!({
        "description": "Look at and run a Discord server by the user's bot: list_guilds; server_info, list_channels, list_roles (guild_id); channel_info, list_pins (channel_id); member_info (guild_id, user_id); pin_message, unpin_message, delete_message (channel_id, message_id); add_role, remove_role (guild_id, user_id, role_id).",
        "parameters": guild::parameters(&actions),
    })
}
