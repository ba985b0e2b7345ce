//! A shell that is started ahead and waits in the target for the orders of the next command.
//!
//! What a start costs is then paid while nobody waits for it. A waiting shell has run nothing: it
//! is asked whether it is there before it gets orders, and when it is not, a shell is started as
//! if there had never been one. It gives up by itself after a while, and we let go of it before.

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

/// At most one waiting shell of a place.
pub(super) struct Spares {
    link: Link,
    shell: String,
    stand: Arc<Stand>,
    maker: Mutex<Option<Owned<()>>>,
}

#[derive(Default)]
struct Stand {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    waiting: Option<Spare>,
    is_made: bool,
}

impl Stand {
    fn set(&self, waiting: Option<Spare>) {
        *self.state.lock() = State { waiting, is_made: false };
        self.changed.notify_waiters();
    }
}

impl Spares {
    pub(super) fn new(link: Link, shell: &str) -> Self {
        Self { link, shell: shell.to_owned(), stand: Arc::default(), maker: Mutex::new(None) }
    }

    /// The waiting shell, if there is one; nobody else gets it.
    pub(super) async fn take(&self) -> Option<Spare> {
        let deadline = Instant::now() + UNDER_WAY;
        loop {
            let changed = self.stand.changed.notified();
            {
                let mut state = self.stand.state.lock();
                if state.waiting.is_some() || !state.is_made {
                    return state.waiting.take();
                }
            }
            wait::until(deadline, "a shell that is started ahead", changed).await.ok()?;
        }
    }

    /// Begins to start one, unless one waits or is on its way.
    pub(super) fn refill(&self) {
        {
            let mut state = self.stand.state.lock();
            if state.waiting.is_some() || state.is_made {
                return;
            }
            state.is_made = true;
        }
        let (link, shell, stand) = (self.link.clone(), self.shell.clone(), Arc::clone(&self.stand));
        let maker = Owned::start(async move {
            let made = start(&link, &shell).await;
            if let Err(error) = &made {
                tracing::debug!(%error, "no shell could be started ahead");
            }
            stand.set(made.ok());
            drop(link);
            tokio::time::sleep(LIFETIME).await;
            stand.set(None);
        });
        drop(self.maker.lock().replace(maker));
    }

    /// Lets go of it, and sees to it that it leaves.
    pub(super) async fn close(&self) {
        drop(self.maker.lock().take());
        let spare = std::mem::take(&mut *self.stand.state.lock()).waiting;
        let Some(Spare { stream, mut input, .. }) = spare else { return };
        let left = match input.close().await {
            Ok(()) => collect(stream, LEAVING).await.map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = left {
            tracing::debug!(%error, "a waiting shell did not leave by itself");
        }
    }
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
