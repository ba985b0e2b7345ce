//! What no model changes: addresses, lengths, workers, steps, evaluation, LoRA and checkpoints.

use petasos_contract::Settings;
use serde_json::{Map, Value, json};

const MODEL: &str = "Qwen/Qwen3-8B";

/// Where the run's own servers listen.
#[derive(Debug, Clone)]
pub(super) struct Servers {
    /// Of the groups that environments hand in.
    pub(super) rollouts: String,
    /// Of the model that is trained.
    pub(super) inference: String,
}

impl Servers {
    pub(super) fn of(settings: &Settings) -> Self {
        let set = |key: &str, usual: &str| settings.text(key).unwrap_or(usual).to_owned();
        Self {
            rollouts: set("rl.rollout_url", "http://localhost:8000"),
            inference: set("rl.inference_url", "http://localhost:8001"),
        }
    }
}

/// The fields of an environment that are locked, with their values.
pub(super) fn environment(servers: &Servers) -> Map<String, Value> {
    let values = json!({
        "tokenizer_name": MODEL,
        "rollout_server_url": servers.rollouts,
        "use_wandb": true,
        "max_token_length": 8192,
        "max_num_workers": 2048,
        "worker_timeout": 3600,
        "total_steps": 2500,
        "steps_per_eval": 25,
        "max_batches_offpolicy": 3,
        "inference_weight": 1.0,
        "eval_limit_ratio": 0.1,
    });
    values.as_object().cloned().unwrap_or_default()
}

/// The whole configuration of a run: the locked values, and those of the choice.
pub(super) fn run(choice: &Map<String, Value>, servers: &Servers, name: &str) -> Value {
    let mut fields = environment(servers);
    let set = choice.iter().filter(|(key, value)| {
        !(value.is_null() || value.as_str() == Some("") || fields.contains_key(*key))
    });
    let set: Vec<(String, Value)> = set.map(|(key, value)| (key.clone(), value.clone())).collect();
    fields.extend(set);
    json!({
        "env": fields,
        "openai": [{
            "model_name": MODEL,
            "base_url": format!("{}/v1", servers.inference.trim_end_matches('/')),
            // The run's own server takes any.
            "api_key": "x",
            "weight": 1.0,
            "num_requests_for_eval": 256,
            "timeout": 3600,
            "server_type": "sglang",
        }],
        "tinker": {
            "lora_rank": 32,
            "learning_rate": 0.00004,
            "max_token_trainer_length": 9000,
            "checkpoint_dir": "./temp/",
            "save_checkpoint_interval": 25,
            "wandb_project": project(choice),
            "wandb_run_name": name,
        },
        "slurm": false,
        "testing": false,
    })
}

/// The project that metrics of a run go to.
pub(super) fn project(choice: &Map<String, Value>) -> &str {
    let named = choice.get("wandb_project").and_then(Value::as_str);
    named.filter(|name| !name.is_empty()).unwrap_or("atropos-tinker")
}
