//! The `rl_*` tools with a trainer's tree of our own that has the same command lines. E19 157.

use std::path::Path;
use std::time::{Duration, Instant};

use petasos_contract::effect::Effect;
use petasos_contract::{Args, Tool, ToolOutput};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::double::{Double, Said};
use crate::trainer_tree::{free_port, tree};

const TABLE: &str = include_str!("../doubles/wandb.json");
const KEYS: [(&str, &str); 3] = [
    ("TINKER_API_KEY", "tinker-secret-1"),
    ("WANDB_API_KEY", "wandb-secret-2"),
    ("OPENROUTER_API_KEY", "openrouter-secret-3"),
];

/// A bench with a trainer whose programs find their modules.
fn bench(wandb: &str) -> (Bench, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap().keep();
    tree(&folder);
    let python = format!("PYTHONPATH={0} exec python3 -B {0}/api.py \"$@\"\n", folder.display());
    let settings = json!({
        "rl": {
            "trainer_dir": folder,
            "wandb_entity": "team",
            "rollout_url": format!("http://127.0.0.1:{}", free_port()),
            "inference_url": format!("http://127.0.0.1:{}", free_port()),
        },
        "services": { "endpoints": { "wandb": wandb } },
    });
    let bench = Bench::equipped_set_up(&[("run-api", &python)], &KEYS, &settings);
    (bench, folder)
}

fn notes(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("notes.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn ask(tool: &dyn Tool, args: Value, bench: &Bench) -> Value {
    let args = Args::try_from(args).unwrap();
    let told = petasos_testkit::call(tool, args, &bench.cx).await.unwrap();
    let ToolOutput::Text(text) = told else { panic!("{told:?}") };
    serde_json::from_str(&text).unwrap()
}

async fn until(bench: &Bench, run: &str, status: &str) -> Value {
    let list = bench.tool("rl_list_runs");
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        let told = ask(&*list, json!({}), bench).await;
        let runs = told["runs"].as_array().unwrap();
        let found = runs.iter().find(|it| it["run_id"] == run).unwrap();
        if found["status"] == status {
            return found.clone();
        }
        assert!(Instant::now() < deadline, "{told}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn e157_environments_are_read_and_a_locked_field_stays() {
    let (bench, folder) = bench("http://127.0.0.1:9");
    let found = bench.run("rl_list_environments", &json!({}));
    assert_eq!(found["count"], 2, "{found}");
    assert_eq!(found["environments"][1]["name"], "sums");
    assert_eq!(found["environments"][1]["description"], "Sums of two numbers.");
    assert!(notes(&folder).is_empty(), "a listing runs nobody's code");
    assert!(bench.refused("rl_get_current_config", &json!({})).contains("rl_select_environment"));
    let broken = bench.run("rl_select_environment", &json!({ "name": "broken" }));
    assert_eq!(broken["error_type"], "upstream", "{broken}");
    let unknown = bench.run("rl_select_environment", &json!({ "name": "no" }));
    assert_eq!(unknown["available"], json!(["broken", "sums"]));
    let chosen = bench.run("rl_select_environment", &json!({ "name": "sums" }));
    assert_eq!(chosen["environment"], "sums", "{chosen}");
    let config = bench.run("rl_get_current_config", &json!({}));
    assert_eq!(config["configurable_fields"][0]["name"], "group_size", "{config}");
    assert_eq!(config["locked_fields"][0]["locked_value"], 2500);
    let locked = bench.run("rl_edit_config", &json!({ "field": "total_steps", "value": 1 }));
    assert_eq!((&locked["error_type"], &locked["locked_value"]), (&json!("denied"), &json!(2500)));
    let set = bench.run("rl_edit_config", &json!({ "field": "group_size", "value": 4 }));
    assert_eq!(set["config"]["group_size"], 4, "{set}");
    let tried = bench
        .run("rl_test_inference", &json!({ "num_steps": 2, "group_size": 2, "models": ["a/b"] }));
    assert_eq!(tried["models_tested"][0]["accuracy"], 0.5, "{tried}");
    assert_eq!(tried["summary"]["models_working"], 1);
    assert_eq!(notes(&folder)[0]["keys"], json!(["OPENAI_API_KEY"]));
    let spends = |tool: &str, args: Value| {
        let stated = bench.effects(tool, &args);
        stated.iter().any(|it| matches!(it, Effect::Spend { cents } if *cents > 20))
    };
    assert!(spends("rl_start_training", json!({})));
    assert!(spends("rl_test_inference", json!({ "num_steps": 100 })));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn e157_a_run_starts_in_order_survives_a_restart_and_shows_no_key() {
    let wandb = Double::start(TABLE, "", |seen| {
        assert_eq!(seen.headers["authorization"], "Basic YXBpOndhbmRiLXNlY3JldC0y");
        if seen.body["query"].as_str().unwrap().contains("history") {
            let rows = json!(["{\"_step\":1}", "{\"_step\":2}"]);
            return Said::ok(json!({ "data": { "project": { "run": { "history": rows } } } }));
        }
        let summary = "{\"_step\":7,\"train/reward_mean\":0.5}";
        let node = json!({ "name": "abc", "displayName": "x", "state": "running", "summaryMetrics": summary });
        Said::ok(json!({ "data": { "project": { "runs": { "edges": [{ "node": node }] } } } }))
    });
    let (bench, folder) = bench(&wandb.url);
    bench.run("rl_select_environment", &json!({ "name": "sums" }));
    bench.runtime.block_on(async {
        let start = bench.tool("rl_start_training");
        let begun = ask(&*start, json!({}), &bench).await;
        let run = begun["run_id"].as_str().unwrap().to_owned();
        assert_eq!(begun["status"], "starting", "{begun}");
        until(&bench, &run, "running").await;
        let names: Vec<Value> = notes(&folder).iter().map(|it| it["name"].clone()).collect();
        assert_eq!(names, ["api", "trainer", "env serve"].map(Value::from));
        let told = notes(&folder);
        assert_eq!(told[0]["keys"], json!([]));
        assert_eq!(told[1]["keys"], json!(["TINKER_API_KEY", "WANDB_API_KEY"]));
        assert_eq!(told[2]["keys"], json!(["WANDB_API_KEY"]));
        assert!(told.iter().all(|it| !it["argv"].to_string().contains("secret")), "{told:?}");
        let (status, one) = (bench.tool("rl_check_status"), json!({ "run_id": run }));
        let seen = ask(&*status, one.clone(), &bench).await;
        assert_eq!(seen["metrics"]["step"], 7, "{seen}");
        assert_eq!(seen["processes"]["trainer"], "running");
        let soon = ask(&*status, one.clone(), &bench).await;
        assert_eq!(soon["rate_limited"], true, "{soon}");
        let results = ask(&*bench.tool("rl_get_results"), one.clone(), &bench).await;
        assert_eq!(results["history"], json!([{ "_step": 1 }, { "_step": 2 }]), "{results}");
        let stopped = ask(&*bench.tool("rl_stop_training"), one.clone(), &bench).await;
        assert_eq!(stopped["status"], "stopped", "{stopped}");
        // The next one is left behind by a process that ends.
        let second = ask(&*start, json!({}), &bench).await;
        let second = second["run_id"].as_str().unwrap().to_owned();
        until(&bench, &second, "running").await;
        drop(start);
        until(&bench, &second, "interrupted").await;
        until(&bench, &run, "stopped").await;
    });
    std::fs::remove_dir_all(folder).unwrap();
}
