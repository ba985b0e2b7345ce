//! `provider test`: one real, tiny call, with how long it took and who answered.

use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_contract::message::Message;
use petasos_contract::model::{Model as _, ModelError, Prompt, Reply, Role};
use serde_json::json;

use crate::command::Session;
use crate::out::{Out, Style};
use crate::report::Report;

/// Arguments of `provider test`.
#[derive(Debug, Args)]
pub(super) struct Test {
    /// A provider, an alias or `custom:NAME`; the configured one without it
    #[arg(long)]
    provider: Option<String>,
    /// A model; the configured one without it
    #[arg(long)]
    model: Option<String>,
}

impl Test {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let prompt = Prompt {
            messages: vec![Message::user("Reply with the single word: ready")],
            provider: self.provider.clone(),
            model: self.model.clone(),
            max_tokens: Some(64),
            ..Prompt::default()
        };
        let cx = host.call_context(Surface::OneShot, SessionId::new("provider-test"));
        let client = host.model();
        let started = Instant::now();
        let answer = host.wait(client.ask(&prompt, Role::Main, &cx))?;
        let latency_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        match answer {
            Ok(reply) => Ok(told(out, &reply, latency_ms)),
            Err(error) => Err(failed(out, &error)),
        }
    }
}

fn told(out: Out, reply: &Reply, latency_ms: u64) -> ExitCode {
    let text = reply.message.content.as_deref().unwrap_or_default();
    if out.is_json() {
        out.value(&json!({
            "ok": true, "provider": reply.served.provider, "model": reply.served.model,
            "latency_ms": latency_ms, "reply": text, "usage": reply.usage, "steps": reply.path,
        }));
    } else {
        let mark = out.paint(Style::Good, "✓");
        let (provider, model) = (&reply.served.provider, &reply.served.model);
        out.line(format!("{mark} {provider} ({model}) answered in {latency_ms} ms: {text:?}"));
        for step in &reply.path {
            out.line(out.paint(Style::Faint, &format!("  {}", json!(step))));
        }
    }
    ExitCode::SUCCESS
}

fn failed(out: Out, error: &ModelError) -> Report {
    if !out.is_json() {
        for step in &error.path {
            out.remark(out.paint(Style::Faint, &format!("  {}", json!(step))));
        }
    }
    Report::new(error.line.clone())
        .code("provider")
        .hint("`petasos provider explain` shows which key and address were chosen, and why")
}
