//! The jobs as the file that other programs know: written after each change, never read again.

use std::time::Duration;

use jiff::Timestamp;
use petasos_contract::Address;
use petasos_contract::id::{ThreadId, UserId};
use petasos_contract::wait::Owned;
use petasos_store::{JobState, StoreError};
use serde_json::{Value, json};

use crate::job::{Job, moment};
use crate::jobs::Jobs;
use crate::schedule::Shape;

/// Says that a file is ours, so that nobody takes it for the jobs of another agent.
const MARK: &str = "mirror";
/// Runs end in crowds: what ends within so long after the file was written is written together.
const TOGETHER: Duration = Duration::from_secs(2);

/// How far the file is behind.
#[derive(Debug, Default)]
pub(crate) struct Mirrored {
    last: Option<tokio::time::Instant>,
    /// Something has changed since somebody last looked.
    behind: bool,
    /// Who writes it in a moment.
    writer: Option<Owned<()>>,
    writing: bool,
}

/// Whether a file is one that was written here.
pub fn is_mirror(file: &Value) -> bool {
    file.get(MARK).and_then(Value::as_bool) == Some(true)
}

impl Jobs {
    /// The same for the end of a run: at once, and then together with those that follow.
    pub(crate) async fn mirror_soon(&self) {
        if !self.options().mirror || self.is_left_to_writer() {
            return;
        }
        self.mirror().await;
    }

    /// Whether the file was written a moment ago, so that somebody does it again in another.
    fn is_left_to_writer(&self) -> bool {
        let mut state = self.mirrored.lock();
        if state.last.is_none_or(|last| last.elapsed() >= TOGETHER) {
            return false;
        }
        state.behind = true;
        if !state.writing {
            state.writing = true;
            state.writer = Some(Owned::start(self.clone().write_behind()));
        }
        true
    }

    async fn write_behind(self) {
        loop {
            tokio::time::sleep(TOGETHER).await;
            {
                let mut state = self.mirrored.lock();
                if !std::mem::take(&mut state.behind) {
                    state.writing = false;
                    return;
                }
            }
            self.mirror().await;
        }
    }

    /// Writes the file, where the settings want it. A file of another agent is left alone until
    /// its jobs were taken over.
    pub async fn mirror(&self) {
        if !self.options().mirror {
            return;
        }
        self.mirrored.lock().last = Some(tokio::time::Instant::now());
        let path = self.host().settings().home().join("cron").join("jobs.json");
        let there = std::fs::read_to_string(&path).ok();
        let foreign = there.is_some_and(|text| {
            serde_json::from_str::<Value>(&text).map_or(true, |file| !is_mirror(&file))
        });
        if foreign {
            return;
        }
        let written = match self.as_file().await {
            Ok(file) => self.host().save(&path, &format!("{file:#}\n")),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = written {
            tracing::warn!(error, "the file of jobs is not up to date");
        }
    }

    /// All jobs in the words of that file.
    pub async fn as_file(&self) -> Result<Value, StoreError> {
        let (jobs, _) = self.list().await?;
        let jobs: Vec<Value> = jobs.iter().map(one).collect();
        Ok(json!({ "jobs": jobs, "updated_at": self.now().to_string(), MARK: true }))
    }
}

fn one(job: &Job) -> Value {
    let (body, zone) = (&job.body, &job.schedule.zone);
    let iso = |ms: i64| zone.iso(moment(ms));
    let last = job.last.as_deref();
    let detail = |key: &str| last.and_then(|row| row.detail.get(key).cloned());
    json!({
        "id": job.id, "name": job.name, "prompt": body.prompt, "skills": body.skills,
        "skill": body.skills.first(), "model": body.model, "provider": body.provider,
        "provider_snapshot": body.provider_snapshot, "model_snapshot": body.model_snapshot,
        "script": body.script, "no_agent": body.no_agent, "context_from": body.context_from,
        "schedule": schedule(job), "schedule_display": job.schedule.exact(), "tz": zone.name(),
        "repeat": { "times": body.repeat.times, "completed": body.repeat.completed },
        "enabled": job.state == JobState::Scheduled, "state": job.state.as_str(),
        "paused_reason": (job.state != JobState::Scheduled).then_some(&job.why),
        "created_at": iso(job.created_ms), "next_run_at": job.next_ms.map(iso),
        "last_run_at": last.and_then(|row| row.started_ms).map(iso),
        "last_status": last.map(|row| row.new.state.as_str()),
        "last_error": detail("error"), "last_delivery_error": detail("delivery_error"),
        "deliver": body.deliver, "origin": body.origin.as_ref().map(origin),
        "enabled_toolsets": body.enabled_toolsets, "workdir": body.workdir,
        "attach_to_session": body.attach_to_session.unwrap_or_default(),
    })
}

fn schedule(job: &Job) -> Value {
    let display = job.schedule.exact();
    match &job.schedule.shape {
        Shape::Once(at) => {
            json!({ "kind": "once", "run_at": Timestamp::to_string(at), "display": display })
        }
        Shape::Every { period, .. } => {
            let minutes = f64::from(period.seconds()) / 60.0;
            let minutes = if period.seconds() % 60 == 0 {
                json!(period.seconds() / 60)
            } else {
                json!(minutes)
            };
            json!({ "kind": "interval", "minutes": minutes, "display": display })
        }
        Shape::Cron(expression) => {
            json!({ "kind": "cron", "expr": expression.text(), "display": display })
        }
    }
}

fn origin(address: &Address) -> Value {
    json!({
        "platform": address.platform.as_str(), "chat_id": address.chat.as_str(),
        "thread_id": address.thread.as_ref().map(ThreadId::as_str),
        "user_id": address.user.as_ref().map(UserId::as_str),
    })
}
