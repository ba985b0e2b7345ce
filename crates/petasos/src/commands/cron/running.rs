//! Running jobs: one now, those that are due, or all that become due.

use std::process::ExitCode;
use std::sync::Arc;

use petasos_contract::wait::Owned;
use petasos_cron::{CronHost as _, Scheduler, reply, view};
use petasos_store::OccurrenceState;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::failed;
use crate::command::Session;
use crate::halt;
use crate::host::Host;
use crate::report::Report;
use crate::scheduled::patience;

/// Does something with a scheduler of this process, with the servers of the host.
fn with_scheduler<T>(
    session: &mut Session,
    kind: &'static str,
    work: impl AsyncFnOnce(Arc<Scheduler>, Arc<Host>) -> Result<T, Report>,
) -> Result<T, Report> {
    let out = session.out;
    let inputs = session.host.inputs().clone();
    let host = session.host.shared()?;
    host.scheduled().bind(&host, &inputs);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Report::new(error.to_string()))?;
    runtime.block_on(async {
        let _guests = crate::guests::open(&host, None, out).await?;
        let scheduler = host.scheduled().scheduler(kind)?;
        let beats = Owned::start(Arc::clone(&scheduler).beat());
        let done = work(scheduler, Arc::clone(&host)).await;
        drop(beats);
        // The last ends of runs are in the file, too.
        host.scheduled().jobs()?.mirror().await;
        done
    })
}

pub(super) fn run(session: &mut Session, reference: &str) -> Result<ExitCode, Report> {
    let jobs = super::jobs(session)?;
    let out = session.out;
    let home = session.host.get()?.settings().home().to_owned();
    if let Some(why) = halt::stopped(&home) {
        return Err(Report::new(why).code("stopped"));
    }
    let (row, job) = with_scheduler(session, "run", async |scheduler, _| {
        let job = jobs.find(reference).await.map_err(|error| failed(&error))?;
        let row = scheduler.run_now(&job).await;
        let row = row.map_err(|error| Report::new(error.to_string()).code("store"))?;
        Ok((row, job))
    })?;
    let name = row.detail.get("output").and_then(serde_json::Value::as_str);
    let text = name
        .and_then(|name| std::fs::read_to_string(reply::folder(&home, &job.id).join(name)).ok());
    if out.is_json() {
        let shown = view::run(&row, &[], &job.schedule.zone);
        out.value(&json!({ "run": shown, "output": text }));
    } else {
        out.line(text.unwrap_or_default().trim_end());
        if row.new.state != OccurrenceState::Succeeded {
            let why = row.detail.get("error").and_then(serde_json::Value::as_str);
            out.remark(format!("{}: {}", row.new.state, why.unwrap_or("no reason was given")));
        }
    }
    let good = row.new.state == OccurrenceState::Succeeded;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(super) fn tick(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let look = with_scheduler(session, "tick", async |scheduler, _| {
        let look = scheduler.look().await;
        let look = look.map_err(|error| Report::new(error.to_string()).code("store"))?;
        scheduler.idle().await;
        Ok(look)
    })?;
    if out.is_json() {
        out.value(&json!({ "claimed": look.claimed, "skipped": look.skipped }));
    } else if look.claimed + look.skipped > 0 {
        out.line(format!("{} run, {} skipped", look.claimed, look.skipped));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn daemon(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    with_scheduler(session, "daemon", async |scheduler, host| {
        let runs = host.scheduled().sessions().map_err(|why| Report::new(why).code("cron"))?;
        let _halted = halt::watch(host.settings().home(), &runs);
        let broken = |error: std::io::Error| Report::new(error.to_string()).code("cron");
        let mut end = signal(SignalKind::terminate()).map_err(broken)?;
        let mut stop = signal(SignalKind::interrupt()).map_err(broken)?;
        host.scheduled().take_over().await?;
        out.line("cron: ready");
        let looking = Owned::start(Arc::clone(&scheduler).serve());
        tokio::select! {
            _ = end.recv() => {}
            _ = stop.recv() => {}
        }
        out.line("cron: letting runs end");
        // Whoever asks a second time does not want to wait; the next scheduler says what was left.
        tokio::select! {
            () = scheduler.drain(patience(host.settings())) => {}
            _ = end.recv() => {}
            _ = stop.recv() => {}
        }
        drop(looking);
        Ok(ExitCode::SUCCESS)
    })
}
