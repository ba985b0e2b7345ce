//! The public catalogue of models, models.dev: a copy in the home, renewed when it is old.
//!
//! Asked only about a model of a known vendor that neither the vendor's list nor the embedded
//! table describes. Without a copy and without a way out, nothing is known and nothing fails.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use petasos_contract::Settings;
use petasos_net::Method;
use petasos_net::client::{Net, Request};
use serde_json::Value;
use url::Url;

use super::{ModelFact, Price};

/// Where the copy is, below the home; older homes have one under the same name.
const FILE: &str = "models_dev_cache.json";
const ADDRESS: &str = "https://models.dev/api.json";
const FRESH: Duration = Duration::from_hours(1);
const BYTES_MAX: usize = 32 * 1024 * 1024;

/// What the catalogue says of a vendor's model.
pub(crate) async fn find(
    net: &Net,
    settings: &Settings,
    vendor: &str,
    model: &str,
    within: Duration,
) -> Option<ModelFact> {
    if settings.get("models_dev.enabled").and_then(Value::as_bool) == Some(false) {
        return None;
    }
    let file = settings.home().join(FILE);
    if !is_fresh(&file)
        && let Some(body) = download(net, settings, within).await
    {
        // The copy is for the next process; this one has the text.
        if let Err(error) = petasos_fs::write(&file, &body, petasos_fs::Mode::Exactly(0o600)) {
            tracing::debug!(%error, "the catalogue of models was not kept");
        }
        return read(&body, vendor, model);
    }
    read(&fs::read(&file).ok()?, vendor, model)
}

fn is_fresh(file: &Path) -> bool {
    let changed = fs::metadata(file).and_then(|known| known.modified());
    let age = changed.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
    age.is_ok_and(|age| age < FRESH)
}

async fn download(net: &Net, settings: &Settings, within: Duration) -> Option<Vec<u8>> {
    let address = settings.text("models_dev.url").filter(|text| !text.is_empty());
    let url = Url::parse(address.unwrap_or(ADDRESS)).ok()?;
    let reply = net.send(Request::new(Method::GET, url).first_byte(within)).await;
    let reply = reply.ok().filter(|reply| reply.status == 200)?;
    let body = reply.bytes(BYTES_MAX, within).await.ok()?;
    // What is no catalogue must not replace one.
    let parsed: Value = serde_json::from_slice(&body).ok()?;
    parsed.as_object().filter(|vendors| !vendors.is_empty())?;
    Some(body.to_vec())
}

fn read(catalogue: &[u8], vendor: &str, model: &str) -> Option<ModelFact> {
    let catalogue: Value = serde_json::from_slice(catalogue).ok()?;
    let entry = catalogue.get(vendor)?.get("models")?.get(model)?;
    let cost = |name: &str| entry.get("cost")?.get(name)?.as_f64().filter(|usd| *usd >= 0.0);
    let price = || {
        Some(Price {
            input: cost("input")?,
            output: cost("output")?,
            cache_read: cost("cache_read"),
            cache_write: cost("cache_write"),
        })
    };
    Some(ModelFact {
        context_length: entry.pointer("/limit/context")?.as_u64().filter(|length| *length > 0),
        price: price(),
        at_ms: 0,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_model_is_read_with_its_prices_a_stranger_is_not() {
        let text = json!({"groq": {"models": {"kimi": {"limit": {"context": 131_072},
            "cost": {"input": 1.0, "output": 3.0, "cache_read": 0.5}}}}});
        let bytes = text.to_string();
        let fact = read(bytes.as_bytes(), "groq", "kimi").unwrap();
        assert_eq!(fact.context_length, Some(131_072));
        let price = fact.price.unwrap();
        assert_eq!((price.input, price.cache_read, price.cache_write), (1.0, Some(0.5), None));
        assert_eq!(read(bytes.as_bytes(), "groq", "nobody"), None);
        assert_eq!(read(b"<html>", "groq", "kimi"), None);
    }
}
