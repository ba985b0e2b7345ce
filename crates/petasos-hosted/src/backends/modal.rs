//! `modal`: a sandbox that the vendor of that name runs.
//!
//! Commands go straight to the machine that runs the sandbox where the vendor allows that, else
//! through its control plane; both stream. When it is to persist, the files become an image at the
//! end, from which the next sandbox begins.

mod calls;
mod exec;
mod lease;
mod messages;
mod plane;
mod router;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::environment::{Ending, EnvError, Environment, Health, Process};
use petasos_contract::{BoxFuture, Settings};
use petasos_net::Tls;

use crate::{Given, HostedSettings, VendorError, address, place, required, variable};
use calls::Way;
use lease::{Books, Lease};
use petasos_terminal::backend::{BackendDef, Opening};
use petasos_terminal::remote::{Carrier, Order};
use petasos_terminal::sync::FileSync;
use plane::Plane;

/// The backend.
pub(super) static BACKEND: BackendDef = BackendDef {
    name: "modal",
    summary: "a sandbox hosted by Modal",
    usable,
    reach: None,
    open: |opening| Box::pin(open(opening)),
};

const SERVER: &str = "https://api.modal.com";

fn usable(settings: &Settings) -> Result<(), String> {
    address(settings, "MODAL_SERVER_URL", SERVER)?;
    let mode = settings.text("terminal.modal_mode").unwrap_or("auto");
    let has = |name| variable(settings, name).is_some();
    match (mode, has("MODAL_TOKEN_ID"), has("MODAL_TOKEN_SECRET")) {
        ("managed", _, _) => Err("`terminal.modal_mode: managed` needs a gateway that this \
             program does not have: set it to `direct` and give a token of your own"
            .to_owned()),
        (_, true, true) => Ok(()),
        (_, id, _) => {
            let missing = if id { "MODAL_TOKEN_SECRET" } else { "MODAL_TOKEN_ID" };
            Err(format!(
                "`{missing}` is not set: run `modal token new` and put both of \
                 `MODAL_TOKEN_ID` and `MODAL_TOKEN_SECRET` into `.env`"
            ))
        }
    }
}

async fn open(opening: Opening<'_>) -> Result<Arc<dyn Environment>, EnvError> {
    let settings = opening.settings;
    let given = Given::of(settings, usable)?;
    let server = address(settings, "MODAL_SERVER_URL", SERVER).map_err(EnvError::Settings)?;
    let id = required(settings, "MODAL_TOKEN_ID")?;
    let token = required(settings, "MODAL_TOKEN_SECRET")?;
    let environment = variable(settings, "MODAL_ENVIRONMENT");
    let environment = environment.map(|name| name.expose().to_owned()).unwrap_or_default();
    let plane = Plane::new(Arc::clone(&given.net), server, (&id, token), environment);
    let books = Books::at(settings.home(), opening.task);
    let (hosted, sync) = (given.hosted.clone(), FileSync::of(settings));
    let carrier = Arc::new(Modal::open(plane, hosted, books, sync, Tls::default()).await?);
    let ptys = carrier.live().way.has_terminals().await;
    let profile = given.profile("modal", carrier.target(), ptys);
    // What never worked has nothing worth keeping.
    let undo = async { carrier.books.end(&carrier.plane, &carrier.live().lease).await };
    Box::pin(place(Arc::clone(&carrier) as _, profile, undo)).await
}

/// The way into a sandbox.
struct Modal {
    plane: Plane,
    hosted: HostedSettings,
    books: Books,
    tls: Tls,
    sync: FileSync,
    live: Mutex<Arc<Live>>,
}

/// A sandbox that runs.
struct Live {
    lease: Lease,
    way: Way,
}

impl Modal {
    async fn open(
        plane: Plane,
        hosted: HostedSettings,
        books: Books,
        sync: FileSync,
        tls: Tls,
    ) -> Result<Self, EnvError> {
        books.end_orphans(&plane).await;
        let live = bring(&plane, &hosted, &books, &tls).await;
        let live = live.map_err(|error| error.lost("modal"))?;
        Ok(Self { plane, hosted, books, tls, sync, live: Mutex::new(Arc::new(live)) })
    }

    fn live(&self) -> Arc<Live> {
        Arc::clone(&self.live.lock())
    }

    fn target(&self) -> String {
        format!("modal:{}", self.live().lease.running.sandbox)
    }
}

/// A running sandbox with a way to its commands; what was made for it and failed is ended again.
async fn bring(
    plane: &Plane,
    hosted: &HostedSettings,
    books: &Books,
    tls: &Tls,
) -> Result<Live, VendorError> {
    let lease = lease::take(plane, hosted, books).await?;
    match Way::to(plane, &lease.running, tls).await {
        Ok(way) => Ok(Live { lease, way }),
        Err(error) => {
            if let Err(leftover) = books.end(plane, &lease).await {
                tracing::warn!(%leftover, "a sandbox is left until its lifetime is over");
            }
            Err(error)
        }
    }
}

impl Carrier for Modal {
    fn start(&self, order: Order) -> BoxFuture<'_, Result<Box<dyn Process>, EnvError>> {
        Box::pin(async move { self.live().way.start(order).await })
    }

    fn judge<'a>(
        &'a self,
        ending: Ending,
        _noise: &'a str,
    ) -> BoxFuture<'a, Result<Ending, EnvError>> {
        Box::pin(async move {
            // A container that was taken away ends all its commands.
            match self.plane.ended(&self.live().lease.running.sandbox).await {
                Ok(None) => Ok(ending),
                Ok(Some(result)) => {
                    let why = format!("the sandbox is over: {}", result.reason());
                    Err(EnvError::Lost { target: self.target(), why })
                }
                Err(error) => Err(error.lost(&self.target())),
            }
        })
    }

    fn revive<'a>(&'a self, why: &'a EnvError) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(async move {
            let live = self.live();
            let over = match self.plane.ended(&live.lease.running.sandbox).await {
                Ok(result) => result.is_some() || !live.way.lives(),
                Err(VendorError::Missing { .. }) => true,
                Err(error) => return Err(error.lost(&self.target())),
            };
            if !over {
                return Err(why.clone());
            }
            tracing::warn!(
                target = self.target(),
                "the sandbox was over; a new one takes its place"
            );
            self.books.forget(&live.lease);
            let new = bring(&self.plane, &self.hosted, &self.books, &self.tls).await;
            let new = new.map_err(|error| error.lost("modal"))?;
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
            match self.plane.ended(&live.lease.running.sandbox).await {
                Err(error) => Health::Lost { reason: error.to_string() },
                Ok(Some(result)) => {
                    let reason = format!(
                        "the sandbox is over: {}; the next command starts another",
                        result.reason()
                    );
                    Health::Lost { reason }
                }
                Ok(None) => {
                    let detail = format!("{}, {}", self.target(), live.way.describe());
                    let trouble = self.sync.trouble().map(|reason| Health::Degraded { reason });
                    trouble.unwrap_or(Health::Ready { detail })
                }
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            let live = self.live();
            self.sync.back(self).await;
            live.way.close().await;
            let mut failed = None;
            if self.hosted.container_persistent {
                failed = self.books.keep(&self.plane, &live.lease).await.err();
            }
            let ended = self.books.end(&self.plane, &live.lease).await;
            match ended.err().or(failed) {
                None => Ok(()),
                Some(error) => Err(error.lost(&self.target())),
            }
        })
    }
}
