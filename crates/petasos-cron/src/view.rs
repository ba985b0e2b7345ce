//! Jobs and runs as JSON: what commands print with `--json`, and what the tool answers.

use jiff::Timestamp;
use petasos_store::{DeliveryState, DeliveryWish, JobState, OccurrenceRow, OutboxRow};
use serde_json::{Map, Value, json};

use crate::job::{Job, moment};
use crate::schedule::Zone;

/// So much of a prompt is shown in lists.
const PREVIEW: usize = 100;

fn iso(zone: &Zone, ms: i64) -> String {
    zone.iso(moment(ms))
}

/// A job.
pub fn job(job: &Job, now: Timestamp, instants: usize) -> Value {
    let (zone, body) = (&job.schedule.zone, &job.body);
    let next = job.next_ms.filter(|_| job.state == JobState::Scheduled);
    let preview: String = body.prompt.chars().take(PREVIEW).collect();
    let repeat = match body.repeat.times {
        Some(times) => format!("{}/{times}", body.repeat.completed),
        None => "forever".to_owned(),
    };
    let upcoming = if next.is_some() { job.upcoming(now, instants) } else { Vec::new() };
    let last = job.last.as_deref();
    let mut view = json!({
        "job_id": job.id,
        "name": job.name,
        "skills": body.skills,
        "prompt_preview": preview,
        "model": body.model,
        "provider": body.provider,
        "schedule": job.schedule.exact(),
        "schedule_kind": job.schedule.kind(),
        "timezone": zone.name(),
        "repeat": repeat,
        "deliver": body.deliver,
        "next_run_at": next.map(|ms| iso(zone, ms)),
        "next_runs": upcoming,
        "last_run_at": last.and_then(|row| row.started_ms).map(|ms| iso(zone, ms)),
        "last_status": last.map(|row| row.new.state.as_str()),
        "last_delivery_error": last.and_then(|row| row.detail.get("delivery_error").cloned()),
        "enabled": job.state == JobState::Scheduled,
        "state": job.state.as_str(),
        "misfire": body.misfire.as_str(),
        "overlap": body.overlap.as_str(),
    });
    let mut put = |key: &str, value: Value| {
        if !value.is_null() && value != json!(false) && value != json!("") && value != json!([]) {
            view[key] = value;
        }
    };
    put(
        "paused_reason",
        if job.state == JobState::Scheduled { Value::Null } else { json!(job.why) },
    );
    put("last_error", last.and_then(|row| row.detail.get("error").cloned()).unwrap_or_default());
    put("script", json!(body.script));
    put("no_agent", json!(body.no_agent));
    put("context_from", json!(body.context_from));
    put("enabled_toolsets", json!(body.enabled_toolsets));
    put("workdir", json!(body.workdir));
    put("timeout", json!(body.timeout));
    put("attach_to_session", json!(body.attach_to_session));
    put("max_cost", json!(body.max_cost));
    put("grants", json!(body.grants));
    view
}

/// A run, with what became of its deliveries.
pub fn run(row: &OccurrenceRow, deliveries: &[OutboxRow], zone: &Zone) -> Value {
    let mut view = json!({
        "run_id": row.id,
        "job_id": row.new.job,
        "trigger": row.new.trigger.as_str(),
        "scheduled_at": iso(zone, row.new.scheduled_ms),
        "attempt": row.new.attempt,
        "state": row.new.state.as_str(),
        "late_by_s": row.new.late_ms / 1000,
        "started_at": row.started_ms.map(|ms| iso(zone, ms)),
        "ended_at": row.ended_ms.map(|ms| iso(zone, ms)),
        "session_id": row.session.as_ref().map(ToString::to_string),
        "delivery": delivery(row, deliveries),
    });
    if !row.new.reason.is_empty() {
        view["reason"] = json!(row.new.reason);
    }
    if row.new.folded > 0 {
        view["first_at"] = json!(iso(zone, row.new.first_ms));
        view["due_times"] = json!(row.new.folded + 1);
    }
    if let Some(view) = view.as_object_mut() {
        view.extend(row.detail.clone());
    }
    if !deliveries.is_empty() {
        let one = |it: &OutboxRow| {
            let mut one = Map::new();
            one.insert("to".to_owned(), json!(it.delivery.lane.to_string()));
            one.insert("state".to_owned(), json!(it.state));
            if !it.error.is_empty() {
                one.insert("error".to_owned(), json!(it.error));
            }
            Value::Object(one)
        };
        view["deliveries"] = deliveries.iter().map(one).collect();
    }
    view
}

/// What became of the reply, apart from what became of the run.
pub fn delivery(row: &OccurrenceRow, deliveries: &[OutboxRow]) -> &'static str {
    if row.wish != DeliveryWish::Queued {
        return row.wish.as_str();
    }
    let is = |it: &OutboxRow, state: DeliveryState| it.state == state;
    if deliveries.iter().any(|it| is(it, DeliveryState::Dead)) {
        "failed"
    } else if !deliveries.is_empty() && deliveries.iter().all(|it| is(it, DeliveryState::Sent)) {
        "delivered"
    } else {
        "queued"
    }
}
