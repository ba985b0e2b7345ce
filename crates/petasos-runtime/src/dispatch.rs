//! The one door. Whoever calls a tool (a model, a script, an MCP client, a person) comes through
//! here, in this order, and gets exactly one result.
//!
//! Each door takes the value that the one before produced (`Parsed`, `Granted`, `PlannedCall`,
//! `ClearedCall`), so a door cannot be skipped. `seal` is the only exit.

mod args;
mod bridge;
mod clear;
mod coerce;
mod consent;
mod edits;
mod grant;
mod guard;
mod layers;
mod origin;
mod outcome;
mod outside;
mod pins;
mod plan;
mod planning;
mod run;
mod seal;
#[cfg(test)]
mod tests;

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use petasos_contract::approval::{Approver, Finding, Policy};
use petasos_contract::call::{Refusal, RefusalKind, ToolCall, ToolResult};
use petasos_contract::environment::Environments;
use petasos_contract::hook::{HookKind, ToolMoment};
use petasos_contract::middleware::Rewritten;
use petasos_contract::ports::Door;
use petasos_contract::{
    Args, BoxFuture, CallContext, CallId, Cleared, Plan, ToolName, ToolOutput, TurnId, wait,
};

use crate::budget::{Spill, TempSpill};
use crate::hooks::HookBus;
use crate::middleware::Middleware;
use crate::registry::{Entry, Registry};

pub use args::parse_arguments;
pub use coerce::coerce;
pub use guard::GuardOptions;
pub use outcome::{Failure, failure};
pub(crate) use run::tell;

/// Runs tools.
pub struct Dispatcher {
    registry: Arc<Registry>,
    hooks: Arc<HookBus>,
    middleware: Arc<Middleware>,
    policy: Arc<dyn Policy>,
    approver: Arc<dyn Approver>,
    spill: Arc<dyn Spill>,
    environments: Option<Arc<dyn Environments>>,
    guards: guard::Guards,
}

impl Dispatcher {
    /// A dispatcher that judges with this policy and asks this approver. There is no default for
    /// either: a program that wants everything allowed has to say so.
    pub fn new(
        registry: Arc<Registry>,
        policy: Arc<dyn Policy>,
        approver: Arc<dyn Approver>,
    ) -> Self {
        Self {
            registry,
            hooks: Arc::default(),
            middleware: Arc::default(),
            policy,
            approver,
            spill: Arc::new(TempSpill),
            environments: None,
            guards: guard::Guards::default(),
        }
    }

    /// With these hooks.
    #[must_use]
    pub fn with_hooks(mut self, hooks: Arc<HookBus>) -> Self {
        self.hooks = hooks;
        self
    }

    /// With this middleware.
    #[must_use]
    pub fn with_middleware(mut self, middleware: Arc<Middleware>) -> Self {
        self.middleware = middleware;
        self
    }

    /// Keeps large results there.
    #[must_use]
    pub fn with_spill(mut self, spill: Arc<dyn Spill>) -> Self {
        self.spill = spill;
        self
    }

    /// Knowing where sessions are.
    #[must_use]
    pub fn with_environments(mut self, environments: Option<Arc<dyn Environments>>) -> Self {
        self.environments = environments;
        self
    }

    /// Where relative paths of a call start, for whoever plans a batch.
    pub fn base(&self, cx: &CallContext) -> PathBuf {
        let cwd = self.environments.as_ref().map(|environments| environments.cwd(cx));
        cwd.map_or_else(|| cx.workspace.to_path_buf(), |cwd| cwd.as_path().to_owned())
    }

    /// The hooks on its way.
    pub fn hooks(&self) -> &Arc<HookBus> {
        &self.hooks
    }

    /// The middleware on its way.
    pub fn middleware(&self) -> &Arc<Middleware> {
        &self.middleware
    }

    /// The tools it runs.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Where large results are kept.
    pub(crate) fn spill(&self) -> &dyn Spill {
        self.spill.as_ref()
    }

    /// The longest this call may run by its own arguments, when they say so.
    pub(crate) fn time_limit(&self, call: &ToolCall, cx: &CallContext) -> Option<Duration> {
        let tools = self.registry.snapshot();
        let entry = tools.find(call.name.as_str())?;
        let args = args::parse(call.clone()).args.ok()?;
        let limit = AssertUnwindSafe(|| entry.tool.time_limit(&args, cx));
        std::panic::catch_unwind(limit).ok().flatten()
    }

    /// Forgets what the loop guardrails counted in a turn.
    pub fn end_turn(&self, turn: &TurnId) {
        self.guards.forget(turn);
    }

    /// The one door. Always comes back with exactly one result.
    pub async fn dispatch(&self, call: ToolCall, cx: &CallContext) -> ToolResult {
        if cx.call == call.id {
            return self.dispatch_in(call, cx).await;
        }
        // Hooks, policies and approvers know a call by its context: it must be this one.
        let own = CallContext { call: call.id.clone(), ..cx.clone() };
        self.dispatch_in(call, &own).await
    }

    async fn dispatch_in(&self, call: ToolCall, cx: &CallContext) -> ToolResult {
        let mut trail = Trail::begin(&call);
        // Whatever breaks around the handler is the outer wrap's; the handler has its own fence.
        let walk = AssertUnwindSafe(self.walk(call, cx, &mut trail)).catch_unwind().await;
        let walked = walk.unwrap_or_else(|panic| Err(broken(&run::panic_message(&*panic))));
        self.seal(walked, trail, cx).await
    }

    async fn walk(
        &self,
        call: ToolCall,
        cx: &CallContext,
        trail: &mut Trail,
    ) -> Result<ToolOutput, Refusal> {
        let clock = run::Clock::start(cx);
        let tools = self.registry.seen_by(cx.origin());
        let parsed = args::parse(call);
        let parsed = match bridge::cross(parsed, &tools, cx)? {
            bridge::Crossed::Answer(answer) => return Ok(answer),
            bridge::Crossed::Call(parsed) => parsed,
        };
        let mut call = grant::check(parsed, &tools, cx)?;
        let rewriting = self.middleware.rewrite(&call.entry.name, &mut call.args, cx);
        let rewritten = wait::unless_cancelled(&cx.cancel, Duration::ZERO, rewriting).await;
        call.rewrites = rewritten.ok_or_else(|| run::cancelled(&call.entry))?;
        if !call.rewrites.is_empty() {
            coerce(call.args.object_mut(), call.entry.schema.parameters());
        }
        grant::refuse_loop_tools(&call, cx)?;
        trail.note(&call, self.remembers_args());
        let escalated = self.announce(&mut call, trail, cx).await?;
        call.fault.take().map_or(Ok(()), Err)?;
        self.guards.before(&call, cx)?;
        let Granted { id, entry, args, .. } = call;
        let plan = plan::make(&entry, args, cx).await?;
        // Only what is confined can be refused by its confinement.
        let inside = plan.confined.is_some().then(|| plan.args.clone());
        let planned = PlannedCall { id: id.clone(), entry: Arc::clone(&entry), plan };
        let cleared = clear::check(planned, escalated, self, cx).await?;
        let output = self.start(cleared, &clock, trail, cx).await?;
        let outside = inside.and_then(|args| outside::wanted(&entry, &args, &output, cx));
        let Some(outside) = outside else { return Ok(output) };
        match outside::asked(outside, (id, entry), self, cx).await {
            Ok(cleared) => self.start(cleared, &clock, trail, cx).await,
            Err(refusal) => Ok(outside::declined(output, &refusal)),
        }
    }

    /// Runs what was cleared.
    async fn start(
        &self,
        mut cleared: ClearedCall,
        clock: &run::Clock,
        trail: &mut Trail,
        cx: &CallContext,
    ) -> Result<ToolOutput, Refusal> {
        let cx = &clock.moved(&cleared, cx);
        run::in_time(&cleared.entry, cx)?;
        if let Some(seat) = &cx.seat {
            seat.begins(&cleared.id).await.map_err(|why| broken(&why))?;
        }
        (trail.ran, trail.origin) = (true, cleared.origin.clone());
        let note = cleared.consent.take();
        let layers = self.middleware.layers();
        let output = run::fenced(cleared, &layers, self.policy.as_ref(), cx).await?;
        Ok(consent::say(output, note))
    }

    /// The pre hook, exactly once. Arguments that it rewrites are fitted to the schema like the
    /// first ones, and judged by everything that follows.
    async fn announce(
        &self,
        call: &mut Granted,
        trail: &mut Trail,
        cx: &CallContext,
    ) -> Result<Vec<Finding>, Refusal> {
        if !self.hooks.wants(HookKind::PreToolCall) {
            return Ok(Vec::new());
        }
        let (tool, args, rewrites) = (&call.entry.name, &call.args, &call.rewrites[..]);
        let moment = ToolMoment { tool, args, cx, rewrites };
        // A hook that waits for something does not hold back whoever interrupts.
        let answer = self.hooks.pre_tool_call(&moment);
        let answered = wait::unless_cancelled(&cx.cancel, Duration::ZERO, answer).await;
        let announced = answered.ok_or_else(|| run::cancelled(&call.entry))??;
        if let Some((mut args, trace)) = announced.rewritten {
            coerce(args.object_mut(), call.entry.schema.parameters());
            call.args = args;
            call.rewrites.extend(trace);
            trail.note(call, self.remembers_args());
        }
        Ok(announced.escalated.into_iter().collect())
    }

    /// The exit needs the arguments only when somebody will look at them.
    fn remembers_args(&self) -> bool {
        self.hooks.wants(HookKind::PostToolCall) || self.hooks.wants(HookKind::TransformToolResult)
    }
}

impl Door for Dispatcher {
    fn dispatch<'a>(&'a self, call: ToolCall, cx: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(Self::dispatch(self, call, cx))
    }
}

impl std::fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatcher")
            .field("hooks", &self.hooks)
            .field("middleware", &self.middleware)
            .finish_non_exhaustive()
    }
}

/// Something around the handler failed: the outer wrap, without the tool's name yet.
fn broken(message: &str) -> Refusal {
    Refusal::new(RefusalKind::Broken, message)
}

/// A call whose arguments have been read, or have not.
struct Parsed {
    id: CallId,
    name: ToolName,
    /// A fault is carried to the hooks' door, so that observers see the call all the same.
    args: Result<Args, Refusal>,
}

/// A call of a tool that exists and that the caller may use.
struct Granted {
    id: CallId,
    entry: Arc<Entry>,
    args: Args,
    fault: Option<Refusal>,
    rewrites: Vec<Rewritten>,
}

/// A call whose tool has resolved what it would do.
struct PlannedCall {
    id: CallId,
    entry: Arc<Entry>,
    plan: Plan,
}

/// A call that policy let through, or somebody agreed to.
struct ClearedCall {
    id: CallId,
    entry: Arc<Entry>,
    cleared: Cleared,
    /// What the result of a command says about consent.
    consent: Option<consent::Consent>,
    /// What hooks wanted a person to agree to.
    escalated: Vec<Finding>,
    /// Whose words its result will carry.
    origin: origin::Origin,
}

/// What the exit remembers of the way.
struct Trail {
    id: CallId,
    name: ToolName,
    started: Instant,
    entry: Option<Arc<Entry>>,
    args: Option<Args>,
    rewrites: Vec<Rewritten>,
    signature: Option<guard::Signature>,
    /// The handler was reached, so the call may have taken effect.
    ran: bool,
    /// Whose words its result carries.
    origin: origin::Origin,
}

impl Trail {
    fn begin(call: &ToolCall) -> Self {
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            started: Instant::now(),
            entry: None,
            args: None,
            rewrites: Vec::new(),
            signature: None,
            ran: false,
            origin: origin::Origin::default(),
        }
    }

    /// From here on the call counts as seen: the pre hook is next, so the post hook will follow.
    fn note(&mut self, call: &Granted, with_args: bool) {
        self.name = call.entry.name.clone();
        self.entry = Some(Arc::clone(&call.entry));
        self.args = with_args.then(|| call.args.clone());
        self.rewrites.clone_from(&call.rewrites);
        self.signature = Some(guard::Signature::of(&call.entry.name, &call.args));
    }
}
