//! Looking at jobs.

use std::process::ExitCode;

use petasos_cron::{Job, JobError, Jobs, moment, view};
use petasos_store::{JobState, OccurrenceRow, OccurrenceState, StoreError};
use serde_json::{Value, json};

use super::logs::{full, run_line};
use super::{broken, failed, jobs};
use crate::command::Session;
use crate::out::{Out, Style};
use crate::report::Report;

/// So many next instants are shown.
pub(super) const INSTANTS: usize = 5;
/// So many past runs are shown with a job.
const RUNS: u32 = 5;

fn line(job: &Job, out: Out) -> String {
    let next = match (job.state, job.next_ms) {
        (JobState::Scheduled, Some(ms)) => format!("next {}", job.schedule.zone.iso(moment(ms))),
        (state, _) => state.to_string(),
    };
    let last = job.last.as_deref().map_or("never ran", |row| row.new.state.as_str());
    let id = out.paint(Style::Faint, &job.id);
    format!("{id}  {:<30}  {}  {next}  last {last}", job.name, job.schedule.exact())
}

pub(super) fn list(session: &mut Session) -> Result<ExitCode, Report> {
    let jobs = jobs(session)?;
    let out = session.out;
    let (list, unreadable) = session.host.get()?.wait(jobs.list())?.map_err(|it| broken(&it))?;
    if out.is_json() {
        let shown: Vec<Value> =
            list.iter().map(|job| view::job(job, jobs.now(), INSTANTS)).collect();
        out.value(&json!({ "count": shown.len(), "jobs": shown, "unreadable": unreadable }));
        return Ok(ExitCode::SUCCESS);
    }
    for job in &list {
        out.line(line(job, out));
    }
    for (id, why) in &unreadable {
        out.remark(format!("job {id} cannot be read: {why}"));
    }
    if list.is_empty() {
        out.line("No jobs. `petasos cron create \"every weekday at 9:00\" \"…\"` creates one.");
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn show(session: &mut Session, reference: &str) -> Result<ExitCode, Report> {
    let jobs = jobs(session)?;
    let out = session.out;
    let host = session.host.get()?;
    let job = host.wait(jobs.find(reference))?.map_err(|error| failed(&error))?;
    let runs = host.wait(past(&jobs, &job.id))?.map_err(|error| broken(&error))?;
    let mut shown = view::job(&job, jobs.now(), INSTANTS);
    shown["runs"] = json!(runs);
    shown["prompt"] = json!(job.body.prompt);
    shown["created_by"] = json!(job.body.created_by);
    if out.is_json() {
        out.value(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    out.line(format!("{} ({})", out.paint(Style::Bold, &job.name), job.id));
    out.line(format!("  schedule  {}", job.schedule));
    out.line(format!("  state     {}", state(&job)));
    // Only what is scheduled comes.
    if job.state == JobState::Scheduled {
        for at in job.upcoming(jobs.now(), INSTANTS) {
            out.line(format!("            {at}"));
        }
    }
    out.line(format!("  deliver   {}", job.body.deliver));
    out.line(format!(
        "  misfire   {}; overlap {}",
        job.body.misfire.as_str(),
        job.body.overlap.as_str()
    ));
    let toolsets = job.body.enabled_toolsets.as_ref().map(|names| names.join(", "));
    let usual = "those of schedules; `petasos cron explain` lists the tools".to_owned();
    out.line(format!("  toolsets  {}", toolsets.unwrap_or(usual)));
    if let Some(script) = &job.body.script {
        out.line(format!("  script    {script}"));
    }
    if !job.body.prompt.is_empty() {
        out.line(format!("  prompt    {}", job.body.prompt.replace('\n', "\n            ")));
    }
    out.line(if runs.is_empty() { "  runs      none yet" } else { "  runs, the newest first" });
    for run in &runs {
        out.line(format!("    {}", run_line(run)));
    }
    if !runs.is_empty() {
        out.remark(format!("`petasos cron logs {}` shows what they said.", job.id));
    }
    Ok(ExitCode::SUCCESS)
}

/// The newest runs of a job.
async fn past(jobs: &Jobs, id: &str) -> Result<Vec<Value>, StoreError> {
    let mut runs = Vec::new();
    for row in jobs.store().occurrences(Some(id), RUNS).await? {
        runs.push(full(jobs, &row).await?);
    }
    Ok(runs)
}

/// What a job is about to do, and why, where that is not the usual.
fn state(job: &Job) -> String {
    let state = job.state.to_string();
    match job.why.as_str() {
        "" => state,
        // Somebody who gives a reason often says the word already.
        why if why.starts_with(&state) => why.to_owned(),
        why => format!("{state}: {why}"),
    }
}

pub(super) fn next(
    session: &mut Session,
    text: &str,
    tz: Option<&str>,
    count: usize,
) -> Result<ExitCode, Report> {
    let jobs = jobs(session)?;
    let out = session.out;
    let known = session.host.get()?.wait(jobs.find(text))?;
    let (schedule, told) = if let Ok(job) = known {
        (job.schedule, Vec::new())
    } else {
        let parsed = jobs.plan(text, tz).map_err(|error| failed(&JobError::Schedule(error)))?;
        (parsed.schedule, parsed.told)
    };
    let list = schedule.annotated(jobs.now(), count.min(1000));
    if out.is_json() {
        let one = |it: &petasos_cron::schedule::Instant| json!({ "at": schedule.zone.iso(it.at), "utc": it.at.to_string(), "remark": it.remark });
        let list: Vec<Value> = list.iter().map(one).collect();
        let (exact, kind, tz) = (schedule.exact(), schedule.kind(), schedule.zone.name());
        out.value(&json!({
            "schedule": exact, "kind": kind, "timezone": tz, "told": told, "next": list,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    out.line(schedule.to_string());
    for it in &list {
        let remark = it.remark.as_ref().map(|it| format!("  ({it})")).unwrap_or_default();
        out.line(format!("  {}{remark}", schedule.zone.iso(it.at)));
    }
    for told in told {
        out.remark(told);
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn status(session: &mut Session) -> Result<ExitCode, Report> {
    let jobs = jobs(session)?;
    let out = session.out;
    let host = session.host.get()?;
    let schedulers = host.wait(jobs.store().schedulers())?.map_err(|error| broken(&error))?;
    let (list, unreadable) = host.wait(jobs.list())?.map_err(|error| broken(&error))?;
    let next = host.wait(jobs.store().next_job())?.map_err(|error| broken(&error))?;
    let zone = &jobs.options().zone;
    let looking = |kind: &str| kind == "gateway" || kind == "daemon";
    let owner = schedulers.iter().find(|it| it.alive && looking(&it.kind));
    let wants: Vec<&Job> =
        list.iter().filter(|job| matches!(job.state, JobState::Held | JobState::Failed)).collect();
    let cut_off: Vec<(&Job, &OccurrenceRow)> = list.iter().filter_map(cut_off).collect();
    if out.is_json() {
        let held: Vec<Value> = wants.iter().map(|job| {
            json!({ "job_id": job.id, "name": job.name, "state": job.state.as_str(), "why": job.why })
        }).collect();
        out.value(&json!({
            "scheduler": owner, "schedulers": schedulers, "jobs": list.len(),
            "next_due": next.map(|ms| zone.iso(moment(ms))), "held": held, "unreadable": unreadable,
            "cut_off": cut_off.iter().map(|(job, row)| json!({
                "job_id": job.id, "name": job.name, "run_id": row.id,
                "state": row.new.state.as_str(), "scheduled_at": zone.iso(moment(row.new.scheduled_ms)),
            })).collect::<Vec<_>>(),
            "timezone": zone.name(), "timezone_from": jobs.options().zone_from,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    match owner {
        Some(it) => out.line(format!(
            "scheduler: {} (process {}), last looked {}",
            it.kind,
            it.pid,
            zone.iso(moment(it.woke_ms))
        )),
        None => out.line(
            "scheduler: none runs, nothing will fire; start `petasos gateway run` or \
             `petasos cron daemon`, or let a timer call `petasos cron tick`",
        ),
    }
    out.line(format!("time zone: {} ({})", zone.name(), jobs.options().zone_from));
    let next = next.map_or("nothing".to_owned(), |ms| zone.iso(moment(ms)));
    out.line(format!("jobs: {}; next due: {next}", list.len()));
    for job in wants {
        out.line(format!("{}: {} ({}): {}", job.state, job.name, job.id, job.why));
    }
    for (job, row) in cut_off {
        let due = zone.iso(moment(row.new.scheduled_ms));
        let told = match row.new.state {
            OccurrenceState::Unknown => format!(
                "its process ended in the middle of it, so nobody knows how far it came; \
                 `petasos cron run {}` runs it again",
                job.id
            ),
            _ => "its process ended before it had called anything; it runs again unless that is \
                  too late"
                .to_owned(),
        };
        out.line(format!("{}: {} ({}), due {due}: {told}", row.new.state, job.name, job.id));
    }
    for (id, why) in unreadable {
        out.remark(format!("job {id} cannot be read: {why}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The newest run of a job, where its process ended before it did.
fn cut_off(job: &Job) -> Option<(&Job, &OccurrenceRow)> {
    let open = |row: &&OccurrenceRow| {
        matches!(row.new.state, OccurrenceState::Unknown | OccurrenceState::Interrupted)
    };
    job.last.as_deref().filter(open).map(|row| (job, row))
}
