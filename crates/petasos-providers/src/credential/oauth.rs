//! Logging in: with a code on another device, or by sending the browser away and back.
//!
//! Nothing here talks to a person: it gives out what to show and takes what was typed. A login
//! replaces the one before it only when it has worked.

mod pkce;

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use petasos_contract::Secret;
use petasos_net::{Allowed, Follow, Method, Net, Request, Scope, Url, checked_url};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::credential::login::Login;
use crate::credential::now_ms;
use crate::credential::refresh::merged;

pub(crate) use self::pkce::Page;
use self::pkce::random_text;
pub use self::pkce::{NoEntropy, Pkce};

pub(crate) const ANTHROPIC_CLIENT: &str = "9d1c250a-e61b-44d9-88ed-5944d1962f5e";
pub(crate) const CODEX_CLIENT: &str = "app_EMoamEEZ73f0CkXaXp7hrann";
pub(crate) const XAI_CLIENT: &str = "b1a00492-073a-47ea-816f-4c329264a828";
pub(crate) const MINIMAX_CLIENT: &str = "78257093-7e40-4613-99e0-527b14b39113";
pub(crate) const NOUS_CLIENT: &str = "hermes-cli";
const COPILOT_CLIENT: &str = "Iv1.b507a08c87ecfe98";

const BYTES_MAX: usize = 1 << 20;
const STEP: Duration = Duration::from_secs(20);

/// Why a login did not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// This provider has no login.
    #[error("`{provider}` has no login; it takes a key")]
    NoLogin {
        /// The provider.
        provider: String,
    },
    /// The person said no.
    #[error("the login was refused on the other device")]
    Denied,
    /// Nobody answered in time.
    #[error("the code has expired; start the login again")]
    Expired,
    /// What was pasted belongs to another attempt.
    #[error("the code does not belong to this login; start again")]
    WrongState,
    /// The provider answered with something else.
    #[error("`{host}` did not answer as a login does: {reason}")]
    Unexpected {
        /// The host.
        host: String,
        /// What was wrong.
        reason: String,
    },
}

/// A login with a code on another device.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceFlow {
    /// Where the code comes from.
    pub code_url: String,
    /// Where the token comes from.
    pub token_url: String,
    /// Who we say we are.
    pub client_id: String,
    /// What we ask for.
    pub scope: String,
    /// Whose variant of the standard it is.
    pub variant: Variant,
    /// Where the codes may go.
    pub hosts: Scope,
}

/// Whose variant of the device login it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// As RFC 8628 says.
    Standard,
    /// MiniMax's: the code that the person types is also the one that is asked about, with a proof.
    MiniMax,
    /// ChatGPT's: JSON, 403 and 404 mean "not yet", and the answer is a code to exchange.
    Codex,
}

impl DeviceFlow {
    /// The device login of a provider.
    pub fn of(provider: &str) -> Option<Self> {
        let flow =
            |code_url: &str, token_url: &str, client_id: &str, scope: &str, hosts: &[&str]| Self {
                code_url: code_url.to_owned(),
                token_url: token_url.to_owned(),
                client_id: client_id.to_owned(),
                scope: scope.to_owned(),
                variant: Variant::Standard,
                hosts: Scope::new(hosts.iter().map(|host| Allowed::from_pattern(host))),
            };
        Some(match provider {
            "nous" => flow(
                "https://portal.nousresearch.com/api/oauth/device/code",
                "https://portal.nousresearch.com/api/oauth/token",
                NOUS_CLIENT,
                "inference:invoke",
                &["portal.nousresearch.com"],
            ),
            "copilot" => flow(
                "https://github.com/login/device/code",
                "https://github.com/login/oauth/access_token",
                COPILOT_CLIENT,
                "read:user",
                &["github.com"],
            ),
            "xai-oauth" => flow(
                "",
                "",
                XAI_CLIENT,
                "openid profile email offline_access grok-cli:access api:access",
                &["*.x.ai"],
            ),
            "minimax-oauth" => Self {
                variant: Variant::MiniMax,
                ..flow(
                    "https://api.minimax.io/oauth/code",
                    "https://api.minimax.io/oauth/token",
                    MINIMAX_CLIENT,
                    "group_id profile model.completion",
                    &["api.minimax.io"],
                )
            },
            "openai-codex" => Self {
                variant: Variant::Codex,
                ..flow(
                    "https://auth.openai.com/api/accounts/deviceauth/usercode",
                    "https://auth.openai.com/api/accounts/deviceauth/token",
                    CODEX_CLIENT,
                    "",
                    &["auth.openai.com"],
                )
            },
            _ => return None,
        })
    }
}

impl DeviceFlow {
    /// What is asked for, in words where there are some: shown before anybody is asked.
    pub fn asks(&self) -> Vec<(&str, Option<&'static str>)> {
        let words = |scope: &str| {
            Some(match scope {
                "openid" | "profile" | "read:user" => "see who you are",
                "email" => "see your mail address",
                "offline_access" => "stay signed in",
                "api:access" => "use the interface on your account",
                "grok-cli:access" => "use Grok on your account",
                "inference:invoke" | "model.completion" => "ask models on your account",
                "group_id" => "see which group you belong to",
                _ => return None,
            })
        };
        self.scope.split_whitespace().map(|scope| (scope, words(scope))).collect()
    }
}

/// Where a provider publishes its endpoints, for those that do.
pub(crate) const XAI_ISSUER: &str = "https://auth.x.ai";

/// The device login of a provider, with its endpoints looked up where they are published.
pub async fn open(provider: &str, net: &Net) -> Result<DeviceFlow, LoginError> {
    let flow = DeviceFlow::of(provider);
    let mut flow = flow.ok_or_else(|| LoginError::NoLogin { provider: provider.to_owned() })?;
    if flow.code_url.is_empty() {
        let found = discover(XAI_ISSUER, &flow.hosts, net).await?;
        let text = |name: &str| found.get(name).and_then(Value::as_str).map(str::to_owned);
        let missing = || unexpected(XAI_ISSUER, "it publishes no device login".to_owned());
        flow.code_url = text("device_authorization_endpoint").ok_or_else(missing)?;
        flow.token_url = text("token_endpoint").ok_or_else(missing)?;
    }
    Ok(flow)
}

/// What an issuer publishes about itself. Each endpoint is judged again before it is used.
pub(crate) async fn discover(issuer: &str, hosts: &Scope, net: &Net) -> Result<Value, LoginError> {
    let text = format!("{issuer}/.well-known/openid-configuration");
    let fault = |reason: String| unexpected(&text, reason);
    let url = checked_url(&text).map_err(|error| fault(error.to_string()))?;
    if !hosts.permits(&url) {
        return Err(fault("this login may not look there".to_owned()));
    }
    let reply = net.send(Request::new(Method::GET, url).first_byte(STEP)).await;
    let reply = reply.map_err(|error| fault(error.to_string()))?;
    let body = reply.bytes(BYTES_MAX, STEP).await.map_err(|error| fault(error.to_string()))?;
    serde_json::from_slice(&body).map_err(|error| fault(error.to_string()))
}

/// What a person must do, and what the program keeps meanwhile.
#[derive(Debug, Clone)]
pub struct DeviceCode {
    /// The page to open.
    pub verification_url: String,
    /// The code to type there.
    pub user_code: String,
    /// How often to ask.
    pub interval: Duration,
    /// When the code ends.
    pub deadline: Instant,
    secret: Secret,
}

/// Asks for a code.
pub async fn start(flow: &DeviceFlow, net: &Net) -> Result<DeviceCode, LoginError> {
    let fields = [("client_id", flow.client_id.as_str()), ("scope", flow.scope.as_str())];
    let verifier = random_text().map_err(|error| unexpected(&flow.code_url, error.to_string()))?;
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
    let proof = [
        ("response_type", "code"),
        ("client_id", flow.client_id.as_str()),
        ("scope", flow.scope.as_str()),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
        ("state", challenge.as_str()),
    ];
    let body = match flow.variant {
        Variant::Standard => Body::Form(&fields),
        Variant::MiniMax => Body::Form(&proof),
        Variant::Codex => Body::Json(json!({"client_id": flow.client_id})),
    };
    let (status, reply) = post(flow, &flow.code_url, body, net).await?;
    let text = |names: &[&str]| names.iter().find_map(|name| reply.get(*name)?.as_str());
    let number = |name: &str| {
        let value = reply.get(name)?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    };
    let device_code = match flow.variant {
        Variant::MiniMax => Some(verifier.as_str()),
        Variant::Standard | Variant::Codex => text(&["device_code", "device_auth_id"]),
    };
    let (Some(device_code), Some(user_code)) = (device_code, text(&["user_code", "usercode"]))
    else {
        return Err(unexpected(&flow.code_url, format!("status {status} without a code")));
    };
    let page = text(&["verification_uri_complete", "verification_uri", "verification_url"]);
    let least = if flow.variant == Variant::Codex { 3 } else { 1 };
    Ok(DeviceCode {
        verification_url: page.unwrap_or("https://auth.openai.com/codex/device").to_owned(),
        user_code: user_code.to_owned(),
        interval: Duration::from_secs(number("interval").unwrap_or(5).max(least)),
        deadline: Instant::now() + Duration::from_secs(number("expires_in").unwrap_or(900)),
        secret: Secret::new(device_code),
    })
}

/// What one question brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Polled {
    /// Not yet.
    Pending,
    /// Not yet, and ask less often.
    SlowDown,
    /// Done.
    Done(Box<Login>),
}

/// Asks whether the person is done, until they are or the code ends.
pub async fn finish(
    flow: &DeviceFlow,
    mut code: DeviceCode,
    net: &Net,
) -> Result<Login, LoginError> {
    loop {
        if Instant::now() + code.interval >= code.deadline {
            return Err(LoginError::Expired);
        }
        tokio::time::sleep(code.interval).await;
        match poll(flow, &code, net).await? {
            Polled::Pending => {}
            Polled::SlowDown => code.interval += Duration::from_secs(5),
            Polled::Done(login) => return Ok(*login),
        }
    }
}

/// Asks once.
pub async fn poll(flow: &DeviceFlow, code: &DeviceCode, net: &Net) -> Result<Polled, LoginError> {
    match flow.variant {
        Variant::Standard | Variant::MiniMax => poll_standard(flow, code, net).await,
        Variant::Codex => poll_codex(flow, code, net).await,
    }
}

async fn poll_standard(
    flow: &DeviceFlow,
    code: &DeviceCode,
    net: &Net,
) -> Result<Polled, LoginError> {
    let standard = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("device_code", code.secret.expose()),
        ("client_id", flow.client_id.as_str()),
        ("user_code", ""),
    ];
    let minimax = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:user_code"),
        ("code_verifier", code.secret.expose()),
        ("client_id", flow.client_id.as_str()),
        ("user_code", code.user_code.as_str()),
    ];
    let fields = if flow.variant == Variant::MiniMax { minimax } else { standard };
    let (status, reply) = post(flow, &flow.token_url, Body::Form(&fields), net).await?;
    if let Some(login) = merged(&Login::default(), &reply, now_ms()) {
        return Ok(Polled::Done(Box::new(login)));
    }
    let pending = reply.get("status").and_then(Value::as_str) == Some("pending");
    match reply.get("error").and_then(Value::as_str).unwrap_or_default() {
        _ if pending => Ok(Polled::Pending),
        "authorization_pending" => Ok(Polled::Pending),
        "slow_down" => Ok(Polled::SlowDown),
        "access_denied" => Err(LoginError::Denied),
        "expired_token" => Err(LoginError::Expired),
        other => Err(unexpected(&flow.token_url, format!("status {status} {other}"))),
    }
}

async fn poll_codex(flow: &DeviceFlow, code: &DeviceCode, net: &Net) -> Result<Polled, LoginError> {
    let body = json!({"device_auth_id": code.secret.expose(), "user_code": code.user_code});
    let (status, reply) = post(flow, &flow.token_url, Body::Json(body), net).await?;
    if matches!(status, 403 | 404) {
        return Ok(Polled::Pending);
    }
    let text = |name: &str| reply.get(name).and_then(Value::as_str);
    let (Some(granted), Some(verifier)) = (text("authorization_code"), text("code_verifier"))
    else {
        return Err(unexpected(&flow.token_url, format!("status {status} without a code")));
    };
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", granted),
        ("redirect_uri", "https://auth.openai.com/deviceauth/callback"),
        ("client_id", flow.client_id.as_str()),
        ("code_verifier", verifier),
    ];
    let exchange = "https://auth.openai.com/oauth/token";
    let (status, reply) = post(flow, exchange, Body::Form(&fields), net).await?;
    match merged(&Login::default(), &reply, now_ms()) {
        Some(login) => Ok(Polled::Done(Box::new(login))),
        None => Err(unexpected(exchange, format!("status {status} without a token"))),
    }
}

enum Body<'a> {
    Form(&'a [(&'a str, &'a str)]),
    Json(Value),
}

async fn post(
    flow: &DeviceFlow,
    url: &str,
    body: Body<'_>,
    net: &Net,
) -> Result<(u16, Value), LoginError> {
    post_to(&flow.hosts, url, body, net).await
}

async fn post_to(
    hosts: &Scope,
    text: &str,
    body: Body<'_>,
    net: &Net,
) -> Result<(u16, Value), LoginError> {
    let fault = |reason: String| unexpected(text, reason);
    let url: Url = checked_url(text).map_err(|error| fault(error.to_string()))?;
    if !hosts.permits(&url) {
        return Err(fault("codes of this login may not go there".to_owned()));
    }
    let (kind, body) = match body {
        Body::Form(fields) => {
            let mut form = url::form_urlencoded::Serializer::new(String::new());
            form.extend_pairs(fields.iter().filter(|(_, value)| !value.is_empty()));
            ("application/x-www-form-urlencoded", form.finish())
        }
        Body::Json(value) => ("application/json", value.to_string()),
    };
    let mut request = Request::new(Method::POST, url).first_byte(STEP).body(body);
    request.follow = Follow::Nowhere;
    let request = request
        .header("content-type", kind)
        .and_then(|request| request.header("accept", "application/json"));
    let request = request.map_err(|error| fault(error.to_string()))?;
    let reply = net.send(request).await.map_err(|error| fault(error.to_string()))?;
    let status = reply.status;
    let body = reply.bytes(BYTES_MAX, STEP).await.map_err(|error| fault(error.to_string()))?;
    Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

fn unexpected(url: &str, reason: String) -> LoginError {
    let host = checked_url(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    LoginError::Unexpected { host: host.unwrap_or_default(), reason }
}
