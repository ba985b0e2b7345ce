//! `/api/jobs`: the schedules of this home. What a job is, is the program's to say; here are its
//! shape over HTTP and the status of what goes wrong.

use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::answer;
use crate::body;
use crate::error::ApiError;
use crate::host::{JobAsk, JobFault};
use crate::routes::Handled;
use crate::server::Call;

/// So many runs are listed when nobody says how many, and at most.
const RUNS: u32 = 20;
const RUNS_MAX: u32 = 200;

/// Fields of a job; what is absent stays, or is as usual.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct JobFields {
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// What each run is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    /// When: `30m`, `every 2h`, `every weekday at 9:00`, `0 9 * * 1-5`, a date.
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<String>,
    /// The time zone, such as `Europe/Berlin`.
    #[serde(alias = "timezone", skip_serializing_if = "Option::is_none")]
    tz: Option<String>,
    /// How often it runs; 0 is for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<u32>,
    /// Where the reply goes: `local`, `all`, `PLATFORM[:CHAT[:THREAD]]`, `webhook:NAME`, with
    /// commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    deliver: Option<String>,
    /// Skills that a run reads first.
    #[serde(skip_serializing_if = "Option::is_none")]
    skills: Option<Vec<String>>,
    /// Another model than the configured one.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Another provider than the configured one.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    /// A file in the home's `scripts` folder that runs first.
    #[serde(skip_serializing_if = "Option::is_none")]
    script: Option<String>,
    /// Only the script runs, and its output is the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_agent: Option<bool>,
    /// Jobs whose newest output a run is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_from: Option<Vec<String>>,
    /// Its toolsets instead of the configured ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled_toolsets: Option<Vec<String>>,
    /// The folder in which it works, with its whole path.
    #[serde(skip_serializing_if = "Option::is_none")]
    workdir: Option<String>,
    /// Its reply becomes part of the conversation that it is delivered to.
    #[serde(skip_serializing_if = "Option::is_none")]
    attach_to_session: Option<bool>,
    /// What becomes of missed runs: `grace`, `once`, `skip`.
    #[serde(skip_serializing_if = "Option::is_none")]
    misfire: Option<String>,
    /// What happens when it is due while it runs: `skip`, `queue`, `parallel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<String>,
    /// Which replies are sent: `always`, `failure`, `change`.
    #[serde(skip_serializing_if = "Option::is_none")]
    notify: Option<String>,
    /// The longest that a run may take, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<u64>,
    /// Its starts are spread over so many seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter: Option<u64>,
    /// The most that a run may cost, in US dollars; 0 is without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_cost: Option<f64>,
}

/// Why a job rests.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PauseBody {
    /// In words for people.
    reason: Option<String>,
}

fn failed(fault: JobFault) -> ApiError {
    let JobFault { kind, message } = fault;
    let (status, code) = match kind {
        "not_found" => (StatusCode::NOT_FOUND, "job_not_found"),
        "ambiguous" => (StatusCode::CONFLICT, "job_ambiguous"),
        "conflict" => return ApiError::conflict("job_changed", message),
        "limit" => (StatusCode::TOO_MANY_REQUESTS, "too_many_jobs"),
        "store" => (StatusCode::SERVICE_UNAVAILABLE, "store_unavailable"),
        "unavailable" => (StatusCode::SERVICE_UNAVAILABLE, "jobs_unavailable"),
        "schedule" => (StatusCode::BAD_REQUEST, "invalid_schedule"),
        "scan" => (StatusCode::BAD_REQUEST, "dangerous_prompt"),
        _ => (StatusCode::BAD_REQUEST, "invalid_value"),
    };
    ApiError::new(status, code, message)
}

async fn fields(call: &mut Call) -> Result<Map<String, Value>, ApiError> {
    let fields: JobFields = body::shaped(call.value().await?)?;
    match serde_json::to_value(&fields) {
        Ok(Value::Object(fields)) => Ok(fields),
        _ => Err(crate::error::internal("the fields of a job are no object")),
    }
}

/// Asks the program; what it says is the answer.
async fn asked(call: &Call, ask: JobAsk, status: StatusCode) -> Result<answer::Answer, ApiError> {
    let told = call.server.host.jobs(ask, &call.caller.name).await.map_err(failed)?;
    Ok(answer::json(status, &told))
}

fn reference(call: &Call) -> String {
    call.place(0).to_owned()
}

pub(crate) fn list(call: Call) -> Handled {
    Box::pin(async move { asked(&call, JobAsk::List, StatusCode::OK).await })
}

pub(crate) fn one(call: Call) -> Handled {
    Box::pin(async move { asked(&call, JobAsk::One(reference(&call)), StatusCode::OK).await })
}

pub(crate) fn create(mut call: Call) -> Handled {
    Box::pin(async move {
        call.server.is_open()?;
        let fields = fields(&mut call).await?;
        asked(&call, JobAsk::Create(fields), StatusCode::CREATED).await
    })
}

pub(crate) fn change(mut call: Call) -> Handled {
    Box::pin(async move {
        let fields = fields(&mut call).await?;
        asked(&call, JobAsk::Change(reference(&call), fields), StatusCode::OK).await
    })
}

pub(crate) fn remove(call: Call) -> Handled {
    Box::pin(async move { asked(&call, JobAsk::Remove(reference(&call)), StatusCode::OK).await })
}

pub(crate) fn pause(mut call: Call) -> Handled {
    Box::pin(async move {
        let body: PauseBody = call.optional().await?;
        let why = body.reason.unwrap_or_else(|| format!("paused by `{}`", call.caller.name));
        asked(&call, JobAsk::Pause(reference(&call), why), StatusCode::OK).await
    })
}

pub(crate) fn resume(call: Call) -> Handled {
    Box::pin(async move { asked(&call, JobAsk::Resume(reference(&call)), StatusCode::OK).await })
}

pub(crate) fn run(call: Call) -> Handled {
    Box::pin(async move {
        call.server.is_open()?;
        asked(&call, JobAsk::Run(reference(&call)), StatusCode::ACCEPTED).await
    })
}

pub(crate) fn runs(call: Call) -> Handled {
    Box::pin(async move {
        let limit = call.query("limit").map(str::parse::<u32>).transpose();
        let limit = limit.map_err(|_| ApiError::field("limit", "must be a number"))?;
        let limit = limit.unwrap_or(RUNS).clamp(1, RUNS_MAX);
        asked(&call, JobAsk::Runs(reference(&call), limit), StatusCode::OK).await
    })
}

pub(crate) fn skills(call: Call) -> Handled {
    Box::pin(async move {
        let data = call.server.host.skills().await;
        Ok(answer::json(StatusCode::OK, &json!({ "object": "list", "data": data })))
    })
}
