//! A plugin as a hook: one listener for all that it wants.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use petasos_contract::hook::{Directive, Hook, HookError, HookKind, HookSet, Moment, OnFailure};
use petasos_contract::{BoxFuture, CallContext, SessionId, TurnId};
use serde_json::{Value, json};

use super::Plugin;
use crate::rpc::RpcError;
use crate::{answer, payload, spill};

pub(super) struct PluginHook {
    name: String,
    wanted: HookSet,
    on_failure: OnFailure,
    plugin: Weak<Plugin>,
}

impl PluginHook {
    pub(super) fn new(plugin: &Arc<Plugin>, wanted: HookSet) -> Self {
        // A callback that fails is passed over inside the plugin. Here only a plugin that is gone
        // or hangs fails; whoever guards calls is then missed, so calls wait for it to be mended.
        let guards = wanted.has(HookKind::PreToolCall);
        let chosen = plugin.setting("on_failure").and_then(Value::as_str);
        let on_failure = match chosen {
            Some("allow") => OnFailure::Pass,
            Some("block") => OnFailure::Block,
            _ if guards => OnFailure::Block,
            _ => OnFailure::Pass,
        };
        Self { name: plugin.name(), wanted, on_failure, plugin: Arc::downgrade(plugin) }
    }
}

impl Hook for PluginHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn wants(&self) -> HookSet {
        self.wanted
    }

    fn on_failure(&self) -> OnFailure {
        self.on_failure
    }

    fn deadline(&self, kind: HookKind) -> Duration {
        // The answer is waited for below; a start that must come first has its own limit.
        let own = self.plugin.upgrade().map(|plugin| plugin.hook_patience(kind));
        own.unwrap_or(kind.deadline()).saturating_add(Duration::from_secs(1))
    }

    fn fire<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        Box::pin(async move {
            let Some(plugin) = self.plugin.upgrade() else { return Ok(Directive::Pass) };
            let kind = moment.kind();
            let none;
            let cx = if let Some(cx) = moment.cx() {
                cx
            } else {
                none = plugin.own_context();
                &none
            };
            let params = json!({ "event": kind.as_str(), "payload": payload::fields(moment) });
            let deadline = cx.deadline.min(Instant::now() + plugin.hook_patience(kind));
            let answers = match plugin.ask_until(deadline, "hook.fire", params, cx).await {
                Ok(answers) => answers,
                // Moments in which nothing can be changed are not worth a refusal.
                Err(error) if !refuses(kind) => {
                    tracing::warn!(hook = self.name, %error, "a plugin missed a moment");
                    return Ok(Directive::Pass);
                }
                Err(error) => return Err(HookError(advice(&plugin.manifest.key, &error))),
            };
            let answers = answers.as_array().map_or(std::slice::from_ref(&answers), Vec::as_slice);
            let mut valid = answers.iter().filter_map(|one| answer::directive(kind, one).ok());
            let first = valid.find(|directive| *directive != Directive::Pass);
            Ok(match first.unwrap_or(Directive::Pass) {
                Directive::Append(text) => {
                    Directive::Append(spill::fit(text, &self.name, &cx.settings))
                }
                other => other,
            })
        })
    }
}

/// Whether a plugin that is missed at this moment stops what it guards.
fn refuses(kind: HookKind) -> bool {
    matches!(kind, HookKind::PreToolCall | HookKind::TransformToolResult)
}

fn advice(key: &str, error: &RpcError) -> String {
    format!(
        "{error}; the user sees why with `petasos plugins test {key}`, and lets calls pass without it with `petasos plugins disable {key}` or `plugins.entries.{key}.on_failure: allow`"
    )
}

impl Plugin {
    /// Surroundings for what a plugin does on its own.
    pub(crate) fn own_context(&self) -> CallContext {
        let session = SessionId::new(self.name());
        let surface = petasos_contract::context::Surface::Embedded;
        let mut cx = CallContext::new(Arc::clone(&self.host.settings), surface, session);
        // Nobody ends a turn of its own, so each is new.
        let number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        cx.turn = TurnId::new(format!("{}-{number}", self.name()));
        cx.principal = petasos_contract::context::Principal::Plugin(self.manifest.key.clone());
        cx
    }
}
