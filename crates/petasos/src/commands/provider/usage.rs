//! `provider usage`: what was used, by role, provider and model.

use std::process::ExitCode;

use clap::Args;
use petasos_store::{SessionScope, UsageFilter};
use serde_json::json;

use crate::command::Session;
use crate::out::Style;
use crate::report::Report;

#[derive(Debug, Args)]
pub(super) struct Usage {
    /// Only this conversation
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

impl Usage {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let only = self.session.as_deref().map(Into::into);
        let filter = UsageFilter { scope: SessionScope::Everyone, session: only };
        let found = host
            .wait(host.usage().totals(&filter))?
            .map_err(|error| Report::new(format!("the usage log cannot be read: {error}")))?;
        let (sums, unread) = (found.lines, found.unread);
        if out.is_json() {
            out.value(&json!({ "usage": sums, "unread_lines": unread }));
            return Ok(ExitCode::SUCCESS);
        }
        if sums.is_empty() {
            out.line("nothing was used yet");
        }
        for sum in sums {
            let role = json!(sum.role);
            let role = role.as_str().unwrap_or("main");
            let more = if sum.has_unknown { " (some prices are unknown)" } else { "" };
            let (used, dollars) = (sum.usage, sum.usd);
            out.line(format!(
                "{role:16} {} ({}): {} requests, {} input tokens, {} output, ${dollars:.4}{more}",
                sum.model,
                sum.provider,
                used.requests,
                used.prompt(),
                used.output,
            ));
        }
        if unread > 0 {
            out.line(out.paint(Style::Warn, &format!("{unread} lines cannot be read")));
        }
        Ok(ExitCode::SUCCESS)
    }
}
