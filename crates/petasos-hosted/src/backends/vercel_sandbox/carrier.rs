//! From the settings to a sandbox that runs, the way into it, and what becomes of it at the end.
//!
//! A sandbox that is to persist becomes a snapshot, from which the next one begins; else it is
//! removed. The vendor ends one that is forgotten when its lifetime is over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::environment::{Ending, EnvError, Environment, Health, Process};
use petasos_contract::{BoxFuture, Settings};

use super::api::{Api, Commands, NewSandbox, Resources, Session, Source};
use super::credential::Identity;
use crate::{
    Calls as _, Given, HostedSettings, Ledger, Programs, Repeat, VendorError, address,
    has_terminals, place, plain_name,
};
use petasos_terminal::backend::Opening;
use petasos_terminal::ids;
use petasos_terminal::remote::{Carrier, Order};
use petasos_terminal::sync::FileSync;

const API: &str = "https://vercel.com/api";
/// Where the vendor has its files.
const HOME: &str = "/vercel/sandbox";
/// A sandbox lives at least this long.
const LIFETIME_MIN: Duration = Duration::from_mins(5);
/// How long one may take to run.
const STARTING: Duration = Duration::from_mins(3);
const HEALTH: Duration = Duration::from_secs(15);

/// Whether the settings are enough.
pub(super) fn usable(settings: &Settings) -> Result<(), String> {
    address(settings, "VERCEL_API_URL", API)?;
    Identity::of(settings).map(drop)
}

/// Makes a place.
pub(super) async fn open(opening: Opening<'_>) -> Result<Arc<dyn Environment>, EnvError> {
    let settings = opening.settings;
    let given = Given::of(settings, usable)?;
    let identity = Identity::of(settings).map_err(EnvError::Settings)?;
    let base = address(settings, "VERCEL_API_URL", API).map_err(EnvError::Settings)?;
    let api = Api::new(Arc::clone(&given.net), base, identity);
    let plan = Plan::of(&given.hosted, opening);
    let carrier = Arc::new(Vercel::open(api, plan, FileSync::of(settings)).await?);
    let live = carrier.live();
    let ptys = has_terminals(&*live.commands).await;
    let profile = given.starting_in(HOME).profile("vercel_sandbox", carrier.label(), ptys);
    let undo = async { carrier.remove(&live).await };
    Box::pin(place(Arc::clone(&carrier) as _, profile, undo)).await
}

/// The sandbox that is wanted.
pub(super) struct Plan {
    task: String,
    vcpus: u32,
    runtime: Option<String>,
    lifetime: Duration,
    is_kept: bool,
    snapshots: Ledger,
}

impl Plan {
    pub(super) fn of(hosted: &HostedSettings, opening: Opening<'_>) -> Self {
        let timeout = Duration::try_from_secs_f64(hosted.timeout).unwrap_or(LIFETIME_MIN);
        Self {
            task: plain_name(opening.task),
            vcpus: hosted.cpus(),
            runtime: Some(hosted.vercel_runtime.trim().to_owned()).filter(|name| !name.is_empty()),
            lifetime: timeout.max(LIFETIME_MIN),
            is_kept: hosted.container_persistent,
            snapshots: Ledger::at(opening.settings.home(), "vercel_sandbox_snapshots.json"),
        }
    }

    fn kept(&self) -> Option<String> {
        let kept = self.snapshots.entries::<String>();
        let warn = |error| tracing::warn!(%error, "the list of snapshots cannot be read");
        kept.map_err(warn).ok().filter(|_| self.is_kept)?.remove(&self.task)
    }

    fn sandbox(&self, project: &str, snapshot: Option<String>) -> NewSandbox {
        NewSandbox {
            project_id: project.to_owned(),
            name: format!("hermes-{}-{}", self.task, ids::hex(4)),
            timeout: u64::try_from(self.lifetime.as_millis()).unwrap_or(u64::MAX),
            resources: Resources { vcpus: self.vcpus },
            // Snapshots are ours to make: the vendor's own would be one for each stop.
            persistent: false,
            runtime: self.runtime.clone(),
            source: snapshot.map(|snapshot_id| Source::Snapshot { snapshot_id }),
        }
    }
}

/// The way into a sandbox.
pub(super) struct Vercel {
    api: Api,
    plan: Plan,
    sync: FileSync,
    live: Mutex<Arc<Live>>,
}

/// A sandbox that runs.
struct Live {
    name: String,
    session: String,
    commands: Arc<Commands>,
    programs: Programs,
}

impl Vercel {
    pub(super) async fn open(api: Api, plan: Plan, sync: FileSync) -> Result<Self, EnvError> {
        let live = bring(&api, &plan).await.map_err(|error| error.lost("vercel_sandbox"))?;
        Ok(Self { api, plan, sync, live: Mutex::new(Arc::new(live)) })
    }

    fn live(&self) -> Arc<Live> {
        Arc::clone(&self.live.lock())
    }

    fn label(&self) -> String {
        format!("vercel_sandbox:{}", self.live().name)
    }

    async fn remove(&self, live: &Live) -> Result<(), VendorError> {
        self.api.stop(&live.session).await?;
        self.api.delete(&live.name).await
    }

    async fn keep(&self, live: &Live) -> Result<(), VendorError> {
        let snapshot = self.api.snapshot(&live.session).await?;
        self.plan.snapshots.set(&self.plan.task, snapshot).map_err(|error| VendorError::Refused {
            why: format!("the list of snapshots cannot be written: {error}"),
        })
    }
}

/// A running sandbox: from the kept snapshot, or from nothing when that is not there any more.
async fn bring(api: &Api, plan: &Plan) -> Result<Live, VendorError> {
    let kept = plan.kept();
    let mut new = plan.sandbox(&api.project, kept);
    let made = match api.create(&new).await {
        Err(VendorError::Missing { why } | VendorError::Refused { why })
            if new.source.is_some() =>
        {
            tracing::warn!(why, "the kept snapshot cannot be used; the sandbox begins empty");
            new.source = None;
            api.create(&new).await?
        }
        made => made?,
    };
    let label = format!("vercel_sandbox:{}", new.name);
    let brought = async {
        let session = running(api, made).await?;
        let commands = Arc::new(Commands { api: api.clone(), session: session.id.clone() });
        let programs = Programs::open(Arc::clone(&commands) as _, "vercel_sandbox", label).await?;
        Ok(Live { name: new.name.clone(), session: session.id, commands, programs })
    };
    match brought.await {
        Ok(live) => Ok(live),
        Err(error) => {
            if let Err(leftover) = api.delete(&new.name).await {
                tracing::warn!(%leftover, "a sandbox is left until its lifetime is over");
            }
            Err(error)
        }
    }
}

async fn running(api: &Api, mut session: Session) -> Result<Session, VendorError> {
    let deadline = Instant::now() + STARTING;
    while session.status == "pending" && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(500)).await;
        session = api.session(&session.id).await?;
    }
    if session.status == "running" {
        return Ok(session);
    }
    let why = format!("the sandbox did not start: it is `{}`", session.status);
    Err(VendorError::Refused { why })
}

impl Carrier for Vercel {
    fn start(&self, order: Order) -> BoxFuture<'_, Result<Box<dyn Process>, EnvError>> {
        Box::pin(async move { self.live().programs.start(order).await })
    }

    fn judge<'a>(
        &'a self,
        ending: Ending,
        _noise: &'a str,
    ) -> BoxFuture<'a, Result<Ending, EnvError>> {
        // The code was written down beside the program; a lost sandbox has no such note.
        Box::pin(async move { Ok(ending) })
    }

    fn revive<'a>(&'a self, why: &'a EnvError) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(async move {
            let (live, label) = (self.live(), self.label());
            let stands = match self.api.session(&live.session).await {
                Ok(session) => session.status == "running" && live.programs.lives(),
                Err(VendorError::Missing { .. }) => false,
                Err(error) => return Err(error.lost(&label)),
            };
            if stands {
                return Err(why.clone());
            }
            tracing::info!(label, "the sandbox was over; a new one takes its place");
            let new = bring(&self.api, &self.plan).await.map_err(|error| error.lost(&label))?;
            self.sync.forget();
            *self.live.lock() = Arc::new(new);
            Ok(())
        })
    }

    fn before(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(self.sync.before(self))
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        Box::pin(async move {
            let live = self.live();
            let asked = live.commands.run("exit 0".to_owned(), HEALTH, Repeat::Harmless).await;
            match (asked, self.sync.trouble()) {
                (Err(error), _) => Health::Lost { reason: error.to_string() },
                (Ok(_), Some(reason)) => Health::Degraded { reason },
                (Ok(_), None) => Health::Ready { detail: self.label() },
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            let live = self.live();
            self.sync.back(self).await;
            let done = if self.plan.is_kept {
                match self.keep(&live).await {
                    Ok(()) => self.api.stop(&live.session).await,
                    Err(error) => Err(error),
                }
            } else {
                self.remove(&live).await
            };
            done.map_err(|error| error.lost(&self.label()))
        })
    }
}
