//! How the program is, for whoever may ask over HTTP: accounts, queues, what waits longest, the disk.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use petasos_gateway::Gateway;
use petasos_store::{DeliveryState, InboxStore as _, OutboxStore as _};
use serde_json::{Map, Value, json};

use crate::host::Host;

/// So many waiting messages are looked at for the oldest one.
const LOOKED_AT: u32 = 1000;

/// What is known; what cannot be read is absent.
pub(crate) async fn of(host: &Arc<Host>, gateway: Option<Arc<Gateway>>) -> Value {
    let mut told = Map::new();
    if let Some(gateway) = gateway {
        let account = |it: &Arc<petasos_gateway::Account>| {
            let (state, since_ms, reconnects) = it.state();
            json!({
                "account": it.name(), "state": state, "since_ms": since_ms,
                "reconnects": reconnects,
            })
        };
        told.insert("accounts".to_owned(), gateway.accounts().iter().map(account).collect());
    }
    if let Some(free) = free_mb(host) {
        told.insert("disk_free_mb".to_owned(), json!(free));
    }
    let Ok(store) = host.store() else { return Value::Object(told) };
    if let Ok(depths) = store.depths().await {
        let depths =
            depths.into_iter().map(|(state, count)| (state.as_str().to_owned(), count.into()));
        told.insert("inbox".to_owned(), Value::Object(depths.collect()));
    }
    if let Ok(depths) = store.delivery_depths().await {
        let depths =
            depths.into_iter().map(|(state, count)| (state.as_str().to_owned(), count.into()));
        told.insert("outbox".to_owned(), Value::Object(depths.collect()));
    }
    let waiting = [DeliveryState::Planned, DeliveryState::Sending, DeliveryState::Ambiguous];
    if let Ok(rows) = store.deliveries(&waiting, LOOKED_AT).await {
        let oldest = rows.iter().map(|row| row.created_ms).min();
        let age = oldest.map(|at| (now_ms() - at).max(0) / 1000);
        told.insert("oldest_undelivered_seconds".to_owned(), json!(age));
    }
    Value::Object(told)
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Room on the disk of the home, in megabytes.
fn free_mb(host: &Host) -> Option<u64> {
    let home = host.settings().home();
    let at = home.ancestors().find(|at| at.is_dir())?;
    let found = rustix::fs::statvfs(at).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize) >> 20)
}
