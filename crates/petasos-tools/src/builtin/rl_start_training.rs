//! `rl_start_training`: a run begins.

use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use serde_json::{Value, json};

use crate::trainer::{self, RlTool, Seat};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "rl_start_training",
    description: "Start a training run",
    schema,
    examples: &[Example {
        title: "with the settings as they are",
        args: "{}",
        shows: r#""run_id":"#,
    }],
    build: |ports| RlTool::stating(ports, act, trainer::start_effects, |_| None),
    ..trainer::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Start training with the chosen environment and its settings. It takes hours and costs money; comes back at once.",
        "parameters": { "type": "object", "properties": {} },
    })
}

fn act(seat: Seat<'_>, _: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move { trainer::launch(&seat) })
}
