//! `rl_select_environment`: the environment of the next run.

use petasos_contract::effect::Effects;
use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, CallContext, ToolDef};
use serde_json::{Value, json};

use crate::trainer::{self, Choice, RlTool, Seat};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "rl_select_environment",
    description: "Choose a training environment",
    schema,
    examples: &[Example {
        title: "one is chosen",
        args: r#"{"name":"sums"}"#,
        shows: r#""environment":"sums""#,
    }],
    build: |ports| RlTool::stating(ports, act, effects, |_| None),
    ..trainer::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Choose the environment of the next run and load its settings.",
        "parameters": { "type": "object", "properties": { "name": { "type": "string", "description": "Its name" } }, "required": ["name"] },
    })
}

fn act(seat: Seat<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let name = args.text("name").unwrap_or_default();
        let known = seat.environments();
        let found = known.iter().find(|it| it.name == name);
        let found = found.ok_or_else(|| trainer::unknown(name, &known))?;
        Choice::select(&seat, found).await?;
        Ok(json!({
            "message": format!("`{name}` is chosen"),
            "environment": name,
            "file_path": found.file_path,
        }))
    })
}

/// Its file is loaded, by an interpreter that may write nothing.
fn effects(args: &Args, cx: &CallContext) -> Effects {
    trainer::select_effects(args.text("name").unwrap_or_default(), cx)
}
