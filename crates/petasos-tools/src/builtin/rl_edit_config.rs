//! `rl_edit_config`: one setting of the next run.

use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use serde_json::{Value, json};

use crate::trainer::{self, Choice, RlTool, Seat};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "rl_edit_config",
    description: "Change a setting of training",
    schema,
    examples: &[Example {
        title: "four answers a step",
        args: r#"{"field":"group_size","value":4}"#,
        shows: r#""group_size":4"#,
    }],
    build: |ports| RlTool::plain(ports, act),
    ..trainer::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Change one setting of the chosen environment.",
        "parameters": { "type": "object", "properties": {
            "field": { "type": "string", "description": "Its name" },
            "value": { "description": "Its new value" },
        }, "required": ["field", "value"] },
    })
}

fn act(seat: Seat<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        seat.chosen()?;
        let value = args.get("value").cloned().unwrap_or_default();
        Choice::edit(&seat, args.text("field").unwrap_or_default(), &value)
    })
}
