//! The sign that somebody writes: renewed while a turn works, silent while a person is asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use petasos_contract::wait::Owned;
use petasos_store::ChatKey;

use crate::account::Account;
use crate::gateway::Shared;

/// The sign that somebody writes.
pub(crate) struct Typing {
    pub(crate) paused: Arc<AtomicBool>,
    _task: Owned<()>,
}

impl Shared {
    /// Shows that somebody writes, until it is dropped.
    pub(crate) fn typing(&self, key: &ChatKey) -> Option<Typing> {
        const CALL: Duration = Duration::from_millis(1500);
        const COOL: Duration = Duration::from_secs(30);
        let lane = key.lane();
        let account: Arc<Account> = self.account(&lane)?;
        let every = account.def.typing?;
        let paused = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&paused);
        let task = Owned::start(async move {
            loop {
                let mut pause = every;
                if !told.load(Ordering::Acquire) {
                    let call = tokio::time::timeout(CALL, account.platform.typing(&lane)).await;
                    if !matches!(call, Ok(Ok(()))) {
                        pause = COOL;
                    }
                }
                tokio::time::sleep(pause).await;
            }
        });
        Some(Typing { paused, _task: task })
    }
}
