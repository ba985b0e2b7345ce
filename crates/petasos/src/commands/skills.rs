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
    Command::of_actions::<Action>("skills", "List, check, install and trust skills", run).examples(
        &[
            ("petasos skills list", "the skills, and why some are not offered"),
            ("petasos skills search pdf", "look for published ones"),
            ("petasos skills install owner/repo/name", "install one, after a scan"),
        ],
    );

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
    /// Report problems of skills
    Check {
        /// A skill (default: all)
        name: Option<String>,
    },
    /// Trust the skills of a project as they are now
    Trust {
        /// One of them (default: all that wait)
        name: Option<String>,
        /// Do not ask again
        #[arg(long)]
        yes: bool,
    },
    /// Search trusted and added repositories for skills
    Search(hub::Search),
    /// Add a repository to `skills search`, or remove it
    Tap {
        /// owner/repo or an address that ends in .git
        repo: String,
        /// Remove it
        #[arg(long)]
        remove: bool,
    },
    /// Check whether a folder could be published: format, limits, scan
    PublishCheck {
        /// The folder
        folder: String,
    },
    /// Show a published skill without installing it
    Inspect(hub::Origin),
    /// Install a skill: owner/repo/name, an address, an archive or a folder
    Install(hub::Install),
    /// Update an installed skill, after showing the changes
    Update(hub::Update),
    /// Remove an installed skill; its folder goes to the archive
    Uninstall {
        /// Its name
        name: String,
    },
    /// Check installed skills against what was installed
    Verify,
    /// Scan a folder for risks
    Scan {
        /// The folder
        folder: String,
    },
    /// Protect a skill from removal
    Pin {
        /// Its name
        name: String,
    },
    /// Allow a skill to be removed again
    Unpin {
        /// Its name
        name: String,
    },
    /// List changes of skills that wait for your decision
    Pending,
    /// Show a pending change
    Diff {
        /// Its number
        id: String,
    },
    /// Apply a pending change
    Approve {
        /// Its number
        id: String,
    },
    /// Reject a pending change
    Reject {
        /// Its number
        id: String,
    },
    /// Let commands of a skill see environment variables
    AllowEnv {
        /// The skill
        name: String,
        /// The variables
        #[arg(required = true)]
        variables: Vec<String>,
    },
    /// Lend files of the home to a skill's commands on other backends
    AllowFile {
        /// The skill
        name: String,
        /// The files, by their path below the home
        #[arg(required = true)]
        files: Vec<String>,
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
        Action::AllowFile { name, files } => consent::allow_file(session, &name, &files),
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
        out.line(format!("{} skills, no problems", rows.len()));
    }
    Ok(ExitCode::SUCCESS)
}
