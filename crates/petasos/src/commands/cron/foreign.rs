//! Jobs from and for elsewhere.

use std::path::PathBuf;
use std::process::ExitCode;

use petasos_cron::Job;
use serde_json::{Value, json};

use super::{failed, jobs};
use crate::command::Session;
use crate::report::Report;

pub(super) fn import(session: &mut Session, file: Option<PathBuf>) -> Result<ExitCode, Report> {
    let jobs = jobs(session)?;
    let out = session.out;
    let host = session.host.get()?;
    let file = file.unwrap_or_else(|| host.settings().home().join("cron").join("jobs.json"));
    let text = std::fs::read_to_string(&file)
        .map_err(|error| Report::new(format!("`{}`: {error}", file.display())).code("not_found"))?;
    let done = host.wait(jobs.import(&text))?.map_err(|error| failed(&error))?;
    if out.is_json() {
        out.value(&json!({
            "taken": done.taken, "known": done.known, "refused": done.refused, "told": done.told,
        }));
    } else {
        out.line(format!("{} jobs taken over, {} known already.", done.taken.len(), done.known));
        for (name, why) in &done.refused {
            out.remark(format!("{name}: {why}"));
        }
        for told in &done.told {
            out.remark(told);
        }
    }
    Ok(if done.refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(super) fn export(session: &mut Session) -> Result<ExitCode, Report> {
    let jobs = jobs(session)?;
    let listed = session.host.get()?.wait(jobs.list())?;
    let (list, _) = listed.map_err(|error| Report::new(error.to_string()).code("store"))?;
    let one = |job: &Job| {
        let mut shown = Value::Object(job.body.to_map());
        shown["id"] = json!(job.id);
        shown["name"] = json!(job.name);
        shown["state"] = json!(job.state.as_str());
        shown
    };
    let list: Vec<Value> = list.iter().map(one).collect();
    session.out.value(&json!({ "jobs": list }));
    Ok(ExitCode::SUCCESS)
}
