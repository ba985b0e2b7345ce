//! The model behind every surface: resolve, encode, send, decode, recover.
//!
//! One question walks its candidates. At each it asks until `recover` says otherwise: repaired,
//! refreshed, rotated, again, the next candidate, or no more. Every step is told in the reply's or
//! the error's path. Nobody else builds requests to providers.

mod attempt;
mod extras;
mod memory;
mod mixture;
mod pace;
mod program;
mod sign;
mod size;
mod socket;
mod target;
mod telling;
mod walk;
mod window;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::clock::{Clock, SystemClock};
use petasos_contract::event::Event;
use petasos_contract::model::{Cost, Model, ModelError, Prompt, Reason, Reply, Role, Sight, Step};
use petasos_contract::processes::Processes;
use petasos_contract::{BoxFuture, CallContext, Settings, wait};
use petasos_net::client::Net;
use petasos_store::{Spent, UsageEntry, UsageStore, owner_of};

use crate::catalog::{self, Catalog, Known, ListError, Listed, Which};
use crate::fallback::{Cooldowns, Turns, Wanted};
use crate::ledger::Ledger;
use crate::ledger::usage_log::UsageLog;
use crate::retry::Limits;
use crate::roles::{self, Plan};
use crate::route::{Routes, Unroutable};
use crate::runtime::ProviderRuntime;
use crate::sight;
use crate::table::Table;
use crate::transport;

use memory::Memory;
use mixture::Advice;
use pace::Pace;
use socket::Sockets;

/// A number in 0..1 that nobody can foresee.
pub type Dice = fn() -> f64;

/// How long a list of models may take.
const LIST_WITHIN: Duration = Duration::from_secs(5);

/// Why a provider's models are not known.
#[derive(Debug, thiserror::Error)]
pub enum ModelsError {
    /// The provider cannot be asked.
    #[error(transparent)]
    Unroutable(#[from] Unroutable),
    /// It was asked and gave no list.
    #[error(transparent)]
    List(#[from] ListError),
}

/// Answers prompts through the configured providers.
pub struct Client {
    routes: Arc<dyn Routes>,
    net: Arc<Net>,
    table: Arc<Table>,
    catalog: Arc<Catalog>,
    cooldowns: Cooldowns,
    turns: Turns,
    ledger: Ledger,
    usage: Option<Arc<dyn UsageStore>>,
    memory: Memory,
    sockets: Sockets,
    turns_apart: Pace,
    advice: Advice,
    processes: Option<Arc<dyn Processes>>,
    dice: Dice,
    pace: f64,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("cooldowns", &self.cooldowns).finish_non_exhaustive()
    }
}

impl Client {
    /// A client over these routes.
    pub fn new(routes: Arc<dyn Routes>, net: Arc<Net>, table: Arc<Table>) -> Self {
        Self::with_clock(routes, net, table, Arc::new(SystemClock))
    }

    /// The same with a clock of its own, which cooldowns follow.
    pub fn with_clock(
        routes: Arc<dyn Routes>,
        net: Arc<Net>,
        table: Arc<Table>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            routes,
            net,
            table,
            catalog: Arc::new(Catalog::new()),
            cooldowns: Cooldowns::new(clock),
            turns: Turns::default(),
            ledger: Ledger::default(),
            usage: None,
            memory: Memory::default(),
            sockets: Sockets::default(),
            turns_apart: Pace::default(),
            advice: Advice::default(),
            processes: None,
            dice,
            pace: 1.0,
        }
    }

    /// The same client that can start programs, for the providers that are some.
    #[must_use]
    pub fn with_processes(mut self, processes: Option<Arc<dyn Processes>>) -> Self {
        self.processes = processes;
        self
    }

    /// The same client that records usage there, instead of in the log of the home.
    #[must_use]
    pub fn with_usage(mut self, usage: Arc<dyn UsageStore>) -> Self {
        self.usage = Some(usage);
        self
    }

    /// The same with dice of its own.
    #[must_use]
    pub fn with_dice(mut self, dice: Dice) -> Self {
        self.dice = dice;
        self
    }

    /// The same with every wait before a retry multiplied: tests hurry, the path does not lie.
    #[must_use]
    pub fn with_pace(mut self, pace: f64) -> Self {
        self.pace = pace;
        self
    }

    /// What is known of models.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// What was used, by conversation and role.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Who rests.
    pub fn cooldowns(&self) -> &Cooldowns {
        &self.cooldowns
    }

    /// The newest counters of each provider.
    pub fn limits(&self) -> Vec<(String, Limits)> {
        self.memory.limits()
    }

    /// How much the model at a resolved provider reads, and who says so.
    pub fn context(&self, runtime: &ProviderRuntime, settings: &Settings) -> (u64, Known) {
        window::of(self, runtime, runtime.model.as_deref().unwrap_or_default(), settings)
    }

    /// Lists the models of a provider and remembers their lengths and prices.
    pub async fn models(
        &self,
        wanted: &Wanted,
        cx: &CallContext,
    ) -> Result<Vec<Listed>, ModelsError> {
        let runtime = self.routes.resolve(wanted, Role::Main, cx).await?;
        let listed = catalog::list(&self.net, &runtime, LIST_WITHIN).await?;
        self.catalog.learn(runtime.base_url.as_str(), &listed);
        Ok(listed)
    }

    /// A runtime whose model is known: the only one that its endpoint lists, where nobody chose.
    async fn with_model(&self, runtime: ProviderRuntime) -> Result<ProviderRuntime, Unroutable> {
        let has_wire = transport::of(runtime.wire).is_some_and(|wire| wire.program.is_none());
        if runtime.model.is_some() || !has_wire {
            return Ok(runtime);
        }
        let address = runtime.base_url.to_string();
        if let Some(model) = self.memory.only_model(&address) {
            return Ok(ProviderRuntime { model: Some(model), ..runtime });
        }
        let unroutable = |why: String| Unroutable {
            provider: runtime.provider.clone(),
            code: "missing_model".to_owned(),
            message: format!(
                "no model is chosen for `{}` at {}: {why}; name one with `petasos model`",
                runtime.provider,
                address.split('?').next().unwrap_or_default()
            ),
        };
        let listed = catalog::list(&self.net, &runtime, LIST_WITHIN).await;
        let listed = listed.map_err(|error| unroutable(error.to_string()))?;
        self.catalog.learn(runtime.base_url.as_str(), &listed);
        if let [only] = listed.as_slice() {
            self.memory.keep_only_model(&address, &only.id);
            return Ok(ProviderRuntime { model: Some(only.id.clone()), ..runtime });
        }
        let some: Vec<&str> = listed.iter().take(5).map(|model| model.id.as_str()).collect();
        let more = if listed.len() > some.len() { ", …" } else { "" };
        Err(unroutable(match some.as_slice() {
            [] => "it lists none".to_owned(),
            some => format!("it lists `{}`{more}", some.join("`, `")),
        }))
    }

    async fn follow(
        &self,
        prompt: &Prompt,
        role: Role,
        cx: &CallContext,
        plan: &Plan,
    ) -> Result<Reply, ModelError> {
        let own = plan.timeout.map(|span| Instant::now() + span);
        let deadline = own.map_or(cx.deadline, |own| own.min(cx.deadline));
        let mut walk = walk::Walk::new(self, prompt, role, cx);
        let asked = wait::until(deadline, "a model's reply", walk.go(plan));
        let mut outcome = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                Err(ModelError::new(Reason::Cancelled, "the question was interrupted"))
            }
            asked = asked => asked.unwrap_or_else(|_| Err(late(plan))),
        };
        match &mut outcome {
            Ok(reply) => reply.path = walk.path,
            Err(error) => error.path = walk.path,
        }
        outcome
    }

    /// Asks the candidates of a plan. Boxed, because a candidate may be made of others.
    fn run<'a>(
        &'a self,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
        plan: &'a Plan,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(self.follow(prompt, role, cx, plan))
    }

    /// Writes down who answered, what it cost, and bills it to its role.
    async fn settle(
        &self,
        reply: &mut Reply,
        runtime: &ProviderRuntime,
        role: Role,
        cx: &CallContext,
    ) {
        let which =
            Which { base_url: runtime.base_url.as_str(), model: reply.served.model.as_str() };
        let subscribed =
            matches!(runtime.provider.as_str(), "openai-codex" | "copilot" | "copilot-acp");
        reply.cost = match reply.cost {
            Cost::Actual { usd } => Cost::Actual { usd },
            _ if subscribed => Cost::Included,
            _ => match self.catalog.price(which, &cx.settings) {
                Some((price, _)) => price.of(&reply.usage),
                None => Cost::Unknown,
            },
        };
        self.ledger.add(&cx.session, role, reply);
        let (served, usage, cost) = (reply.served.clone(), reply.usage, reply.cost);
        let spent = Spent { role, served, usage, cost };
        let entry = UsageEntry { session: cx.session.clone(), owner: owner_of(cx), spent };
        let added = match &self.usage {
            Some(store) => store.add(&entry).await,
            None => UsageLog::new(cx.settings.home()).add(&entry).await,
        };
        if let Err(error) = added {
            tracing::warn!(%error, "a reply is missing from the usage log");
        }
    }

    /// Tells a person something once for the life of the process.
    fn tell_once(&self, key: String, text: &str, cx: &CallContext) {
        if self.memory.is_new(key) {
            cx.events.emit(|| Event::Notice { text: text.to_owned() });
        }
    }
}

impl Model for Client {
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let plan = roles::plan(role, prompt, &cx.settings, &self.table);
            match roles::effort(role, &cx.settings) {
                Some(effort) if prompt.effort.is_none() => {
                    let prompt = Prompt { effort: Some(effort), ..prompt.clone() };
                    self.run(&prompt, role, cx, &plan).await
                }
                _ => self.run(prompt, role, cx, &plan).await,
            }
        })
    }

    fn window<'a>(
        &'a self,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Option<u64>> {
        Box::pin(window::first(self, prompt, role, cx))
    }

    fn sight<'a>(&'a self, cx: &'a CallContext) -> BoxFuture<'a, Sight> {
        Box::pin(async {
            if sight::of(&Wanted::default(), &cx.settings, &self.table) == sight::Sight::Own {
                return Sight::Own;
            }
            let plan = roles::plan(Role::Vision, &Prompt::default(), &cx.settings, &self.table);
            for wanted in &plan.candidates {
                if self.routes.preview(wanted, cx).await.is_some() {
                    return Sight::Another;
                }
            }
            Sight::Nobody
        })
    }
}

fn late(plan: &Plan) -> ModelError {
    let line = match plan.timeout {
        Some(span) => format!(
            "the model did not answer within {} s; raise the task's `timeout` in `auxiliary`",
            span.as_secs()
        ),
        None => "the model did not answer before the deadline of the call".to_owned(),
    };
    ModelError::new(Reason::Deadline, line)
}

/// The path of an outcome, for those who show it.
pub fn path(outcome: &Result<Reply, ModelError>) -> &[Step] {
    match outcome {
        Ok(reply) => &reply.path,
        Err(error) => &error.path,
    }
}

fn dice() -> f64 {
    // Jitter needs no secrecy: when the system has no random bytes, the middle will do.
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}
