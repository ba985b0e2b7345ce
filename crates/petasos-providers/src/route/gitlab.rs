//! GitLab's gateway takes a token that GitLab makes from a personal one, with headers that name
//! the account. The personal token goes to GitLab alone: without an exchange nothing is asked.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use petasos_contract::Secret;
use petasos_net::{Allowed, Credential, Follow, Method, Net, Request, Scheme, Scope, checked_url};
use serde_json::Value;

use super::Unroutable;
use crate::credential::now_ms;
use crate::credential::usable::fingerprint;
use crate::runtime::{Expiry, ProviderRuntime};

const TIMEOUT: Duration = Duration::from_secs(20);
const BYTES_MAX: usize = 256 * 1024;
/// Such a token lives for half an hour; it is made anew a little earlier.
const LIVES: Duration = Duration::from_mins(25);

/// The place of the exchange, and what was exchanged while it lives.
#[derive(Debug)]
pub(super) struct DirectAccess {
    url: String,
    scope: Scope,
    held: Mutex<HashMap<String, Exchanged>>,
}

#[derive(Debug, Clone)]
struct Exchanged {
    token: Secret,
    headers: Vec<(String, String)>,
    until_ms: u64,
}

impl Default for DirectAccess {
    fn default() -> Self {
        Self::at(
            "https://gitlab.com/api/v4/ai/third_party_agents/direct_access",
            Scope::new([Allowed::from_pattern("gitlab.com")]),
        )
    }
}

impl DirectAccess {
    pub(super) fn at(url: &str, scope: Scope) -> Self {
        Self { url: url.to_owned(), scope, held: Mutex::default() }
    }

    /// The runtime with the exchanged token and its headers.
    pub(super) async fn exchanged(
        &self,
        runtime: ProviderRuntime,
        net: &Net,
    ) -> Result<ProviderRuntime, Unroutable> {
        let Some(personal) = &runtime.credential else { return Ok(runtime) };
        let mark = fingerprint(&personal.secret);
        let held = self.held().get(&mark).filter(|held| now_ms() < held.until_ms).cloned();
        let exchanged = if let Some(held) = held {
            held
        } else {
            let made = self.ask(&personal.secret, net).await?;
            self.held().insert(mark, made.clone());
            made
        };
        let mut renewed = runtime.with_secret(exchanged.token, Some(exchanged.until_ms));
        if let Some(credential) = &mut renewed.credential {
            credential.scheme = Scheme::Bearer;
        }
        renewed.expiry =
            Some(Expiry { at_ms: Some(exchanged.until_ms), skew_ms: 0, refreshable: true });
        renewed.headers.extend(exchanged.headers);
        Ok(renewed)
    }

    /// Forgets every token, after one was refused.
    pub(super) fn forget(&self) {
        self.held().clear();
    }

    fn held(&self) -> std::sync::MutexGuard<'_, HashMap<String, Exchanged>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(&self, personal: &Secret, net: &Net) -> Result<Exchanged, Unroutable> {
        let url = checked_url(&self.url).map_err(|error| failed(&error.to_string()))?;
        let credential = Credential {
            owner: "gitlab".to_owned(),
            secret: personal.clone(),
            scope: self.scope.clone(),
            scheme: Scheme::Bearer,
        };
        let mut request = Request::new(Method::POST, url)
            .first_byte(TIMEOUT)
            .credential(Some(credential))
            .header("content-type", "application/json")
            .map_err(|error| failed(&error.to_string()))?
            .body("{}");
        request.follow = Follow::Nowhere;
        let reply = net.send(request).await.map_err(|error| failed(&error.to_string()))?;
        let status = reply.status;
        if !(200..300).contains(&status) {
            return Err(refused(status));
        }
        let body = reply.bytes(BYTES_MAX, TIMEOUT).await;
        let body = body.map_err(|error| failed(&error.to_string()))?;
        let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        read(&body).ok_or_else(|| failed("its answer holds no token"))
    }
}

fn read(body: &Value) -> Option<Exchanged> {
    let token = body.get("token")?.as_str().filter(|token| !token.is_empty())?;
    // What proves who we are is the token; a header of the answer must not replace it.
    let own = ["authorization", "x-api-key", "host", "content-length", "content-type"];
    let headers = body.get("headers").and_then(Value::as_object).into_iter().flatten();
    let headers = headers
        .filter(|(name, _)| !own.iter().any(|taken| name.eq_ignore_ascii_case(taken)))
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    let lives = u64::try_from(LIVES.as_millis()).unwrap_or(u64::MAX);
    Some(Exchanged {
        token: Secret::new(token),
        headers: headers.collect(),
        until_ms: now_ms().saturating_add(lives),
    })
}

fn failed(why: &str) -> Unroutable {
    Unroutable {
        provider: "gitlab".to_owned(),
        code: "gitlab_exchange_failed".to_owned(),
        message: format!("GitLab made no token for its gateway: {why}"),
    }
}

fn refused(status: u16) -> Unroutable {
    let advice = match status {
        401 => "the personal token is not accepted; make one with the scope `api`",
        403 | 404 => "this account has no GitLab Duo, or the token lacks the scope `api`",
        _ => "try again later",
    };
    failed(&format!("it answered {status}; {advice}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_of_the_answer_cannot_replace_the_token() {
        let body = json!({"token": "gw", "headers": {"X-Gitlab-Realm": "saas",
            "X-Api-Key": "theirs", "Authorization": "theirs"}});
        let read = read(&body).unwrap();
        assert_eq!(read.headers, [("X-Gitlab-Realm".to_owned(), "saas".to_owned())]);
        assert!(super::read(&json!({"token": ""})).is_none());
    }
}
