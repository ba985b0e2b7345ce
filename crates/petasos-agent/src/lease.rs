//! The lease of a conversation while this agent adds to it: renewed as long as it is needed, given
//! back when it is dropped, however the turn ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::SessionId;
use petasos_contract::event::{Event, EventSink};
use petasos_contract::wait::Owned;
use petasos_store::{LEASE, Lease, SessionStore, StoreError};
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// How long a lease of somebody else is waited for before it is an obstacle.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// The longest pause before somebody who works on a conversation is looked at again.
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// How long somebody else who works on the conversation is waited for.
pub(crate) struct LeaseWait<'a> {
    /// So long.
    pub(crate) most: Duration,
    /// Or until this.
    pub(crate) cancel: &'a CancellationToken,
    /// Who is told what is waited for.
    pub(crate) events: &'a EventSink,
}

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
        let (cancel, events) = (CancellationToken::new(), EventSink::silent());
        let wait = LeaseWait { most: PATIENCE, cancel: &cancel, events: &events };
        Self::take_after(store, session, purpose, &wait).await
    }

    /// The same, and whoever has it may be waited for longer.
    pub(crate) async fn take_after(
        store: &Arc<dyn SessionStore>,
        session: &SessionId,
        purpose: &str,
        wait: &LeaseWait<'_>,
    ) -> Result<Self, StoreError> {
        let lease = claim(store, session, purpose, wait).await?;
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
    wait: &LeaseWait<'_>,
) -> Result<Lease, StoreError> {
    let started = Instant::now();
    let (mut pause, mut told) = (PATIENCE / 20, false);
    loop {
        let claimed = store.claim(session, purpose).await;
        let Err(StoreError::Leased { holder, .. }) = &claimed else { return claimed };
        // Looking costs less than claiming.
        loop {
            if started.elapsed() >= wait.most || wait.cancel.is_cancelled() {
                return claimed;
            }
            if !told && started.elapsed() >= PATIENCE {
                told = true;
                let text = format!("waiting: {holder} works on this conversation");
                wait.events.emit(|| Event::Notice { text });
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = wait.cancel.cancelled() => {}
            }
            pause = (pause * 2).min(PAUSE_MAX);
            if store.holder(session).await?.is_none() {
                break;
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.store.release(&self.lease);
    }
}
