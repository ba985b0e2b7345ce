//! `petasos curator`: the upkeep of skills, and taking it back.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use clap::{ArgMatches, Subcommand};
use petasos_config::Inputs;
use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_skills::curator::{self, CuratorSettings, Step};
use petasos_skills::{Library, SkillError, Usage};
use serde_json::json;

use crate::command::{Command, Session, parse};
use crate::host::Host;
use crate::out::Out;
use crate::report::Report;
use crate::services::Program;
use crate::upkeep::Merged;

pub(super) static COMMAND: Command =
    Command::of_actions::<Action>("curator", "Archive unused skills, and restore them", run)
        .examples(&[
            ("petasos curator status", "what it would archive now"),
            ("petasos curator run", "archive unused skills now"),
            ("petasos curator run --consolidate", "and let a model merge what models wrote"),
            ("petasos curator rollback", "undo the last run"),
        ]);

#[derive(Debug, Subcommand)]
enum Action {
    /// Show when it last ran, what it would do now, and its backups
    Status,
    /// Run it now
    Run {
        /// Also let a model merge skills that models made
        #[arg(long)]
        consolidate: bool,
    },
    /// Restore what a run archived
    Rollback {
        /// Which backup (default: the last)
        copy: Option<String>,
    },
    /// Protect a skill from being archived
    Pin {
        /// Its name
        name: String,
    },
    /// Allow a skill to be archived again
    Unpin {
        /// Its name
        name: String,
    },
    /// Pause automatic runs
    Pause,
    /// Resume automatic runs
    Resume,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let (out, host) = (session.out, session.host.shared()?);
    let library = Library::of(host.ports());
    let cx = host.call_context(Surface::Cli, SessionId::new("curator"));
    let (settings, now) = (&cx.settings, SystemTime::now());
    match parse(matches)? {
        Action::Status => {
            let known = curator::status(settings);
            let steps = curator::plan(&library, &cx, now).map_err(refused)?;
            let copies = curator::backups(settings);
            if out.is_json() {
                let enabled = CuratorSettings::of(settings).interval.is_some();
                out.value(&json!({ "enabled": enabled, "paused": known.paused,
                    "last_run_at": known.last_run_at, "would": steps, "backups": copies }));
                return Ok(ExitCode::SUCCESS);
            }
            let last = known.last_run_at.as_deref().unwrap_or("never");
            let paused = if known.paused { ", paused" } else { "" };
            out.line(format!("last run: {last}{paused}; copies: {}", copies.len()));
            told(out, &steps);
        }
        Action::Run { consolidate } => {
            let report = curator::run(&library, &cx, now).map_err(refused)?;
            let merged = if consolidate || CuratorSettings::of(settings).consolidate {
                merged(&host, session.host.inputs())?
            } else {
                None
            };
            if out.is_json() {
                let mut value = json!(report);
                let merged = merged.map(|it| json!({ "said": it.said, "backup": it.backup }));
                value["merged"] = merged.unwrap_or_default();
                out.value(&value);
                return Ok(ExitCode::SUCCESS);
            }
            told(out, &report.steps);
            takes_back(out, report.backup.as_deref());
            if let Some(merged) = merged {
                out.line(format!("looked over by a model: {}", merged.said));
                takes_back(out, merged.backup.as_deref());
                if merged.backup.is_none() {
                    out.remark("`petasos skills pending` lists what waits for you");
                }
            }
        }
        Action::Rollback { copy } => {
            let back = curator::rollback(settings, copy.as_deref()).map_err(refused)?;
            out.line(format!("brought back: {}", back.join(", ")));
        }
        Action::Pin { name } => pin(out, settings, &name, true)?,
        Action::Unpin { name } => pin(out, settings, &name, false)?,
        Action::Pause => curator::pause(settings, true).map_err(refused)?,
        Action::Resume => curator::pause(settings, false).map_err(refused)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A model merges what models made; nobody is asked anything meanwhile.
fn merged(host: &Arc<Host>, inputs: &Inputs) -> Result<Option<Merged>, Report> {
    let program = Program::demo(Arc::clone(host), inputs.clone());
    let sessions = host.sessions_with(host.model(), None, Arc::new(program), Vec::new())?;
    let merged = host.wait(Box::pin(crate::upkeep::merged(host, &sessions)))?;
    merged.map_err(|why| Report::new(format!("skills were not merged: {why}")).code("curator"))
}

fn takes_back(out: Out, copy: Option<&str>) {
    if let Some(copy) = copy {
        out.remark(format!("`petasos curator rollback {copy}` takes it back"));
    }
}

fn told(out: Out, steps: &[Step]) {
    if steps.is_empty() {
        out.line("nothing to do");
    }
    for step in steps {
        let since = step.last_touched.as_deref().unwrap_or("nobody counted");
        let becomes = format!("{:?}", step.becomes).to_lowercase();
        out.line(format!("{:<28} {becomes:<9} last used {since}", step.name));
    }
}

fn pin(
    out: Out,
    settings: &petasos_contract::Settings,
    name: &str,
    pinned: bool,
) -> Result<(), Report> {
    Usage::edit(settings, name, |record| record.pinned = pinned).map_err(refused)?;
    out.line(format!("{name} is {}", if pinned { "pinned" } else { "no longer pinned" }));
    Ok(())
}

fn refused(error: SkillError) -> Report {
    Report::new(error.message).code(error.kind)
}
