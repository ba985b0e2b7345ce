//! Ending what runs in a target: by a second start there, verified.

use std::time::Duration;

use petasos_contract::environment::EnvError;

use super::boot::KILL;
use super::{Carrier, Order, capture};

/// How long a target may take beyond the grace.
const PATIENCE: Duration = Duration::from_secs(20);

/// TERM, grace, KILL for everything with this mark; comes back when nothing is left.
pub(super) async fn kill(
    carrier: &dyn Carrier,
    target: &str,
    (pid, mark): (Option<u32>, &str),
    grace: Duration,
) -> Result<(), EnvError> {
    let twentieths = grace.as_millis().div_ceil(50).to_string();
    // Where there is no number, a word stands that no process has.
    let pid = pid.map_or_else(|| "none".to_owned(), |pid| pid.to_string());
    let order = Order::script(KILL, &[&pid, mark, &twentieths]);
    let lost = |why: String| EnvError::Lost {
        target: target.to_owned(),
        why: format!("process {pid} may still run there: {why}"),
    };
    let done = capture(carrier, order, PATIENCE + grace).await;
    match done {
        Ok(done) if done.code == 0 => Ok(()),
        Ok(done) => Err(lost(if done.errors.is_empty() {
            "it did not end when it was killed".to_owned()
        } else {
            done.errors
        })),
        Err(error) => Err(lost(error.to_string())),
    }
}

/// The processes with this mark.
pub(super) async fn look(
    carrier: &dyn Carrier,
    (pid, mark): (u32, &str),
) -> Result<Vec<u32>, EnvError> {
    let order = Order::script(KILL, &[&pid.to_string(), mark, "look"]);
    let done = capture(carrier, order, PATIENCE).await?;
    let text = String::from_utf8_lossy(&done.output).into_owned();
    Ok(text.split_whitespace().filter_map(|word| word.parse().ok()).collect())
}
