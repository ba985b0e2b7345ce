//! `sessions prune`: removes conversations that nobody has used for long.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::mend::progress;
use super::report;
use crate::command::Session;
use crate::prompt;
use crate::prune::retention_days;
use crate::report::Report;

#[derive(Debug, Args)]
pub(super) struct Prune {
    /// Not used for this many days (default: sessions.retention_days, or 90)
    #[arg(long, value_name = "DAYS")]
    older_than: Option<u64>,
    /// Only list them
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Prune {
    pub(super) fn run(self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let store = host.store()?;
        let days = self.older_than.unwrap_or_else(|| retention_days(host.settings()));
        let age = Duration::from_hours(days.saturating_mul(24));
        let old = host.wait(store.unused_for(age))?.map_err(report)?;
        let ids: Vec<&str> = old.iter().map(|head| head.id.as_str()).collect();
        if self.dry_run || old.is_empty() {
            if out.is_json() {
                out.value(&json!({ "days": days, "would_remove": ids }));
                return Ok(ExitCode::SUCCESS);
            }
            for head in &old {
                super::list::line(out, head);
            }
            out.remark(format!("{} conversations were not used for {days} days", old.len()));
            return Ok(ExitCode::SUCCESS);
        }
        if !self.yes {
            if !prompt::somebody_is_there(out) {
                return Err(
                    Report::usage("this needs a confirmation").hint("pass --yes to confirm")
                );
            }
            let question = format!("Remove {} conversations for good?", old.len());
            if !prompt::confirm(out, &question)? {
                return Err(Report::new("nothing was removed").code("declined"));
            }
        }
        let pruned = host.wait(store.prune(age, progress(out)))?.map_err(report)?;
        let freed = host.wait(store.compact())?.map_err(report)?;
        if out.is_json() {
            let (removed, busy) = (&pruned.removed, &pruned.busy);
            out.value(&json!({ "removed": removed, "busy": busy, "freed_bytes": freed }));
        } else {
            out.line(format!("removed {} conversations", pruned.removed.len()));
            for id in &pruned.busy {
                out.line(format!("{id} is in use: left alone"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
