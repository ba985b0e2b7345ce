//! A model with other people's code around it: prompt middleware, frames, and the moments before
//! and after a request. Without any of them a question goes straight through.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use petasos_contract::hook::{HookKind, Moment, RequestMoment};
use petasos_contract::model::{Model, ModelError, Prompt, Reply, Role};
use petasos_contract::{BoxFuture, CallContext};

use super::Middleware;
use super::asking::{Core, peel};
use crate::hooks::HookBus;

/// A model that hooks and middleware attend to.
pub struct Attended {
    inside: Arc<dyn Model>,
    hooks: Arc<HookBus>,
    middleware: Arc<Middleware>,
    count: AtomicU64,
}

impl Attended {
    /// Around this model.
    pub fn new(inside: Arc<dyn Model>, hooks: Arc<HookBus>, middleware: Arc<Middleware>) -> Self {
        Self { inside, hooks, middleware, count: AtomicU64::new(0) }
    }

    fn is_plain(&self) -> bool {
        let api = [HookKind::PreApiRequest, HookKind::PostApiRequest, HookKind::ApiRequestError];
        !self.middleware.touches_prompts() && !api.into_iter().any(|kind| self.hooks.wants(kind))
    }

    async fn attend(
        &self,
        prompt: &Prompt,
        role: Role,
        cx: &CallContext,
    ) -> Result<Reply, ModelError> {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let request_id = format!("{}-{count}", cx.turn);
        let mut prompt = prompt.clone();
        let rewrites = self.middleware.rewrite_prompt(&mut prompt, role, cx).await;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let mut about = RequestMoment {
            cx,
            role,
            request_id: &request_id,
            prompt: &prompt,
            call_count: count,
            started_at: since.unwrap_or_default().as_secs_f64(),
            rewrites: &rewrites,
            took: Duration::ZERO,
        };
        self.hooks.observe(&Moment::PreApiRequest(&about)).await;
        let started = Instant::now();
        let frames = self.middleware.ask.all();
        let core = Core { model: self.inside.as_ref(), role, cx };
        let answer = peel(prompt.clone(), &frames, core).await;
        about.took = started.elapsed();
        match &answer {
            Ok(reply) => self.hooks.observe(&Moment::PostApiRequest(&about, reply)).await,
            Err(error) => self.hooks.observe(&Moment::ApiRequestError(&about, error)).await,
        }
        answer
    }
}

impl Model for Attended {
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        if self.is_plain() {
            return self.inside.ask(prompt, role, cx);
        }
        Box::pin(self.attend(prompt, role, cx))
    }

    fn window<'a>(
        &'a self,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Option<u64>> {
        self.inside.window(prompt, role, cx)
    }
}

impl std::fmt::Debug for Attended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attended").field("middleware", &self.middleware).finish_non_exhaustive()
    }
}
