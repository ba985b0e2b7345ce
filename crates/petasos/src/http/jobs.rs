//! Schedules over HTTP: what `/api/jobs` asks, answered by the one way that jobs are made, found
//! and changed.

use std::sync::Arc;

use petasos_api::{JobAsk, JobFault};
use petasos_cron::{Job, JobError, Jobs, fields, view};
use petasos_store::StoreError;
use serde_json::{Value, json};

use crate::scheduled::Scheduled;

/// So many next instants are told.
const INSTANTS: usize = 5;

struct Failed(JobFault);

impl From<JobError> for Failed {
    fn from(error: JobError) -> Self {
        Self(JobFault { kind: error.kind(), message: error.to_string() })
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        JobError::Store(error).into()
    }
}

/// What the key of this name gets.
pub(crate) async fn ask(
    scheduled: &Arc<Scheduled>,
    ask: JobAsk,
    by: &str,
) -> Result<Value, JobFault> {
    answered(scheduled, ask, by).await.map_err(|failed| failed.0)
}

async fn answered(scheduled: &Arc<Scheduled>, ask: JobAsk, by: &str) -> Result<Value, Failed> {
    let unread = |message: String| Failed(JobFault { kind: "store", message });
    let jobs = scheduled.jobs().map_err(|report| unread(report.to_string()))?;
    let one = |job: &Job| view::job(job, jobs.now(), INSTANTS);
    match ask {
        JobAsk::List => {
            let (list, broken) = jobs.list().await?;
            let data: Vec<Value> = list.iter().map(one).collect();
            let broken: Vec<Value> =
                broken.iter().map(|(id, why)| json!({ "job_id": id, "error": why })).collect();
            Ok(json!({ "object": "list", "data": data, "broken": broken }))
        }
        JobAsk::One(job) => Ok(whole(&jobs, &jobs.find(&job).await?)),
        JobAsk::Create(fields) => {
            let draft = fields::draft(fields)?;
            let made = jobs.create(draft, &fields::author(by)).await?;
            Ok(json!({ "job": whole(&jobs, &made.job), "told": made.told }))
        }
        JobAsk::Change(job, fields) => {
            let draft = fields::draft(fields)?;
            let made = jobs.update(&job, draft, &fields::author(by)).await?;
            Ok(json!({ "job": whole(&jobs, &made.job), "told": made.told }))
        }
        JobAsk::Remove(job) => {
            let job = jobs.remove(&job).await?;
            Ok(json!({ "job_id": job.id, "name": job.name, "deleted": true }))
        }
        JobAsk::Pause(job, why) => Ok(one(&jobs.pause(&job, &why).await?)),
        JobAsk::Resume(job) => Ok(one(&jobs.resume(&job).await?)),
        JobAsk::Run(job) => run(scheduled, &jobs, &job).await,
        JobAsk::Runs(job, limit) => runs(&jobs, &job, limit).await,
    }
}

/// A job with everything that its maker said.
fn whole(jobs: &Jobs, job: &Job) -> Value {
    let mut shown = view::job(job, jobs.now(), INSTANTS);
    shown["prompt"] = json!(job.body.prompt);
    shown["created_by"] = json!(job.body.created_by);
    shown
}

async fn run(scheduled: &Arc<Scheduled>, jobs: &Jobs, job: &str) -> Result<Value, Failed> {
    let unavailable = |message: String| Failed(JobFault { kind: "unavailable", message });
    let job = jobs.find(job).await?;
    let owner = scheduled.scheduler("serve");
    let owner = owner.map_err(|report| unavailable(report.to_string()))?;
    let zone = job.schedule.zone.clone();
    let row = owner.start_now(job).await?;
    Ok(view::run(&row, &[], &zone))
}

async fn runs(jobs: &Jobs, job: &str, limit: u32) -> Result<Value, Failed> {
    let job = jobs.find(job).await?;
    let store = jobs.store();
    let rows = store.occurrences(Some(&job.id), limit).await?;
    let mut data = Vec::new();
    for row in &rows {
        let sent = store.deliveries_of(&row.id).await?;
        data.push(view::run(row, &sent, &job.schedule.zone));
    }
    Ok(json!({ "object": "list", "data": data }))
}
