//! The life of one server: reached, kept alive, reached again, left alone, woken.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use petasos_contract::{BoxFuture, wait};
use rmcp::model::ErrorCode;
use rmcp::service::ServiceError;
use serde_json::Value;

use super::faults::fault;
use super::link::Link;
use super::list;
use super::pace::{Refreshes, Restarts};
use super::register::{self, Extras};
use super::shared::Shared;
use super::state::{Fault, State};

/// How long a server that cannot be reached is left alone.
const PARKED: Duration = Duration::from_mins(5);
/// How long a sign of life may take.
const PING: Duration = Duration::from_secs(30);

/// How a live connection ended.
enum Lost {
    /// It broke, or somebody found it unusable.
    Broken(String),
    /// It wants a sign-in.
    Auth(String),
    /// It was let go because nobody needed it.
    Resting,
    /// It is to be made anew because it is old.
    Old,
}

impl From<Fault> for Lost {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Auth(challenge) => Self::Auth(challenge),
            Fault::Passing(reason) | Fault::Lasting(reason) => Self::Broken(reason),
        }
    }
}

/// Keeps the server until whoever runs this drops it.
pub(super) async fn keep(shared: Arc<Shared>) {
    let (mut restarts, mut first) = (Restarts::default(), true);
    loop {
        let (fault, lived) = match Link::open(&shared, first).await {
            Ok(link) => {
                first = false;
                let begun = Instant::now();
                let lived: BoxFuture<'static, Option<Fault>> =
                    Box::pin(live(Arc::clone(&shared), link));
                (lived.await, begun.elapsed())
            }
            Err(fault) => (Some(fault), Duration::ZERO),
        };
        let Some(fault) = fault else { continue };
        let pause = match &fault {
            Fault::Passing(_) => restarts.after(lived),
            Fault::Auth(_) | Fault::Lasting(_) => None,
        };
        let Some(pause) = pause else {
            let (times, minutes) = (restarts.in_a_row(), PARKED.as_secs() / 60);
            let note = format!("given up after {times} starts, tried again in {minutes} minutes");
            park(&shared, &fault.noting(&note)).await;
            restarts = Restarts::default();
            continue;
        };
        shared.set(shared.waiting(fault.reason()));
        tokio::time::sleep(pause).await;
    }
}

/// Leaves it alone until it is time, or somebody needs it.
async fn park(shared: &Shared, fault: &Fault) {
    register::withdraw(shared);
    if let Fault::Auth(challenge) = fault {
        *shared.challenge.lock() = Some(challenge.clone());
    }
    shared.set(fault.state(&shared.spec().name));
    tokio::select! {
        () = tokio::time::sleep(PARKED) => {}
        () = shared.nudge.notified() => {}
    }
}

/// One life: registers the tools, keeps it alive, ends it. Gives back why it is over, unless it is
/// to be begun again at once.
async fn live(shared: Arc<Shared>, link: Link) -> Option<Fault> {
    let shared = &shared;
    let known = link.peer.peer_info();
    let can =
        known.and_then(|info| serde_json::to_value(&info.capabilities).ok()).unwrap_or(Value::Null);
    let has = |what: &str| can.get(what).is_some_and(|able| !able.is_null());
    let extras = Extras { resources: has("resources"), prompts: has("prompts") };
    let listed = if has("tools") {
        refresh(shared, &link, extras).await
    } else {
        register::publish(shared, &[], extras);
        Ok(())
    };
    let lost = match listed {
        Ok(()) => {
            shared.works(&link.peer);
            shared.set(State::Ready);
            until_lost(shared, &link, extras).await
        }
        Err(fault) => Lost::from(fault),
    };
    shared.live.send_replace(None);
    match lost {
        Lost::Auth(challenge) => {
            link.close().await;
            Some(Fault::Auth(challenge))
        }
        Lost::Broken(why) => {
            shared.set(shared.waiting(&why));
            let fault = link.why(why).await;
            link.close().await;
            Some(fault)
        }
        Lost::Old => {
            link.close().await;
            None
        }
        Lost::Resting => {
            link.close().await;
            shared.set(State::Resting);
            shared.nudge.notified().await;
            shared.set(State::Starting);
            None
        }
    }
}

async fn refresh(shared: &Arc<Shared>, link: &Link, extras: Extras) -> Result<(), Fault> {
    let listed = list::tools(&link.peer).await;
    let tools = listed.map_err(|error| fault(&error, "its tools could not be listed"))?;
    register::publish(shared, &tools, extras);
    Ok(())
}

async fn until_lost(shared: &Arc<Shared>, link: &Link, extras: Extras) -> Lost {
    let spec = shared.spec();
    let born = Instant::now();
    let (mut pings, mut refreshes) = (true, Refreshes::default());
    loop {
        let next = spec.keepalive.min(until_rest(shared)).min(until_old(shared, born));
        let due = refreshes.due();
        let is_due = tokio::time::sleep_until(due.unwrap_or_else(Instant::now).into());
        tokio::select! {
            () = link.ended.cancelled() => return Lost::Broken("the connection ended".to_owned()),
            () = shared.tools_changed.notified() => refreshes.ask(Instant::now()),
            () = is_due, if due.is_some() => {
                if let Err(fault) = refresh(shared, link, extras).await {
                    return fault.into();
                }
                refreshes.made(Instant::now());
                shared.restless.store(refreshes.is_restless(), Ordering::Relaxed);
            }
            // Somebody found the connection unusable.
            () = shared.nudge.notified() => {
                if !alive(link, &mut pings).await {
                    return Lost::Broken("it gave no sign of life".to_owned());
                }
                shared.works(&link.peer);
            }
            () = tokio::time::sleep(next) => {
                let idle = shared.running.lock().is_empty();
                if idle && until_rest(shared).is_zero() {
                    return Lost::Resting;
                }
                if idle && until_old(shared, born).is_zero() {
                    return Lost::Old;
                }
                if !alive(link, &mut pings).await {
                    return Lost::Broken("it gave no sign of life".to_owned());
                }
            }
        }
    }
}

const NEVER: Duration = Duration::from_hours(24);

fn until_rest(shared: &Shared) -> Duration {
    let idle = shared.spec().idle.filter(|_| shared.spec().is_local());
    idle.map_or(NEVER, |idle| idle.saturating_sub(shared.last_call.lock().elapsed()))
}

fn until_old(shared: &Shared, born: Instant) -> Duration {
    let lifetime = shared.spec().lifetime.filter(|_| shared.spec().is_local());
    lifetime.map_or(NEVER, |lifetime| lifetime.saturating_sub(born.elapsed()))
}

/// A sign of life. A server that does not know `ping` is asked for its tools instead.
async fn alive(link: &Link, pings: &mut bool) -> bool {
    if *pings {
        let request = rmcp::model::ClientRequest::PingRequest(rmcp::model::PingRequest::default());
        let asked = link.peer.send_request(request);
        match wait::until(Instant::now() + PING, "a sign of life of an MCP server", asked).await {
            Ok(Ok(_)) => return true,
            Ok(Err(ServiceError::McpError(error))) if error.code == ErrorCode::METHOD_NOT_FOUND => {
                *pings = false;
            }
            _ => return false,
        }
    }
    list::tools(&link.peer).await.is_ok()
}
