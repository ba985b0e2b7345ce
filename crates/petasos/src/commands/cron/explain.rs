//! What a run of a job would do, by the functions that do it.

use std::process::ExitCode;

use petasos_approval::policy::explain::rules;
use petasos_approval::settings::{Absent, ApprovalSettingsError, Approvals};
use petasos_contract::context::Surface;
use petasos_contract::{SessionId, Settings};
use petasos_cron::{CronHost as _, Job, view};
use petasos_runtime::definitions::Wanted;
use serde_json::json;

use super::pages::INSTANTS;
use super::{failed, jobs};
use crate::command::Session;
use crate::report::Report;

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
