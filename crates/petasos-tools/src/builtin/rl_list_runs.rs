//! `rl_list_runs`: the runs of this home.

use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use serde_json::{Value, json};

use crate::trainer::{self, Record, RlTool, Runs, Seat};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "rl_list_runs",
    description: "List training runs",
    schema,
    examples: &[Example { title: "all of them", args: "{}", shows: r#""runs":["# }],
    build: |ports| RlTool::plain(ports, act),
    ..trainer::USUAL
};

fn schema() -> Value {
    json!({
        "description": "List all training runs.",
        "parameters": { "type": "object", "properties": {} },
    })
}

fn act(seat: Seat<'_>, _: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let all = Runs::of(&seat.place).all()?;
        let row = |run: &Record| {
            json!({
                "run_id": run.run_id,
                "environment": run.environment,
                "status": run.status,
                "wandb_run_name": run.wandb_run_name,
            })
        };
        let rows: Vec<Value> = all.values().map(row).collect();
        Ok(json!({ "count": rows.len(), "runs": rows }))
    })
}
