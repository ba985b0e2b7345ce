//! What becomes of a delivery that is signed and wanted: a turn whose answer goes somewhere, or a
//! message to people without one.

use std::time::Duration;

use http::StatusCode;
use petasos_contract::Address;
use petasos_contract::delivery::{Delivered, Deliveries, Destination, Parcel};
use petasos_session::WhenBusy;
use petasos_store::{DeliveryState, OutboxRow};
use serde_json::Value;

use super::options::Deliver;
use super::{Delivery, Inner, WebhookRoute, hashed, template, told};
use crate::answer::Answer;
use crate::conversation::{From, Request as Wanted};
use crate::error::{ApiError, internal};
use crate::host::Wish;
use crate::keys::Caller;
use crate::run::{Held, Life, RunFacts};
use crate::runs::{ms, new_id, now_ms};

/// The platform of these sessions, also their source.
const PLATFORM: &str = "webhook";
/// A delivery is known again for so long.
const SEEN: Duration = Duration::from_hours(24);
/// How long the script of a route may take.
const SCRIPT: Duration = Duration::from_secs(30);
/// A sender is told what became of a message within so long.
const SENT_WITHIN: Duration = Duration::from_secs(8);

/// Where an answer goes, as a target; nothing when only the log has it.
pub(super) fn target(deliver: &Deliver, payload: &Value) -> Result<Option<String>, String> {
    let id = |what: &str, template: &str| {
        template::id(template, payload)
            .ok_or_else(|| format!("`{what}` ({template}) is no id with this payload"))
    };
    Ok(match deliver {
        Deliver::Log => None,
        Deliver::To(target) => Some(target.clone()),
        Deliver::Chat { platform, chat, thread } => {
            let chat = id("chat_id", chat)?;
            let thread = thread.as_ref().map(|thread| id("thread_id", thread)).transpose()?;
            let thread = thread.map_or_else(String::new, |thread| format!(":{thread}"));
            Some(format!("{platform}:{chat}{thread}"))
        }
        Deliver::Comment { repo, number } => {
            let (repo, number) = (id("repo", repo)?, id("pr_number", number)?);
            Some(format!("github_comment:{repo}:{number}"))
        }
    })
}

/// Whether sending it again could show it twice.
fn may_have_arrived(row: &OutboxRow) -> bool {
    row.uncertain || row.error.starts_with("it may have arrived")
}

fn undeliverable(message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::BAD_GATEWAY, "delivery_refused", message)
}

impl Inner {
    /// Where the answer of this delivery goes. Told to the sender before anything is done: nobody
    /// else may look.
    async fn destination(
        &self,
        route: &WebhookRoute,
        payload: &Value,
    ) -> Result<Option<Destination>, ApiError> {
        let Some(target) = target(&route.deliver, payload).map_err(undeliverable)? else {
            return Ok(None);
        };
        let deliveries = self.deliveries()?;
        let nowhere = Address::chat(PLATFORM, route.name.as_str());
        let place = deliveries.resolve(&target, &nowhere).await;
        let place = place.map_err(|error| undeliverable(error.to_string()))?;
        // A payload names a place by its id; a name of a place might be anybody's.
        let from_payload = matches!(route.deliver, Deliver::Chat { .. });
        if from_payload && !place.to_string().eq_ignore_ascii_case(&target) {
            return Err(undeliverable(format!("`{target}` is no id of a chat")));
        }
        Ok(Some(place))
    }

    fn deliveries(&self) -> Result<std::sync::Arc<dyn Deliveries>, ApiError> {
        self.host.deliveries().ok_or_else(|| undeliverable("nobody can be reached from here"))
    }

    /// The payload as the script of a route makes it; nothing when it is to be ignored.
    pub(super) async fn scripted(
        &self,
        route: &WebhookRoute,
        payload: Value,
    ) -> Result<Option<Value>, ApiError> {
        let Some(script) = &route.script else { return Ok(Some(payload)) };
        let printed = self.host.script(script, payload.to_string(), SCRIPT).await;
        let read = printed.and_then(|text| {
            serde_json::from_str::<Value>(text.trim()).map_err(|error| format!("no JSON: {error}"))
        });
        let made = read.map_err(|why| {
            tracing::warn!(route = route.name, why, "the script of a route failed");
            internal("the script of the route failed")
        })?;
        let ignore = made.get("ignore").and_then(Value::as_bool) == Some(true);
        Ok((!ignore).then_some(made))
    }

    /// Whether the same bytes came before under another name.
    async fn is_caught(&self, route: &WebhookRoute, delivery: &Delivery) -> Result<bool, ApiError> {
        let (Some(bytes), now) = (&delivery.bytes, now_ms()) else { return Ok(false) };
        let first = self.runs.store().first_delivery(&route.name, bytes, now, now - ms(SEEN));
        Ok(!first.await?)
    }

    /// A delivery that came to nothing may come again.
    async fn forget(&self, route: &WebhookRoute, delivery: &Delivery) -> Result<(), ApiError> {
        for known in delivery.bytes.iter().chain([&delivery.once]) {
            self.runs.store().forget_delivery(&route.name, known).await?;
        }
        Ok(())
    }

    /// A message without a turn: answered when it has arrived.
    pub(super) async fn direct(
        &self,
        route: &WebhookRoute,
        payload: &Value,
        delivery: &Delivery,
    ) -> Result<Answer, ApiError> {
        if self.is_caught(route, delivery).await? {
            return Ok(told(StatusCode::OK, "duplicate", &delivery.id, None));
        }
        let sent = self.sent(route, payload, delivery).await;
        if sent.is_err() {
            self.forget(route, delivery).await?;
        }
        sent
    }

    async fn sent(
        &self,
        route: &WebhookRoute,
        payload: &Value,
        delivery: &Delivery,
    ) -> Result<Answer, ApiError> {
        let to = self.destination(route, payload).await?;
        let to = to.ok_or_else(|| undeliverable("the route leads nowhere"))?;
        let token = format!("webhook:{}", hashed(&route.name, delivery.once.as_bytes()));
        match self.outbox.delivery_of(&token).await? {
            Some(row) if row.state == DeliveryState::Sent => {
                return Ok(told(StatusCode::OK, "duplicate", &delivery.id, None));
            }
            // It certainly did not arrive, and the sender was told: this is the next try.
            Some(row) if row.state == DeliveryState::Dead && !may_have_arrived(&row) => {
                self.outbox.retry(row.id).await?;
            }
            _ => {}
        }
        let text = template::message(&route.prompt, payload).text;
        let parcel = Parcel { to, text, token, wait: SENT_WITHIN };
        let receipt = self.deliveries()?.deliver(parcel).await.map_err(undeliverable)?;
        match receipt.outcome {
            Delivered::Sent => Ok(told(StatusCode::OK, "delivered", &delivery.id, None)),
            // It is stored, and goes on without the sender.
            Delivered::Planned | Delivered::Unknown => {
                let why = receipt.note.unwrap_or_default();
                Ok(told(StatusCode::ACCEPTED, "accepted", &delivery.id, Some(&why)))
            }
            Delivered::Failed => Err(undeliverable(receipt.note.unwrap_or_default())),
        }
    }

    /// A turn, once for a delivery.
    pub(super) async fn accepted(
        &self,
        route: &WebhookRoute,
        payload: &Value,
        delivery: &Delivery,
    ) -> Result<Answer, ApiError> {
        let (store, now) = (self.runs.store(), now_ms());
        let caught = self.is_caught(route, delivery).await?;
        if caught || !store.first_delivery(&route.name, &delivery.once, now, now - ms(SEEN)).await?
        {
            return Ok(told(StatusCode::OK, "duplicate", &delivery.id, None));
        }
        match self.begin(route, payload, delivery).await {
            Ok(()) => Ok(told(StatusCode::ACCEPTED, "accepted", &delivery.id, None)),
            Err(error) => {
                // The sender will try again, and must not be told that it was done.
                self.forget(route, delivery).await?;
                Err(error)
            }
        }
    }

    async fn begin(
        &self,
        route: &WebhookRoute,
        payload: &Value,
        delivery: &Delivery,
    ) -> Result<(), ApiError> {
        let place = self.runs.place()?;
        let to = self.destination(route, payload).await?;
        let prompt = template::prompt(&route.prompt, payload, &route.name);
        let short: String =
            hashed(&route.name, delivery.once.as_bytes()).chars().take(24).collect();
        let (session, _) = route.session_name(payload, &short);
        let caller = Caller { name: format!("webhook:{}", route.name), ..Caller::default() };
        let wish = Wish { platform: PLATFORM, instead: route.toolsets.clone(), ..Wish::default() };
        let wanted = Wanted {
            from: From::Named(session),
            history: Vec::new(),
            instructions: None,
            input: prompt.text.as_str().into(),
            effort: None,
            wish,
            attended: false,
        };
        let (session, mut input) = self.conversations.open(wanted, &caller).await?;
        if !route.skills.is_empty() {
            let words = self.host.skill_words(&route.skills).await;
            input.context.push(words.map_err(internal)?);
        }
        let facts = RunFacts {
            id: new_id("run_")?,
            owner: caller.name,
            session: session.id().clone(),
            created_ms: now_ms(),
            model: route.name.clone(),
            life: Life::OnItsOwn,
            kept: true,
            deadline: Some(route.deadline),
            held: Held::default(),
            to,
        };
        let run = self.runs.begin(place, facts, (session, input), WhenBusy::Queue).await?;
        let delivery = &delivery.id;
        tracing::info!(route = route.name, delivery, run = run.facts.id, "a delivery is worked on");
        Ok(())
    }
}
