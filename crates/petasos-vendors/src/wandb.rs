//! Metrics of training runs, by the GraphQL interface of Weights & Biases.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use petasos_contract::{Secret, Settings};
use petasos_net::{Method, Scheme};
use serde_json::{Value, json};

use crate::fault::VendorError;
use crate::service::{Sent, Service, variable};

const BASE: &str = "https://api.wandb.ai";
const SITE: &str = "https://wandb.ai";
const KEY: &str = "WANDB_API_KEY";
/// Rows of history that are asked for.
const SAMPLES: u32 = 10;

const RUN: &str = "query Runs($entity: String!, $project: String!, $filters: JSONString) { \
    project(entityName: $entity, name: $project) { runs(first: 1, filters: $filters) { \
    edges { node { name displayName state summaryMetrics } } } } }";
const HISTORY: &str = "query RunFullHistory($entity: String!, $project: String!, $name: String!, \
    $samples: Int) { project(entityName: $entity, name: $project) { run(name: $name) { \
    history(samples: $samples) } } }";

/// A run as the service knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    name: String,
    /// Where a person looks at it.
    pub url: String,
    /// The last value of each metric.
    pub summary: Value,
}

impl Run {
    /// The few metrics that a person asks for.
    pub fn metrics(&self) -> Value {
        let of = |name: &str| self.summary.get(name).cloned().unwrap_or_default();
        json!({
            "step": of("_step"),
            "reward_mean": of("train/reward_mean"),
            "percent_correct": of("train/percent_correct"),
            "eval_percent_correct": of("eval/percent_correct"),
        })
    }
}

/// The host that is asked.
pub fn host(settings: &Settings) -> Option<String> {
    service(settings).ok().map(|service| service.host().to_owned())
}

fn service(settings: &Settings) -> Result<Service, VendorError> {
    let Some(key) = variable(settings, KEY) else {
        return Err(VendorError::setup("needs WANDB_API_KEY", &[KEY]));
    };
    let base = settings.text("services.endpoints.wandb").unwrap_or(BASE);
    let login = STANDARD.encode(format!("api:{}", key.expose()));
    let login = Secret::new(format!("Basic {login}"));
    let scheme = Scheme::Header("authorization");
    Ok(Service::new("Weights & Biases", base, settings)?.with_key(login, scheme))
}

/// The team whose projects are looked at.
fn entity(settings: &Settings) -> Result<String, VendorError> {
    let named = settings.text("rl.wandb_entity").filter(|name| !name.is_empty());
    let told = || variable(settings, "WANDB_ENTITY").map(|it| it.expose().to_owned());
    named.map(str::to_owned).or_else(told).ok_or_else(|| {
        let why = "metrics need the name of your team: set rl.wandb_entity";
        VendorError::setup(why, &["rl.wandb_entity"])
    })
}

async fn ask(query: &str, variables: Value, settings: &Settings) -> Result<Value, VendorError> {
    let sent = Sent::json(&json!({ "query": query, "variables": variables }));
    let told = service(settings)?.json(Method::POST, "/graphql", sent).await?;
    match told.pointer("/errors/0/message").and_then(Value::as_str) {
        Some(why) => {
            let text = "Weights & Biases refuses the question: see detail";
            Err(VendorError::new("upstream", text).with("detail", crate::text::cut(why, 300)))
        }
        None => Ok(told),
    }
}

/// The run with this name for people, where the service knows it.
pub async fn find(
    project: &str,
    display_name: &str,
    settings: &Settings,
) -> Result<Option<Run>, VendorError> {
    let entity = entity(settings)?;
    let filters = json!({ "display_name": display_name }).to_string();
    let variables = json!({ "entity": entity, "project": project, "filters": filters });
    let told = ask(RUN, variables, settings).await?;
    let Some(node) = told.pointer("/data/project/runs/edges/0/node") else { return Ok(None) };
    let name = node.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let summary = node.get("summaryMetrics").and_then(Value::as_str).unwrap_or("{}");
    let summary = serde_json::from_str(summary).unwrap_or_default();
    let url = format!("{SITE}/{entity}/{project}/runs/{name}");
    Ok(Some(Run { name, url, summary }))
}

/// The run with some rows of its history.
pub async fn results(
    project: &str,
    display_name: &str,
    settings: &Settings,
) -> Result<Option<(Run, Vec<Value>)>, VendorError> {
    let Some(run) = find(project, display_name, settings).await? else { return Ok(None) };
    let variables = json!({
        "entity": entity(settings)?,
        "project": project,
        "name": run.name,
        "samples": SAMPLES,
    });
    let told = ask(HISTORY, variables, settings).await?;
    let rows = told.pointer("/data/project/run/history").and_then(Value::as_array);
    let rows = rows.into_iter().flatten().filter_map(Value::as_str);
    let history = rows.filter_map(|row| serde_json::from_str(row).ok()).collect();
    Ok(Some((run, history)))
}
