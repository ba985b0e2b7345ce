//! Which of Z.AI's four endpoints a key belongs to: two countries, each with a coding plan.
//!
//! Keys do not show it, so each endpoint is asked for one token, once per key, before the first
//! question. The answer is kept in the auth store; the resolver only reads it.

use std::time::Duration;

use petasos_net::{Credential, Follow, Method, Net, Request, checked_url};
use serde_json::json;

use crate::credential::Vault;
use crate::credential::store::{StoreError, update};
use crate::credential::usable::fingerprint;
use crate::runtime::BaseUrl;

const WITHIN: Duration = Duration::from_secs(8);

/// The endpoints, in the order of preference.
pub const ENDPOINTS: [&str; 4] = [
    "https://api.z.ai/api/paas/v4",
    "https://open.bigmodel.cn/api/paas/v4",
    "https://api.z.ai/api/coding/paas/v4",
    "https://open.bigmodel.cn/api/coding/paas/v4",
];

/// The first of the endpoints that serves a key; all are asked at once.
pub async fn detect(
    endpoints: &[String; 4],
    key: &Credential,
    model: &str,
    net: &Net,
) -> Option<BaseUrl> {
    let [a, b, c, d] = endpoints.each_ref().map(|url| serves(url, key, model, net));
    let (a, b, c, d) = tokio::join!(a, b, c, d);
    [a, b, c, d].into_iter().flatten().next()
}

async fn serves(endpoint: &str, key: &Credential, model: &str, net: &Net) -> Option<BaseUrl> {
    let base = BaseUrl::parse(endpoint).ok()?;
    let url = checked_url(&format!("{base}/chat/completions")).ok()?;
    let messages = json!([{"role": "user", "content": "ping"}]);
    let body = json!({"model": model, "max_tokens": 1, "messages": messages});
    let mut request = Request::new(Method::POST, url)
        .credential(Some(key.clone()))
        .first_byte(WITHIN)
        .header("content-type", "application/json")
        .ok()?
        .body(body.to_string());
    request.follow = Follow::Nowhere;
    match net.send(request).await {
        Ok(reply) if reply.status == 200 => Some(base),
        Ok(reply) => {
            tracing::debug!(endpoint, status = reply.status, "the key is not for this endpoint");
            None
        }
        Err(error) => {
            tracing::debug!(endpoint, %error, "the endpoint was not reached");
            None
        }
    }
}

/// Keeps the answer for a key.
pub async fn keep(vault: &Vault, key: &Credential, found: &BaseUrl) -> Result<(), StoreError> {
    let mark = fingerprint(&key.secret);
    let hash = mark.strip_prefix("sha256:").unwrap_or(&mark);
    let detail = json!({"base_url": found.as_str(), "key_hash": hash});
    update(vault.home(), |file| file.set_detail("zai", "detected_endpoint", detail)).await.map(drop)
}
