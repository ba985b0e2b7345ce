//! `rl_get_results`: what a run came to.

use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use petasos_vendors::wandb;
use serde_json::{Value, json};

use crate::trainer::{self, RlTool, Runs, Seat, wandb_effects};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "rl_get_results",
    description: "Show the results of a training run",
    schema,
    examples: &[Example {
        title: "what came of it",
        args: r#"{"run_id":"0a0b0c0d"}"#,
        shows: r#""history":"#,
    }],
    build: |ports| RlTool::stating(ports, act, |_, cx| wandb_effects(cx), |_| None),
    ..trainer::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Show the final metrics of a run, some of its history, and where its weights are.",
        "parameters": { "type": "object", "properties": { "run_id": { "type": "string", "description": "The run" } }, "required": ["run_id"] },
    })
}

fn act(seat: Seat<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let run = Runs::of(&seat.place).one(args.text("run_id").unwrap_or_default())?;
        let mut told = json!({
            "run_id": run.run_id,
            "status": run.status,
            "environment": run.environment,
            "wandb_project": run.wandb_project,
            "wandb_run_name": run.wandb_run_name,
            "weights": seat.place.folder.join("temp"),
        });
        let settings = &seat.cx.settings;
        match wandb::results(&run.wandb_project, &run.wandb_run_name, settings).await {
            Ok(Some((found, history))) => {
                told["wandb_url"] = found.url.as_str().into();
                told["final_metrics"] = found.summary;
                told["history"] = history.into();
            }
            Ok(None) => {}
            // What is known here is worth telling without the metrics.
            Err(error) => told["wandb_error"] = error.message.into(),
        }
        Ok(told)
    })
}
