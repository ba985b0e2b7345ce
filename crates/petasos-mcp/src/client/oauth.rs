//! Signing in to a server: OAuth 2.1 with discovery, registration, PKCE and refresh.
//!
//! The SDK speaks the protocol over our network (`wire`) and keeps its tokens in our files
//! (`keep`), where a refresh holds a lock that every process sees. `callback` waits for the answer
//! of a browser on this machine; `legacy` finds the sign-in of servers of the first specification.

mod callback;
mod keep;
mod legacy;
mod wire;

use std::sync::Arc;

use petasos_contract::BoxFuture;
use petasos_net::{Origin, Url};
use rmcp::transport::auth::{AuthorizationMetadata, OAuthClientConfig};
use rmcp::transport::{
    AuthClient, AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
    CredentialStore as _,
};

pub use callback::Callback;
pub use keep::Kept;

use super::http::{NetHttp, parameter};
use super::shared::Around;
use super::spec::{Launch, OauthSpec, ServerSpec};
use super::state::Fault;
use keep::Registered;
use wire::OverNet;

/// Takes a person to a sign-in page and brings back the address that it ended at.
pub trait Browser: Send + Sync {
    /// Visits the link; gives the redirect with its code.
    fn visit<'a>(&'a self, link: &'a str) -> BoxFuture<'a, Result<String, String>>;
}

/// A sign-in that did not come about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// Only servers at an address have a sign-in.
    #[error("`{0}` is a program on this machine and has no sign-in")]
    Local(String),
    /// The server's side failed.
    #[error("the sign-in at `{server}` failed: {why}")]
    Failed {
        /// The server.
        server: String,
        /// What happened.
        why: String,
    },
    /// The person's side did.
    #[error("the sign-in was not completed: {0}")]
    Unfinished(String),
}

/// The tokens of a server.
pub fn kept(spec: &ServerSpec, around: &Around) -> Kept {
    Kept::new(around.settings.home(), &spec.name)
}

fn oauth_of(spec: &ServerSpec) -> Option<(&Url, OauthSpec)> {
    match &spec.launch {
        Launch::Http { url, oauth, .. } => Some((url, oauth.clone().unwrap_or_default())),
        Launch::Stdio { .. } => None,
    }
}

fn wire(spec: &ServerSpec, around: &Around) -> OverNet {
    let (tls, identity) = match &spec.launch {
        Launch::Http { url, tls, identity, .. } => {
            (tls.clone(), identity.clone().map(|identity| (identity, Origin::of(url))))
        }
        Launch::Stdio { .. } => (petasos_net::Tls::default(), None),
    };
    OverNet { net: Arc::clone(&around.net), tls, identity }
}

async fn manager(spec: &ServerSpec, around: &Around) -> Result<AuthorizationManager, AuthError> {
    let (url, _) = oauth_of(spec).ok_or(AuthError::NoAuthorizationSupport)?;
    let wire = Arc::new(wire(spec, around));
    let mut manager = AuthorizationManager::new_with_oauth_http_client(url.as_str(), wire).await?;
    manager.set_credential_store(kept(spec, around));
    Ok(manager)
}

/// What the SDK found, or failed to find; a server of the first specification is asked the old way.
async fn or_legacy(
    found: Result<AuthorizationMetadata, AuthError>,
    spec: &ServerSpec,
    around: &Around,
) -> Result<AuthorizationMetadata, AuthError> {
    match (found, oauth_of(spec)) {
        (Err(AuthError::AuthorizationServerMismatch { received_issuer, .. }), Some((url, _))) => {
            legacy::metadata(url, received_issuer, &wire(spec, around)).await
        }
        (found, _) => found,
    }
}

/// The way out with whatever tokens are kept; without any, the server's challenge tells.
pub(super) async fn client(
    spec: ServerSpec,
    around: Around,
    http: NetHttp,
) -> Result<AuthClient<NetHttp>, Fault> {
    let (spec, around) = (&spec, &around);
    let fault = |error: AuthError| match error {
        AuthError::AuthorizationRequired => Fault::Auth(String::new()),
        other => Fault::Passing(other.to_string()),
    };
    let mut manager = manager(spec, around).await.map_err(fault)?;
    let known = match manager.initialize_from_store().await {
        Err(mismatch @ AuthError::AuthorizationServerMismatch { .. }) => {
            let metadata = or_legacy(Err(mismatch), spec, around).await.map_err(fault)?;
            manager.set_metadata(metadata);
            manager.initialize_from_store().await
        }
        known => known,
    };
    let known = known.map_err(fault)?;
    if let Some(registered) = kept(spec, around).registered().filter(|_| known) {
        let config = registered.config(&redirect_of(spec));
        manager.configure_client(config).map_err(fault)?;
    }
    Ok(AuthClient::new(http, manager))
}

fn redirect_of(spec: &ServerSpec) -> String {
    let oauth = oauth_of(spec).map(|(_, oauth)| oauth).unwrap_or_default();
    let host = oauth.redirect_host.as_deref().unwrap_or("127.0.0.1");
    let port = oauth.redirect_port;
    oauth.redirect_uri.unwrap_or_else(|| format!("http://{host}:{port}/callback"))
}

/// How a sign-in is to go.
#[derive(Debug, Clone, Default)]
pub struct LoginOptions {
    /// What the server said when it asked for a sign-in.
    pub challenge: Option<String>,
    /// Where the answer arrives.
    pub redirect: String,
    /// A document about this client that servers may read instead of registering it.
    pub metadata_url: Option<String>,
}

/// Signs in: discovers, registers, sends the person to the page, and keeps the tokens.
pub async fn login(
    spec: &ServerSpec,
    around: &Around,
    options: &LoginOptions,
    browser: &dyn Browser,
) -> Result<(), LoginError> {
    let failed =
        |error: AuthError| LoginError::Failed { server: spec.name.clone(), why: error.to_string() };
    let (_, oauth) = oauth_of(spec).ok_or_else(|| LoginError::Local(spec.name.clone()))?;
    let mut manager = manager(spec, around).await.map_err(failed)?;
    let challenge = options.challenge.as_deref().filter(|challenge| !challenge.is_empty());
    let found = manager.resolve_metadata_from_challenge(challenge).await;
    let found = or_legacy(found.map(|found| found.metadata), spec, around).await.map_err(failed)?;
    let documents = found.additional_fields.get("client_id_metadata_document_supported");
    let by_document = options
        .metadata_url
        .as_ref()
        .filter(|_| documents.and_then(serde_json::Value::as_bool).unwrap_or(false));
    manager.set_metadata(found);
    let mut request = AuthorizationRequest::new(&options.redirect)
        .with_client_name(oauth.client_name.as_deref().unwrap_or("Petasos"));
    let scopes = scopes(spec, around, &oauth, challenge).await;
    request = match &scopes {
        Some(scopes) => request.with_scopes(scopes.clone()),
        None => request.with_initial_scope_selection(),
    };
    let kept = kept(spec, around);
    let client = match (&oauth.client_id, by_document) {
        (Some(id), _) => {
            Registered { client_id: id.clone(), client_secret: oauth.client_secret.clone() }
        }
        (None, Some(document)) => Registered { client_id: document.clone(), client_secret: None },
        (None, None) => {
            let wanted = match scopes {
                Some(scopes) => scopes,
                None => manager.select_initial_scopes(&[]).await,
            };
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            let name = oauth.client_name.as_deref().unwrap_or("Petasos");
            let config = manager.register_client(name, &options.redirect, &wanted).await;
            Registered::of(&config.map_err(failed)?)
        }
    };
    kept.register(&client).map_err(failed)?;
    request = request.with_preregistered_client(&client.client_id);
    if let Some(secret) = &client.client_secret {
        request = request.with_client_secret(secret);
    }
    let session =
        AuthorizationSession::new(manager, request).await.map_err(|(_, error)| failed(error))?;
    let ended = browser.visit(session.get_authorization_url()).await;
    let ended = ended.map_err(LoginError::Unfinished)?;
    session.handle_callback_url(&ended).await.map(drop).map_err(failed)
}

/// What to ask for: the configuration's word; when more is wanted than was granted, both together;
/// else what discovery says.
async fn scopes(
    spec: &ServerSpec,
    around: &Around,
    oauth: &OauthSpec,
    challenge: Option<&str>,
) -> Option<Vec<String>> {
    if let Some(scope) = &oauth.scope {
        return Some(scope.split_whitespace().map(str::to_owned).collect());
    }
    let challenge = challenge.filter(|challenge| challenge.contains("insufficient_scope"))?;
    let more = parameter(challenge, "scope")?;
    let granted = kept(spec, around).load().await.ok().flatten();
    let mut scopes = granted.map(|granted| granted.granted_scopes).unwrap_or_default();
    for scope in more.split_whitespace() {
        if !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    Some(scopes)
}

impl Registered {
    fn of(config: &OAuthClientConfig) -> Self {
        Self { client_id: config.client_id.clone(), client_secret: config.client_secret.clone() }
    }

    fn config(self, redirect: &str) -> OAuthClientConfig {
        let config = OAuthClientConfig::new(self.client_id, redirect);
        match self.client_secret {
            Some(secret) => config.with_client_secret(secret),
            None => config,
        }
    }
}

/// Signs in without a person: the client itself is the one that is let in.
pub async fn login_as_client(spec: &ServerSpec, around: &Around) -> Result<(), LoginError> {
    use rmcp::transport::ClientCredentialsConfig;
    let failed =
        |error: AuthError| LoginError::Failed { server: spec.name.clone(), why: error.to_string() };
    let (url, oauth) = oauth_of(spec).ok_or_else(|| LoginError::Local(spec.name.clone()))?;
    let resource = Some(url.to_string());
    let (Some(client_id), Some(client_secret)) = (oauth.client_id, oauth.client_secret) else {
        return Err(LoginError::Unfinished(
            "`oauth.client_id` and `oauth.client_secret` are needed".to_owned(),
        ));
    };
    let mut manager = manager(spec, around).await.map_err(failed)?;
    let found = manager.resolve_metadata().await.map_err(failed)?;
    manager.set_metadata(found.metadata);
    let scopes = oauth.scope.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    let config =
        ClientCredentialsConfig::ClientSecret { client_id, client_secret, scopes, resource };
    manager.validate_client_credentials_metadata(&config).map_err(failed)?;
    manager.configure_client_credentials(&config).map_err(failed)?;
    manager.exchange_client_credentials(&config).await.map(drop).map_err(failed)
}
