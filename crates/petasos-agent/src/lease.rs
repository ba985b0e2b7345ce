//! The lease of a conversation while this agent adds to it: renewed as long as it is needed, given
//! back when it is dropped, however the turn ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::SessionId;
use petasos_contract::wait::Owned;
use petasos_store::{LEASE, Lease, SessionStore, StoreError};
use tracing::warn;

/// How long a lease of somebody else is waited for before it is an obstacle.
const PATIENCE: Duration = Duration::from_secs(1);

/// A lease that is held.
pub(crate) struct Held {
    store: Arc<dyn SessionStore>,
    lease: Lease,
    _renewal: Owned<()>,
}

impl Held {
    /// Takes the lease, or says who has it.
    pub(crate) async fn take(
        store: &Arc<dyn SessionStore>,
        session: &SessionId,
        purpose: &str,
    ) -> Result<Self, StoreError> {
        let lease = claim(store, session, purpose).await?;
        let (renewed, again) = (lease.clone(), Arc::clone(store));
        let renewal = Owned::start(async move {
            loop {
                tokio::time::sleep(LEASE / 3).await;
                match again.renew(&renewed).await {
                    Ok(()) => {}
                    // The store itself refuses whatever a lost lease would have covered.
                    Err(StoreError::Leased { .. } | StoreError::Conflict { .. }) => return,
                    Err(error) => {
                        warn!(%error, session = %renewed.session, "a lease was not renewed");
                    }
                }
            }
        });
        Ok(Self { store: Arc::clone(store), lease, _renewal: renewal })
    }

    /// What is held.
    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }
}

/// Whoever is about to end, or only reads the conversation in, is waited for.
async fn claim(
    store: &Arc<dyn SessionStore>,
    session: &SessionId,
    purpose: &str,
) -> Result<Lease, StoreError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match store.claim(session, purpose).await {
            Err(StoreError::Leased { .. }) if Instant::now() < deadline => {
                tokio::time::sleep(PATIENCE / 20).await;
            }
            claimed => return claimed,
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.store.release(&self.lease);
    }
}
