//! The only exit: whatever came of a call becomes one well-formed result.
//!
//! Normalise, wrap errors in their exact words, tell the post hook, let a hook replace the text,
//! label what strangers wrote, spill what is too large, add guardrail guidance outside of that
//! label, tell the surface. Other people's code on this way is fenced: a result leaves in any case.

use std::panic::AssertUnwindSafe;

use petasos_contract::call::{Content, Disposition, Refusal, RefusalKind, Status, ToolResult};
use petasos_contract::event::Event;
use petasos_contract::hook::{Finished, HookKind, ToolMoment};
use petasos_contract::output::Multimodal;
use petasos_contract::tool::FailureSign;
use petasos_contract::{Args, CallContext, ToolOutput, wait};
use serde_json::{Value, json};
use tracing::warn;

use super::guard::{Guidance, Observed};
use super::outcome::failure;
use super::run::tell;
use super::{Dispatcher, Trail};
use crate::budget::{self, Budget};
use crate::registry::Entry;
use crate::untrusted;

/// Error texts are cut here.
const ERROR_CHARS_MAX: usize = 2000;

/// A result on its way out.
struct Sealed {
    content: Content,
    status: Status,
    disposition: Disposition,
    error_type: Option<&'static str>,
    error_message: Option<String>,
}

impl Dispatcher {
    /// Makes the one result of a call.
    pub(super) async fn seal(
        &self,
        walked: Result<ToolOutput, Refusal>,
        trail: Trail,
        cx: &CallContext,
    ) -> ToolResult {
        let strangers = matches!(&walked, Ok(ToolOutput::Untrusted(_)));
        let mut sealed = match walked {
            Ok(output) => settle(output, &trail, cx.cancel.is_cancelled()),
            Err(refusal) => refuse(refusal, &trail),
        };
        let duration_ms = u64::try_from(trail.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut halts_turn = false;
        if let Some(entry) = trail.entry.clone() {
            self.tell_hooks(&mut sealed, &trail, duration_ms, cx).await;
            let guidance = self.guide(&sealed, &trail, &entry, cx);
            // A refusal is in our own words, which the model is meant to follow.
            if trail.ran {
                let origin =
                    trail.origin.with_strangers(strangers, &entry, trail.args.as_ref(), cx);
                origin.mark(&mut sealed.content, &trail.id, &entry, cx);
            }
            // What is moved to a file takes its label along.
            self.fit(&mut sealed.content, &trail, &entry, cx).await;
            if let Some(guidance) = guidance {
                halts_turn = guidance.halts;
                add_guidance(&mut sealed.content, &guidance);
            }
        }
        let result = ToolResult {
            id: trail.id,
            name: trail.name,
            content: sealed.content,
            status: sealed.status,
            disposition: sealed.disposition,
            error_type: sealed.error_type,
            duration_ms,
            halts_turn,
        };
        tell(&cx.events, || Event::ToolFinished {
            session: cx.session.clone(),
            call: result.id.clone(),
            tool: result.name.clone(),
            status: result.status,
            duration_ms,
        });
        result
    }

    async fn tell_hooks(
        &self,
        sealed: &mut Sealed,
        trail: &Trail,
        duration_ms: u64,
        cx: &CallContext,
    ) {
        let (post, transform) = (HookKind::PostToolCall, HookKind::TransformToolResult);
        if !self.hooks.wants(post) && !self.hooks.wants(transform) {
            return;
        }
        let none = Args::default();
        let args = trail.args.as_ref().unwrap_or(&none);
        let moment = ToolMoment { tool: &trail.name, args, cx, rewrites: &trail.rewrites };
        let text = sealed.content.text();
        let finished = Finished {
            result: &text,
            status: sealed.status,
            duration_ms,
            error_type: sealed.error_type,
            error_message: sealed.error_message.as_deref(),
        };
        let telling = async {
            self.hooks.post_tool_call(&moment, &finished).await;
            self.hooks.transform_tool_result(&moment, &finished).await
        };
        let told = wait::unless_cancelled(&cx.cancel, wait::LAST_WORDS, telling).await;
        match told {
            Some(Ok(None)) => {}
            Some(Ok(Some(replaced))) => sealed.content = Content::Text(replaced),
            Some(Err(refusal)) => withhold(refusal, sealed, trail),
            None if self.hooks.wants(transform) => {
                let message = format!(
                    "`{}` was cancelled by the user; its result is withheld, because a hook that \
                     looks through results did not end in time",
                    trail.name
                );
                withhold(Refusal::new(RefusalKind::Cancelled, message), sealed, trail);
            }
            None => warn!(tool = %trail.name, "a post_tool_call hook was dropped by an interrupt"),
        }
    }

    fn guide(
        &self,
        sealed: &Sealed,
        trail: &Trail,
        entry: &Entry,
        cx: &CallContext,
    ) -> Option<Guidance> {
        let signature = trail.signature?;
        let Content::Text(result) = &sealed.content else { return None };
        // A call that something on the way refused says nothing about the tool.
        if sealed.status == Status::Blocked || sealed.status == Status::Cancelled {
            return None;
        }
        let failed = sealed.status != Status::Ok;
        let observed = Observed { tool: &entry.name, result, failed, idempotent: entry.idempotent };
        self.guards.after(signature, &observed, cx)
    }

    async fn fit(&self, content: &mut Content, trail: &Trail, entry: &Entry, cx: &CallContext) {
        let Content::Text(text) = content else { return };
        let budget = Budget::of(cx);
        let Some(limit) = budget.limit_for(entry, &cx.settings) else { return };
        if budget::exceeds(text, limit) {
            let shown = budget::spill(text, trail.id.as_str(), self.spill(), cx).await;
            *content = Content::Text(shown);
        }
    }
}

/// The result is not shown, but whatever the call did is done.
fn withhold(refusal: Refusal, sealed: &mut Sealed, trail: &Trail) {
    let disposition = sealed.disposition;
    *sealed = Sealed { disposition, ..refuse(refusal, trail) };
}

/// A handler came back: only text and the multimodal envelope pass.
fn settle(output: ToolOutput, trail: &Trail, interrupted: bool) -> Sealed {
    let content = match output {
        ToolOutput::Text(text)
        | ToolOutput::Untrusted(text)
        | ToolOutput::Foreign(Value::String(text)) => Content::Text(text),
        ToolOutput::Multimodal(parts) => Content::Multimodal(parts),
        ToolOutput::Foreign(value) => match Multimodal::from_value(&value) {
            Some(parts) => Content::Multimodal(parts),
            None => return break_contract(&value, trail),
        },
    };
    let failed = match &content {
        Content::Text(text) => {
            let sign = trail.entry.as_ref().map_or(FailureSign::Usual, |entry| entry.failure);
            failure(sign, text).is_some()
        }
        Content::Multimodal(_) => false,
    };
    // What an interrupted tool gives is what it had by then.
    let (status, error_type) = match (failed, interrupted) {
        (false, _) => (Status::Ok, None),
        (true, false) => (Status::Error, Some("tool_result_error")),
        (true, true) => (Status::Cancelled, Some(RefusalKind::Cancelled.error_type())),
    };
    Sealed { content, status, disposition: Disposition::Done, error_type, error_message: None }
}

fn break_contract(value: &Value, trail: &Trail) -> Sealed {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let message = format!("Tool `{}` returned {kind} where text is expected", trail.name);
    let body = json!({
        "error": message,
        "error_type": RefusalKind::Contract.error_type(),
        "tool": trail.name,
        "result_type": kind,
    });
    Sealed {
        content: Content::Text(body.to_string()),
        status: RefusalKind::Contract.status(),
        disposition: RefusalKind::Contract.disposition(),
        error_type: Some(RefusalKind::Contract.error_type()),
        error_message: Some(message),
    }
}

/// Something refused the call, or it failed: the two wraps, in their exact words.
fn refuse(mut refusal: Refusal, trail: &Trail) -> Sealed {
    let kind = refusal.kind;
    match kind {
        RefusalKind::Failed | RefusalKind::Timeout => {
            refusal.message = format!("Tool execution failed: {}", clean(&refusal.message));
        }
        RefusalKind::Broken => {
            refusal.message =
                format!("Error executing {}: {}", trail.name, clean(&refusal.message));
        }
        _ => {}
    }
    let output = match &trail.entry {
        Some(entry) if kind.status() == Status::Blocked => {
            let own_shape = AssertUnwindSafe(|| entry.tool.refused(&refusal));
            std::panic::catch_unwind(own_shape).unwrap_or_else(|_| refusal.output())
        }
        _ => refusal.output(),
    };
    let content = match output {
        ToolOutput::Text(text) | ToolOutput::Untrusted(text) => Content::Text(text),
        ToolOutput::Multimodal(parts) => Content::Multimodal(parts),
        ToolOutput::Foreign(value) => Content::Text(value.to_string()),
    };
    // What never reached its handler did nothing, whatever kind of refusal it was.
    let disposition = if trail.ran { kind.disposition() } else { Disposition::None };
    Sealed {
        content,
        status: kind.status(),
        disposition,
        error_type: Some(kind.error_type()),
        error_message: Some(refusal.message),
    }
}

/// Error text that cannot pass for the frame of a message.
fn clean(message: &str) -> String {
    untrusted::defuse_error(message, ERROR_CHARS_MAX)
}

/// Guidance joins a JSON object as a key and other text as a last line.
fn add_guidance(content: &mut Content, guidance: &Guidance) {
    let Content::Text(text) = content else { return };
    let note = json!({ "code": guidance.code, "message": guidance.message });
    if let Ok(Value::Object(mut object)) = serde_json::from_str::<Value>(text) {
        object.insert("_guardrail".to_owned(), note);
        *text = Value::Object(object).to_string();
    } else {
        text.push_str("\n\n[");
        text.push_str(guidance.code);
        text.push_str("] ");
        text.push_str(&guidance.message);
    }
}
