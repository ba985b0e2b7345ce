//! The hook bus: fires moments, fences each hook, and lets through only what a moment allows.
//!
//! Every hook that wants a moment sees it, in order of registration; the first valid directive
//! wins. A hook that fails, panics or overruns is named in the log; if it is a policy, it blocks.
//! A moment that nobody wants costs one integer test and allocates nothing.

mod fence;
mod moments;

use std::sync::Arc;

use arc_swap::ArcSwap;
use petasos_contract::Args;
use petasos_contract::approval::{Finding, Scope};
use petasos_contract::call::{Refusal, RefusalKind};
use petasos_contract::hook::{
    Directive, Finished, Hook, HookKind, HookSet, Moment, OnFailure, ToolMoment,
};
use petasos_contract::middleware::Rewritten;
use tracing::warn;

pub use fence::HOOK_DEADLINE;
use fence::fenced;

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

/// What the hooks before a call said, when none of them refused it.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    /// What a person must agree to first.
    pub(crate) escalated: Option<Finding>,
    /// Other arguments, and who changed them.
    pub(crate) rewritten: Option<(Args, Vec<Rewritten>)>,
}

type Directives = Vec<(String, Result<Directive, Refusal>)>;

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

    /// Who listens, and to what, in order.
    pub fn listeners(&self) -> Vec<(String, Vec<HookKind>)> {
        let wanted = |hook: &Arc<dyn Hook>| {
            let wants = hook.wants();
            HookKind::ALL.iter().copied().filter(|kind| wants.has(*kind)).collect()
        };
        let listeners = self.current.load_full();
        listeners.hooks.iter().map(|hook| (hook.name().to_owned(), wanted(hook))).collect()
    }

    /// Before a tool runs: refused, or what a person must agree to first, or other arguments.
    ///
    /// Every hook sees the call, with what the hooks before it made of the arguments; the first
    /// that refuses or asks decides.
    pub(crate) async fn pre_tool_call(
        &self,
        moment: &ToolMoment<'_>,
    ) -> Result<Announced, Refusal> {
        let mut rewritten: Option<(Args, Vec<Rewritten>)> = None;
        let mut decided: Option<Result<Finding, Refusal>> = None;
        let kind = HookKind::PreToolCall;
        let listeners = self.current.load_full();
        for hook in listeners.hooks.iter().filter(|hook| hook.wants().has(kind)) {
            let args = rewritten.as_ref().map_or(moment.args, |(args, _)| args);
            let current = ToolMoment { args, ..*moment };
            let decision = match self.one(hook.as_ref(), &Moment::PreToolCall(&current)).await {
                Err(refusal) => Err(refusal),
                Ok(Directive::Pass) => continue,
                Ok(Directive::Block(message)) if !message.trim().is_empty() => {
                    Err(Refusal::new(RefusalKind::Hook, message))
                }
                Ok(Directive::AskHuman { message, rule_key }) => {
                    Ok(escalation(moment, &message, rule_key))
                }
                Ok(Directive::Rewrite(args)) => {
                    let (now, trace) = rewritten.get_or_insert_default();
                    *now = args;
                    trace.push(Rewritten { by: hook.name().to_owned(), reason: None });
                    continue;
                }
                Ok(unfit) => {
                    let hook = hook.name();
                    warn!(hook, ?unfit, "directive does not fit pre_tool_call, ignored");
                    continue;
                }
            };
            decided.get_or_insert(decision);
        }
        Ok(Announced { escalated: decided.transpose()?, rewritten })
    }

    /// After a tool ran or was refused: nobody can change anything.
    pub(crate) async fn post_tool_call(&self, moment: &ToolMoment<'_>, finished: &Finished<'_>) {
        self.observe(&Moment::PostToolCall(moment, finished)).await;
    }

    /// The first replacement for a result; a refusal when a policy that guards results failed.
    pub(crate) async fn transform_tool_result(
        &self,
        moment: &ToolMoment<'_>,
        finished: &Finished<'_>,
    ) -> Result<Option<String>, Refusal> {
        let moment = Moment::TransformToolResult(moment, finished);
        for (hook, directive) in self.fire(&moment).await {
            match directive? {
                Directive::Replace(text) => return Ok(Some(text)),
                unfit => warn!(hook, ?unfit, "directive does not fit a result, ignored"),
            }
        }
        Ok(None)
    }

    /// Shows the moment to everyone who wants it. A hook that lets things pass is not listed; a
    /// policy that failed is, with its refusal.
    async fn fire(&self, moment: &Moment<'_>) -> Directives {
        let kind = moment.kind();
        if !self.wants(kind) {
            return Vec::new();
        }
        let listeners = self.current.load_full();
        let mut directives = Vec::new();
        for hook in listeners.hooks.iter().filter(|hook| hook.wants().has(kind)) {
            match self.one(hook.as_ref(), moment).await {
                Ok(Directive::Pass) => {}
                other => directives.push((hook.name().to_owned(), other)),
            }
        }
        directives
    }

    /// Asks one hook; its failure passes unless it is a policy.
    async fn one(&self, hook: &dyn Hook, moment: &Moment<'_>) -> Result<Directive, Refusal> {
        let error = match fenced(hook, moment).await {
            Ok(directive) => return Ok(directive),
            Err(error) => error,
        };
        let name = hook.name();
        warn!(hook = name, moment = moment.kind().as_str(), %error, "hook failed");
        if hook.on_failure() == OnFailure::Pass {
            return Ok(Directive::Pass);
        }
        let message = format!("the policy hook `{name}` failed, so the call is refused: {error}");
        Err(Refusal::new(RefusalKind::Hook, message))
    }
}

impl std::fmt::Debug for HookBus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let listeners = self.current.load();
        let names: Vec<&str> = listeners.hooks.iter().map(|hook| hook.name()).collect();
        f.debug_tuple("HookBus").field(&names).finish()
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
        kind: petasos_contract::approval::FindingKind::Person,
        span: None,
        widest: Scope::Always,
        stores: None,
    }
}
