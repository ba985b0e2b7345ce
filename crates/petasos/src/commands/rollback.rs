//! `petasos rollback`: copies of the workspace from before an agent changed it, and the way back.

use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use clap::{ArgMatches, Subcommand};
use petasos_checkpoint::{Changes, Checkpoint, CheckpointError, Checkpoints, Restored};
use petasos_contract::context::Surface;
use petasos_contract::{CallContext, SessionId};
use serde_json::{Value, json};

use crate::command::{Command, Session, actions, parse};
use crate::host::Host;
use crate::out::{Out, Style};
use crate::prompt;
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "rollback",
    about: "Show and undo what an agent changed in this folder",
    examples: &[
        ("petasos rollback list", "the checkpoints of this folder"),
        ("petasos rollback diff 3", "what changed since one"),
        ("petasos rollback restore 3 --dry-run", "what restoring it would change"),
        ("petasos rollback restore 3 src", "restore one folder of it"),
    ],
    hidden: false,
    arguments: actions::<Action>,
    run,
};

/// Files that a question names.
const SHOWN: usize = 10;

#[derive(Debug, Subcommand)]
enum Action {
    /// List the checkpoints of this folder, newest first
    List {
        /// Show at most this many
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
    /// Show what changed since a checkpoint
    Diff {
        /// Its number (default: the newest)
        checkpoint: Option<String>,
    },
    /// Restore the files of a checkpoint; this can be undone the same way
    Restore {
        /// Its number (default: the newest)
        checkpoint: Option<String>,
        /// Only these files or folders
        paths: Vec<String>,
        /// Do not ask before files are removed
        #[arg(long, short)]
        yes: bool,
        /// Only list what would change
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove the checkpoints of folders that are gone
    Prune {
        /// Only list them
        #[arg(long)]
        dry_run: bool,
    },
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let action: Action = parse(matches)?;
    let out = session.out;
    let host = session.host.get()?;
    let cx = host.call_context(Surface::Cli, SessionId::new("rollback"));
    let checkpoints = host.checkpoints();
    match action {
        Action::List { limit } => {
            let mut list = listed(host, &checkpoints, &cx)?;
            list.truncate(limit);
            show(out, &list, &cx);
        }
        Action::Diff { checkpoint } => {
            let id = named(checkpoint, host, &checkpoints, &cx)?;
            let diff = host.wait(checkpoints.diff(&id, &cx))?.map_err(|error| report(&error))?;
            if out.is_json() {
                out.value(&json!({ "checkpoint": id, "diff": diff }));
            } else if diff.is_empty() {
                out.remark(format!("nothing has changed since checkpoint {id}"));
            } else {
                out.text(&diff);
            }
        }
        Action::Restore { checkpoint, paths, yes, dry_run } => {
            let id = named(checkpoint, host, &checkpoints, &cx)?;
            let changes = host.wait(checkpoints.preview(&id, &paths, &cx))?;
            let changes = changes.map_err(|error| report(&error))?;
            if dry_run {
                show_preview(out, &id, &changes);
                return Ok(ExitCode::SUCCESS);
            }
            if !yes && changes.needs_consent() {
                consent(out, &id, &changes)?;
            }
            let restored = host.wait(checkpoints.restore(&id, &paths, &cx))?;
            show_restored(out, &id, &restored.map_err(|error| report(&error))?);
        }
        Action::Prune { dry_run } => prune(out, host, dry_run),
    }
    Ok(ExitCode::SUCCESS)
}

fn listed(
    host: &Host,
    checkpoints: &Checkpoints,
    cx: &CallContext,
) -> Result<Vec<Checkpoint>, Report> {
    host.wait(checkpoints.list(cx))?.map_err(|error| report(&error))
}

/// Removes the copies of folders that are gone, or only lists them.
fn prune(out: Out, host: &Host, dry_run: bool) {
    let mut folders = Vec::new();
    for orphan in petasos_checkpoint::orphans(host.settings()) {
        match if dry_run { Ok(()) } else { orphan.remove() } {
            Ok(()) => folders.push(orphan.workspace),
            Err(error) => {
                let folder = orphan.workspace.display();
                out.remark(format!("the checkpoints of `{folder}` stay: {error}"));
            }
        }
    }
    if out.is_json() {
        out.value(&json!({ "dry_run": dry_run, "folders": folders }));
        return;
    }
    for folder in &folders {
        out.line(folder.display().to_string());
    }
    let (count, what) = (folders.len(), if dry_run { "would be" } else { "were" });
    out.remark(format!("the checkpoints of {count} folder(s) that are gone {what} removed"));
}

/// The copy that a person means: the newest when none is named.
fn named(
    given: Option<String>,
    host: &Host,
    checkpoints: &Checkpoints,
    cx: &CallContext,
) -> Result<String, Report> {
    match given.filter(|word| word != "latest") {
        Some(id) => Ok(id),
        None => match listed(host, checkpoints, cx)?.into_iter().next() {
            Some(newest) => Ok(newest.id),
            None => Err(Report::new(none(cx)).code("not_found")),
        },
    }
}

/// Asks the person whether so many files may go.
fn consent(out: Out, id: &str, changes: &Changes) -> Result<(), Report> {
    let count = changes.deleted.len();
    let what = format!("going back to checkpoint {id} removes {count} files that it does not have");
    if !prompt::somebody_is_there(out) {
        return Err(Report::usage(what)
            .code("needs_consent")
            .hint("--dry-run lists them, --yes removes them; the present state is copied first"));
    }
    let (shown, rest) = changes.deleted.split_at(count.min(SHOWN));
    for file in shown {
        out.remark(format!("  - {file}"));
    }
    if !rest.is_empty() {
        out.remark(format!("  … and {} more", rest.len()));
    }
    if prompt::confirm(out, &format!("{what}. Go on?"))? {
        return Ok(());
    }
    Err(Report::new("nothing was changed").code("declined"))
}

fn show_preview(out: Out, id: &str, changes: &Changes) {
    if out.is_json() {
        let Changes { written, deleted } = changes;
        out.value(&json!({
            "checkpoint": id, "dry_run": true, "written": written, "deleted": deleted,
        }));
        return;
    }
    let written = changes.written.iter().map(|file| ("write ", file));
    for (what, file) in written.chain(changes.deleted.iter().map(|file| ("remove", file))) {
        out.line(format!("{what}  {file}"));
    }
    let (written, deleted) = (changes.written.len(), changes.deleted.len());
    out.remark(format!(
        "{written} file(s) would be written, {deleted} removed; nothing was changed"
    ));
}

fn show_restored(out: Out, id: &str, restored: &Restored) {
    let Restored { undo, changes } = restored;
    let files = changes.files();
    if out.is_json() {
        out.value(&json!({
            "checkpoint": id, "undo": undo, "files": files, "deleted": changes.deleted,
        }));
        return;
    }
    for file in &files {
        out.line(file);
    }
    let (count, deleted) = (files.len(), changes.deleted.len());
    out.remark(format!(
        "{count} file(s) are as in checkpoint {id}, {deleted} of them removed; \
         `petasos rollback restore {undo}` undoes this"
    ));
}

fn none(cx: &CallContext) -> String {
    format!(
        "there are no checkpoints of `{}`, the folder this was started in",
        cx.workspace.display()
    )
}

fn show(out: Out, list: &[Checkpoint], cx: &CallContext) {
    if out.is_json() {
        let list: Vec<Value> = list.iter().map(as_json).collect();
        out.value(&json!({ "workspace": cx.workspace, "checkpoints": list }));
        return;
    }
    if list.is_empty() {
        out.remark(none(cx));
    }
    for one in list {
        let age = one.made.elapsed().unwrap_or_default().as_secs();
        let age = match age {
            0..60 => format!("{age} s ago"),
            60..3600 => format!("{} min ago", age / 60),
            3600..172_800 => format!("{} h ago", age / 3600),
            _ => format!("{} d ago", age / 86_400),
        };
        let session = out.paint(Style::Faint, &one.session);
        out.line(format!("{}  {age:>10}  {}  {session}", one.id, one.why));
    }
}

fn as_json(one: &Checkpoint) -> Value {
    let made = one.made.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    json!({
        "id": one.id, "made": made, "why": one.why, "session": one.session, "turn": one.turn,
    })
}

fn report(error: &CheckpointError) -> Report {
    let code = match error {
        CheckpointError::Unknown(_) | CheckpointError::Absent { .. } => "not_found",
        _ => "checkpoint",
    };
    Report::new(error.to_string()).code(code)
}
