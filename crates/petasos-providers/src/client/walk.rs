//! One question on its way: from candidate to candidate, and at each from failure to move.

use std::collections::BTreeSet;
use std::time::Instant;

use petasos_contract::CallContext;
use petasos_contract::event::Event;
use petasos_contract::model::{Finish, ModelError, Prompt, Reason, Reply, Role, Step};

use super::attempt::{Attempt, Broken};
use super::size::size;
use super::{Client, mixture, target, window};
use crate::credential::usable::fingerprint;
use crate::failure::{Failure, Size};
use crate::fallback::{Endpoint, Mishap, Wanted};
use crate::guard;
use crate::mode::Wire;
use crate::recover::{self, Move, Options, Patience, Refresh, Tried};
use crate::roles::Plan;
use crate::runtime::ProviderRuntime;
use crate::transport::target::{Repair, Target};

/// One question on its way.
pub(super) struct Walk<'a> {
    pub(super) client: &'a Client,
    prompt: &'a Prompt,
    role: Role,
    pub(super) cx: &'a CallContext,
    size: Size,
    attempt: u32,
    /// Who was asked.
    asked: Vec<Endpoint>,
    /// What each of them failed with.
    errors: Vec<ModelError>,
    /// Why the one before was left.
    pub(super) why: Option<String>,
    /// A reply that says nothing, in case nobody else says anything either.
    unusable: Option<Box<Reply>>,
    /// What was done so far; it outlives an interrupted walk.
    pub(super) path: Vec<Step>,
}

/// How one candidate ended.
enum Ended {
    Answered(Box<Reply>),
    Failed { error: Box<ModelError>, falls_back: bool },
}

impl Ended {
    /// The same end without a fallback.
    fn for_good(self) -> Self {
        match self {
            Self::Failed { error, .. } => Self::Failed { error, falls_back: false },
            answered @ Self::Answered(_) => answered,
        }
    }
}

/// Empty replies of one turn after which somebody else is asked.
const EMPTY_MAX: u32 = 3;
/// Replies of one turn that break off after which somebody else is asked.
const BROKEN_MAX: u32 = 2;

impl<'a> Walk<'a> {
    pub(super) fn new(
        client: &'a Client,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
    ) -> Self {
        let size = size(prompt);
        Self {
            client,
            prompt,
            role,
            cx,
            size,
            attempt: 0,
            asked: Vec::new(),
            errors: Vec::new(),
            why: None,
            unusable: None,
            path: Vec::new(),
        }
    }

    /// Asks candidate after candidate.
    pub(super) async fn go(&mut self, plan: &Plan) -> Result<Reply, ModelError> {
        let (client, cx) = (self.client, self.cx);
        let start = client.turns.at(&cx.session, self.role, &cx.turn);
        let start = start.min(plan.candidates.len().saturating_sub(1));
        let mut rested: Option<(usize, ProviderRuntime)> = None;
        for (at, wanted) in plan.candidates.iter().enumerate().skip(start) {
            let resolved = client.routes.resolve(wanted, self.role, cx).await;
            let named = wanted.model.is_some() || self.prompt.model.is_some();
            let resolved = match resolved {
                Ok(runtime) if named => Ok(runtime),
                Ok(runtime) => client.with_model(runtime).await,
                Err(unroutable) => Err(unroutable),
            };
            let runtime = match resolved {
                Ok(runtime) => runtime,
                Err(unroutable) => {
                    self.skip(wanted, &unroutable.message);
                    self.errors.push(ModelError::new(Reason::NotConfigured, unroutable.message));
                    continue;
                }
            };
            let endpoint = endpoint(&runtime, wanted);
            if self.asked.contains(&endpoint) {
                self.skip(wanted, "it was asked already");
                continue;
            }
            let guarded = guard::left(cx.settings.home(), &runtime.provider);
            if let Some(left) = guarded.or(client.cooldowns.left(&endpoint)) {
                let why = format!("resting for {} s more", left.as_secs());
                self.skip(wanted, &why);
                self.why = Some(format!("`{}` is {why}", runtime.name()));
                rested.get_or_insert((at, runtime));
                continue;
            }
            let is_switch = !self.errors.is_empty() || rested.is_some();
            match self.visit(plan, at, runtime, is_switch).await {
                Ended::Answered(reply) => return Ok(*reply),
                Ended::Failed { error, falls_back } => {
                    self.errors.push(*error);
                    if !falls_back {
                        return self.end(plan);
                    }
                }
            }
        }
        // Everybody left is resting: asking the first of them beats not asking.
        if self.errors.is_empty()
            && let Some((at, runtime)) = rested
        {
            match self.visit(plan, at, runtime, false).await {
                Ended::Answered(reply) => return Ok(*reply),
                Ended::Failed { error, .. } => self.errors.push(*error),
            }
        }
        self.end(plan)
    }

    /// Nobody is left: the reply that nobody could better, or what each of them said.
    fn end(&mut self, plan: &Plan) -> Result<Reply, ModelError> {
        if let Some(reply) = self.unusable.take() {
            return Ok(*reply);
        }
        if self.path.last() != Some(&Step::GaveUp) {
            self.path.push(Step::GaveUp);
        }
        let mut errors = std::mem::take(&mut self.errors);
        // Side tasks are offered to whoever may have a key: who has none is no news.
        if plan.patience == Patience::Side && errors.iter().any(is_answer) {
            errors.retain(is_answer);
        }
        let lines: Vec<String> = errors.iter().map(|error| error.line.clone()).collect();
        let last = errors.iter().rposition(is_answer).unwrap_or(0);
        if last >= errors.len() {
            return Err(nobody());
        }
        let mut error = errors.swap_remove(last);
        if let [_, _, ..] = lines.as_slice() {
            let each = lines.iter().enumerate().map(|(at, line)| format!("({}) {line}", at + 1));
            error.line = format!("nobody answered: {}", each.collect::<Vec<_>>().join("; "));
        }
        Err(error)
    }

    fn skip(&mut self, wanted: &Wanted, why: &str) {
        let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "default".to_owned());
        tracing::debug!(provider = ?wanted.provider, why, "candidate skipped");
        self.path.push(Step::Skipped {
            provider: name(&wanted.provider),
            model: name(&wanted.model),
            why: why.to_owned(),
        });
    }

    /// Asks one candidate until it answers or is given up.
    async fn visit(
        &mut self,
        plan: &Plan,
        at: usize,
        mut runtime: ProviderRuntime,
        is_switch: bool,
    ) -> Ended {
        let Some(wanted) = plan.candidates.get(at) else {
            return Ended::Failed { error: Box::new(nobody()), falls_back: false };
        };
        for notice in &runtime.notices {
            self.client.tell_once(notice.key.clone(), &notice.text, self.cx);
        }
        if at > 0 && is_switch {
            self.tell_switch(wanted, &runtime);
            self.client.turns.move_to(&self.cx.session, self.role, &self.cx.turn, at);
        }
        let has_next = plan.candidates.len() > at + 1;
        self.asked.push(endpoint(&runtime, wanted));
        let mut tried = Tried { repairs: self.client.memory.repairs(&runtime), ..Tried::default() };
        loop {
            if tried.refresh == Refresh::Impossible && self.client.routes.can_refresh(&runtime) {
                tried.refresh = Refresh::Possible;
            }
            let mut broken = match self.ask(wanted, &runtime, &tried.repairs).await {
                Ok(reply) => {
                    self.client.memory.keep_repairs(&runtime, &tried.repairs);
                    match self.judge(reply, &runtime, has_next) {
                        Ok(reply) => return Ended::Answered(reply),
                        Err(failure) => {
                            let target =
                                target::of(self.client, &runtime, wanted, self.prompt, self.cx);
                            return self.leave(&failure, &target, &runtime, wanted);
                        }
                    }
                }
                Err(broken) => *broken,
            };
            // A program has worked on its own already: what it did is not asked for again.
            let worked = runtime.launch.is_some();
            let shown = (worked || !self.prompt.deltas.is_silent()) && !broken.failure.is_endless();
            if shown && let Some(partial) = broken.partial.take() {
                let next = has_next.then_some(at + 1);
                let kept = self.kept(partial, &broken.failure, &runtime, next).await;
                return Ended::Answered(Box::new(kept));
            }
            let Broken { failure, target, .. } = broken;
            self.note(&failure, &runtime, &mut tried);
            let falls = plan.auth_falls_back || failure.reason != Reason::Auth;
            let options = Options {
                rotatable: self.client.routes.can_rotate(&runtime, &self.cx.settings),
                has_fallback: has_next && falls,
                retries_max: plan.retries_max,
                reconnects_max: plan.reconnects_max,
                patience: plan.patience,
            };
            match self.act(&failure, &mut tried, options, &mut runtime).await {
                Acted::Again => {}
                Acted::Leave { falls_back: true } => {
                    return self.leave(&failure, &target, &runtime, wanted);
                }
                Acted::Leave { falls_back: false } => {
                    let left = self.leave(&failure, &target, &runtime, wanted);
                    return left.for_good();
                }
            }
        }
    }

    /// Gives a candidate up: it may rest, and the next one hears why.
    fn leave(
        &mut self,
        failure: &Failure,
        target: &Target,
        runtime: &ProviderRuntime,
        wanted: &Wanted,
    ) -> Ended {
        let endpoint = endpoint(runtime, wanted);
        self.client.cooldowns.rest(endpoint.clone(), failure);
        self.asked.push(endpoint);
        if let Err(error) = guard::note(self.cx.settings.home(), &runtime.provider, failure) {
            tracing::warn!(%error, "the limit was not written down");
        }
        self.why = Some(format!("`{}` {}", runtime.name(), failure.what()));
        Ended::Failed { error: Box::new(failure.error(target)), falls_back: true }
    }

    /// Takes a reply, unless it says nothing and somebody else may say more.
    fn judge(
        &mut self,
        reply: Reply,
        runtime: &ProviderRuntime,
        has_next: bool,
    ) -> Result<Box<Reply>, Box<Failure>> {
        let CallContext { session, turn, .. } = self.cx;
        let filtered = reply.finish == Finish::ContentFilter && reply.message.tool_calls.is_empty();
        let empty = reply.message.is_silent() && reply.finish != Finish::Incomplete && !filtered;
        let emptied =
            empty.then(|| self.client.turns.count(session, self.role, turn, Mishap::Empty));
        let failure = if filtered {
            Failure::new(Reason::ContentPolicy, "its filter stopped the reply")
        } else if emptied.is_some_and(|times| times >= EMPTY_MAX) {
            let heading = Some("gave only empty answers");
            Failure { heading, ..Failure::new(Reason::InvalidResponse, "") }
        } else {
            return Ok(Box::new(reply));
        };
        if !has_next {
            return Ok(Box::new(reply));
        }
        self.unusable = Some(Box::new(reply));
        self.note(&failure, runtime, &mut Tried::default());
        Err(Box::new(failure))
    }

    /// Carries out the move that `recover` decides on.
    async fn act(
        &mut self,
        failure: &Failure,
        tried: &mut Tried,
        options: Options,
        runtime: &mut ProviderRuntime,
    ) -> Acted {
        let settings = &self.cx.settings;
        let mut next = recover::decide(failure, tried, options, (self.client.dice)());
        if runtime.wire == Wire::Virtual && next != Move::GiveUp {
            // Its members have been retried, renewed and repaired on their own.
            return Acted::Leave { falls_back: options.has_fallback };
        }
        if next == Move::Refresh {
            tried.refresh = Refresh::Done;
            if let Some(renewed) = self.client.routes.refresh(runtime, settings).await {
                *runtime = renewed;
                self.path.push(Step::Refreshed);
                return Acted::Again;
            }
            next = recover::decide(failure, tried, options, (self.client.dice)());
        }
        match next {
            Move::Repair(repair) => {
                self.path.push(Step::Repaired { repair: repair.name() });
                self.tell_repair(&repair, runtime.name());
                tried.repairs.insert(repair);
                Acted::Again
            }
            Move::Rotate => match self.client.routes.rotate(runtime, failure, settings).await {
                Some(rotated) => {
                    *runtime = rotated;
                    self.path.push(Step::Rotated);
                    self.tell_rotation(failure, runtime.name());
                    tried.limited = 0;
                    tried.refresh = Refresh::Impossible;
                    Acted::Again
                }
                None => Acted::Leave { falls_back: options.has_fallback },
            },
            Move::Retry(wait) => {
                let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                self.path.push(Step::Waited { wait_ms });
                self.tell_wait(failure, runtime.name(), wait_ms);
                tried.retries += 1;
                tokio::time::sleep(wait.mul_f64(self.client.pace)).await;
                Acted::Again
            }
            Move::FallBack => Acted::Leave { falls_back: true },
            Move::GiveUp | Move::Refresh => Acted::Leave { falls_back: false },
        }
    }

    async fn ask(
        &mut self,
        wanted: &Wanted,
        runtime: &ProviderRuntime,
        repairs: &BTreeSet<Repair>,
    ) -> Result<Reply, Box<Broken>> {
        self.attempt += 1;
        let target = target::of(self.client, runtime, wanted, self.prompt, self.cx);
        let target = Target { repairs: repairs.clone(), ..target };
        self.size.context = target.context_length;
        self.path
            .push(Step::Sent { provider: target.provider.clone(), model: target.model.clone() });
        if runtime.wire == Wire::Virtual {
            return self.mix(target).await;
        }
        let attempt = Attempt {
            client: self.client,
            prompt: self.prompt,
            runtime,
            target: &target,
            size: self.size,
            number: self.attempt,
            timeout: wanted.timeout,
            cx: self.cx,
        };
        let pause = self.client.turns_apart.next(runtime, Instant::now());
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        let learning = window::learn(self.client, runtime, self.cx);
        let mut reply = window::beside(attempt.run(), Box::pin(learning)).await?;
        reply.served = target::served(&target, runtime);
        self.client.settle(&mut reply, runtime, self.role, self.cx).await;
        Ok(reply)
    }

    /// Asks the mixture, whose members have been billed already.
    async fn mix(&mut self, target: Target) -> Result<Reply, Box<Broken>> {
        let asked =
            mixture::ask(self.client, self.prompt, &target.model, self.cx, &mut self.path).await;
        asked.map_err(|error| {
            let failure = Failure {
                status: error.status,
                retry_after: error.retry_after,
                context_length: error.context_length,
                advice: Some(error.line.clone()),
                ..Failure::new(error.reason, error.line.clone())
            };
            Box::new(Broken { failure, target, partial: None })
        })
    }

    fn note(&mut self, failure: &Failure, runtime: &ProviderRuntime, tried: &mut Tried) {
        tracing::info!(
            provider = runtime.provider,
            reason = ?failure.reason,
            status = failure.status,
            detail = failure.message,
            "a model request failed"
        );
        self.client.memory.keep_limits(&runtime.provider, failure.limits);
        if let Some(tokens) = failure.context_length {
            self.client.memory.keep_window(runtime, tokens);
        }
        self.path.push(Step::Failed { reason: failure.reason, status: failure.status });
        tried.failures += 1;
        tried.limited += u32::from(failure.reason == Reason::RateLimit);
        tried.pages += u32::from(failure.is_page);
    }

    /// A partial answer that a person has seen is kept and never silently begun again. Who breaks
    /// off again and again does not get the rest of the turn while somebody else is there.
    async fn kept(
        &mut self,
        mut partial: Reply,
        failure: &Failure,
        runtime: &ProviderRuntime,
        next: Option<usize>,
    ) -> Reply {
        let CallContext { session, turn, .. } = self.cx;
        self.path.push(Step::Failed { reason: failure.reason, status: failure.status });
        partial.broken = Some(failure.message.clone());
        self.client.settle(&mut partial, runtime, self.role, self.cx).await;
        let times = self.client.turns.count(session, self.role, turn, Mishap::Broken);
        if let Some(next) = next.filter(|_| times >= BROKEN_MAX) {
            self.client.turns.move_to(session, self.role, turn, next);
            let provider = runtime.name();
            let text = format!(
                "`{provider}` broke off its reply {times} times; the next provider goes on"
            );
            self.cx.events.emit(|| Event::Notice { text });
        }
        partial
    }
}

/// What became of a move.
enum Acted {
    Again,
    Leave { falls_back: bool },
}

fn endpoint(runtime: &ProviderRuntime, wanted: &Wanted) -> Endpoint {
    let model = wanted.model.clone().or_else(|| runtime.model.clone());
    let secret = runtime.credential.as_ref().map(|credential| fingerprint(&credential.secret));
    Endpoint {
        provider: runtime.provider.clone(),
        address: runtime.base_url.to_string(),
        credential: secret.unwrap_or_default(),
        model: model.unwrap_or_default(),
    }
}

/// Whether somebody was asked and failed.
fn is_answer(error: &ModelError) -> bool {
    error.reason != Reason::NotConfigured
}

fn nobody() -> ModelError {
    let line = "no provider is configured; choose one with `petasos model`";
    ModelError::new(Reason::NotConfigured, line)
}
