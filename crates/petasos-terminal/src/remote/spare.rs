//! A shell that is started ahead and waits in the target for the orders of the next command.
//!
//! What a start costs is then paid while nobody waits for it. A waiting shell has run nothing: it
//! is asked whether it is there before it gets orders, and when it is not, a shell is started as
//! if there had never been one. It gives up by itself after a while, and we let go of it before.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::environment::{EnvError, Input, Process};
use petasos_contract::wait::{self, Owned};
use tokio::sync::Notify;

use super::boot::{self, KILL, MARK};
use super::control::Link;
use super::{Order, collect};
use crate::ids;

/// How long one waits unused; the shell itself has more patience.
const LIFETIME: Duration = Duration::from_mins(4);
/// Commands that come faster than this are one right after another.
const BURST: Duration = Duration::from_secs(1);
/// How long a command waits for one that is just being started.
const UNDER_WAY: Duration = Duration::from_secs(1);
/// How long one may take to leave.
const LEAVING: Duration = Duration::from_secs(1);

/// A waiting shell.
pub(super) struct Spare {
    pub(super) stream: Box<dyn Process>,
    pub(super) input: Box<dyn Input>,
    pub(super) nonce: String,
    pub(super) mark: String,
}

/// The waiting shells of a place: one, and two while commands come one right after another.
pub(super) struct Spares {
    link: Link,
    shell: String,
    stand: Arc<Stand>,
    tasks: Mutex<Tasks>,
}

#[derive(Default)]
struct Stand {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Spare>,
    under_way: usize,
}

#[derive(Default)]
struct Tasks {
    makers: Vec<Owned<()>>,
    expiry: Option<Owned<()>>,
    refilled: Option<Instant>,
}

impl Spares {
    pub(super) fn new(link: Link, shell: &str) -> Self {
        Self { link, shell: shell.to_owned(), stand: Arc::default(), tasks: Mutex::default() }
    }

    /// A waiting shell, if there is one; nobody else gets it.
    pub(super) async fn take(&self) -> Option<Spare> {
        let deadline = Instant::now() + UNDER_WAY;
        loop {
            let changed = self.stand.changed.notified();
            {
                let mut state = self.stand.state.lock();
                if let Some(spare) = state.waiting.pop_front() {
                    return Some(spare);
                }
                if state.under_way == 0 {
                    return None;
                }
            }
            wait::until(deadline, "a shell that is started ahead", changed).await.ok()?;
        }
    }

    /// Begins to start what is missing; all that waits is let go of when nothing comes for long.
    pub(super) fn refill(&self) {
        let mut tasks = self.tasks.lock();
        let last = tasks.refilled.replace(Instant::now());
        let wanted = if last.is_some_and(|last| last.elapsed() < BURST) { 2 } else { 1 };
        tasks.makers.retain(|maker| !maker.is_finished());
        let mut state = self.stand.state.lock();
        while state.waiting.len() + state.under_way < wanted {
            state.under_way += 1;
            let maker = make(self.link.clone(), self.shell.clone(), Arc::clone(&self.stand));
            tasks.makers.push(Owned::start(maker));
        }
        let stand = Arc::clone(&self.stand);
        tasks.expiry = Some(Owned::start(async move {
            tokio::time::sleep(LIFETIME).await;
            stand.state.lock().waiting.clear();
        }));
    }

    /// Lets go of all, and sees to it that they leave.
    pub(super) async fn close(&self) {
        drop(std::mem::take(&mut *self.tasks.lock()));
        let waiting = std::mem::take(&mut *self.stand.state.lock()).waiting;
        for Spare { stream, mut input, .. } in waiting {
            let left = match input.close().await {
                Ok(()) => collect(stream, LEAVING).await.map(drop),
                Err(error) => Err(error),
            };
            if let Err(error) = left {
                tracing::debug!(%error, "a waiting shell did not leave by itself");
            }
        }
    }
}

async fn make(link: Link, shell: String, stand: Arc<Stand>) {
    let made = start(&link, &shell).await;
    if let Err(error) = &made {
        tracing::debug!(%error, "no shell could be started ahead");
    }
    {
        let mut state = stand.state.lock();
        state.under_way = state.under_way.saturating_sub(1);
        state.waiting.extend(made.ok());
    }
    stand.changed.notify_waiters();
}

async fn start(link: &Link, shell: &str) -> Result<Spare, EnvError> {
    let (nonce, mark) = (ids::hex(12), ids::hex(8));
    let order = Order {
        variables: vec![(MARK.to_owned(), mark.clone())],
        stdin: boot::greeting(&nonce),
        open: true,
        ..Order::of_shell(shell, &boot::command(), &[KILL])
    };
    let mut stream = link.carrier.start(order).await?;
    let input = stream.input().ok_or_else(|| EnvError::NotStarted {
        what: "a shell".to_owned(),
        why: "it cannot be written to".to_owned(),
    })?;
    Ok(Spare { stream, input, nonce, mark })
}
