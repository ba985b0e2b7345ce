//! Logging in by sending the browser away and back, with a proof that only this process knows.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use petasos_contract::Secret;
use petasos_net::{Allowed, Net, Scope};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{ANTHROPIC_CLIENT, Body, LoginError, post_to, unexpected};
use crate::credential::login::Login;
use crate::credential::now_ms;
use crate::credential::refresh::merged;

/// A login through the browser, with a proof that only this process knows.
#[derive(Debug, Clone)]
pub struct Pkce {
    /// The page to open.
    pub authorize_url: String,
    token_url: String,
    client_id: String,
    redirect: String,
    verifier: Secret,
    state: String,
    hosts: Scope,
}

/// What a browser login needs to know of its service.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    /// The page that people agree on.
    pub(crate) authorize_url: String,
    /// Where the code is exchanged.
    pub(crate) token_url: String,
    /// Who we say we are.
    pub(crate) client_id: String,
    /// Where the browser is sent back to.
    pub(crate) redirect: &'a str,
    /// What we ask for.
    pub(crate) scope: String,
}

/// Random bytes could not be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random numbers")]
pub struct NoEntropy;

impl Pkce {
    /// The browser login of Anthropic: the person pastes the code that the last page shows.
    pub fn anthropic() -> Result<Self, NoEntropy> {
        let flow = Self {
            authorize_url: String::new(),
            token_url: "https://console.anthropic.com/v1/oauth/token".to_owned(),
            client_id: ANTHROPIC_CLIENT.to_owned(),
            redirect: "https://console.anthropic.com/oauth/code/callback".to_owned(),
            verifier: Secret::new(random_text()?),
            state: random_text()?,
            hosts: Scope::new([Allowed::from_pattern("console.anthropic.com")]),
        };
        let scope = "org:create_api_key user:profile user:inference";
        let authorize_url = flow.page("https://claude.ai/oauth/authorize", scope);
        Ok(Self { authorize_url, ..flow })
    }

    fn page(&self, at: &str, scope: &str) -> String {
        let digest = Sha256::digest(self.verifier.expose().as_bytes());
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("code", "true").append_pair("client_id", &self.client_id);
        query.append_pair("response_type", "code").append_pair("redirect_uri", &self.redirect);
        query.append_pair("scope", scope).append_pair("state", &self.state);
        query.append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(digest));
        query.append_pair("code_challenge_method", "S256");
        format!("{at}?{}", query.finish())
    }

    /// A browser login that ends at an address with the code in it.
    pub(crate) fn by_address(page: &Page<'_>, hosts: Scope) -> Result<Self, NoEntropy> {
        let flow = Self {
            authorize_url: String::new(),
            token_url: page.token_url.clone(),
            client_id: page.client_id.clone(),
            redirect: page.redirect.to_owned(),
            verifier: Secret::new(random_text()?),
            state: random_text()?,
            hosts,
        };
        Ok(Self { authorize_url: flow.page(&page.authorize_url, &page.scope), ..flow })
    }

    /// Exchanges a code in the standard's own form.
    pub(crate) async fn exchange(
        &self,
        code: &str,
        state: &str,
        net: &Net,
    ) -> Result<Login, LoginError> {
        if state != self.state {
            return Err(LoginError::WrongState);
        }
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", self.redirect.as_str()),
            ("client_id", self.client_id.as_str()),
            ("code_verifier", self.verifier.expose()),
        ];
        let (status, reply) =
            post_to(&self.hosts, &self.token_url, Body::Form(&fields), net).await?;
        let login = merged(&Login::default(), &reply, now_ms());
        login.ok_or_else(|| unexpected(&self.token_url, format!("status {status} without a token")))
    }

    /// Exchanges what the person pasted, `code#state` or the code alone.
    pub async fn finish(&self, pasted: &str, net: &Net) -> Result<Login, LoginError> {
        let (code, state) = pasted.trim().split_once('#').unwrap_or((pasted.trim(), &self.state));
        if state != self.state {
            return Err(LoginError::WrongState);
        }
        let body = json!({"grant_type": "authorization_code", "code": code, "state": state,
            "client_id": self.client_id, "redirect_uri": self.redirect,
            "code_verifier": self.verifier.expose()});
        let (status, reply) = post_to(&self.hosts, &self.token_url, Body::Json(body), net).await?;
        let login = merged(&Login::default(), &reply, now_ms());
        login.ok_or_else(|| unexpected(&self.token_url, format!("status {status} without a token")))
    }
}

pub(super) fn random_text() -> Result<String, NoEntropy> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|_| NoEntropy)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
