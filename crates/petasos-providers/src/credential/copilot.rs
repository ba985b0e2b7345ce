//! GitHub Copilot: a GitHub token is exchanged for one that the API accepts, and the answer says
//! where the API is.

use std::time::Duration;

use petasos_contract::Secret;
use petasos_net::origin::is_below;
use petasos_net::{Allowed, Credential, Method, Net, Request, Scheme, Scope, checked_url};
use serde_json::{Value, json};

use crate::credential::login::{Login, moment};
use crate::credential::refresh::RefreshError;
use crate::credential::store::{StoreError, update};
use crate::credential::usable::fingerprint;
use crate::credential::{Vault, now_ms};

/// Where tokens are exchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The address.
    pub url: String,
    /// Where the GitHub token may go.
    pub scope: Scope,
}

impl Default for Exchange {
    fn default() -> Self {
        Self {
            url: "https://api.github.com/copilot_internal/v2/token".to_owned(),
            scope: Scope::new([Allowed::from_pattern("api.github.com")]),
        }
    }
}

impl Exchange {
    /// Exchanges a GitHub token.
    pub async fn ask(&self, github: &Secret, net: &Net) -> Result<Login, RefreshError> {
        let passing =
            |reason: String| RefreshError::Passing { provider: "copilot".to_owned(), reason };
        let url = checked_url(&self.url).map_err(|error| passing(error.to_string()))?;
        let credential = Credential {
            owner: "copilot".to_owned(),
            secret: github.clone(),
            scope: self.scope.clone(),
            scheme: Scheme::Token,
        };
        let timeout = Duration::from_secs(20);
        let request =
            Request::new(Method::GET, url).first_byte(timeout).credential(Some(credential));
        let request = request
            .header("user-agent", "GitHubCopilotChat/0.26.7")
            .and_then(|request| request.header("editor-version", "vscode/1.104.1"))
            .and_then(|request| request.header("accept", "application/json"))
            .map_err(|error| passing(error.to_string()))?;
        let reply = net.send(request).await.map_err(|error| passing(error.to_string()))?;
        let status = reply.status;
        let body =
            reply.bytes(1 << 20, timeout).await.map_err(|error| passing(error.to_string()))?;
        let body = super::refresh::judge(
            "copilot",
            status,
            serde_json::from_slice(&body).unwrap_or(Value::Null),
        )?;
        login(&body).ok_or_else(|| passing("its answer holds no token".to_owned()))
    }
}

fn login(body: &Value) -> Option<Login> {
    let token = body.get("token")?.as_str()?;
    let stated = body.get("endpoints").and_then(|endpoints| endpoints.get("api")?.as_str());
    let hinted = token.split(';').find_map(|part| part.strip_prefix("proxy-ep="));
    let hinted = hinted.map(|host| format!("https://{}", host.replacen("proxy.", "api.", 1)));
    let base_url = stated.map(str::to_owned).or(hinted).filter(|text| is_copilot(text));
    Some(Login {
        access: Some(Secret::new(token)),
        expires_at_ms: body
            .get("expires_at")
            .and_then(moment)
            .or_else(|| Some(now_ms() + 1_500_000)),
        base_url,
        ..Login::default()
    })
}

/// Whether the answer leads to one of Copilot's own hosts; any other is passed over.
fn is_copilot(text: &str) -> bool {
    let Ok(url) = checked_url(text) else { return false };
    url.scheme() == "https" && url.domain().is_some_and(|host| is_below(host, "githubcopilot.com"))
}

/// Keeps an exchanged token, with a stamp of the token it was made from.
pub async fn keep(vault: &Vault, github: &Secret, login: &Login) -> Result<(), StoreError> {
    let stamp = fingerprint(github);
    update(vault.home(), |file| {
        file.set_login("copilot", login);
        file.set_detail("copilot", "exchanged_from", json!(stamp));
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_says_where_the_api_is_and_strangers_are_passed_over() {
        let base = |body: Value| login(&body).unwrap().base_url;
        let stated = json!({"token": "tid=1", "endpoints": {"api": "https://api.business.githubcopilot.com"}});
        assert_eq!(base(stated).as_deref(), Some("https://api.business.githubcopilot.com"));
        let hinted = json!({"token": "tid=1;proxy-ep=proxy.individual.githubcopilot.com;x=1"});
        assert_eq!(base(hinted).as_deref(), Some("https://api.individual.githubcopilot.com"));
        let stranger =
            json!({"token": "tid=1", "endpoints": {"api": "https://githubcopilot.com.evil.test"}});
        assert_eq!(base(stranger), None);
    }
}
