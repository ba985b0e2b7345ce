//! `discord_admin`: a server as those who run it see it.

use std::collections::BTreeSet;
use std::sync::Arc;

use petasos_contract::tool::{Example, InPlanMode, Patch, Provenance};
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolName, ToolOutput,
};
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
    examples: &[Example {
        title: "what an action needs is said",
        args: r#"{"action":"delete_message","channel_id":"1"}"#,
        shows: "needs message_id",
    }],
    build: |_| Arc::new(Discord(Guild::new(ADMIN))),
    ..ToolDef::USUAL
};

fn schema() -> Value {
    let actions: Vec<&str> = ADMIN.iter().map(|action| action.name).collect();
    json!({
        "description": "Look at and run a Discord server by the user's bot: list_guilds; server_info, list_channels, list_roles (guild_id); channel_info, list_pins (channel_id); member_info (guild_id, user_id); pin_message, unpin_message, delete_message (channel_id, message_id); add_role, remove_role (guild_id, user_id, role_id).",
        "parameters": guild::parameters(&actions),
    })
}

struct Discord(Guild);

impl Tool for Discord {
    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.0.carry_out(cleared, cx))
    }

    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(std::future::ready(self.0.plan(args, cx)))
    }

    fn schema_patch(&self, _granted: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        Ok(self.0.patch())
    }
}
