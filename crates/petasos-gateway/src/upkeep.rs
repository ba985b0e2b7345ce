//! What a gateway does now and then by itself: it forgets what is long settled, and heeds that
//! everything was stopped.

use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use crate::gateway::Shared;
use crate::platform::now_ms;
use crate::turns::StopReason;

/// How often old messages are forgotten.
const CLEANING: Duration = Duration::from_hours(1);
/// Settled messages are known for so long, and so many of an account in any case.
const KNOWN_MS: i64 = 7 * 86_400_000;
const KNOWN_MIN: u32 = 100_000;

/// Forgets what no platform delivers again.
pub(crate) async fn clean(shared: Arc<Shared>) {
    loop {
        if let Err(error) = shared.store.forget_settled(now_ms() - KNOWN_MS, KNOWN_MIN).await {
            warn!(%error, "old messages are not forgotten");
        }
        shared.host.resident(&shared.sessions.resident());
        tokio::time::sleep(CLEANING).await;
    }
}

/// When everything is stopped, every turn of ours ends; when it goes on, what waited runs.
pub(crate) async fn heed_stop(shared: Arc<Shared>) {
    const LOOK: Duration = Duration::from_millis(400);
    let mut was = shared.host.stopped().is_some();
    loop {
        tokio::time::sleep(LOOK).await;
        let stopped = shared.host.stopped();
        if stopped.is_some() {
            for session in shared.runners.sessions() {
                shared.interrupt(&session, StopReason::Emergency);
            }
        }
        if was && stopped.is_none() {
            for account in shared.accounts().iter() {
                account.due.notify_one();
            }
            match shared.store.waiting_sessions().await {
                Ok(sessions) => sessions.iter().for_each(|session| shared.wake(session)),
                Err(error) => warn!(%error, "what waited does not go on"),
            }
        }
        was = stopped.is_some();
    }
}
