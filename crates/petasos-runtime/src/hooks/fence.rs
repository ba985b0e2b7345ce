//! The fence around one hook: a deadline, and a panic that stays its own.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures::FutureExt;
use petasos_contract::hook::{Directive, Hook, HookError, Moment};
use petasos_contract::wait;

/// The longest that any hook may ask for.
pub const HOOK_DEADLINE: Duration = Duration::from_mins(5);

pub(super) async fn fenced(hook: &dyn Hook, moment: &Moment<'_>) -> Result<Directive, HookError> {
    let limit = hook.deadline(moment.kind()).min(HOOK_DEADLINE);
    let deadline = Instant::now() + limit;
    let fire = AssertUnwindSafe(async { hook.fire(moment).await }).catch_unwind();
    match wait::until(deadline, "a hook", fire).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(HookError("it panicked".to_owned())),
        Err(_) => Err(HookError(format!("it did not answer within {} s", limit.as_secs_f64()))),
    }
}
