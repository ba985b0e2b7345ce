//! Looking at jobs and runs.

use std::process::ExitCode;
use std::time::Duration;

use petasos_approval::policy::explain::rules;
use petasos_approval::settings::{Absent, ApprovalSettingsError, Approvals};
use petasos_contract::context::Surface;
use petasos_contract::{SessionId, Settings};
use petasos_cron::{CronHost as _, Job, JobError, Jobs, moment, reply, view};
use petasos_runtime::definitions::Wanted;
use petasos_store::{JobState, OccurrenceRow, StoreError};
use serde_json::{Value, json};

use super::{failed, jobs};
use crate::command::Session;
use crate::out::{Out, Style};
use crate::report::Report;

/// So many next instants are shown.
const INSTANTS: usize = 5;
/// How often `--follow` looks.
const LOOK: Duration = Duration::from_secs(1);

fn broken(error: &StoreError) -> Report {
    Report::new(error.to_string()).code("store")
}

fn line(job: &Job, out: Out) -> String {
    let next = match (job.state, job.next_ms) {
        (JobState::Scheduled, Some(ms)) => job.schedule.zone.iso(moment(ms)),
        (state, _) => state.to_string(),
    };
    let last = job.last.as_deref().map_or("never ran", |row| row.new.state.as_str());
    let id = out.paint(Style::Faint, &job.id);
    format!("{id}  {:<30}  {}  next {next}  last {last}", job.name, job.schedule.exact())
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
    let job = session.host.get()?.wait(jobs.find(reference))?.map_err(|error| failed(&error))?;
    let mut shown = view::job(&job, jobs.now(), INSTANTS);
    shown["prompt"] = json!(job.body.prompt);
    shown["created_by"] = json!(job.body.created_by);
    if out.is_json() {
        out.value(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    out.line(format!("{} ({})", out.paint(Style::Bold, &job.name), job.id));
    out.line(format!("  schedule  {}", job.schedule));
    out.line(format!("  state     {} {}", job.state, job.why));
    for at in job.upcoming(jobs.now(), INSTANTS) {
        out.line(format!("            {at}"));
    }
    out.line(format!("  deliver   {}", job.body.deliver));
    out.line(format!(
        "  misfire   {}; overlap {}",
        job.body.misfire.as_str(),
        job.body.overlap.as_str()
    ));
    if let Some(script) = &job.body.script {
        out.line(format!("  script    {script}"));
    }
    out.line(format!("  prompt    {}", job.body.prompt.replace('\n', "\n            ")));
    Ok(ExitCode::SUCCESS)
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

/// One run with what became of its deliveries.
async fn full(jobs: &Jobs, row: &OccurrenceRow) -> Result<Value, StoreError> {
    let deliveries = jobs.store().deliveries_of(&row.id).await?;
    Ok(view::run(row, &deliveries, &jobs.options().zone))
}

fn run_line(shown: &Value) -> String {
    let text = |key: &str| shown[key].as_str().unwrap_or_default().to_owned();
    let mut parts = vec![
        text("scheduled_at"),
        text("job_id"),
        format!("run {}", text("run_id")),
        format!("{:<12}", text("state")),
        format!("delivery {:<9}", text("delivery")),
    ];
    let reasons = ["reason", "error", "delivery_error"].into_iter();
    parts.extend(reasons.filter_map(|key| shown[key].as_str()?.lines().next().map(str::to_owned)));
    if let Some(count) = shown["due_times"].as_u64() {
        parts.push(format!("({count} due times since {})", text("first_at")));
    }
    parts.join("  ")
}

pub(super) fn logs(
    session: &mut Session,
    job: Option<&str>,
    run: Option<&str>,
    (lines, follow): (u32, bool),
) -> Result<ExitCode, Report> {
    let jobs = jobs(session)?;
    let out = session.out;
    let host = session.host.get()?;
    if let Some(id) = run {
        return one_run(host, &jobs, id, out);
    }
    host.wait(async {
        let job = match job {
            Some(job) => Some(jobs.find(job).await.map_err(|error| failed(&error))?.id),
            None => None,
        };
        let mut seen = String::new();
        let mut all = Vec::new();
        let mut newest = None;
        loop {
            let rows = jobs.store().occurrences(job.as_deref(), lines).await;
            let rows = rows.map_err(|error| broken(&error))?;
            for row in rows.iter().rev().filter(|row| row.id > seen) {
                let shown = full(&jobs, row).await.map_err(|error| broken(&error))?;
                if !out.is_json() {
                    out.line(run_line(&shown));
                }
                all.push(shown);
            }
            newest = rows.first().cloned().or(newest);
            // Runs that have not ended are shown again when they have.
            let settled = rows.iter().filter(|row| row.new.state.is_settled());
            seen = settled.map(|row| row.id.clone()).max().unwrap_or(seen);
            if !follow || out.is_unread() {
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
        if out.is_json() {
            out.value(&json!({ "runs": all }));
        } else if all.is_empty() {
            out.remark("No runs yet. `petasos cron list` shows when jobs run next.");
        } else if let Some(row) = newest.filter(|_| job.is_some() && !follow) {
            if let Some(text) = output(host, &row) {
                out.line(format!("\nThe newest run:\n{}", text.trim_end()));
            }
            if all.len() > 1 {
                out.remark("`petasos cron logs --run RUN` shows what another run said.");
            }
        }
        Ok(ExitCode::SUCCESS)
    })?
}

/// What a run said, as it was saved.
fn output(host: &crate::host::Host, row: &OccurrenceRow) -> Option<String> {
    let folder = reply::folder(host.settings().home(), &row.new.job);
    let name = row.detail.get("output").and_then(Value::as_str)?;
    std::fs::read_to_string(folder.join(name)).ok()
}

fn one_run(host: &crate::host::Host, jobs: &Jobs, id: &str, out: Out) -> Result<ExitCode, Report> {
    let row = host.wait(jobs.store().occurrence(id))?.map_err(|error| broken(&error))?;
    let row = row.ok_or_else(|| {
        Report::new(format!("no run is `{id}`"))
            .code("not_found")
            .hint("`petasos cron logs` lists them")
    })?;
    let shown = host.wait(full(jobs, &row))?.map_err(|error| broken(&error))?;
    let text = output(host, &row);
    if out.is_json() {
        out.value(&json!({ "run": shown, "output": text }));
        return Ok(ExitCode::SUCCESS);
    }
    out.line(run_line(&shown));
    if let Some(session) = &row.session {
        out.line(format!("  session {session}"));
    }
    if let Some(text) = text {
        out.line(text.trim_end());
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
    if out.is_json() {
        let held: Vec<Value> = wants.iter().map(|job| {
            json!({ "job_id": job.id, "name": job.name, "state": job.state.as_str(), "why": job.why })
        }).collect();
        out.value(&json!({
            "scheduler": owner, "schedulers": schedulers, "jobs": list.len(),
            "next_due": next.map(|ms| zone.iso(moment(ms))), "held": held, "unreadable": unreadable,
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
    for (id, why) in unreadable {
        out.remark(format!("job {id} cannot be read: {why}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// What a run would do, by the functions that do it.
/// How a question that nobody can be asked is answered.
const GRANTED: &str = "granted";
const ALLOWED: &str = "allowed";
const DENIED: &str = "denied";

/// The rules that would ask a person about a run's commands, and how each is answered instead.
fn asked(
    job: &Job,
    settings: &Settings,
    tools: &[String],
) -> Result<Vec<(String, &'static str)>, Report> {
    let runs = |tool: &String| matches!(tool.as_str(), "terminal" | "execute_code");
    if !tools.iter().any(runs) {
        return Ok(Vec::new());
    }
    let wrong = |error: ApprovalSettingsError| Report::new(error.to_string()).code("settings");
    let allows = Approvals::read(settings).map_err(wrong)?.cron == Absent::Approve;
    let rules = rules(settings).map_err(wrong)?.into_iter().filter(|rule| rule.severity == "ask");
    let answered = rules.map(|rule| {
        let answer = match (job.body.grants.contains(&rule.key), allows) {
            (true, _) => GRANTED,
            (false, true) => ALLOWED,
            (false, false) => DENIED,
        };
        (rule.key, answer)
    });
    Ok(answered.collect())
}

pub(super) fn explain(session: &mut Session, reference: &str) -> Result<ExitCode, Report> {
    let jobs = jobs(session)?;
    let out = session.out;
    let host = session.host.get()?.with_plugins();
    let job = host.wait(jobs.find(reference))?.map_err(|error| failed(&error))?;
    let scheduled = host.scheduled();
    let (provider, model) = (job.body.provider.as_deref(), job.body.model.as_deref());
    let answers = host.wait(scheduled.resolve(provider, model))?;
    let targets = host.wait(petasos_cron::targets::resolve(&job.body, jobs.host()))?;
    let places: Vec<String> = targets.places.iter().map(ToString::to_string).collect();
    let choice = scheduled.choice(&job).map_err(|why| Report::new(why).code("cron"))?;
    let cx = host.check_context(Surface::Cron, SessionId::new("explain"));
    let wanted = Wanted { selection: choice.selection, ..Wanted::default() };
    let defined = host.wait(host.catalogue().define(&wanted, &cx))?;
    let tools: Vec<String> = defined.tools.iter().map(|it| it.name.to_string()).collect();
    let consent = host.settings().text("approvals.cron_mode").unwrap_or("deny").to_owned();
    let asked = asked(&job, host.settings(), &tools)?;
    let shown = json!({
        "job": view::job(&job, jobs.now(), INSTANTS),
        "answers": answers.as_ref().map_err(Clone::clone),
        "pinned": job.body.is_pinned(),
        "tools": tools,
        "deliver_to": places,
        "delivery_trouble": targets.trouble,
        "consent": consent,
        "asked": asked.iter().map(|(rule, answer)| json!({ "rule": rule, "answer": answer }))
            .collect::<Vec<_>>(),
    });
    if out.is_json() {
        out.value(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    out.line(format!("{} ({}): {}", job.name, job.id, job.schedule));
    for at in job.upcoming(jobs.now(), INSTANTS) {
        out.line(format!("  {at}"));
    }
    out.line(match &answers {
        Ok(who) => format!("answers:  {who}"),
        Err(why) => format!("answers:  nobody: {why}"),
    });
    out.line(format!("tools:    {}", tools.join(", ")));
    out.line(format!("consent:  what needs a person is decided by approvals.cron_mode: {consent}"));
    for answer in [GRANTED, DENIED, ALLOWED] {
        let rules = asked.iter().filter(|it| it.1 == answer).map(|it| it.0.as_str());
        let rules: Vec<&str> = rules.collect();
        if !rules.is_empty() {
            out.line(format!("{answer:<9} {} rules: {}", rules.len(), rules.join(", ")));
        }
    }
    let places = if places.is_empty() { "only saved".to_owned() } else { places.join(", ") };
    out.line(format!("delivery: {places}"));
    for trouble in &targets.trouble {
        out.remark(trouble.clone());
    }
    Ok(ExitCode::SUCCESS)
}
