//! Old conversations go by themselves, where that is wished: beside a chat or a run, once a day.

use std::time::Duration;

use petasos_contract::Settings;
use petasos_contract::wait::Owned;
use petasos_sqlite::{FILE_NAME, OpenOptions, Store};
use petasos_store::StoreError;
use serde_json::Value;
use tracing::{info, warn};

use crate::host::Host;

/// How long conversations are kept where nobody says otherwise.
const DAYS: u64 = 90;

/// How many days a conversation is kept.
pub(crate) fn retention_days(settings: &Settings) -> u64 {
    settings.get("sessions.retention_days").and_then(Value::as_u64).unwrap_or(DAYS)
}

/// Begins it, if it is configured; it ends with whoever holds it, and goes on another time.
pub(crate) fn start(host: &Host) -> Option<Owned<()>> {
    let settings = host.settings();
    let flag = |key: &str| settings.get(key).and_then(Value::as_bool);
    if flag("sessions.auto_prune") != Some(true) {
        return None;
    }
    let age = Duration::from_hours(retention_days(settings).saturating_mul(24));
    let compact = flag("sessions.vacuum_after_prune").unwrap_or(true);
    let file = settings.home().join(FILE_NAME);
    Some(Owned::start(async move {
        let options = OpenOptions::new(file);
        match prune(&options, age, compact).await {
            Ok(0) => {}
            Ok(removed) => info!(removed, "old conversations were removed"),
            Err(error) => warn!(%error, "old conversations were not removed"),
        }
    }))
}

async fn prune(options: &OpenOptions, age: Duration, compact: bool) -> Result<usize, StoreError> {
    let store = Store::open(options)?;
    let Some(pruned) = store.prune_daily(age).await? else { return Ok(0) };
    if compact && !pruned.removed.is_empty() {
        store.compact().await?;
    }
    Ok(pruned.removed.len())
}
