//! Making and changing jobs.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use petasos_cron::late::{Misfire, Overlap};
use petasos_cron::{Author, Draft, Made, Notify, view};
use petasos_store::SchedulerRow;
use serde_json::json;

use super::{failed, jobs};
use crate::command::Session;
use crate::report::Report;

/// So many next instants are shown.
const INSTANTS: usize = 5;

#[derive(Debug, Args)]
pub(super) struct JobArgs {
    /// A name for the job
    #[arg(long)]
    name: Option<String>,
    /// The time zone, such as Europe/Berlin
    #[arg(long)]
    tz: Option<String>,
    /// Where the reply goes: origin, local, all, PLATFORM[:CHAT[:THREAD]], with commas
    #[arg(long)]
    deliver: Option<String>,
    /// How many times it runs; 0 means forever
    #[arg(long)]
    repeat: Option<u32>,
    /// Another model than the configured one
    #[arg(long)]
    model: Option<String>,
    /// Another provider than the configured one
    #[arg(long)]
    provider: Option<String>,
    /// Skills that a run reads first (comma-separated)
    #[arg(long, value_delimiter = ',')]
    skills: Option<Vec<String>>,
    /// Only these toolsets (comma-separated)
    #[arg(long, value_delimiter = ',')]
    toolsets: Option<Vec<String>>,
    /// A file in the home's `scripts` folder that runs first
    #[arg(long)]
    script: Option<String>,
    /// Only the script runs, and its output is the reply
    #[arg(long)]
    no_agent: bool,
    /// Include the latest output of these jobs (comma-separated)
    #[arg(long, value_delimiter = ',')]
    context_from: Option<Vec<String>>,
    /// The folder that it works in (absolute path)
    #[arg(long)]
    workdir: Option<PathBuf>,
    /// What to do about missed runs: grace, once, skip
    #[arg(long)]
    misfire: Option<String>,
    /// What to do when it is due while it still runs: skip, queue, parallel
    #[arg(long)]
    overlap: Option<String>,
    /// Which replies are sent: always, failure, change
    #[arg(long)]
    notify: Option<String>,
    /// How many seconds a run may take
    #[arg(long)]
    timeout: Option<u64>,
    /// Delay each start by a random time of up to this many seconds
    #[arg(long)]
    jitter: Option<u64>,
    /// Let its reply become part of the conversation that it is delivered to: true or false
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    attach_to_session: Option<bool>,
    /// How much a run may cost, in US dollars; 0 means no limit
    #[arg(long, value_name = "USD")]
    max_cost: Option<f64>,
    /// Approve what these rules ask about (comma-separated; see `approval rules`)
    #[arg(long, value_delimiter = ',', value_name = "RULES")]
    grants: Option<Vec<String>>,
    /// Accept a prompt that looks dangerous
    #[arg(long, short)]
    yes: bool,
}

/// What was said, and whether the person knows what was found.
pub(super) struct Said {
    pub(super) draft: Draft,
    accepts: bool,
}

impl JobArgs {
    pub(super) fn draft(
        self,
        schedule: Option<String>,
        prompt: Option<String>,
    ) -> Result<Said, Report> {
        let draft = Draft {
            name: self.name,
            prompt,
            schedule,
            tz: self.tz,
            repeat: self.repeat,
            deliver: self.deliver,
            skills: self.skills,
            provider: self.provider,
            model: self.model,
            script: self.script,
            no_agent: self.no_agent.then_some(true),
            context_from: self.context_from,
            enabled_toolsets: self.toolsets,
            workdir: self.workdir,
            misfire: word(self.misfire, Misfire::named, "--misfire takes grace, once or skip")?,
            overlap: word(self.overlap, Overlap::named, "--overlap takes skip, queue or parallel")?,
            notify: word(self.notify, Notify::named, "--notify takes always, failure or change")?,
            timeout: self.timeout,
            jitter: self.jitter,
            attach_to_session: self.attach_to_session,
            max_cost: self.max_cost,
            grants: self.grants,
            accept_drift: false,
        };
        Ok(Said { draft, accepts: self.yes })
    }
}

fn word<T>(
    given: Option<String>,
    named: impl Fn(&str) -> Option<T>,
    what: &str,
) -> Result<Option<T>, Report> {
    let read = |word: String| named(&word).ok_or_else(|| Report::new(what).code("usage"));
    given.map(read).transpose()
}

fn author(accepts: bool) -> Author {
    Author { name: "cli".to_owned(), accepts, ..Author::default() }
}

pub(super) fn create(session: &mut Session, said: Said) -> Result<ExitCode, Report> {
    let jobs = jobs(session)?;
    let author = author(said.accepts);
    let work = jobs.create(said.draft, &author);
    let made = session.host.get()?.wait(work)?.map_err(|error| failed(&error))?;
    tell(session, &jobs, &made, "is created");
    let known = session.host.get()?.wait(jobs.store().schedulers())?;
    let looks = |it: &SchedulerRow| it.alive && matches!(it.kind.as_str(), "gateway" | "daemon");
    if !session.out.is_json() && known.is_ok_and(|known| !known.iter().any(looks)) {
        session.out.remark(
            "No scheduler runs, so nothing fires yet: start `petasos gateway run` or `petasos cron \
             daemon`, or let a timer call `petasos cron tick`.",
        );
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn edit(session: &mut Session, job: &str, said: Said) -> Result<ExitCode, Report> {
    let jobs = jobs(session)?;
    let author = author(said.accepts);
    let work = jobs.update(job, said.draft, &author);
    let made = session.host.get()?.wait(work)?.map_err(|error| failed(&error))?;
    tell(session, &jobs, &made, "is changed");
    Ok(ExitCode::SUCCESS)
}

/// The exact schedule and its next instants, always.
fn tell(session: &Session, jobs: &petasos_cron::Jobs, made: &Made, what: &str) {
    let (out, job) = (session.out, &made.job);
    if out.is_json() {
        let shown = view::job(job, jobs.now(), INSTANTS);
        out.value(&json!({ "success": true, "job": shown, "told": made.told }));
        return;
    }
    out.line(format!("{} ({}) {what}.", job.name, job.id));
    out.line(format!("  {}", job.schedule));
    for at in job.upcoming(jobs.now(), INSTANTS) {
        out.line(format!("  {at}"));
    }
    for told in &made.told {
        out.remark(told.clone());
    }
}
