//! A plugin's middleware: rewriters of requests, and frames whose `next` is asked for over the
//! pipe and run here.

use std::sync::{Arc, Weak};
use std::time::Instant;

use petasos_contract::call::Refusal;
use petasos_contract::middleware::{
    AroundError, AroundMiddleware, AskError, AskMiddleware, Execution, MiddlewareError, Next,
    NextAsk, PromptMiddleware, PromptRewrite, RequestMiddleware, Rewrite,
};
use petasos_contract::model::{ModelError, Prompt, Reason, Reply, Role};
use petasos_contract::{Args, BoxFuture, CallContext, ToolName, ToolOutput};
use serde_json::{Map, Value, json};

use super::Plugin;
use crate::payload::{prompt_json, prompt_with, reply_from, reply_json};
use crate::rpc::{NextAsked, RpcError};

/// The kinds there are.
pub(super) const KINDS: &[&str] =
    &["tool_request", "tool_execution", "llm_request", "llm_execution"];
/// The version that every payload names.
const SCHEMA: &str = "hermes.middleware.v1";
/// What a plugin's error is called when it only passes on what `next` gave.
const DOWNSTREAM: &str = "DownstreamError";

/// Puts a middleware on its chain.
pub(super) fn register(plugin: &Arc<Plugin>, kind: &str, id: u64) {
    let frame = Arc::new(Frame {
        plugin: Arc::downgrade(plugin),
        name: plugin.name(),
        kind: kind.to_owned(),
        id,
    });
    let chains = &plugin.host.middleware;
    match kind {
        "tool_request" => chains.register_request(&(frame as Arc<dyn RequestMiddleware>)),
        "tool_execution" => chains.register_around(&(frame as Arc<dyn AroundMiddleware>)),
        "llm_request" => chains.register_prompt(&(frame as Arc<dyn PromptMiddleware>)),
        "llm_execution" => chains.register_ask(&(frame as Arc<dyn AskMiddleware>)),
        _ => {}
    }
}

/// One registered middleware.
struct Frame {
    plugin: Weak<Plugin>,
    name: String,
    kind: String,
    id: u64,
}

impl Frame {
    fn params(&self, payload: Value, frame: Option<u64>) -> Value {
        let mut payload = crate::payload::object(payload);
        payload.insert("middleware_schema_version".to_owned(), json!(SCHEMA));
        json!({ "kind": self.kind, "id": self.id, "frame": frame, "payload": payload })
    }

    fn plugin(&self) -> Result<Arc<Plugin>, String> {
        self.plugin.upgrade().ok_or_else(|| "its plugin was unloaded".to_owned())
    }

    async fn rewritten(&self, payload: Value, cx: &CallContext) -> Result<Value, MiddlewareError> {
        let plugin = self.plugin().map_err(MiddlewareError)?;
        let answer = plugin.ask("middleware.run", self.params(payload, None), cx).await;
        answer.map_err(|error| MiddlewareError(error.to_string()))
    }

    /// Runs a frame. When it asks for `next`, that is run here, once, and what came of it is told
    /// to the plugin and kept.
    async fn run<'a, T: Send>(
        &self,
        payload: Value,
        cx: &CallContext,
        next: impl FnOnce(Value) -> BoxFuture<'a, T> + Send,
        tell: fn(&T) -> Result<Value, String>,
    ) -> (Result<Value, RpcError>, Option<T>) {
        let connection = match self.plugin() {
            Ok(plugin) => plugin.connection().await.map(|connection| (plugin, connection)),
            Err(why) => Err(why),
        };
        let (plugin, connection) = match connection {
            Ok(both) => both,
            Err(why) => return (Err(RpcError::Gone(why)), None),
        };
        let (mut next, mut given) = (Some(next), None);
        let (number, mut asks) = connection.frames.open();
        // Only its own time counts, not that of what it is around.
        let mut left = plugin.patience();
        let last = cx.deadline + left;
        let params = self.params(payload, Some(number));
        let asked = plugin.ask_until(last, "middleware.run", params, cx);
        tokio::pin!(asked);
        let answer = loop {
            let begun = Instant::now();
            tokio::select! {
                biased;
                answer = &mut asked => break answer,
                () = tokio::time::sleep(left) => {
                    let late = Err(RpcError::Late("middleware.run".to_owned()));
                    plugin.judge(&connection, &late).await;
                    break late;
                }
                Some(NextAsked { params, answer }) = asks.recv() => {
                    left = left.saturating_sub(begun.elapsed());
                    let told = match next.take() {
                        None => Err("`next_call` may be used once".to_owned()),
                        Some(next) => {
                            let changed = params.get("payload").cloned().unwrap_or(Value::Null);
                            let result = next(changed).await;
                            let told = tell(&result);
                            given = Some(result);
                            told
                        }
                    };
                    // A plugin that went away meanwhile shows in the answer above.
                    drop(answer.send(told));
                }
            }
        };
        connection.frames.shut(number);
        (answer, given)
    }
}

fn reason(answer: &Value) -> Option<String> {
    answer.get("reason").and_then(Value::as_str).map(str::to_owned)
}

impl RequestMiddleware for Frame {
    fn name(&self) -> &str {
        &self.name
    }

    fn rewrite<'a>(
        &'a self,
        tool: &'a ToolName,
        args: &'a Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<Rewrite>, MiddlewareError>> {
        Box::pin(async move {
            let payload = json!({
                "tool_name": tool, "args": args.object(), "original_args": args.object(),
                "session_id": cx.session, "tool_call_id": cx.call,
            });
            let answer = self.rewritten(payload, cx).await?;
            let Some(args) = answer.get("args").and_then(Value::as_object) else { return Ok(None) };
            Ok(Some(Rewrite { args: Args::new(args.clone()), reason: reason(&answer) }))
        })
    }
}

impl AroundMiddleware for Frame {
    fn name(&self) -> &str {
        &self.name
    }

    fn around<'a>(
        &'a self,
        call: Execution<'a>,
        next: Next<'a>,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, AroundError>> {
        let Execution { tool, args, .. } = call;
        Box::pin(async move {
            let payload = json!({
                "tool_name": tool, "args": args.object(), "original_args": args.object(),
                "session_id": cx.session, "tool_call_id": cx.call,
            });
            let before = args;
            let inside = move |changed: Value| next(changed_args(&before, &changed));
            match self.run(payload, cx, inside, told).await {
                // Whatever a plugin made of strangers' words holds strangers' words.
                (Ok(Value::String(text)), Some(Ok(ToolOutput::Untrusted(_)))) => {
                    Ok(ToolOutput::Untrusted(text))
                }
                (Ok(Value::String(text)), _) => Ok(ToolOutput::Text(text)),
                (Ok(value), _) => Ok(ToolOutput::Foreign(value)),
                (Err(RpcError::Remote { kind, .. }), Some(Err(refusal))) if kind == DOWNSTREAM => {
                    Err(AroundError::Refused(refusal))
                }
                (Err(error), _) => Err(AroundError::Failed(error.to_string())),
            }
        })
    }
}

fn told(result: &Result<ToolOutput, Refusal>) -> Result<Value, String> {
    match result {
        Ok(ToolOutput::Text(text) | ToolOutput::Untrusted(text)) => Ok(json!(text)),
        Ok(ToolOutput::Foreign(value)) => Ok(value.clone()),
        Ok(ToolOutput::Multimodal(many)) => Ok(json!({
            "_multimodal": true, "content": many.content, "text_summary": many.text_summary,
        })),
        Err(refusal) => Err(format!("{DOWNSTREAM}: {refusal}")),
    }
}

fn changed_args(args: &Args, changed: &Value) -> Args {
    let inner = changed.get("args").and_then(Value::as_object);
    inner.or_else(|| changed.as_object()).map_or_else(|| args.clone(), |new| Args::new(new.clone()))
}

impl PromptMiddleware for Frame {
    fn name(&self) -> &str {
        &self.name
    }

    fn rewrite<'a>(
        &'a self,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<PromptRewrite>, MiddlewareError>> {
        Box::pin(async move {
            let request = prompt_json(prompt);
            let payload = json!({
                "request": request, "original_request": request, "role": role,
                "session_id": cx.session,
            });
            let answer = self.rewritten(payload, cx).await?;
            let Some(changed) = answer.get("request").and_then(Value::as_object) else {
                return Ok(None);
            };
            let prompt = prompt_with(prompt, changed).map_err(MiddlewareError)?;
            Ok(Some(PromptRewrite { prompt, reason: reason(&answer) }))
        })
    }
}

impl AskMiddleware for Frame {
    fn name(&self) -> &str {
        &self.name
    }

    fn around<'a>(
        &'a self,
        prompt: Prompt,
        next: NextAsk<'a>,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Reply, AskError>> {
        Box::pin(async move {
            let request = prompt_json(&prompt);
            let payload = json!({
                "request": request, "original_request": request, "role": role,
                "session_id": cx.session,
            });
            let inside = move |changed: Value| {
                let none = Map::new();
                let changed = changed.get("request").unwrap_or(&changed);
                match prompt_with(&prompt, changed.as_object().unwrap_or(&none)) {
                    Ok(prompt) => next(prompt),
                    Err(why) => {
                        let error = ModelError::new(Reason::Unknown, why);
                        Box::pin(std::future::ready(Err(error))) as BoxFuture<'a, _>
                    }
                }
            };
            let told = |result: &Result<Reply, ModelError>| match result {
                Ok(reply) => Ok(reply_json(reply)),
                Err(error) => Err(format!("{DOWNSTREAM}: {error}")),
            };
            match self.run(payload, cx, inside, told).await {
                (Ok(value), Some(Ok(reply))) => {
                    reply_from(&value, Some(reply)).map_err(AskError::Failed)
                }
                (Ok(value), _) => reply_from(&value, None).map_err(AskError::Failed),
                (Err(RpcError::Remote { kind, .. }), Some(Err(error))) if kind == DOWNSTREAM => {
                    Err(AskError::from(error))
                }
                (Err(error), _) => Err(AskError::Failed(error.to_string())),
            }
        })
    }
}
