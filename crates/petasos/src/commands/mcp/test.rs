//! `mcp test`: starts servers as a conversation would and says how they are doing.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use petasos_mcp::client::{ServerView, Servers, State};

use super::spec;
use crate::command::Session;
use crate::guests;
use crate::host::Host;
use crate::out::{Out, Style};
use crate::report::Report;

/// How often somebody who waits is told that nothing has come yet.
const TOLD_EVERY: Duration = Duration::from_secs(3);

#[derive(Debug, Args)]
pub(super) struct Test {
    /// The server (default: all enabled ones)
    name: Option<String>,
    /// Seconds to wait for the start
    #[arg(long, default_value_t = 70)]
    wait: u64,
}

impl Test {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let within = Duration::from_secs(self.wait);
        let views = look(host, self.name.as_deref(), within, Some(out))?;
        let good = views.iter().all(|view| matches!(view.state, State::Ready | State::Disabled));
        if out.is_json() {
            out.value(&views);
        } else {
            if views.is_empty() {
                out.remark("No MCP servers are configured; `petasos mcp add` adds one.");
            }
            for view in &views {
                show(out, view);
            }
        }
        Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Starts one server or all, and waits until it is known how that went.
pub(in crate::commands) fn look(
    host: &Host,
    name: Option<&str>,
    within: Duration,
    out: Option<Out>,
) -> Result<Vec<ServerView>, Report> {
    let around = guests::around(host, None);
    let named = name.map(|name| spec(host, name)).transpose()?;
    let views = host.wait(async {
        let servers = match named {
            Some(named) => Servers::of(vec![named], &around),
            None => Servers::start(&around),
        };
        let begun = Instant::now();
        let mut settled = std::pin::pin!(servers.settle(within));
        // Whoever waits knows for what, and how long yet.
        while tokio::time::timeout(TOLD_EVERY, &mut settled).await.is_err() {
            let Some(out) = out else { continue };
            let mut waiting = servers.views();
            waiting.retain(|view| !view.state.is_settled());
            let silent: Vec<&str> = waiting.iter().map(|view| view.name.as_str()).collect();
            let (so_far, most) = (begun.elapsed().as_secs(), within.as_secs());
            let silent = silent.join(", ");
            out.remark(format!("waiting for {silent} to answer ({so_far} of {most} s)"));
        }
        servers.views()
    })?;
    Ok(views)
}

pub(super) fn show(out: Out, view: &ServerView) {
    let style = match view.state {
        State::Ready => Style::Good,
        State::Failed(_) | State::NeedsAuth(_) => Style::Bad,
        _ => Style::Warn,
    };
    let name = out.paint(Style::Bold, &view.name);
    out.line(format!("{name}  {}", out.paint(style, &view.state.to_string())));
    if !view.state.is_settled() {
        let name = &view.name;
        out.line(format!(
            "  it has said nothing yet; `petasos mcp logs {name}` shows what it wrote"
        ));
    }
    view.tools.iter().for_each(|tool| out.line(format!("  {tool}")));
    view.notes.iter().for_each(|note| out.line(out.paint(Style::Warn, &format!("  {note}"))));
}
