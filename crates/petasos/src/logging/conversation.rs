//! What happens in conversations, for the log: who, how long, how it ended; never what was said.

use std::future::ready;

use petasos_agent::watch::Watcher;
use petasos_contract::BoxFuture;
use petasos_contract::event::Event;
use tracing::{debug, error, info, warn};

/// Writes events to the log.
#[derive(Debug)]
pub(crate) struct Journal;

impl Watcher for Journal {
    fn take(&self, event: &Event) {
        match event {
            Event::TurnStarted { session, turn } => {
                info!(%session, %turn, "turn begins");
            }
            Event::Replied { session, request, calls, finish, served, usage, .. } => {
                let (provider, model) = (&served.provider, &served.model);
                let (input, output) = (usage.prompt(), usage.output);
                info!(%session, request, %provider, %model, input, output, calls, ?finish, "model answered");
            }
            Event::ToolStarted { session, call, tool } => {
                debug!(%session, %call, %tool, "tool begins");
            }
            Event::ToolFinished { session, call, tool, status, duration_ms } => {
                info!(%session, %call, %tool, status = status.as_str(), duration_ms, "tool ended");
            }
            Event::ToolOutputRisk { call, tool, risk, findings } => {
                warn!(%call, %tool, risk, ?findings, "a result looks like instructions");
            }
            Event::Notice { text } => info!("notice: {text}"),
            Event::Compressed { session, before, after, how } => {
                info!(%session, before, after, "shortened: {how}");
            }
            Event::SubagentStarted { session, child, .. } => {
                info!(%session, %child, "subagent begins");
            }
            Event::SubagentEnded { session, child, status } => {
                info!(%session, %child, status = status.as_str(), "subagent ended");
            }
            Event::TurnEnded { session, turn, end, text, requests, usage, duration_ms } => {
                let (input, output) = (usage.prompt(), usage.output);
                if end == "failed" {
                    error!(%session, %turn, requests, duration_ms, "turn failed: {text}");
                } else {
                    info!(%session, %turn, end = end.as_str(), requests, input, output, duration_ms, "turn ended");
                }
            }
            _ => {}
        }
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}
