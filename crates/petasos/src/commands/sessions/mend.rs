//! `sessions verify` and `sessions repair`: is the file sound, and making it so.

use std::cell::Cell;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use petasos_sqlite::{FILE_NAME, Finding, OpenOptions, Progress, Repaired, Store};
use petasos_store::StoreError;
use serde_json::json;

use super::{find, report};
use crate::command::Session;
use crate::host::Host;
use crate::out::{Out, Style};
use crate::report::Report;

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
        let progress = progress(out);
        let found = host.wait(store.verify(only.as_ref(), progress))?.map_err(report)?;
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

fn told(out: Out, found: &petasos_sqlite::Verified) {
    let size = format!("{} conversations, {} messages", found.sessions, found.messages);
    if found.findings.is_empty() {
        out.line(format!("{} {size}, all sound", out.paint(Style::Good, "✓")));
        return;
    }
    out.line(format!("{} {size}", out.paint(Style::Bad, "✗")));
    for finding in &found.findings {
        out.line(format!("  {}", described(finding)));
    }
    out.line("hint: `petasos sessions repair` mends what can be mended");
}

/// Mends; of a file that is damaged itself everything that can be read is saved into a new one.
/// Exit code 1 when something is still not sound.
pub(super) fn repair(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.get()?;
    let mut saved = Vec::new();
    let repaired = match mend(host, out)? {
        Err(StoreError::Damaged { .. }) => {
            saved = Store::salvage(&file(host)).map_err(report)?;
            mend(host, out)?
        }
        repaired => repaired,
    };
    let Repaired { done, busy, findings } = repaired.map_err(report)?;
    let (done, sound) = ([saved, done].concat(), findings.is_empty());
    if out.is_json() {
        let value = json!({ "done": done, "busy": busy, "sound": sound, "findings": findings });
        out.value(&value);
    } else {
        for what in done.iter().chain(&busy) {
            out.line(what);
        }
        for finding in &findings {
            out.line(format!("{} {}", out.paint(Style::Bad, "✗"), described(finding)));
        }
    }
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One try on the file as it is. It is closed again afterwards.
fn mend(host: &Host, out: Out) -> Result<Result<Repaired, StoreError>, Report> {
    match open(host) {
        Ok(store) => Ok(host.wait(store.repair(progress(out)))?),
        Err(error) => Ok(Err(error)),
    }
}

fn described(finding: &Finding) -> String {
    let session = finding.session.as_deref().unwrap_or("the file");
    format!("{session}: {}", finding.what)
}

/// Tells now and then how far something long has come.
pub(crate) fn progress(out: Out) -> impl Fn(Progress) {
    const EVERY: Duration = Duration::from_secs(5);
    let last = Cell::new(Instant::now());
    move |progress| {
        if last.get().elapsed() < EVERY {
            return;
        }
        last.set(Instant::now());
        match progress {
            Progress { what, total: 0, .. } => out.remark(format!("working on {what}")),
            Progress { what, done, total } => out.remark(format!("{what}: {done} of {total}")),
        }
    }
}

fn file(host: &Host) -> std::path::PathBuf {
    host.settings().home().join(FILE_NAME)
}

fn open(host: &Host) -> Result<Store, StoreError> {
    Store::open(&OpenOptions::new(file(host)))
}
