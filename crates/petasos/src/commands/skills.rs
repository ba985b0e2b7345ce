//! `petasos skills`: which there are, what is wrong with one, and what a person agrees to.

mod consent;
mod hub;
mod waiting;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, Subcommand};
use petasos_contract::context::Surface;
use petasos_contract::{CallContext, SessionId};
use petasos_skills::{Library, SkillError, Survey};
use serde_json::{Value, json};

use crate::command::{Command, Session, parse};
use crate::host::Host;
use crate::report::Report;

pub(super) static COMMAND: Command =
    Command::of_actions::<Action>("skills", "List, check, install and agree to skills", run);

#[derive(Debug, Subcommand)]
enum Action {
    /// List the skills that are offered, and those that are not and why
    List,
    /// Show a skill as a model reads it
    Show {
        /// Its name
        name: String,
        /// One of its files instead
        file: Option<String>,
    },
    /// Say what is not as it should be
    Check {
        /// A skill; all when absent
        name: Option<String>,
    },
    /// Agree to the skills of a project as they are now
    Trust {
        /// One of them; all that wait when absent
        name: Option<String>,
        /// Do not ask again
        #[arg(long)]
        yes: bool,
    },
    /// Look for skills of others by words, in trusted repositories and those that were added
    Search(hub::Search),
    /// Add a repository that `search` looks through, or take it away
    Tap {
        /// owner/repo or an address that ends in .git
        repo: String,
        /// Take it away
        #[arg(long)]
        remove: bool,
    },
    /// Say whether a folder could be published: format, limits, scan
    PublishCheck {
        /// The folder
        folder: String,
    },
    /// Look at a skill of others without installing it
    Inspect(hub::Origin),
    /// Install a skill: owner/repo/name, an address, an archive or a folder
    Install(hub::Install),
    /// Bring an installed skill up to date, after showing what changes
    Update(hub::Update),
    /// Remove an installed skill; its folder goes to the archive
    Uninstall {
        /// Its name
        name: String,
    },
    /// Say whether installed skills are what was installed
    Verify,
    /// Scan a folder for what speaks against it
    Scan {
        /// The folder
        folder: String,
    },
    /// Keep a skill from being removed
    Pin {
        /// Its name
        name: String,
    },
    /// Let a skill be removed again
    Unpin {
        /// Its name
        name: String,
    },
    /// List changes of skills that wait for you
    Pending,
    /// Show what a waiting change does
    Diff {
        /// Its number
        id: String,
    },
    /// Make a waiting change
    Approve {
        /// Its number
        id: String,
    },
    /// Drop a waiting change
    Reject {
        /// Its number
        id: String,
    },
    /// Let the commands of a conversation that reads a skill see variables
    AllowEnv {
        /// The skill
        name: String,
        /// The variables
        #[arg(required = true)]
        variables: Vec<String>,
    },
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    match parse(matches)? {
        Action::List => list(session),
        Action::Show { name, file } => show(session, &name, file.as_deref()),
        Action::Check { name } => check(session, name.as_deref()),
        Action::Trust { name, yes } => consent::trust(session, name.as_deref(), yes),
        Action::Search(search) => search.run(session),
        Action::Tap { repo, remove } => hub::tap(session, &repo, !remove),
        Action::PublishCheck { folder } => hub::publish_check(session, &folder),
        Action::Inspect(from) => from.inspect(session),
        Action::Install(install) => install.run(session),
        Action::Update(update) => update.run(session),
        Action::Uninstall { name } => hub::uninstall(session, &name),
        Action::Verify => hub::verify(session),
        Action::Scan { folder } => hub::scan(session, &folder),
        Action::Pin { name } => waiting::pin(session, &name, true),
        Action::Unpin { name } => waiting::pin(session, &name, false),
        Action::Pending => waiting::pending(session),
        Action::Diff { id } => waiting::diff(session, &id),
        Action::Approve { id } => waiting::approve(session, &id),
        Action::Reject { id } => waiting::reject(session, &id),
        Action::AllowEnv { name, variables } => consent::allow_env(session, &name, &variables),
    }
}

/// The library of a host, and a conversation at the terminal that looks at it.
fn opened(session: &mut Session) -> Result<(Arc<Host>, Library, CallContext), Report> {
    let host = session.host.shared()?;
    host.with_plugins();
    let library = Library::of(host.ports());
    let cx = host.call_context(Surface::Cli, SessionId::new("skills"));
    Ok((host, library, cx))
}

fn refused(error: SkillError) -> Report {
    Report::new(error.message).code(error.kind)
}

fn list(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let (_host, library, cx) = opened(session)?;
    let survey = library.survey(&cx);
    if out.is_json() {
        let mut told = library.list(None, &cx);
        told["withheld"] = withheld(&survey);
        out.value(&told);
        return Ok(ExitCode::SUCCESS);
    }
    if survey.skills.is_empty() {
        out.line("no skill is offered; a folder with SKILL.md in the home's `skills` is one");
    }
    for skill in &survey.skills {
        let about: String = skill.description().chars().take(80).collect();
        out.line(format!("{:<28} {:<9} {about}", skill.name, skill.place.as_str()));
        for hidden in &skill.shadows {
            out.remark(format!("{}: hides {}", skill.name, hidden.display()));
        }
    }
    for held in &survey.withheld {
        out.remark(format!("{} is not offered: {}", held.name, held.reason()));
    }
    Ok(ExitCode::SUCCESS)
}

fn withheld(survey: &Survey) -> Value {
    let row = |held: &petasos_skills::Withheld| json!({ "name": held.name, "path": held.folder, "place": held.place, "why": held.reason() });
    survey.withheld.iter().map(row).collect()
}

fn show(session: &mut Session, name: &str, file: Option<&str>) -> Result<ExitCode, Report> {
    let out = session.out;
    let (host, library, cx) = opened(session)?;
    let told = host.wait(Box::pin(library.view(name, file, &cx)))?;
    if let Some(error) = told.get("error").and_then(Value::as_str) {
        return Err(Report::new(error).code("not_found"));
    }
    if out.is_json() {
        out.value(&told);
    } else {
        out.text(told.get("content").and_then(Value::as_str).unwrap_or_default());
        if let Some(note) = told.get("setup_note").and_then(Value::as_str) {
            out.remark(note);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn check(session: &mut Session, name: Option<&str>) -> Result<ExitCode, Report> {
    let out = session.out;
    let (_host, library, cx) = opened(session)?;
    let survey = library.survey(&cx);
    let wanted = |candidate: &str| name.is_none_or(|name| name == candidate);
    let mut rows: Vec<Value> = Vec::new();
    for skill in survey.all.iter().filter(|skill| wanted(&skill.name)) {
        let problems = petasos_skills::problems_of(skill);
        rows.push(json!({ "name": skill.name, "path": skill.folder, "problems": problems }));
    }
    let broken = survey.withheld.iter().filter(|held| wanted(&held.name));
    for held in broken {
        let problems = [json!({ "level": "withheld", "what": held.reason() })];
        rows.push(json!({ "name": held.name, "path": held.folder, "problems": problems }));
    }
    if rows.is_empty() {
        let name = name.unwrap_or_default();
        return Err(Report::new(format!("no skill is named `{name}`")).code("not_found"));
    }
    if out.is_json() {
        out.value(&json!({ "skills": rows }));
        return Ok(ExitCode::SUCCESS);
    }
    let mut count = 0;
    for row in &rows {
        let text = |value: &Value, key: &str| {
            value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        for problem in row.get("problems").and_then(Value::as_array).into_iter().flatten() {
            count += 1;
            out.line(format!(
                "{}: {}: {}",
                text(row, "name"),
                text(problem, "level"),
                text(problem, "what")
            ));
        }
    }
    if count == 0 {
        out.line(format!("{} skills, nothing to remark", rows.len()));
    }
    Ok(ExitCode::SUCCESS)
}
