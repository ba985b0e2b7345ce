//! Runs one small script in the target and takes all it says.

use std::time::{Duration, Instant};

use petasos_contract::environment::{EnvError, Process, Step};
use petasos_contract::wait;

use super::{Carrier, Order};

/// What a script said and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// Its output.
    pub output: Vec<u8>,
    /// Its error output, as text.
    pub errors: String,
    /// Its exit code.
    pub code: i32,
}

/// Runs a script to its end. A target that says nothing for so long is lost.
pub async fn capture(
    carrier: &dyn Carrier,
    order: Order,
    patience: Duration,
) -> Result<Captured, EnvError> {
    collect(carrier.start(order).await?, patience).await
}

/// Takes all that a started program says until its end.
pub(crate) async fn collect(
    mut process: Box<dyn Process>,
    patience: Duration,
) -> Result<Captured, EnvError> {
    let mut captured = Captured::default();
    let mut errors = Vec::new();
    let (mut bytes, mut code, mut closed) = (Vec::new(), None, false);
    while code.is_none() || !closed {
        bytes.clear();
        // After the end only what is under way is waited for.
        let limit = if code.is_some() { Duration::from_secs(5) } else { patience };
        let next = process.next(&mut bytes);
        match wait::until(Instant::now() + limit, "an answer of the target", next).await {
            Ok(Ok(Step::Output)) => captured.output.append(&mut bytes),
            Ok(Ok(Step::Errors)) => errors.append(&mut bytes),
            Ok(Ok(Step::Closed)) => closed = true,
            Ok(Ok(Step::Exited(exit))) => code = Some(exit.ending.code()),
            Ok(Err(error)) => return Err(error),
            Err(_) if code.is_some() => break,
            Err(error) => {
                let target = "remote".to_owned();
                return Err(EnvError::Lost { target, why: error.to_string() });
            }
        }
    }
    captured.code = code.unwrap_or(-1);
    captured.errors = String::from_utf8_lossy(&errors).trim().to_owned();
    Ok(captured)
}
