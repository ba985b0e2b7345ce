//! Skills that nobody uses are put away by themselves, when it is time and nothing else went on.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_contract::wait::Owned;
use petasos_skills::{Library, curator};
use petasos_sqlite::FILE_NAME;
use tracing::{info, warn};

use crate::host::Host;

/// Begins it, if it is due; it ends with whoever holds it, and goes on another time.
pub(crate) fn start(host: &Arc<Host>) -> Option<Owned<()>> {
    let now = SystemTime::now();
    let store = host.settings().home().join(FILE_NAME);
    let changed = std::fs::metadata(store).and_then(|found| found.modified());
    // A home without conversations has nothing to keep up.
    let idle = changed.ok().and_then(|at| now.duration_since(at).ok()).unwrap_or(Duration::ZERO);
    if !curator::is_due(host.settings(), idle, now) {
        return None;
    }
    let library = Library::of(host.ports());
    let cx = host.call_context(Surface::Cli, SessionId::new("curator"));
    Some(Owned::start(async move {
        let running = tokio::task::spawn_blocking(move || curator::run(&library, &cx, now));
        match running.await {
            Ok(Ok(report)) if report.steps.is_empty() => {}
            Ok(Ok(report)) => info!(steps = report.steps.len(), "skills were kept up"),
            Ok(Err(error)) => warn!(%error, "skills were not kept up"),
            Err(error) => warn!(%error, "skills were not kept up"),
        }
    }))
}
