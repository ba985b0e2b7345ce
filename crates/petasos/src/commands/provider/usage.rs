//! `provider usage`: what was used, by role, provider and model.

use std::process::ExitCode;

use clap::Args;
use petasos_providers::ledger::kept;
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
        let home = session.host.get()?.settings().home().to_owned();
        let (entries, unread) = kept::read(&home)
            .map_err(|error| Report::new(format!("the bill cannot be read: {error}")))?;
        let of = |name: &String| self.session.as_ref().is_none_or(|wanted| wanted == name);
        let sums = kept::sums(entries.iter().filter(|entry| of(&entry.session)));
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
