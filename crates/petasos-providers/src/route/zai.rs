//! The endpoint of a Z.AI key, found out before its first question and never while resolving.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use petasos_contract::Settings;
use petasos_net::client::Net;

use crate::credential::usable::fingerprint;
use crate::credential::{Vault, zai};
use crate::runtime::ProviderRuntime;

/// The endpoints, and the keys that were tried at all of them.
#[derive(Debug)]
pub(super) struct Endpoints {
    places: [String; 4],
    tried: Mutex<HashSet<String>>,
}

impl Default for Endpoints {
    fn default() -> Self {
        Self { places: zai::ENDPOINTS.map(str::to_owned), tried: Mutex::default() }
    }
}

impl Endpoints {
    pub(super) fn at(places: [String; 4]) -> Self {
        Self { places, ..Self::default() }
    }

    /// The runtime at the endpoint that serves its key. Only the usual endpoint is questioned: any
    /// other was chosen, or found before.
    pub(super) async fn settled(
        &self,
        runtime: ProviderRuntime,
        settings: &Settings,
        net: &Net,
    ) -> ProviderRuntime {
        let [usual, ..] = &self.places;
        if runtime.provider != "zai" || runtime.base_url.as_str() != usual {
            return runtime;
        }
        let vault = Vault::of(settings);
        let Some(key) = &runtime.credential else { return runtime };
        if chosen(settings) || self.is_known(&vault, &fingerprint(&key.secret)) {
            return runtime;
        }
        let model = runtime.model.as_deref().unwrap_or("glm-4.5-flash");
        let Some(found) = zai::detect(&self.places, key, model, net).await else { return runtime };
        if let Err(error) = zai::keep(&vault, key, &found).await {
            tracing::warn!(%error, "the endpoint of a key was not kept");
        }
        ProviderRuntime { base_url: found, ..runtime }
    }

    /// Whether this key was asked about before, by this process or as the store tells.
    fn is_known(&self, vault: &Vault, mark: &str) -> bool {
        let stored = crate::credential::store::AuthFile::read(vault.home()).ok();
        let stored = stored.as_ref().and_then(|file| file.provider("zai"));
        let hash = stored.and_then(|zai| zai.get("detected_endpoint")?.get("key_hash")?.as_str());
        let kept = hash.is_some_and(|hash| mark.strip_prefix("sha256:") == Some(hash));
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        kept || !tried.insert(mark.to_owned())
    }
}

/// Whether the user named the endpoint, even if it is the usual one.
fn chosen(settings: &Settings) -> bool {
    let saved = settings.text("model.base_url").is_some();
    saved || settings.variable("GLM_BASE_URL").is_some()
}
