//! Looking at past runs.

use std::process::ExitCode;
use std::time::Duration;

use petasos_cron::{JobError, Jobs, reply, view};
use petasos_store::{DecisionEntry, OccurrenceRow, SessionScope, StoreError};
use serde_json::{Value, json};

use super::{broken, failed, jobs};
use crate::command::Session;
use crate::out::Out;
use crate::report::Report;

/// How often `--follow` looks.
const LOOK: Duration = Duration::from_secs(1);
/// So far back runs of a job that was removed are looked for by its name.
const LOOKED_AT: u32 = 10_000;
/// So far back decisions about the calls of a run are looked for.
const DECISIONS: usize = 10_000;

/// One run with what became of its deliveries.
pub(super) async fn full(jobs: &Jobs, row: &OccurrenceRow) -> Result<Value, StoreError> {
    let deliveries = jobs.store().deliveries_of(&row.id).await?;
    Ok(view::run(row, &deliveries, &jobs.options().zone))
}

pub(super) fn run_line(shown: &Value) -> String {
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
            Some(job) => Some(found(&jobs, job).await?),
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

/// The id of a job that is there, or of a removed one whose runs are.
async fn found(jobs: &Jobs, reference: &str) -> Result<String, Report> {
    let error = match jobs.find(reference).await {
        Ok(job) => return Ok(job.id),
        Err(error @ JobError::NotFound(_)) => error,
        Err(error) => return Err(failed(&error)),
    };
    let reference = reference.trim();
    let known = jobs.store().occurrences(Some(reference), 1).await.map_err(|it| broken(&it))?;
    if let Some(row) = known.first() {
        return Ok(row.new.job.clone());
    }
    let rows = jobs.store().occurrences(None, LOOKED_AT).await.map_err(|it| broken(&it))?;
    let folded = reference.to_lowercase();
    let named = |row: &&OccurrenceRow| {
        let name = row.detail.get("job_name").and_then(Value::as_str);
        name.is_some_and(|name| name.to_lowercase() == folded)
    };
    let mut ids: Vec<String> = rows.iter().filter(named).map(|row| row.new.job.clone()).collect();
    ids.sort();
    ids.dedup();
    match ids.as_slice() {
        [id] => Ok(id.clone()),
        [] => Err(failed(&error)),
        _ => Err(failed(&JobError::Ambiguous { name: reference.to_owned(), ids })),
    }
}

/// What a run said, as it was saved.
fn output(host: &crate::host::Host, row: &OccurrenceRow) -> Option<String> {
    let folder = reply::folder(host.settings().home(), &row.new.job);
    let name = row.detail.get("output").and_then(Value::as_str)?;
    std::fs::read_to_string(folder.join(name)).ok()
}

/// What was decided about the calls of a run.
fn decisions(host: &crate::host::Host, row: &OccurrenceRow) -> Result<Vec<DecisionEntry>, Report> {
    let Some(session) = &row.session else { return Ok(Vec::new()) };
    let log = host.decisions();
    let read = host.wait(log.read(DECISIONS, &SessionScope::Everyone))?;
    let all = read.map_err(|error| Report::new(error.to_string()).code("approval"))?;
    Ok(all.into_iter().filter(|it| it.session == session.as_str()).collect())
}

/// How late a run was, who answered, what that cost, and where its reply went.
fn account(shown: &Value, out: Out) {
    let text = |key: &str| shown[key].as_str().map(str::to_owned);
    let late = shown["late_by_s"].as_i64().filter(|late| *late > 0);
    let cost = shown["cost_usd"].as_f64().map(|usd| format!("${usd:.4}"));
    for (name, value) in [
        ("late", late.map(|late| format!("{late} s"))),
        ("session", text("session_id")),
        ("model", text("model")),
        ("cost", cost),
    ] {
        if let Some(value) = value {
            out.line(format!("  {name:<9} {value}"));
        }
    }
    for it in shown["deliveries"].as_array().into_iter().flatten() {
        let word = |key: &str| it[key].as_str().unwrap_or_default().to_owned();
        let error = word("error");
        let error = if error.is_empty() { error } else { format!(": {error}") };
        out.line(format!("  delivery  {} {}{error}", word("to"), word("state")));
    }
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
    let decided = decisions(host, &row)?;
    if out.is_json() {
        out.value(&json!({ "run": shown, "output": text, "decisions": decided }));
        return Ok(ExitCode::SUCCESS);
    }
    out.line(run_line(&shown));
    account(&shown, out);
    for it in &decided {
        let how = serde_json::to_value(it.outcome).unwrap_or_default();
        let how = how.as_str().unwrap_or_default().to_owned();
        out.line(format!("  decision  {} {}: {}, {how}", it.tool, it.subject, it.verdict));
    }
    if let Some(text) = text {
        out.line(text.trim_end());
    }
    Ok(ExitCode::SUCCESS)
}
