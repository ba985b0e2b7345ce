//! The hook bus: fires moments, fences each hook, and lets through only what a moment allows.
//!
//! Every hook that wants a moment sees it, in order of registration; the first valid directive
//! wins. A hook that fails, panics or overruns is named in the log; if it is a policy, it blocks.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use futures::FutureExt;
use petasos_contract::approval::{Finding, Scope};
use petasos_contract::call::{Refusal, RefusalKind};
use petasos_contract::hook::{
    Directive, Finished, Hook, HookError, HookKind, HookSet, Moment, OnFailure, ToolMoment,
};
use petasos_contract::wait;
use tracing::warn;

/// How long a hook may take, unless it bounds itself more tightly.
pub const HOOK_DEADLINE: Duration = Duration::from_mins(5);

/// The registered hooks.
#[derive(Default)]
pub struct HookBus {
    current: ArcSwap<Listeners>,
}

#[derive(Default, Clone)]
struct Listeners {
    wanted: HookSet,
    hooks: Vec<Arc<dyn Hook>>,
}

impl HookBus {
    /// A bus without hooks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a hook behind those that are there.
    pub fn register(&self, hook: &Arc<dyn Hook>) {
        self.current.rcu(|old| {
            let mut next = Listeners::clone(old);
            next.wanted = next.wanted.union(hook.wants());
            next.hooks.push(Arc::clone(hook));
            next
        });
    }

    /// Removes the hooks with this name.
    pub fn deregister(&self, name: &str) {
        self.current.rcu(|old| {
            let mut next = Listeners::clone(old);
            next.hooks.retain(|hook| hook.name() != name);
            let wants = next.hooks.iter().map(|hook| hook.wants());
            next.wanted = wants.fold(HookSet::EMPTY, HookSet::union);
            next
        });
    }

    /// Whether anybody wants this moment.
    pub fn wants(&self, kind: HookKind) -> bool {
        self.current.load().wanted.has(kind)
    }

    /// Before a tool runs: refused, or what a person must agree to first.
    pub(crate) async fn pre_tool_call(
        &self,
        moment: &ToolMoment<'_>,
    ) -> Result<Option<Finding>, Refusal> {
        let directives = self.fire(&Moment::PreToolCall(moment)).await;
        for (hook, directive) in directives {
            match directive {
                Err(refusal) => return Err(refusal),
                Ok(Directive::Block(message)) if !message.trim().is_empty() => {
                    return Err(Refusal::new(RefusalKind::Hook, message));
                }
                Ok(Directive::AskHuman { message, rule_key }) => {
                    return Ok(Some(escalation(moment, &message, rule_key)));
                }
                Ok(Directive::Pass) => {}
                Ok(Directive::Block(_) | Directive::Replace(_) | Directive::Append(_)) => {
                    warn!(hook, ?directive, "directive does not fit pre_tool_call, ignored");
                }
            }
        }
        Ok(None)
    }

    /// After a tool ran or was refused: nobody can change anything.
    pub(crate) async fn post_tool_call(&self, moment: &ToolMoment<'_>, finished: &Finished<'_>) {
        for (hook, directive) in self.fire(&Moment::PostToolCall(moment, finished)).await {
            warn!(hook, ?directive, "nothing can be changed after the call, ignored");
        }
    }

    /// The first replacement for a result; a refusal when a policy that guards results failed.
    pub(crate) async fn transform_tool_result(
        &self,
        moment: &ToolMoment<'_>,
        finished: &Finished<'_>,
    ) -> Result<Option<String>, Refusal> {
        let moment = Moment::TransformToolResult(moment, finished);
        for (hook, directive) in self.fire(&moment).await {
            match directive {
                Err(refusal) => return Err(refusal),
                Ok(Directive::Replace(text)) => return Ok(Some(text)),
                Ok(Directive::Pass) => {}
                Ok(Directive::Block(_) | Directive::AskHuman { .. } | Directive::Append(_)) => {
                    warn!(hook, ?directive, "directive does not fit a result, ignored");
                }
            }
        }
        Ok(None)
    }

    /// Shows the moment to everyone who wants it. A hook that lets things pass is not listed; a
    /// policy that failed is, with its refusal.
    async fn fire(&self, moment: &Moment<'_>) -> Vec<(String, Result<Directive, Refusal>)> {
        let kind = moment.kind();
        if !self.wants(kind) {
            return Vec::new();
        }
        let listeners = self.current.load_full();
        let mut directives = Vec::new();
        for hook in listeners.hooks.iter().filter(|hook| hook.wants().has(kind)) {
            match fenced(hook.as_ref(), moment).await {
                Ok(Directive::Pass) => {}
                Ok(directive) => directives.push((hook.name().to_owned(), Ok(directive))),
                Err(error) => {
                    warn!(hook = hook.name(), moment = kind.as_str(), %error, "hook failed");
                    if hook.on_failure() == OnFailure::Block {
                        let name = hook.name();
                        let message = format!(
                            "the policy hook `{name}` failed, so the call is refused: {error}"
                        );
                        let refusal = Refusal::new(RefusalKind::Hook, message);
                        directives.push((name.to_owned(), Err(refusal)));
                    }
                }
            }
        }
        directives
    }
}

impl std::fmt::Debug for HookBus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let listeners = self.current.load();
        let names: Vec<&str> = listeners.hooks.iter().map(|hook| hook.name()).collect();
        f.debug_tuple("HookBus").field(&names).finish()
    }
}

async fn fenced(hook: &dyn Hook, moment: &Moment<'_>) -> Result<Directive, HookError> {
    let deadline = Instant::now() + HOOK_DEADLINE;
    let fire = AssertUnwindSafe(async { hook.fire(moment).await }).catch_unwind();
    match wait::until(deadline, "a hook", fire).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(HookError("it panicked".to_owned())),
        Err(elapsed) => Err(HookError(elapsed.to_string())),
    }
}

/// What a hook wants a person to agree to. Without a key of its own each reason is remembered
/// apart, so that "always" never covers the whole tool.
fn escalation(moment: &ToolMoment<'_>, message: &str, rule_key: Option<String>) -> Finding {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let key = rule_key.unwrap_or_else(|| {
        let mut hasher = DefaultHasher::new();
        message.hash(&mut hasher);
        format!("{}:{:016x}", moment.tool, hasher.finish())
    });
    Finding {
        key: format!("plugin_rule:{key}").into(),
        why: message.to_owned(),
        span: None,
        widest: Scope::Always,
    }
}
