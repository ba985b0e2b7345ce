//! One question on its way: from candidate to candidate, and at each from failure to move.

use std::collections::BTreeSet;

use petasos_contract::CallContext;
use petasos_contract::event::Event;
use petasos_contract::message::{Content, Message, Part};
use petasos_contract::model::{ModelError, Prompt, Reason, Reply, Role, Step};

use super::attempt::{Attempt, Broken};
use super::{Client, mixture, target};
use crate::credential::usable::fingerprint;
use crate::failure::{Failure, Size, ToolHint};
use crate::fallback::{Resting, Wanted};
use crate::guard;
use crate::mode::Wire;
use crate::recover::{self, Move, Options, Refresh, Tried};
use crate::roles::Plan;
use crate::runtime::ProviderRuntime;
use crate::transport::target::{Repair, Target};

/// One question on its way.
pub(super) struct Walk<'a> {
    client: &'a Client,
    prompt: &'a Prompt,
    role: Role,
    cx: &'a CallContext,
    size: Size,
    attempt: u32,
    /// What was done so far; it outlives an interrupted walk.
    pub(super) path: Vec<Step>,
}

/// How one candidate ended.
enum Ended {
    Answered(Box<Reply>),
    Failed { error: Box<ModelError>, falls_back: bool },
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        client: &'a Client,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
    ) -> Self {
        let size = size(prompt);
        Self { client, prompt, role, cx, size, attempt: 0, path: Vec::new() }
    }

    /// Asks candidate after candidate.
    pub(super) async fn go(&mut self, plan: &Plan) -> Result<Reply, ModelError> {
        let (client, cx) = (self.client, self.cx);
        let start = client.turns.at(&cx.session, self.role, &cx.turn);
        let start = start.min(plan.candidates.len().saturating_sub(1));
        let mut last: Option<Box<ModelError>> = None;
        let mut rested: Option<(usize, ProviderRuntime)> = None;
        for (at, wanted) in plan.candidates.iter().enumerate().skip(start) {
            let runtime = match client.routes.resolve(wanted, self.role, cx).await {
                Ok(runtime) => runtime,
                Err(unroutable) => {
                    self.skip(wanted, &unroutable.message);
                    let error = ModelError::new(Reason::NotConfigured, unroutable.message);
                    last.get_or_insert(Box::new(error));
                    continue;
                }
            };
            let guarded = guard::left(cx.settings.home(), &runtime.provider);
            let resting = client.cooldowns.left(&resting(&runtime, wanted));
            if let Some(left) = guarded.or(resting) {
                self.skip(wanted, &format!("resting for {} s more", left.as_secs()));
                rested.get_or_insert((at, runtime));
                continue;
            }
            match self.visit(plan, at, runtime, last.is_some() || rested.is_some()).await {
                Ended::Answered(reply) => return Ok(*reply),
                Ended::Failed { error, falls_back: true } => last = Some(error),
                Ended::Failed { error, .. } => return Err(*error),
            }
        }
        // Everybody left is resting: asking the first of them beats not asking.
        if last.is_none()
            && let Some((at, runtime)) = rested
        {
            match self.visit(plan, at, runtime, false).await {
                Ended::Answered(reply) => return Ok(*reply),
                Ended::Failed { error, .. } => last = Some(error),
            }
        }
        self.path.push(Step::GaveUp);
        Err(last.map_or_else(nobody, |error| *error))
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
        let mut tried = Tried { repairs: self.client.memory.repairs(&runtime), ..Tried::default() };
        loop {
            if tried.refresh == Refresh::Impossible && self.client.routes.can_refresh(&runtime) {
                tried.refresh = Refresh::Possible;
            }
            let broken = match self.ask(wanted, &runtime, &tried.repairs).await {
                Ok(reply) => {
                    self.client.memory.keep_repairs(&runtime, &tried.repairs);
                    return Ended::Answered(Box::new(reply));
                }
                Err(broken) => *broken,
            };
            let target = broken.target;
            if let Some(partial) = broken.partial {
                return Ended::Answered(Box::new(self.kept(partial, &broken.failure, &runtime)));
            }
            let failure = self.named(broken.failure);
            self.note(&failure, &runtime, &mut tried);
            let falls = plan.auth_falls_back || failure.reason != Reason::Auth;
            let options = Options {
                rotatable: self.client.routes.can_rotate(&runtime, &self.cx.settings),
                has_fallback: has_next && falls,
                retries_max: plan.retries_max,
                patience: plan.patience,
            };
            match self.act(&failure, &mut tried, options, &mut runtime).await {
                Acted::Again => {}
                Acted::Leave { falls_back } => {
                    self.client.cooldowns.rest(resting(&runtime, wanted), &failure);
                    let home = self.cx.settings.home();
                    if let Err(error) = guard::note(home, &runtime.provider, &failure) {
                        tracing::warn!(%error, "the limit was not written down");
                    }
                    let error = Box::new(failure.error(&target));
                    if !falls_back {
                        self.path.push(Step::GaveUp);
                    }
                    return Ended::Failed { error, falls_back };
                }
            }
        }
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
                self.tell_repair(&repair, &runtime.provider);
                tried.repairs.insert(repair);
                Acted::Again
            }
            Move::Rotate => match self.client.routes.rotate(runtime, failure, settings).await {
                Some(rotated) => {
                    *runtime = rotated;
                    self.path.push(Step::Rotated);
                    self.tell_rotation(failure, &runtime.provider);
                    tried.limited = 0;
                    tried.refresh = Refresh::Impossible;
                    Acted::Again
                }
                None => Acted::Leave { falls_back: options.has_fallback },
            },
            Move::Retry(wait) => {
                let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                self.path.push(Step::Waited { wait_ms });
                self.tell_wait(failure, &runtime.provider, wait_ms);
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
        let mut reply = attempt.run().await?;
        reply.served = target::served(&target, runtime);
        self.client.settle(&mut reply, runtime, self.role, self.cx);
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
        self.path.push(Step::Failed { reason: failure.reason, status: failure.status });
        tried.failures += 1;
        tried.limited += u32::from(failure.reason == Reason::RateLimit);
        tried.pages += u32::from(failure.is_page);
    }

    /// A partial answer that a person has seen is kept and never silently begun again.
    fn kept(&mut self, mut partial: Reply, failure: &Failure, runtime: &ProviderRuntime) -> Reply {
        self.path.push(Step::Failed { reason: failure.reason, status: failure.status });
        partial.broken = Some(failure.message.clone());
        self.client.settle(&mut partial, runtime, self.role, self.cx);
        partial
    }

    /// Turns the place of a refused tool into its name.
    fn named(&self, mut failure: Failure) -> Failure {
        if let Some(ToolHint::Index(at)) = failure.tool {
            let name = self.prompt.tools.get(at).map(|tool| tool.name.to_string());
            failure.tool = name.map(ToolHint::Name);
        }
        failure
    }

    fn tell_switch(&mut self, wanted: &Wanted, runtime: &ProviderRuntime) {
        let model = wanted.model.clone().or_else(|| runtime.model.clone()).unwrap_or_default();
        let provider = runtime.provider.clone();
        let text = format!("switched to `{model}` at `{provider}` for this turn");
        self.cx.events.emit(|| Event::Notice { text });
        self.path.push(Step::FellBack { provider, model });
    }

    fn tell_wait(&self, failure: &Failure, provider: &str, wait_ms: u64) {
        let why = failure.what();
        let text = format!("`{provider}` {why}; asking again in {} s", wait_ms.div_ceil(1000));
        self.cx.events.emit(|| Event::Notice { text });
    }

    fn tell_rotation(&self, failure: &Failure, provider: &str) {
        let why = failure.what();
        let text = format!("`{provider}` {why}; trying its next credential");
        self.cx.events.emit(|| Event::Notice { text });
    }

    fn tell_repair(&self, repair: &Repair, provider: &str) {
        let what = repair.name();
        let text = format!("`{provider}` refused a part of the request, which is changed: {what}");
        self.client.tell_once(format!("repair {provider} {what}"), &text, self.cx);
    }
}

/// What became of a move.
enum Acted {
    Again,
    Leave { falls_back: bool },
}

fn resting(runtime: &ProviderRuntime, wanted: &Wanted) -> Resting {
    let model = wanted.model.clone().or_else(|| runtime.model.clone());
    let secret = runtime.credential.as_ref().map(|credential| fingerprint(&credential.secret));
    Resting {
        provider: runtime.provider.clone(),
        credential: secret.unwrap_or_default(),
        model: model.unwrap_or_default(),
    }
}

fn nobody() -> ModelError {
    let line = "no provider is configured; choose one with `petasos model`";
    ModelError::new(Reason::NotConfigured, line)
}

/// A rough size: a token for every four characters, and a fixed price for an image.
fn size(prompt: &Prompt) -> Size {
    const IMAGE: usize = 6_000;
    let content = |content: &Content| match content {
        Content::Text(text) => text.len(),
        Content::Parts(parts) => parts
            .iter()
            .map(|part| match part {
                Part::Text { text } => text.len(),
                Part::ImageUrl { .. } => IMAGE,
            })
            .sum(),
    };
    let messages = prompt.messages.iter().map(|message| match message {
        Message::User { content: said } => content(said),
        Message::Tool(result) => content(&result.content),
        Message::Assistant(said) => {
            let calls = said.tool_calls.iter().map(|call| call.arguments.len() + 40);
            said.text().len() + calls.sum::<usize>()
        }
    });
    let tools = prompt.tools.iter().map(|tool| tool.description.len() + 200);
    let characters = prompt.system.len() + messages.sum::<usize>() + tools.sum::<usize>();
    let tokens = u64::try_from(characters.div_ceil(4)).unwrap_or(u64::MAX);
    Size { tokens, messages: prompt.messages.len(), context: None }
}
