//! Having a sandbox: from the kept image or the configured one, written down while we have it, so
//! that the next program ends it if we cannot; kept as an image at the end.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::plane::{Plane, Running};
use crate::{HostedSettings, Ledger, Owner, VendorError, plain_name};
use petasos_terminal::ids;

/// A sandbox that we have.
#[derive(Debug, Clone)]
pub(super) struct Lease {
    pub(super) running: Running,
}

/// What is written down about a sandbox.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Held {
    owner: Owner,
}

/// The files that outlive us.
#[derive(Debug, Clone)]
pub(super) struct Books {
    task: String,
    snapshots: Ledger,
    sandboxes: Ledger,
}

impl Books {
    /// Those of a home, for one task.
    pub(super) fn at(home: &Path, task: &str) -> Self {
        Self {
            task: plain_name(task),
            snapshots: Ledger::at(home, "modal_snapshots.json"),
            sandboxes: Ledger::at(home, "modal_sandboxes.json"),
        }
    }

    /// The image that was kept last.
    fn kept(&self) -> Option<String> {
        match self.snapshots.entries::<String>() {
            Ok(mut entries) => entries.remove(&self.task),
            Err(error) => {
                tracing::warn!(%error, "`modal_snapshots.json` cannot be read; the base image is used");
                None
            }
        }
    }

    /// Keeps the files of a sandbox as an image.
    pub(super) async fn keep(&self, plane: &Plane, lease: &Lease) -> Result<(), VendorError> {
        let image = plane.snapshot(&lease.running.sandbox).await?;
        self.snapshots.set(&self.task, image).map_err(|error| VendorError::Refused {
            why: format!("`modal_snapshots.json` cannot be written: {error}"),
        })
    }

    fn note(&self, running: &Running) {
        let held = Held { owner: Owner::this() };
        if let Err(error) = self.sandboxes.set(&running.sandbox, held) {
            tracing::warn!(%error, "the sandbox is not written down; a crash leaves it for an hour");
        }
    }

    /// Strikes a sandbox out that is over.
    pub(super) fn forget(&self, lease: &Lease) {
        if let Err(error) = self.sandboxes.remove::<Held>(&lease.running.sandbox) {
            tracing::debug!(%error, "a sandbox that is over stays written down");
        }
    }

    /// Ends a sandbox and strikes it out.
    pub(super) async fn end(&self, plane: &Plane, lease: &Lease) -> Result<(), VendorError> {
        plane.terminate(&lease.running.sandbox).await?;
        self.forget(lease);
        Ok(())
    }

    /// Ends the sandboxes of programs that are gone. Failing at that is no reason not to work.
    pub(super) async fn end_orphans(&self, plane: &Plane) {
        let entries = match self.sandboxes.entries::<Held>() {
            Ok(entries) => entries,
            Err(error) => {
                tracing::debug!(%error, "orphans are not looked for");
                return;
            }
        };
        for (sandbox, held) in entries {
            if held.owner.lives() {
                continue;
            }
            let running = Running { sandbox, task: String::new() };
            let orphan = Lease { running };
            match self.end(plane, &orphan).await {
                Ok(()) => {
                    tracing::info!(id = orphan.running.sandbox, "ended a dead program's sandbox");
                }
                Err(error) => {
                    tracing::warn!(%error, id = orphan.running.sandbox, "an orphan is left");
                }
            }
        }
    }
}

/// Takes a sandbox. An image that was kept and is no more gives way to the configured one.
pub(super) async fn take(
    plane: &Plane,
    settings: &HostedSettings,
    books: &Books,
) -> Result<Lease, VendorError> {
    let app = plane.app().await?;
    let kept = if settings.container_persistent { books.kept() } else { None };
    if let Some(image) = kept {
        match start(plane, settings, books, &app, image).await {
            Ok(lease) => return Ok(lease),
            Err(error @ (VendorError::Missing { .. } | VendorError::Refused { .. })) => {
                tracing::warn!(%error, "the kept files cannot be restored; the base image is used");
            }
            Err(error) => return Err(error),
        }
    }
    let image = plane.image(&app, &settings.modal_image).await?;
    start(plane, settings, books, &app, image).await
}

async fn start(
    plane: &Plane,
    settings: &HostedSettings,
    books: &Books,
    app: &str,
    image: String,
) -> Result<Lease, VendorError> {
    let name = format!("hermes-{}-{}", books.task, ids::hex(6));
    let sandbox = plane.create(app, image, &name, settings).await?;
    // Written down before it runs: from here on it costs money.
    let unready = Running { sandbox: sandbox.clone(), task: String::new() };
    books.note(&unready);
    match plane.task(&sandbox).await {
        Ok(running) => Ok(Lease { running }),
        Err(error) => {
            if let Err(leftover) = books.end(plane, &Lease { running: unready }).await {
                tracing::warn!(%leftover, sandbox, "a sandbox is left until its lifetime is over");
            }
            Err(error)
        }
    }
}
