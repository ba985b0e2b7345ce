//! The life of one server: reached, kept alive, reached again, left alone, woken.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::{BoxFuture, wait};
use rmcp::model::ErrorCode;
use rmcp::service::ServiceError;
use serde_json::Value;

use super::faults::fault;
use super::link::Link;
use super::list;
use super::register::{self, Extras};
use super::shared::{Live, Shared};
use super::state::{Fault, State, WROTE};

/// How often a first connection is tried again at once, and a lost one.
const FIRST_RETRIES: u32 = 3;
const LOST_RETRIES: u32 = 5;
const BACKOFF_MAX: Duration = Duration::from_mins(1);
/// How long a server that cannot be reached is left alone.
const PARKED: Duration = Duration::from_mins(5);
/// How long a sign of life may take.
const PING: Duration = Duration::from_secs(30);

/// How a live connection ended.
enum Lost {
    /// It broke, for this reason.
    Broken(String),
    /// It wants a sign-in.
    Auth(String),
    /// It was let go because nobody needed it.
    Resting,
    /// It is to be made anew: too old, or somebody asked.
    Renew,
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
    let (mut life, mut retries) = (0, FIRST_RETRIES);
    let mut tries = 0;
    loop {
        match Link::open(&shared, life == 0).await {
            Ok(link) => {
                life += 1;
                (tries, retries) = (0, LOST_RETRIES);
                let lived: BoxFuture<'static, Option<Fault>> =
                    Box::pin(live(Arc::clone(&shared), link, life));
                if let Some(fault) = lived.await {
                    park(&shared, &fault).await;
                }
            }
            Err(fault) => {
                let again = matches!(fault, Fault::Passing(_)) && tries < retries;
                if !again {
                    park(&shared, &fault).await;
                    tries = 0;
                    continue;
                }
                if life > 0 {
                    shared.set(State::Degraded(fault.reason().to_owned()));
                }
                back_off(tries).await;
                tries += 1;
            }
        }
    }
}

async fn back_off(tries: u32) {
    let pause = Duration::from_secs(1_u64 << tries.min(6));
    tokio::time::sleep(pause.min(BACKOFF_MAX)).await;
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

/// One life: registers the tools, keeps it alive, ends it. A sign-in that is wanted on the way is
/// given back: trying again would not help.
async fn live(shared: Arc<Shared>, link: Link, life: u64) -> Option<Fault> {
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
            shared.live.send_replace(Some(Live { peer: link.peer.clone(), life }));
            shared.set(State::Ready);
            until_lost(shared, &link, extras).await
        }
        Err(fault) => Lost::from(fault),
    };
    shared.live.send_replace(None);
    match lost {
        Lost::Auth(challenge) => {
            link.close().await;
            return Some(Fault::Auth(challenge));
        }
        Lost::Broken(why) => {
            let wrote = link.complaints();
            let end = wrote.lines().rev().find(|line| !line.trim().is_empty());
            let why = end.map_or(why.clone(), |end| format!("{why}{WROTE}{end}"));
            shared.set(State::Degraded(why));
            link.close().await;
            // A server that dies at once would otherwise be started in a circle.
            back_off(0).await;
        }
        Lost::Renew => link.close().await,
        Lost::Resting => {
            link.close().await;
            shared.set(State::Resting);
            shared.nudge.notified().await;
            shared.set(State::Starting);
        }
    }
    None
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
    let mut pings = true;
    loop {
        let next = spec.keepalive.min(until_rest(shared)).min(until_old(shared, born));
        tokio::select! {
            () = link.ended.cancelled() => return Lost::Broken("the connection ended".to_owned()),
            () = shared.tools_changed.notified() => {
                if let Err(fault) = refresh(shared, link, extras).await {
                    return fault.into();
                }
            }
            // Somebody found the connection unusable.
            () = shared.nudge.notified() => {
                if !alive(link, &mut pings).await {
                    return Lost::Renew;
                }
            }
            () = tokio::time::sleep(next) => {
                let idle = shared.running.lock().is_empty();
                if idle && until_rest(shared).is_zero() {
                    return Lost::Resting;
                }
                if idle && until_old(shared, born).is_zero() {
                    return Lost::Renew;
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
