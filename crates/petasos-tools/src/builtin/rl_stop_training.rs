//! `rl_stop_training`: a run ends.

use std::time::{Duration, Instant};

use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use serde_json::{Value, json};

use crate::trainer::{self, RlTool, Runs, Seat};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "rl_stop_training",
    description: "Stop a training run",
    schema,
    examples: &[Example {
        title: "it is enough",
        args: r#"{"run_id":"0a0b0c0d"}"#,
        shows: r#""stopped""#,
    }],
    build: |ports| RlTool::plain(ports, act),
    ..trainer::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Stop a run and its programs.",
        "parameters": { "type": "object", "properties": { "run_id": { "type": "string", "description": "The run" } }, "required": ["run_id"] },
    })
}

/// Three programs, ten seconds each.
const ENDS_WITHIN: Duration = Duration::from_secs(35);
const LOOK: Duration = Duration::from_millis(100);

fn act(seat: Seat<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move {
        let run_id = args.text("run_id").unwrap_or_default();
        let runs = Runs::of(&seat.place);
        let run = runs.one(run_id)?;
        if !run.is_live() {
            let message = format!("run `{run_id}` is not running: it is {}", run.status);
            return Ok(json!({ "message": message, "run_id": run_id, "status": run.status }));
        }
        runs.change(run_id, |record| {
            record.is_to_stop = true;
            "stopping".clone_into(&mut record.status);
        })?;
        let deadline = Instant::now() + ENDS_WITHIN;
        let status = loop {
            let now = runs.one(run_id)?;
            if !now.is_live() || Instant::now() >= deadline || seat.cx.cancel.is_cancelled() {
                break now.status;
            }
            tokio::time::sleep(LOOK).await;
        };
        let message = format!("run `{run_id}` is {status}");
        Ok(json!({ "message": message, "run_id": run_id, "status": status }))
    })
}
