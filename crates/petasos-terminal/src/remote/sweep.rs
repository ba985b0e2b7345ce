//! Ends what callers let go of: a second start in the target kills it, verified, so that nothing
//! depends on the carrier telling the target that we are gone.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use petasos_contract::wait::{self, Owned};
use tokio::sync::{mpsc, oneshot};

use super::{Carrier, kill};

/// Between TERM and KILL.
const GRACE: Duration = Duration::from_millis(500);
/// When something that was let go of before its first word is looked for; it may come late.
const LATE: [Duration; 3] = [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(3)];
/// How long leaving a place waits for what is being ended there.
const LEAVING: Duration = Duration::from_secs(10);

/// What is to be done.
enum Errand {
    End { pid: Option<u32>, mark: String },
    Tell(oneshot::Sender<()>),
}

/// The hand that hands errands over.
#[derive(Clone)]
pub(super) struct Sweeper(mpsc::UnboundedSender<Errand>);

impl Sweeper {
    /// A sweeper and its task, which ends with its owner.
    pub(super) fn new(carrier: &Arc<dyn Carrier>, target: Arc<str>) -> (Self, Owned<()>) {
        let (errands, inbox) = mpsc::unbounded_channel();
        // It must not keep alive what goes with its place.
        (Self(errands), Owned::start(sweep(Arc::downgrade(carrier), target, inbox)))
    }

    /// Ends everything that bears this mark; `pid` is its first process once that is known.
    pub(super) fn end(&self, pid: Option<u32>, mark: &str) {
        // A sweeper that is gone went with the whole place.
        drop(self.0.send(Errand::End { pid, mark: mark.to_owned() }));
    }

    /// Comes back when everything handed over before is done, or takes too long.
    pub(super) async fn done(&self) {
        let (tell, told) = oneshot::channel();
        drop(self.0.send(Errand::Tell(tell)));
        if wait::until(Instant::now() + LEAVING, "abandoned commands to end", told).await.is_err() {
            tracing::warn!("commands that nobody waits for may run on in a place that was left");
        }
    }
}

async fn sweep(
    carrier: Weak<dyn Carrier>,
    target: Arc<str>,
    mut inbox: mpsc::UnboundedReceiver<Errand>,
) {
    let mut tasks: Vec<Owned<()>> = Vec::new();
    while let Some(errand) = inbox.recv().await {
        tasks.retain(|task| !task.is_finished());
        match errand {
            Errand::End { pid, mark } => {
                let Some(carrier) = carrier.upgrade() else { return };
                let target = Arc::clone(&target);
                tasks.push(Owned::start(async move { end(&*carrier, &target, pid, &mark).await }));
            }
            Errand::Tell(tell) => {
                for task in tasks.drain(..) {
                    // One that panicked has said so; the others still count.
                    let _ended = task.join().await;
                }
                if tell.send(()).is_err() {
                    tracing::debug!("whoever waited for the last errands has given up");
                }
            }
        }
    }
}

async fn end(carrier: &dyn Carrier, target: &str, pid: Option<u32>, mark: &str) {
    let pauses = if pid.is_some() { LATE.split_at(1).0 } else { &LATE };
    for pause in pauses {
        tokio::time::sleep(*pause).await;
        if let Err(error) = kill::kill(carrier, target, (pid, mark), GRACE).await {
            tracing::debug!(%error, "what nobody waits for may run on");
            return;
        }
    }
}
