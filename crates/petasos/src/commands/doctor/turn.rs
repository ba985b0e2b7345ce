//! What a turn needs besides tools and a place for its commands: a model, a home that can be
//! written, the conversations in it, git for checkpoints, and consent to hooks.

use std::path::Path;

use petasos_plugins::shell::ShellHooks;
use petasos_providers::resolve::view::RuntimeView;
use petasos_providers::{Request, Vault};
use rustix::fs::{Access, access, statvfs};

use super::{Finding, bad};
use crate::commands::setup::ask;
use crate::host::Host;
use crate::report::Report;

/// Below this a turn cannot even store what was said.
const ROOM_MIN: u64 = 16 << 20;
/// Below this it is worth a word.
const ROOM_SMALL: u64 = 512 << 20;

pub(super) fn look(host: &Host, asks: bool, findings: &mut Vec<Finding>) -> Result<(), Report> {
    findings.push(provider(host, asks)?);
    findings.push(room(host));
    findings.push(store(host));
    findings.extend(git(host));
    hooks(host, findings);
    Ok(())
}

/// Asks the one resolver what a turn would ask, and then whoever it names, for one word.
fn provider(host: &Host, asks: bool) -> Result<Finding, Report> {
    let settings = host.settings();
    let vault = Vault::of(settings).view(settings);
    let net = host.net();
    let resolved =
        host.wait(host.resolver().resolve(&Request::default(), settings, vault, &net))?;
    Ok(match &resolved.outcome {
        Ok(runtime) => {
            let view = RuntimeView::from(runtime);
            let model = view.model.as_deref().unwrap_or("its default model");
            let what = format!("{}: {model} at {}", view.provider, view.base_url);
            match asks.then(|| host.wait(ask(host))).transpose()? {
                None => Finding::good("provider", what),
                Some(Ok(took)) => {
                    Finding::good("provider", format!("{what} answers in {} ms", took.as_millis()))
                }
                Some(Err(why)) => {
                    let hint = "`petasos provider test` shows each step";
                    bad("provider", format!("{what}: {why}"), hint)
                }
            }
        }
        Err(error) => {
            let hint = error.hint.as_deref().unwrap_or("`petasos setup` chooses one");
            bad("provider", error.message.clone(), hint)
        }
    })
}

/// Whether the home can be written, and what is left on its disk.
fn room(host: &Host) -> Finding {
    let home = host.settings().home();
    let at = home.ancestors().find(|at| at.is_dir()).unwrap_or(Path::new("/"));
    if let Err(error) = access(at, Access::WRITE_OK | Access::EXEC_OK) {
        let hint = "make it yours, or choose another with `PETASOS_HOME`";
        return bad("disk", format!("{} cannot be written: {error}", at.display()), hint);
    }
    let Ok(found) = statvfs(at) else {
        return Finding::good("disk", format!("{} can be written", at.display()));
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let what = format!("{} has {} MB free", at.display(), free >> 20);
    let hint = "conversations and checkpoints need room: free some";
    match free {
        0..ROOM_MIN => bad("disk", what, hint),
        ROOM_MIN..ROOM_SMALL => Finding::note("disk", what, hint),
        _ => Finding::good("disk", what),
    }
}

/// Opens the conversations, where there are any.
fn store(host: &Host) -> Finding {
    let file = host.settings().home().join(petasos_sqlite::FILE_NAME);
    if !file.exists() {
        return Finding::good("store", "no conversations yet");
    }
    match host.store() {
        Ok(store) if store.notice().is_some() => {
            let hint = "make it writable, or choose another home with `PETASOS_HOME`";
            bad("store", store.notice().unwrap_or_default().to_owned(), hint)
        }
        Ok(_) => Finding::good("store", format!("{} opens", file.display())),
        Err(report) => {
            bad("store", report.message().to_owned(), "`petasos sessions verify` looks at the file")
        }
    }
}

/// Checkpoints are made by git.
fn git(host: &Host) -> Option<Finding> {
    let settings = host.settings();
    if settings.get("checkpoints.enabled") == Some(&serde_json::Value::Bool(false)) {
        return None;
    }
    // As git will be looked for, which is in more folders than those of the environment.
    let path = petasos_terminal::search_path(settings);
    let runs = |folder: &Path| access(folder.join("git"), Access::EXEC_OK).is_ok();
    let found = std::env::split_paths(&path).find(|folder| runs(folder));
    let missing = || {
        let hint = "install git, or set `checkpoints.enabled` to false";
        Finding::note("git", "not on the search path: no checkpoints are made", hint)
    };
    let at =
        |folder: std::path::PathBuf| Finding::good("git", folder.join("git").display().to_string());
    Some(found.map_or_else(missing, at))
}

/// Hooks that somebody configured and nobody agreed to do not run.
fn hooks(host: &Host, findings: &mut Vec<Finding>) {
    let found = ShellHooks::of(host.settings());
    let list = "`petasos hooks list` shows them";
    for hook in &found.pending {
        let what = format!("`{}` for {} waits for consent", hook.command, hook.event_name);
        findings.push(Finding::note("hooks", what, list));
    }
    for problem in found.problems {
        findings.push(Finding::note("hooks", problem, list));
    }
}
