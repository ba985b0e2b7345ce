//! `rl_test_inference`: an environment tried with a few models.

use petasos_contract::tool::Example;
use petasos_contract::{Args, BoxFuture, ToolDef};
use serde_json::{Value, json};

use crate::trainer::{self, RlTool, Seat};
use crate::trouble::Trouble;

pub(super) static TOOL: ToolDef = ToolDef {
    name: "rl_test_inference",
    description: "Try a training environment",
    schema,
    examples: &[Example {
        title: "a short trial",
        args: r#"{"num_steps":2,"group_size":2,"models":["qwen/qwen3-8b"]}"#,
        shows: r#""models_tested":["#,
    }],
    build: |ports| RlTool::stating(ports, act, trainer::trial_effects, trainer::trial_limit),
    ..trainer::USUAL
};

fn schema() -> Value {
    json!({
        "description": "Try the chosen environment with a few models before training: does it load, ask and score?",
        "parameters": { "type": "object", "properties": {
            "num_steps": { "type": "integer", "default": 3, "description": "Steps a model" },
            "group_size": { "type": "integer", "default": 16, "description": "Answers a step" },
            "models": {
                "type": "array",
                "items": { "type": "string" },
                "description": "OpenRouter models; a small, a medium and a large one without"
            },
        } },
    })
}

fn act(seat: Seat<'_>, args: Args) -> BoxFuture<'_, Result<Value, Trouble>> {
    Box::pin(async move { trainer::trial(&seat, args).await })
}
