//! `daytona`: a sandbox that the vendor of that name runs.
//!
//! The vendor runs a command and tells its text at the end, no more; streams, input and jobs are
//! made of such calls by [`Programs`]. A sandbox is found again by its name when it is to persist,
//! and stopped at the end; else it is removed, also by the next program if this one dies.

mod api;
mod calls;
mod multipart;
mod sandbox;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::environment::{Ending, EnvError, Environment, Health, Process};
use petasos_contract::{BoxFuture, Settings};

use crate::{
    Given, Programs, Repeat, VendorError, address, has_terminals, place, required, variable,
};
use api::Api;
use calls::Toolbox;
use petasos_terminal::backend::{BackendDef, Opening};
use petasos_terminal::remote::{Carrier, Order};
use petasos_terminal::sync::FileSync;
use sandbox::{Keeping, Plan};

/// The backend.
pub(super) static BACKEND: BackendDef = BackendDef {
    name: "daytona",
    summary: "a sandbox hosted by Daytona",
    usable,
    reach: None,
    open: |opening| Box::pin(open(opening)),
};

const API: &str = "https://app.daytona.io/api";

fn usable(settings: &Settings) -> Result<(), String> {
    address(settings, "DAYTONA_API_URL", API)?;
    match variable(settings, "DAYTONA_API_KEY") {
        Some(_) => Ok(()),
        None => {
            Err("`DAYTONA_API_KEY` is not set: put a key of Daytona's dashboard into `.env`"
                .to_owned())
        }
    }
}

async fn open(opening: Opening<'_>) -> Result<Arc<dyn Environment>, EnvError> {
    let settings = opening.settings;
    let given = Given::of(settings, usable)?;
    let base = address(settings, "DAYTONA_API_URL", API).map_err(EnvError::Settings)?;
    let key = required(settings, "DAYTONA_API_KEY")?;
    let text = |name: &str| variable(settings, name).map(|text| text.expose().to_owned());
    let organization = text("DAYTONA_ORGANIZATION_ID");
    let api = Api::new(Arc::clone(&given.net), base, key, organization.as_deref());
    let plan = Plan::of(&given.hosted, opening.task, text("DAYTONA_TARGET"));
    let carrier = Arc::new(Daytona::open(api, plan, FileSync::of(settings)).await?);
    let ptys = has_terminals(&*carrier.live().toolbox).await;
    let profile = given.profile("daytona", carrier.label.clone(), ptys);
    let undo = async { carrier.close().await };
    Box::pin(place(Arc::clone(&carrier) as _, profile, undo)).await
}

/// The way into a sandbox.
struct Daytona {
    api: Api,
    plan: Plan,
    label: String,
    live: Mutex<Arc<Live>>,
    sync: FileSync,
}

/// A sandbox that runs.
struct Live {
    id: String,
    toolbox: Arc<Toolbox>,
    programs: Programs,
}

impl Daytona {
    async fn open(api: Api, plan: Plan, sync: FileSync) -> Result<Self, EnvError> {
        let label = format!("daytona:{}", plan.name);
        sandbox::remove_orphans(&api).await;
        let live = bring(&api, &plan, &label).await.map_err(|error| error.lost(&label))?;
        Ok(Self { api, plan, label, live: Mutex::new(Arc::new(live)), sync })
    }

    fn live(&self) -> Arc<Live> {
        Arc::clone(&self.live.lock())
    }
}

/// A running sandbox with its programs; what was made for it and failed is removed again.
async fn bring(api: &Api, plan: &Plan, label: &str) -> Result<Live, VendorError> {
    let sandbox = sandbox::acquire(api, plan).await?;
    let opened = async {
        let toolbox = Arc::new(Toolbox { api: api.clone(), url: api.toolbox(&sandbox)? });
        let programs =
            Programs::open(Arc::clone(&toolbox) as _, "daytona", label.to_owned()).await?;
        Ok(Live { id: sandbox.id.clone(), toolbox, programs })
    };
    match opened.await {
        Ok(live) => Ok(live),
        Err(error) => {
            if let Err(leftover) = sandbox::release(api, plan, &sandbox.id).await {
                tracing::warn!(%leftover, id = sandbox.id, "a sandbox may be left behind");
            }
            Err(error)
        }
    }
}

impl Carrier for Daytona {
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
            let live = self.live();
            let stands = match self.api.get(&live.id).await {
                Ok(found) => found.state == "started" && live.programs.lives(),
                Err(VendorError::Missing { .. }) => false,
                Err(error) => return Err(error.lost(&self.label)),
            };
            if stands {
                return Err(why.clone());
            }
            tracing::info!(target = self.label, "the sandbox was not running and is brought back");
            let new = bring(&self.api, &self.plan, &self.label).await;
            let new = new.map_err(|error| error.lost(&self.label))?;
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
            use crate::Calls as _;
            let live = self.live();
            let asked = live.toolbox.run("exit 0".to_owned(), HEALTH, Repeat::Harmless).await;
            match asked {
                Err(error) => Health::Lost { reason: error.to_string() },
                Ok(_) if !live.programs.lives() => Health::Degraded {
                    reason: "commands cannot be started at the moment".to_owned(),
                },
                Ok(_) => match self.sync.trouble() {
                    Some(reason) => Health::Degraded { reason },
                    None => Health::Ready { detail: format!("{} ({})", self.label, live.id) },
                },
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            let live = self.live();
            self.sync.back(self).await;
            if self.plan.keeping == Keeping::Stopped
                && let Err(error) = live.programs.close().await
            {
                tracing::debug!(%error, "the folder of commands is left in the sandbox");
            }
            let released = sandbox::release(&self.api, &self.plan, &live.id).await;
            released.map_err(|error| error.lost(&self.label))
        })
    }
}

const HEALTH: Duration = Duration::from_secs(15);
