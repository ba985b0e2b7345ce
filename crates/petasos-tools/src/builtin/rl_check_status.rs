//! `rl_check_status`: how a run is doing.

use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use petasos_vendors::wandb;
use serde_json::{Value, json};

use crate::trainer::{self, RlTool, Runs, Seat, wandb_effects};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "rl_check_status",
    description: "Show how a training run is doing",
    schema,
    examples: &[Example {
        title: "how it goes",
        args: r#"{"run_id":"0a0b0c0d"}"#,
        shows: r#""metrics":"#,
    }],
    build: |ports| RlTool::stating(ports, act, |_, cx| wandb_effects(cx), |_| None),
    ..trainer::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Show the state and the metrics of a run. Answers at most every 30 minutes while it runs.",
        "parameters": { "type": "object", "properties": { "run_id": { "type": "string", "description": "The run" } }, "required": ["run_id"] },
    })
}

fn act(seat: Seat<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let run_id = args.text("run_id").unwrap_or_default();
        let runs = Runs::of(&seat.place);
        if let Some(seconds) = runs.check(run_id)? {
            return Ok(json!({
                "rate_limited": true,
                "run_id": run_id,
                "message": "a run is looked at every 30 minutes at most",
                "next_check_in_seconds": seconds,
            }));
        }
        let run = runs.one(run_id)?;
        let mut told = json!({
            "run_id": run.run_id,
            "status": run.status,
            "environment": run.environment,
            "running_time_minutes": run.minutes(),
            "processes": run.processes,
            "wandb_project": run.wandb_project,
            "wandb_run_name": run.wandb_run_name,
            "logs": run.logs,
        });
        if let Some(error) = &run.error {
            told["problem"] = error.as_str().into();
        }
        match wandb::find(&run.wandb_project, &run.wandb_run_name, &seat.cx.settings).await {
            Ok(Some(found)) => {
                told["wandb_url"] = found.url.as_str().into();
                told["metrics"] = found.metrics();
            }
            Ok(None) => {}
            // The run's own state is worth telling without its metrics.
            Err(error) => told["wandb_error"] = error.message.into(),
        }
        Ok(told)
    })
}
