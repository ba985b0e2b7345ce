//! The program is told to end.

use petasos_contract::wait::Owned;
use tokio_util::sync::CancellationToken;

use crate::report::Report;

/// Cancelled when the program is told to end; nobody listens any more once the task is dropped.
pub(crate) fn stop() -> Result<(CancellationToken, Owned<()>), Report> {
    use tokio::signal::unix::{SignalKind, signal};
    let stop = CancellationToken::new();
    let told = stop.clone();
    let (mut term, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let watch = Owned::start(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = interrupt.recv() => {}
        }
        told.cancel();
    });
    Ok((stop, watch))
}
