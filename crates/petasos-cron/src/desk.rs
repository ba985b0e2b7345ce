//! What a model can do with jobs: the requests of the tool `cronjob` and their answers.

use std::path::PathBuf;
use std::sync::Arc;

use petasos_contract::CallContext;
use petasos_contract::context::Surface;
use petasos_store::OccurrenceState;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::jobs::{Author, Draft, JobError, Jobs, Made};
use crate::scheduler::Scheduler;
use crate::view;

/// So many next instants are shown.
const INSTANTS: usize = 5;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Request {
    action: String,
    job_id: Option<String>,
    prompt: Option<String>,
    schedule: Option<String>,
    name: Option<String>,
    repeat: Option<u32>,
    deliver: Option<String>,
    skills: Option<Vec<String>>,
    model: Option<Model>,
    script: Option<String>,
    no_agent: Option<bool>,
    context_from: Option<Vec<String>>,
    enabled_toolsets: Option<Vec<String>>,
    workdir: Option<PathBuf>,
    attach_to_session: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Model {
    provider: Option<String>,
    model: String,
}

impl Request {
    fn draft(self) -> Draft {
        let (provider, model) = match self.model {
            Some(model) => (model.provider, Some(model.model)),
            None => (None, None),
        };
        Draft {
            name: self.name,
            prompt: self.prompt,
            schedule: self.schedule,
            repeat: self.repeat,
            deliver: self.deliver,
            skills: self.skills,
            provider,
            model,
            script: self.script,
            no_agent: self.no_agent,
            context_from: self.context_from,
            enabled_toolsets: self.enabled_toolsets,
            workdir: self.workdir,
            attach_to_session: self.attach_to_session,
            ..Draft::default()
        }
    }
}

/// Who speaks in a call: the chat, when the conversation is held in one.
fn author(cx: &CallContext) -> Author {
    let origin = (cx.surface == Surface::Gateway).then(|| (*cx.address).clone());
    Author {
        name: format!("session {}", cx.session),
        session: Some(cx.origin().to_string()),
        origin,
        label: cx.label(),
        accepts: false,
        remote: false,
    }
}

/// Answers one request. Whatever went wrong is in the answer.
pub async fn answer(
    jobs: &Jobs,
    scheduler: Option<&Arc<Scheduler>>,
    request: Value,
    cx: &CallContext,
) -> Value {
    if cx.surface == Surface::Cron {
        return refused(
            "denied",
            "a scheduled run may not schedule: say in the reply what is needed",
        );
    }
    let request: Request = match serde_json::from_value(request) {
        Ok(request) => request,
        Err(error) => return refused("bad_argument", &error.to_string()),
    };
    match act(jobs, scheduler, request, cx).await {
        Ok(answer) => answer,
        Err(error) => failure(&error),
    }
}

async fn act(
    jobs: &Jobs,
    scheduler: Option<&Arc<Scheduler>>,
    request: Request,
    cx: &CallContext,
) -> Result<Value, JobError> {
    let now = jobs.now();
    let (author, action) = (author(cx), request.action.clone());
    let scope = author.scope();
    let named = request.job_id.clone();
    let needed = async || -> Result<String, JobError> {
        let missing = "`job_id` is missing: `list` shows the jobs";
        let named = named.ok_or_else(|| JobError::Invalid(missing.to_owned()))?;
        Ok(jobs.find_in(&named, &scope).await?.id)
    };
    let shown = |job: &crate::job::Job| view::job(job, now, INSTANTS);
    match action.as_str() {
        "create" => {
            let made = jobs.create(request.draft(), &author).await?;
            let upcoming = made.job.upcoming(now, INSTANTS);
            Ok(created(&made, &shown(&made.job), &upcoming))
        }
        "list" => {
            let (list, _) = jobs.list().await?;
            let seen = list.iter().filter(|job| scope.sees(job.body.origin.as_ref()));
            let list: Vec<Value> = seen.map(shown).collect();
            Ok(json!({ "success": true, "count": list.len(), "jobs": list }))
        }
        "update" => {
            let id = needed().await?;
            let made = jobs.update(&id, request.draft(), &author).await?;
            let mut answer = json!({ "success": true, "job": shown(&made.job) });
            if !made.told.is_empty() {
                answer["message"] = json!(made.told.join(" "));
            }
            Ok(answer)
        }
        "pause" => {
            let job = jobs.pause(&needed().await?, "paused in a conversation").await?;
            Ok(json!({ "success": true, "job": shown(&job) }))
        }
        "resume" => {
            let job = jobs.resume(&needed().await?).await?;
            Ok(json!({ "success": true, "job": shown(&job) }))
        }
        "remove" => {
            let job = jobs.remove(&needed().await?).await?;
            let removed = json!({ "id": job.id, "name": job.name });
            Ok(json!({ "success": true, "removed_job": removed }))
        }
        "run" => run(jobs, scheduler, &needed().await?).await,
        other => Err(JobError::Invalid(format!(
            "`{other}` is no action: create, list, update, pause, resume, remove, run"
        ))),
    }
}

fn created(made: &Made, shown: &Value, upcoming: &[String]) -> Value {
    let mut words = made.told.clone();
    words.insert(
        0,
        format!("It runs {}; the next times are {}.", made.job.schedule, upcoming.join(", ")),
    );
    json!({
        "success": true,
        "job_id": made.job.id,
        "name": made.job.name,
        "skill": made.job.body.skills.first(),
        "skills": made.job.body.skills,
        "schedule": shown["schedule"],
        "repeat": shown["repeat"],
        "deliver": made.job.body.deliver,
        "next_run_at": shown["next_run_at"],
        "job": shown,
        "message": words.join(" "),
    })
}

/// Runs a job now, under a claim of its own.
async fn run(
    jobs: &Jobs,
    scheduler: Option<&Arc<Scheduler>>,
    reference: &str,
) -> Result<Value, JobError> {
    let job = jobs.find(reference).await?;
    let Some(scheduler) = scheduler else {
        let what = format!("jobs cannot be run from here: `petasos cron run {}` does", job.id);
        return Err(JobError::Invalid(what));
    };
    let row = scheduler.run_now(&job).await?;
    let job = jobs.find(&job.id).await.unwrap_or(job);
    let mut answer = json!({
        "success": true,
        "executed": row.new.state != OccurrenceState::Skipped,
        "execution_success": row.new.state == OccurrenceState::Succeeded,
        "run": view::run(&row, &[], &job.schedule.zone),
        "job": view::job(&job, jobs.now(), INSTANTS),
    });
    if row.new.state == OccurrenceState::Skipped {
        answer["execution_skipped"] = json!(true);
    }
    if let Some(error) = row.detail.get("error") {
        answer["execution_error"] = error.clone();
    }
    Ok(answer)
}

fn refused(kind: &str, why: &str) -> Value {
    json!({ "success": false, "error": why, "error_type": kind })
}

fn failure(error: &JobError) -> Value {
    // A model knows the words that every tool answers with.
    let kind = match error {
        JobError::Schedule(_) | JobError::Invalid(_) => "bad_argument",
        JobError::Findings(_) => "blocked_policy",
        JobError::NotFound(_) => "not_found",
        JobError::Ambiguous { .. } => "ambiguous",
        JobError::Changed(_) => "stale",
        JobError::TooMany(_) => "quota",
        JobError::Store(_) => "upstream",
    };
    let more = match error {
        JobError::Findings(found) => Some(("findings", json!(found))),
        JobError::Ambiguous { ids, .. } => Some(("matches", json!(ids))),
        _ => None,
    };
    let mut answer = refused(kind, &error.to_string());
    if let Some((key, value)) = more {
        answer[key] = value;
    }
    answer
}
