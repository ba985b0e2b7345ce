//! Updates that Telegram brings: a listener with a secret that only Telegram knows.

use std::time::Duration;

use petasos_contract::Secret;
use petasos_net::Method;
use serde_json::{Value, json};

use super::{CALL, Me, Telegram, UPDATES, description};
use crate::api::link_error;
use crate::crypt::same;
use crate::inbound::{Hit, ListenAt, Said, listen};
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{LinkError, Opening};

/// Where Telegram calls us, and how it proves itself.
#[derive(Debug, Clone)]
pub(super) struct Webhook {
    url: String,
    secret: Secret,
    at: ListenAt,
}

impl Webhook {
    /// From the settings; an error where a secret is missing or cannot be one.
    pub(super) fn of(opening: &Opening<'_>) -> Result<Option<Self>, String> {
        let Some(url) = text_of(opening.settings, "TELEGRAM_WEBHOOK_URL") else { return Ok(None) };
        let secret = text_of(opening.settings, "TELEGRAM_WEBHOOK_SECRET").unwrap_or_default();
        let fits = (1..=256).contains(&secret.len())
            && secret.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if !fits {
            return Err("TELEGRAM_WEBHOOK_SECRET must be 1 to 256 of A-Z, a-z, 0-9, _ and -: \
                        without it anybody could write as anybody"
                .to_owned());
        }
        let parsed = petasos_net::Url::parse(&url)
            .map_err(|error| format!("TELEGRAM_WEBHOOK_URL `{url}`: {error}"))?;
        let at = ListenAt::of(opening, "TELEGRAM_WEBHOOK", (8443, parsed.path()))?;
        Ok(Some(Self { url, secret: Secret::new(secret), at }))
    }
}

impl Telegram {
    /// Tells Telegram where we are, and takes in what it brings.
    pub(super) async fn serve(
        &self,
        link: &Link,
        webhook: &Webhook,
        me: &Me,
    ) -> Result<(), LinkError> {
        let body = json!({
            "url": webhook.url,
            "secret_token": webhook.secret.expose(),
            "allowed_updates": UPDATES,
            "drop_pending_updates": false,
        });
        let told =
            self.call("setWebhook", &body, CALL).await.map_err(|error| link_error(&error))?;
        match told.status {
            200 => {}
            400 => return Err(LinkError::Fatal(format!("setWebhook: {}", description(&told)))),
            status => {
                return Err(LinkError::Lost(format!(
                    "setWebhook: {status} {}",
                    description(&told)
                )));
            }
        }
        listen(&webhook.at, link, |hit| self.brought(link, webhook, (hit, me))).await
    }

    async fn brought(&self, link: &Link, webhook: &Webhook, (hit, me): (Hit, &Me)) -> Said {
        let secret = hit.header("x-telegram-bot-api-secret-token");
        if hit.method != Method::POST || !same(secret, webhook.secret.expose()) {
            return Said::unsigned();
        }
        let Some(update) = hit.json() else { return Said::taken() };
        let Some(id) = update.get("update_id").and_then(Value::as_i64) else {
            return Said::taken();
        };
        let Some(arrival) = self.arrival(link, &update, id, me).await else { return Said::taken() };
        match link.take(arrival).await {
            Ok(()) => Said::taken(),
            Err(_) => Said::again(),
        }
    }

    /// Polling is wanted, and a webhook of earlier days is in its way. What waits there stays.
    pub(super) async fn leave_webhook(&self) -> Result<(), LinkError> {
        let body = json!({ "drop_pending_updates": false });
        let told =
            self.call("deleteWebhook", &body, CALL).await.map_err(|error| link_error(&error))?;
        if told.status != 200 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            return Err(LinkError::Lost(format!("deleteWebhook: {}", description(&told))));
        }
        tracing::info!("a webhook was in the way of polling and is gone");
        Ok(())
    }
}
