//! `petasos cron`: scheduled jobs. Making them, looking at them, running them.

mod draft;
mod explain;
mod foreign;
mod logs;
mod pages;
mod running;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, Subcommand};
use petasos_cron::{JobError, Jobs};
use petasos_store::StoreError;
use serde_json::json;

use self::draft::JobArgs;
use crate::command::{Command, Session, parse};
use crate::report::Report;

pub(super) static COMMAND: Command =
    Command::of_actions::<Action>("cron", "Run prompts and scripts on a schedule", run).examples(
        &[
            (
                "petasos cron create \"every weekday at 9:00\" \"summarise my mail\"",
                "a prompt on a schedule",
            ),
            ("petasos cron list", "the jobs"),
            ("petasos cron next \"every 2h\"", "when a schedule would run"),
            ("petasos cron logs", "past runs"),
        ],
    );

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a job
    #[command(alias = "add")]
    Create {
        /// When: `30m`, `every 2h`, `every weekday at 9:00`, `tomorrow 8am`, `0 9 * * 1-5`, a date
        schedule: String,
        /// The prompt of each run
        prompt: Option<String>,
        #[command(flatten)]
        job: JobArgs,
    },
    /// List the jobs
    List,
    /// Show a job: schedule, prompt and past runs
    Show {
        /// Its id, or its name
        job: String,
    },
    /// Change a job; everything else stays as it is
    #[command(alias = "update")]
    Edit {
        /// Its id, or its name
        job: String,
        /// Another schedule
        #[arg(long)]
        schedule: Option<String>,
        /// Another prompt
        #[arg(long)]
        prompt: Option<String>,
        /// Resume a job that is held because the configured provider or model changed
        #[arg(long)]
        accept_drift: bool,
        #[command(flatten)]
        changes: JobArgs,
    },
    /// Pause a job
    Pause {
        /// Its id, or its name
        job: String,
        /// Why
        #[arg(long, default_value = "paused by a person")]
        reason: String,
    },
    /// Resume a paused or held job
    Resume {
        /// Its id, or its name
        job: String,
    },
    /// Run a job now, beside its schedule
    Run {
        /// Its id, or its name
        job: String,
    },
    /// Remove a job; its outputs stay, and `cron logs` shows them
    #[command(alias = "delete")]
    Remove {
        /// Its id, or its name
        job: String,
    },
    /// Show past runs
    Logs {
        /// Of one job, also of a removed one
        job: Option<String>,
        /// One run, with its output
        #[arg(long)]
        run: Option<String>,
        /// How many
        #[arg(long, short, default_value_t = 20)]
        lines: u32,
        /// Follow: show runs as they end
        #[arg(long, short)]
        follow: bool,
    },
    /// Show whether a scheduler runs, what is next, and what needs attention
    Status,
    /// Show when a schedule would run
    Next {
        /// The schedule, or a job
        schedule: String,
        /// The time zone
        #[arg(long)]
        tz: Option<String>,
        /// How many times
        #[arg(short, default_value_t = 10)]
        n: usize,
    },
    /// Run what is due, once (for system timers)
    Tick,
    /// Run the scheduler in the foreground, without a gateway
    Daemon,
    /// Show what a run of a job would do: times, provider, tools, who would be asked
    Explain {
        /// Its id, or its name
        job: String,
    },
    /// Import jobs of another agent
    Import {
        /// The file (default: `cron/jobs.json` of the home)
        file: Option<PathBuf>,
    },
    /// Write all jobs as JSON
    Export,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    match parse(matches)? {
        Action::Create { schedule, prompt, job } => {
            draft::create(session, job.draft(Some(schedule), prompt)?)
        }
        Action::Edit { job, schedule, prompt, accept_drift, changes } => {
            let mut draft = changes.draft(schedule, prompt)?;
            draft.draft.accept_drift = accept_drift;
            draft::edit(session, &job, draft)
        }
        Action::List => pages::list(session),
        Action::Show { job } => pages::show(session, &job),
        Action::Pause { job, reason } => {
            changed(session, "is paused", async |jobs: &Jobs| jobs.pause(&job, &reason).await)
        }
        Action::Resume { job } => {
            changed(session, "runs again", async |jobs: &Jobs| jobs.resume(&job).await)
        }
        Action::Remove { job } => {
            changed(session, "is removed", async |jobs: &Jobs| jobs.remove(&job).await)
        }
        Action::Run { job } => running::run(session, &job),
        Action::Logs { job, run, lines, follow } => {
            logs::logs(session, job.as_deref(), run.as_deref(), (lines, follow))
        }
        Action::Status => pages::status(session),
        Action::Next { schedule, tz, n } => pages::next(session, &schedule, tz.as_deref(), n),
        Action::Tick => running::tick(session),
        Action::Daemon => running::daemon(session),
        Action::Explain { job } => explain::explain(session, &job),
        Action::Import { file } => foreign::import(session, file),
        Action::Export => foreign::export(session),
    }
}

/// The jobs of this home, bound to its host.
fn jobs(session: &mut Session) -> Result<Jobs, Report> {
    let inputs = session.host.inputs().clone();
    let host = session.host.shared()?;
    host.scheduled().bind(&host, &inputs);
    host.scheduled().jobs()
}

fn changed(
    session: &mut Session,
    what: &str,
    work: impl AsyncFnOnce(&Jobs) -> Result<petasos_cron::Job, JobError>,
) -> Result<ExitCode, Report> {
    let jobs = jobs(session)?;
    let job = session.host.get()?.wait(work(&jobs))?.map_err(|error| failed(&error))?;
    if session.out.is_json() {
        let shown = petasos_cron::view::job(&job, jobs.now(), 5);
        session.out.value(&json!({ "success": true, "job": shown }));
    } else {
        session.out.line(format!("{} ({}) {what}.", job.name, job.id));
    }
    Ok(ExitCode::SUCCESS)
}

fn broken(error: &StoreError) -> Report {
    Report::new(error.to_string()).code("store")
}

fn failed(error: &JobError) -> Report {
    let code = error.kind();
    match error {
        JobError::Schedule(error) => {
            Report::new(error.what.clone()).code(code).hint(error.hint.clone())
        }
        JobError::Findings(_) => {
            Report::new(error.to_string()).code(code).hint("`--yes` creates it all the same")
        }
        other => Report::new(other.to_string()).code(code),
    }
}
