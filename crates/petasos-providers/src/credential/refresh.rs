//! Renewing a login is a transaction: one lock across processes, read again, adopt what somebody
//! else renewed, ask once, write before use.
//!
//! Refresh tokens work once. Two processes that both ask would log the user out, so the lock is
//! held from the reading to the writing; whoever comes second finds the newer generation.

use std::time::Duration;

use petasos_contract::Secret;
use petasos_net::{Follow, Method, Net, NetError, Request, Url, checked_url};
use serde_json::{Value, json};

use crate::credential::borrowed::{ClaudeCode, CliLogin, Unreadable, json as read_json};
use crate::credential::login::{Login, RefreshToken, moment};
use crate::credential::oauth;
use crate::credential::spec::{Holder, Renewal, Style, skew_ms};
use crate::credential::store::{AuthFile, LOCK_WAIT, Lock, StoreError, update, write_private};
use crate::credential::{jwt, now_ms};

const BYTES_MAX: usize = 1 << 20;

/// Codes after which only a person can help.
const FINAL: [&str; 6] = [
    "invalid_grant",
    "invalid_token",
    "invalid_request",
    "refresh_token_reused",
    "unauthorized_client",
    "token_revoked",
];

/// Why a login was not renewed.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    /// Nobody is logged in, or the login cannot renew itself.
    #[error("the login to `{provider}` cannot renew itself; run `petasos auth login {provider}`")]
    NotRenewable {
        /// The provider.
        provider: String,
    },
    /// The provider refused for good.
    #[error(
        "`{provider}` no longer accepts the login ({reason}); run `petasos auth login {provider}`"
    )]
    Rejected {
        /// The provider.
        provider: String,
        /// Its word.
        reason: String,
    },
    /// Too many attempts.
    #[error("`{provider}` asks to wait before the login is renewed")]
    RateLimited {
        /// The provider.
        provider: String,
    },
    /// Something that may pass.
    #[error("the login to `{provider}` was not renewed: {reason}")]
    Passing {
        /// The provider.
        provider: String,
        /// What happened.
        reason: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
}

impl RefreshError {
    /// Whether a person must log in again.
    pub fn needs_person(&self) -> bool {
        matches!(self, Self::NotRenewable { .. } | Self::Rejected { .. })
    }
}

/// Why a renewal is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The token is about to end.
    Expiring,
    /// The provider refused the token, whatever the clock says.
    Refused,
}

/// Renews a login, or adopts what another process renewed meanwhile. `seen` is the access token
/// that the caller holds.
pub async fn refresh(
    renewal: &Renewal,
    seen: Option<&Secret>,
    why: Why,
    net: &Net,
) -> Result<Login, RefreshError> {
    let provider = || renewal.provider.clone();
    // Whoever renews it now may take as long as each of the places may, and then has the answer.
    let places = u32::try_from(renewal.token_urls.len().max(2)).unwrap_or(2);
    let patience = renewal.timeout.saturating_mul(places) + LOCK_WAIT;
    let _lock = renewal.holder.lock(patience).await?;
    let current = renewal.holder.read()?;
    let current = current.ok_or_else(|| RefreshError::NotRenewable { provider: provider() })?;
    if let Some(reason) = current.dead.clone() {
        return Err(RefreshError::Rejected { provider: provider(), reason });
    }
    let now = now_ms();
    let due = current.is_due(now, skew_ms(&renewal.provider, current.life_ms()));
    let newer = current.access.is_some() && current.access.as_ref() != seen;
    if !due && (newer || why == Why::Expiring) {
        return Ok(current);
    }
    let Some(token) = &current.refresh else {
        return Err(RefreshError::NotRenewable { provider: provider() });
    };
    match ask(renewal, token, net).await {
        Ok(reply) => keep(renewal, &current, &reply).await,
        Err(error @ RefreshError::Rejected { .. }) => refused(renewal, current, error).await,
        Err(error) => Err(error),
    }
}

/// Writes the new generation, then gives it out.
async fn keep(renewal: &Renewal, before: &Login, reply: &Value) -> Result<Login, RefreshError> {
    let next = merged(before, reply, now_ms()).ok_or_else(|| RefreshError::Passing {
        provider: renewal.provider.clone(),
        reason: "its answer holds no access token".to_owned(),
    })?;
    if let Err(error) = renewal.holder.write(&next).await {
        // The old token is spent. Losing the new one as well would log the user out, so it is
        // used while this process lives.
        tracing::error!("the renewed login to `{}` could not be stored: {error}", renewal.provider);
    }
    Ok(next)
}

/// A refusal counts only if nobody renewed the login without our lock; then it is remembered, and
/// the tokens stay where they are.
async fn refused(
    renewal: &Renewal,
    before: Login,
    error: RefreshError,
) -> Result<Login, RefreshError> {
    if let Some(now) = renewal.holder.read()?
        && now.refresh != before.refresh
        && !now.is_due(now_ms(), 0)
    {
        return Ok(now);
    }
    let ours = matches!(renewal.holder, Holder::Store { .. } | Holder::Pool { .. });
    if let RefreshError::Rejected { reason, .. } = &error
        && ours
    {
        renewal.holder.write(&Login { dead: Some(reason.clone()), ..before }).await?;
    }
    Err(error)
}

/// The login after a renewal; what the answer leaves out stays.
pub(crate) fn merged(before: &Login, reply: &Value, now: u64) -> Option<Login> {
    let text = |name: &str| reply.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let access = Secret::new(text("access_token")?);
    let number = |name: &str| reply.get(name).and_then(Value::as_f64);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a duration, clamped"
    )]
    let after = |seconds: f64| now.saturating_add((seconds.clamp(0.0, 1e9) * 1000.0) as u64);
    // One vendor's `expired_in` is a lifetime for small numbers and a date for large ones.
    let expired_in = number("expired_in")
        .map(|value| if value > 1e9 { moment(&json!(value)) } else { Some(after(value)) });
    let expires_at_ms = number("expires_in")
        .map(after)
        .or_else(|| reply.get("expires_at").and_then(moment))
        .or_else(|| expired_in.flatten())
        .or_else(|| jwt::expires_at_ms(access.expose()));
    Some(Login {
        access: Some(access),
        refresh: text("refresh_token").map(RefreshToken::new).or_else(|| before.refresh.clone()),
        expires_at_ms,
        last_refresh: Some(jwt::format_date(now)),
        dead: None,
        base_url: text("inference_base_url").map(str::to_owned).or_else(|| before.base_url.clone()),
        generation: before.generation + 1,
    })
}

async fn ask(renewal: &Renewal, token: &RefreshToken, net: &Net) -> Result<Value, RefreshError> {
    let mut last = RefreshError::NotRenewable { provider: renewal.provider.clone() };
    let published = published(renewal, net).await?;
    for text in renewal.token_urls.iter().chain(&published) {
        match ask_one(renewal, text, token, net).await {
            Err(error @ RefreshError::Passing { .. }) => last = error,
            outcome => return outcome,
        }
    }
    Err(last)
}

/// The place that the provider publishes, when the table names none.
async fn published(renewal: &Renewal, net: &Net) -> Result<Option<String>, RefreshError> {
    if !renewal.token_urls.is_empty() {
        return Ok(None);
    }
    let passing =
        |reason: String| RefreshError::Passing { provider: renewal.provider.clone(), reason };
    let found = oauth::discover(oauth::XAI_ISSUER, &renewal.scope, net).await;
    let found = found.map_err(|error| passing(error.to_string()))?;
    Ok(found.get("token_endpoint").and_then(Value::as_str).map(str::to_owned))
}

async fn ask_one(
    renewal: &Renewal,
    text: &str,
    token: &RefreshToken,
    net: &Net,
) -> Result<Value, RefreshError> {
    let passing =
        |reason: String| RefreshError::Passing { provider: renewal.provider.clone(), reason };
    let url = checked_url(text).map_err(|error| passing(error.to_string()))?;
    if !renewal.scope.permits(&url) {
        return Err(passing(format!(
            "the refresh token may not go to `{}`",
            url.host_str().unwrap_or_default()
        )));
    }
    let request = form_request(renewal, url, token).map_err(|error| passing(error.to_string()))?;
    let reply = net.send(request).await.map_err(|error| passing(error.to_string()))?;
    let status = reply.status;
    let body = reply
        .bytes(BYTES_MAX, renewal.timeout)
        .await
        .map_err(|error| passing(error.to_string()))?;
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    judge(&renewal.provider, status, body)
}

fn form_request(renewal: &Renewal, url: Url, token: &RefreshToken) -> Result<Request, NetError> {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", "refresh_token").append_pair("client_id", &renewal.client_id);
    let mut request = Request::new(Method::POST, url).first_byte(renewal.timeout);
    match renewal.style {
        Style::Form => {
            form.append_pair("refresh_token", token.expose());
        }
        Style::Header(name) => request = request.header(name, token.expose())?,
    }
    request.follow = Follow::Nowhere;
    let request = request.header("content-type", "application/x-www-form-urlencoded")?;
    Ok(request.header("accept", "application/json")?.body(form.finish()))
}

/// What a token endpoint's answer means.
pub(crate) fn judge(provider: &str, status: u16, body: Value) -> Result<Value, RefreshError> {
    if status == 200 {
        return Ok(body);
    }
    let provider = provider.to_owned();
    let error = body.get("error");
    let code = error.and_then(|error| error.as_str().or_else(|| error.get("code")?.as_str()));
    let code = code.unwrap_or_default().to_owned();
    match status {
        429 => Err(RefreshError::RateLimited { provider }),
        400..=499 if FINAL.contains(&code.as_str()) => {
            Err(RefreshError::Rejected { provider, reason: code })
        }
        // A proxy's page has the same status; only the issuer's own words are final.
        401 | 403 if error.is_some() => {
            let reason = if code.is_empty() { format!("status {status}") } else { code };
            Err(RefreshError::Rejected { provider, reason })
        }
        _ => Err(RefreshError::Passing { provider, reason: format!("status {status} {code}") }),
    }
}

impl Holder {
    /// The lock of this login.
    async fn lock(&self, patience: Duration) -> Result<Lock, StoreError> {
        match self {
            Self::Store { home, provider } => {
                Lock::take(home, &format!("auth.{provider}.lock"), patience).await
            }
            Self::Pool { home, place } => {
                let pool = place.pool.replace(['/', ':'], "-");
                Lock::take(home, &format!("auth.{pool}.{}.lock", place.entry), patience).await
            }
            Self::ClaudeCode { path } | Self::Qwen { path } => {
                let folder = path.parent().unwrap_or(std::path::Path::new("."));
                Lock::take(folder, ".petasos-refresh.lock", patience).await
            }
        }
    }

    /// The login as it is now.
    pub(crate) fn read(&self) -> Result<Option<Login>, Unreadable> {
        Ok(match self {
            Self::Store { home, provider } => AuthFile::read(home)?.login(provider),
            Self::Pool { home, place } => {
                let mut entries = AuthFile::read(home)?.pool(&place.pool);
                let at = entries.iter().position(|entry| entry.id == place.entry);
                at.map(|at| entries.swap_remove(at).into_login())
            }
            Self::ClaudeCode { path } => ClaudeCode::read(path)?.map(|found| found.login),
            Self::Qwen { path } => CliLogin::read_qwen(path)?.map(|found| found.login),
        })
    }

    /// Puts a login in place; everything else in the file stays.
    pub(crate) async fn write(&self, login: &Login) -> Result<(), StoreError> {
        match self {
            Self::Store { home, provider } => {
                update(home, |file| file.set_login(provider, login)).await
            }
            Self::Pool { home, place } => {
                update(home, |file| {
                    let entry =
                        file.pool(&place.pool).into_iter().find(|entry| entry.id == place.entry);
                    if let Some(mut entry) = entry {
                        entry.take_login(login);
                        file.set_entry(&place.pool, &entry);
                    }
                })
                .await
            }
            Self::ClaudeCode { path } => {
                let mut content = existing(path)?;
                let own = &mut content["claudeAiOauth"];
                own["accessToken"] = json!(login.access.as_ref().map(Secret::expose));
                own["refreshToken"] = json!(login.refresh.as_ref().map(RefreshToken::expose));
                own["expiresAt"] = json!(login.expires_at_ms);
                write_private(path, &content)
            }
            Self::Qwen { path } => {
                let mut content = existing(path)?;
                content["access_token"] = json!(login.access.as_ref().map(Secret::expose));
                content["refresh_token"] = json!(login.refresh.as_ref().map(RefreshToken::expose));
                content["expiry_date"] = json!(login.expires_at_ms);
                write_private(path, &content)
            }
        }
    }
}

fn existing(path: &std::path::Path) -> Result<Value, StoreError> {
    let unreadable = |error: Unreadable| StoreError::Disk {
        path: path.to_owned(),
        cause: std::io::Error::other(error.to_string()),
    };
    Ok(read_json(path).map_err(unreadable)?.filter(Value::is_object).unwrap_or_else(|| json!({})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_a_refresh_token_keeps_the_one_at_hand() {
        let before =
            Login { refresh: Some(RefreshToken::new("rt-1")), generation: 4, ..Login::default() };
        let next =
            merged(&before, &json!({"access_token": "at-2", "expires_in": 60}), 1_000).unwrap();
        assert_eq!(next.refresh, before.refresh);
        assert_eq!((next.expires_at_ms, next.generation), (Some(61_000), 5));
        let dated = merged(
            &before,
            &json!({"access_token": "at-2", "expired_in": 1_767_225_600_000_u64}),
            0,
        );
        assert_eq!(dated.unwrap().expires_at_ms, Some(1_767_225_600_000));
        let lasting = merged(&before, &json!({"access_token": "at-2", "expired_in": 3600}), 0);
        assert_eq!(lasting.unwrap().expires_at_ms, Some(3_600_000));
        assert_eq!(merged(&before, &json!({"error": "x"}), 0), None);
    }

    #[test]
    fn a_final_refusal_is_told_from_a_passing_one() {
        let verdict = |status, body| {
            judge("p", status, body).map_err(|error| error.needs_person()).is_err_and(|is| is)
        };
        assert!(verdict(400, json!({"error": "invalid_grant"})));
        assert!(verdict(401, json!({"error": {"message": "no"}})));
        assert!(!verdict(401, Value::Null), "a proxy's page says nothing about the login");
        assert!(verdict(403, json!({"error": {"code": "refresh_token_reused"}})));
        assert!(!verdict(429, json!({"error": "invalid_grant"})));
        assert!(!verdict(400, json!({"error": "temporarily_unavailable"})));
        assert!(!verdict(503, Value::Null));
    }
}
