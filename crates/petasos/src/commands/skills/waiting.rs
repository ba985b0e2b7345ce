//! Changes of skills that wait for a person, and skills that may not be removed.

use std::process::ExitCode;

use petasos_skills::Usage;
use petasos_skills::pending::{self, Pending};
use serde_json::json;

use super::{opened, refused};
use crate::command::Session;
use crate::report::Report;

pub(super) fn pending(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let all = pending::all(session.host.get()?.settings());
    if out.is_json() {
        out.value(&json!({ "pending": all }));
        return Ok(ExitCode::SUCCESS);
    }
    if all.is_empty() {
        out.line("nothing waits");
    }
    for one in &all {
        out.line(one.line());
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn diff(session: &mut Session, id: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let one = pending::get(session.host.get()?.settings(), id).map_err(refused)?;
    if out.is_json() {
        out.value(&one);
    } else {
        out.line(one.line());
        out.text(&one.change.diff);
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn approve(session: &mut Session, id: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let done = Pending::approve(session.host.get()?.settings(), id).map_err(refused)?;
    out.line(format!("done: {} {}", done.change.action, done.change.name));
    Ok(ExitCode::SUCCESS)
}

pub(super) fn reject(session: &mut Session, id: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let done = Pending::reject(session.host.get()?.settings(), id).map_err(refused)?;
    out.line(format!("dropped: {} {}", done.change.action, done.change.name));
    Ok(ExitCode::SUCCESS)
}

pub(super) fn pin(session: &mut Session, name: &str, pinned: bool) -> Result<ExitCode, Report> {
    let out = session.out;
    let (_host, library, cx) = opened(session)?;
    let skill = library.find(name, &cx).map_err(refused)?;
    let set = |record: &mut petasos_skills::UsageRecord| record.pinned = pinned;
    Usage::edit(&cx.settings, &skill.name, set).map_err(refused)?;
    let word = if pinned { "is kept from being removed" } else { "may be removed" };
    out.line(format!("{} {word}", skill.name));
    Ok(ExitCode::SUCCESS)
}
