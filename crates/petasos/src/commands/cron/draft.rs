//! Making and changing jobs.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use petasos_cron::late::{Misfire, Overlap};
use petasos_cron::{Author, Draft, Made, Notify, view};
use serde_json::json;

use super::{failed, jobs};
use crate::command::Session;
use crate::report::Report;

/// So many next instants are shown.
const INSTANTS: usize = 5;

#[derive(Debug, Args)]
pub(super) struct JobArgs {
    /// What people call it
    #[arg(long)]
    name: Option<String>,
    /// The time zone, such as Europe/Berlin
    #[arg(long)]
    tz: Option<String>,
    /// Where the reply goes: origin, local, all, PLATFORM[:CHAT[:THREAD]], with commas
    #[arg(long)]
    deliver: Option<String>,
    /// How often it runs; 0 is for ever
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
    /// Jobs whose newest output a run is shown (comma-separated)
    #[arg(long, value_delimiter = ',')]
    context_from: Option<Vec<String>>,
    /// The folder in which it works, with its whole path
    #[arg(long)]
    workdir: Option<PathBuf>,
    /// What becomes of missed runs: grace, once, skip
    #[arg(long)]
    misfire: Option<String>,
    /// What happens when it is due while it runs: skip, queue, parallel
    #[arg(long)]
    overlap: Option<String>,
    /// Which replies are sent: always, failure, change
    #[arg(long)]
    notify: Option<String>,
    /// The longest that a run may take, in seconds
    #[arg(long)]
    timeout: Option<u64>,
    /// Spread its starts over so many seconds
    #[arg(long)]
    jitter: Option<u64>,
    /// Let its reply become part of the conversation that it is delivered to: true or false
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    attach_to_session: Option<bool>,
    /// The most that a run may cost, in US dollars; 0 is without a limit
    #[arg(long, value_name = "USD")]
    max_cost: Option<f64>,
    /// Rules that its commands may break without a question (comma-separated; see `approval rules`)
    #[arg(long, value_delimiter = ',', value_name = "RULES")]
    grants: Option<Vec<String>>,
    /// Take a prompt in which something dangerous was found
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
    tell(session, &jobs, &made, "is made");
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
