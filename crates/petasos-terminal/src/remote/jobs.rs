//! Jobs in a target: they run on their own, write to a log there, and are followed from here.
//!
//! One long start follows the log, so that nothing polls through the carrier. When the way
//! breaks, or this program ends, the job goes on and is followed again by its handle.

use std::time::Duration;

use petasos_contract::BoxFuture;
use petasos_contract::environment::{EnvError, Input};
use serde::{Deserialize, Serialize};

use super::control::Link;
use super::{Order, capture};

/// How long typed text may wait for a program that does not read.
const TYPING_PATIENCE: Duration = Duration::from_mins(10);

/// The text of a handle.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Handle {
    pub(super) target: String,
    pub(super) folder: String,
    pub(super) mark: String,
    pub(super) pid: u32,
    pub(super) started: u64,
}

/// Types to a job.
pub(super) struct JobInput {
    pub(super) link: Link,
    pub(super) folder: String,
    pub(super) pid: u32,
}

impl JobInput {
    async fn script(&self, text: &str, argument: &str, stdin: &[u8]) -> Result<(), EnvError> {
        let order = Order { stdin: stdin.to_vec(), ..Order::script(text, &[argument]) };
        let done = capture(&*self.link.carrier, order, TYPING_PATIENCE).await?;
        if done.code == 0 {
            return Ok(());
        }
        let why = format!("it takes no more input: {}", done.errors);
        Err(EnvError::Lost { target: self.link.target.to_string(), why })
    }
}

impl Input for JobInput {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>> {
        let write = "[ -p \"$1\" ] && cat >\"$1\"";
        Box::pin(async move { self.script(write, &format!("{}/in", self.folder), bytes).await })
    }

    fn close(&mut self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move { self.script("kill -USR1 \"$1\"", &self.pid.to_string(), &[]).await })
    }
}
