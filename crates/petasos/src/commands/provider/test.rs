//! `provider test`: one real, tiny call, with how long it took, who answered and what it can do.

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use clap::Args;
use petasos_contract::context::Surface;
use petasos_contract::message::Message;
use petasos_contract::model::{
    Definition, Delta, DeltaSink, DeltaSubscriber, Model as _, ModelError, Prompt, Reason, Reply,
    Role, ToolChoice,
};
use petasos_contract::reply::Step;
use petasos_contract::{SessionId, ToolName};
use serde::Serialize;
use serde_json::json;

use crate::command::Session;
use crate::host::Host;
use crate::out::{Out, Style};
use crate::report::Report;

#[derive(Debug, Args)]
pub(super) struct Test {
    /// A provider, an alias or `custom:NAME` (default: the configured one)
    #[arg(long)]
    provider: Option<String>,
    /// A model (default: the configured one)
    #[arg(long)]
    model: Option<String>,
}

/// What was seen in the answer; nothing here is taken from a table.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each was seen or not")]
struct Capabilities {
    /// Whether the answer came in pieces.
    streaming: bool,
    /// How long the first piece took.
    first_token_ms: Option<u64>,
    tools: Tools,
    /// Whether it showed reasoning.
    reasoning: bool,
    /// Whether it told how much it used.
    usage: bool,
}

/// What became of the tool that was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Tools {
    /// It was called.
    Called,
    /// It was accepted and not called.
    Ignored,
    /// A request with a tool was refused; one without was not.
    Refused,
}

impl Test {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let answered = host.wait(self.ask(host))?;
        match answered {
            Ok(Answered { reply, latency_ms, capabilities }) => {
                Ok(told(out, &reply, latency_ms, &capabilities))
            }
            Err(error) => Err(failed(out, &error)),
        }
    }

    /// Asks with a tool that must be called; where tools are refused, once more without.
    async fn ask(&self, host: &Host) -> Result<Answered, ModelError> {
        match self.ask_once(host, true).await {
            Err(error) if is_about_tools(&error) => {
                let mut answered = self.ask_once(host, false).await?;
                answered.capabilities.tools = Tools::Refused;
                Ok(answered)
            }
            answered => answered,
        }
    }

    async fn ask_once(&self, host: &Host, with_tool: bool) -> Result<Answered, ModelError> {
        let first = Arc::new(First::now());
        let mut prompt = Prompt {
            messages: vec![Message::user("Report the single word: ready")],
            provider: self.provider.clone(),
            model: self.model.clone(),
            max_tokens: Some(64),
            deltas: DeltaSink::to(Arc::clone(&first) as _),
            ..Prompt::default()
        };
        if with_tool {
            prompt.tools = Arc::new([report_tool()]);
            prompt.tool_choice = ToolChoice::Required;
        }
        let cx = host.call_context(Surface::OneShot, SessionId::new("provider-test"));
        let reply = host.model().ask(&prompt, Role::Main, &cx).await?;
        let called = !reply.message.tool_calls.is_empty();
        let capabilities = Capabilities {
            streaming: first.seen.get().is_some(),
            first_token_ms: first.seen.get().copied().map(millis),
            tools: if called { Tools::Called } else { Tools::Ignored },
            reasoning: reply.message.reasoning.is_some(),
            usage: reply.usage.output > 0,
        };
        Ok(Answered { reply, latency_ms: millis(first.begun.elapsed()), capabilities })
    }
}

struct Answered {
    reply: Reply,
    latency_ms: u64,
    capabilities: Capabilities,
}

/// Notes when the first piece came.
struct First {
    begun: Instant,
    seen: OnceLock<Duration>,
}

impl First {
    fn now() -> Self {
        Self { begun: Instant::now(), seen: OnceLock::new() }
    }
}

impl DeltaSubscriber for First {
    fn take(&self, _attempt: u32, _delta: &Delta) {
        self.seen.get_or_init(|| self.begun.elapsed());
    }
}

fn report_tool() -> Definition {
    Definition {
        name: ToolName::new("report"),
        description: "Reports one word.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": { "word": { "type": "string", "description": "The word" } },
            "required": ["word"],
        }),
    }
}

/// Whether leaving the tool out may help.
fn is_about_tools(error: &ModelError) -> bool {
    matches!(error.reason, Reason::ToolSchema | Reason::UnsupportedParameter | Reason::Format)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn told(out: Out, reply: &Reply, latency_ms: u64, capabilities: &Capabilities) -> ExitCode {
    let call = reply.message.tool_calls.first().map(|call| call.arguments.as_str());
    let text = call.or(reply.message.content.as_deref()).unwrap_or_default();
    if out.is_json() {
        out.value(&json!({
            "ok": true, "provider": reply.served.provider, "model": reply.served.model,
            "latency_ms": latency_ms, "capabilities": capabilities, "reply": text,
            "usage": reply.usage, "steps": reply.path,
        }));
        return ExitCode::SUCCESS;
    }
    let mark = out.paint(Style::Good, "✓");
    let (provider, model) = (&reply.served.provider, &reply.served.model);
    out.line(format!("{mark} {provider} ({model}) answered in {latency_ms} ms: {text:?}"));
    let first = capabilities.first_token_ms;
    let streaming = first
        .map_or("no streaming".to_owned(), |ms| format!("streams (first piece after {ms} ms)"));
    let tools = match capabilities.tools {
        Tools::Called => "calls tools",
        Tools::Ignored => "accepts tools but did not call one",
        Tools::Refused => "refuses tools",
    };
    let reasoning = if capabilities.reasoning { "shows reasoning" } else { "shows no reasoning" };
    let usage = if capabilities.usage { "reports usage" } else { "reports no usage" };
    out.line(format!("  {streaming}; {tools}; {reasoning}; {usage}"));
    for step in &reply.path {
        out.line(out.paint(Style::Faint, &format!("  {}", in_words(step))));
    }
    ExitCode::SUCCESS
}

/// A step on the way to an answer, in words.
fn in_words(step: &Step) -> String {
    match step {
        Step::Sent { provider, model } => format!("asked {provider} ({model})"),
        Step::Failed { reason, status } => {
            let reason = json!(reason).as_str().unwrap_or_default().replace('_', " ");
            let status = status.map(|status| format!(", HTTP {status}")).unwrap_or_default();
            format!("failed: {reason}{status}")
        }
        Step::Waited { wait_ms } => format!("waited {wait_ms} ms"),
        Step::Refreshed => "renewed the login".to_owned(),
        Step::Rotated => "switched to another key".to_owned(),
        Step::Repaired { repair } => format!("changed the request: {repair}"),
        Step::FellBack { provider, model } => format!("fell back to {provider} ({model})"),
        Step::Skipped { provider, model, why } => format!("skipped {provider} ({model}): {why}"),
        Step::GaveUp => "gave up".to_owned(),
        other => json!(other).to_string(),
    }
}

fn failed(out: Out, error: &ModelError) -> Report {
    if !out.is_json() {
        for step in &error.path {
            out.remark(out.paint(Style::Faint, &format!("  {}", in_words(step))));
        }
    }
    Report::new(error.line.clone())
        .code("provider")
        .hint("`petasos provider explain` shows which key and address were chosen, and why")
}
