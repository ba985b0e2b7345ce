//! `rl_list_environments`: the environments that can be trained on.

use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use serde_json::{Value, json};

use crate::trainer::{self, RlTool, Seat};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "rl_list_environments",
    description: "List training environments",
    schema,
    examples: &[Example { title: "what can be trained", args: "{}", shows: r#""environments":["# }],
    build: |ports| RlTool::plain(ports, act),
    ..trainer::USUAL
};

fn schema() -> Value {
    json!({
        "description": "List the environments of the trainer. Read their files to see how they score.",
        "parameters": { "type": "object", "properties": {} },
    })
}

fn act(seat: Seat<'_>, _: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let found = seat.environments();
        Ok(json!({
            "count": found.len(),
            "environments": found,
            "tips": [
                "rl_select_environment chooses one",
                "its file says how it loads data and scores answers",
            ],
        }))
    })
}
