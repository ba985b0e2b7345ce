//! The way into a target as everything in a place shares it, and the hand on one program there:
//! ending it, telling whether it lives, giving its terminal another size.
//!
//! What runs is reached by a second start; the near side of the carrier is never enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use petasos_contract::BoxFuture;
use petasos_contract::environment::{Control, EnvError, Size};

use super::boot::RESIZE;
use super::sweep::Sweeper;
use super::{Carrier, Order, capture, kill};

/// How often a tree without a stream is looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// How long giving a terminal another size may take.
const RESIZING: Duration = Duration::from_secs(10);

/// The carrier and how its target is called.
#[derive(Clone)]
pub(super) struct Link {
    pub(super) carrier: Arc<dyn Carrier>,
    pub(super) backend: &'static str,
    pub(super) target: Arc<str>,
    pub(super) sweeper: Sweeper,
}

impl Link {
    /// The way broke while something ran.
    pub(super) fn lost(&self, why: &str) -> EnvError {
        let why = format!(
            "{why}; the command may have run and may still run, its outcome is unknown, and it was \
             not run again"
        );
        EnvError::Lost { target: self.target.to_string(), why }
    }
}

/// The hand that ends what runs in the target.
pub(super) struct RemoteControl {
    pub(super) link: Link,
    pub(super) pid: u32,
    pub(super) mark: String,
    pub(super) handle: Option<String>,
    pub(super) near: Arc<dyn Control>,
    pub(super) is_terminal: bool,
    pub(super) lives: AtomicBool,
    /// Whether its outcome is unknown: then it is left alone.
    pub(super) is_lost: AtomicBool,
}

impl Drop for RemoteControl {
    fn drop(&mut self) {
        // A job with a handle is meant to go on.
        if *self.lives.get_mut() && !*self.is_lost.get_mut() && self.handle.is_none() {
            self.link.sweeper.end(Some(self.pid), &self.mark);
        }
    }
}

impl Control for RemoteControl {
    fn kill(&self, grace: Duration) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            let Link { carrier, target, .. } = &self.link;
            kill::kill(&**carrier, target, (Some(self.pid), &self.mark), grace).await?;
            self.lives.store(false, Ordering::Relaxed);
            Ok(())
        })
    }

    fn keep(&self) -> BoxFuture<'_, Result<Option<String>, EnvError>> {
        Box::pin(async move { Ok(self.handle.clone()) })
    }

    fn emptied(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            while self.lives.load(Ordering::Relaxed) {
                // A target that does not answer may still run it; it is asked again.
                let left = kill::look(&*self.link.carrier, (self.pid, &self.mark)).await;
                if left.is_ok_and(|left| left.is_empty()) {
                    self.lives.store(false, Ordering::Relaxed);
                    return;
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        })
    }

    fn resize(&self, size: Size) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            if !self.is_terminal {
                let what = "resize a program without a terminal";
                return Err(EnvError::Unsupported { backend: self.link.backend, what });
            }
            let near = self.near.resize(size).await;
            // A carrier may miss it, most of all right after the start; over there it cannot.
            let words = [self.pid.to_string(), size.rows.to_string(), size.columns.to_string()];
            let order = Order::script(RESIZE, &words.each_ref().map(String::as_str));
            match capture(&*self.link.carrier, order, RESIZING).await {
                Ok(told) if told.code == 0 => Ok(()),
                Ok(_) | Err(_) => near,
            }
        })
    }

    fn pids(&self) -> Vec<u32> {
        if self.lives.load(Ordering::Relaxed) { vec![self.pid] } else { Vec::new() }
    }
}
