//! `rl_get_current_config`: the settings of the next run.

use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use serde_json::{Value, json};

use crate::trainer::{self, RlTool, Seat};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "rl_get_current_config",
    description: "Show the settings of training",
    schema,
    examples: &[Example {
        title: "what can be set",
        args: "{}",
        shows: r#""configurable_fields":"#,
    }],
    build: |ports| RlTool::plain(ports, act),
    ..trainer::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Show the settings of the chosen environment: those that can be changed, and those that are locked.",
        "parameters": { "type": "object", "properties": {} },
    })
}

fn act(seat: Seat<'_>, _: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let (choice, _) = seat.chosen()?;
        Ok(choice.shown(&seat))
    })
}
