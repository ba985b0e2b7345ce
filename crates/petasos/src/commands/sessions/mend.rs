//! `sessions verify` and `sessions repair`: is the file sound, and making it so.

use std::process::ExitCode;

use clap::Args;
use petasos_contract::store::StoreError;
use petasos_store::{FILE_NAME, OpenOptions, Store};
use serde_json::json;

use super::{find, report};
use crate::command::Session;
use crate::host::Host;
use crate::out::{Out, Style};
use crate::report::Report;

/// Arguments of `sessions verify`.
#[derive(Debug, Args)]
pub(super) struct Verify {
    /// Only this conversation
    session: Option<String>,
}

impl Verify {
    /// Exit code 1 when something is not sound.
    pub(super) fn run(self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let store = open(host).map_err(report)?;
        let only = self.session.map(|handle| find(host, &store, &handle)).transpose()?;
        let only = only.map(|head| head.session());
        let found = host.wait(store.verify(only.as_ref()))?.map_err(report)?;
        if out.is_json() {
            out.value(&json!({
                "sound": found.findings.is_empty(), "sessions": found.sessions,
                "messages": found.messages, "findings": found.findings,
            }));
        } else {
            told(out, &found);
        }
        let sound = found.findings.is_empty();
        Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn told(out: Out, found: &petasos_store::Verified) {
    let size = format!("{} conversations, {} messages", found.sessions, found.messages);
    if found.findings.is_empty() {
        out.line(format!("{} {size}, all sound", out.paint(Style::Good, "✓")));
        return;
    }
    out.line(format!("{} {size}", out.paint(Style::Bad, "✗")));
    for finding in &found.findings {
        let session = finding.session.as_deref().unwrap_or("the file");
        out.line(format!("  {session}: {}", finding.what));
    }
    out.line("hint: `petasos sessions repair` mends what can be mended");
}

/// Mends; a file that cannot be opened at all is saved row by row into a new one.
pub(super) fn repair(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let mut done = Vec::new();
    let store = match open(host) {
        Ok(store) => store,
        Err(StoreError::Damaged { .. }) => {
            done.extend(Store::salvage(&file(host)).map_err(report)?);
            open(host).map_err(report)?
        }
        Err(error) => return Err(report(error)),
    };
    match host.wait(store.repair())? {
        Ok(words) => done.extend(words),
        // Sound enough to open is not sound enough to walk.
        Err(StoreError::Damaged { .. }) => {
            drop(store);
            done.extend(Store::salvage(&file(host)).map_err(report)?);
        }
        Err(error) => return Err(report(error)),
    }
    if out.is_json() {
        out.value(&json!({ "done": done }));
    } else if done.is_empty() {
        out.line("there was nothing to mend");
    } else {
        for what in done {
            out.line(what);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn file(host: &Host) -> std::path::PathBuf {
    host.settings().home().join(FILE_NAME)
}

fn open(host: &Host) -> Result<Store, StoreError> {
    Store::open(&OpenOptions::new(file(host)))
}
