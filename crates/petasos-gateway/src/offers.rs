//! What a person is asked outside of a turn: whether something old still counts, and whether a turn
//! that was cut off goes on. The stored message itself is the question, so that a restart keeps it.

use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::SessionId;
use petasos_store::{
    CardButton, DeliveryClass, InboundKind, InboundMessage, InboxRow, InboxState, Lane,
    NewDelivery, Receipt, StoreError,
};
use tracing::{info, warn};

use crate::access::Class;
use crate::gateway::Shared;
use crate::intake::Admitted;
use crate::options::BusyMode;
use crate::platform::{Arrival, now_ms};

/// Why a message is accepted and nothing else yet.
pub(crate) const OLD: &str = "old";
/// So many questions are remembered for words that answer them; buttons always work.
const KEPT_MAX: usize = 1000;

/// Old messages whose senders were asked.
#[derive(Default)]
pub(crate) struct Offers(Mutex<Vec<Offer>>);

#[derive(Debug, Clone)]
struct Offer {
    id: String,
    lane: Lane,
    sender: String,
}

impl Offers {
    fn keep(&self, offer: Offer) {
        let mut open = self.0.lock();
        open.retain(|known| known.id != offer.id);
        if open.len() >= KEPT_MAX {
            open.remove(0);
        }
        open.push(offer);
    }

    fn of(&self, message: &Admitted) -> Vec<Offer> {
        let open = self.0.lock();
        let own = |it: &&Offer| it.lane == message.lane() && it.sender == message.sender;
        open.iter().filter(own).cloned().collect()
    }
}

/// The buttons of an offer: what they say and what pressing them sends.
fn buttons(id: &str, verbs: &[(&str, &str)]) -> Vec<CardButton> {
    let button = |(label, verb): &(&str, &str)| CardButton {
        label: (*label).to_owned(),
        data: format!("of:{id}:{verb}"),
    };
    verbs.iter().map(button).collect()
}

/// Continue and drop, under the word that a turn was cut off.
pub(crate) fn go_on_buttons(row: &InboxRow) -> Vec<CardButton> {
    buttons(&row.id, &[("Continue", "go"), ("Drop", "drop")])
}

impl Shared {
    /// Asks whether a message that waited too long still counts.
    pub(crate) async fn ask_about_old(
        &self,
        message: &Admitted,
        minutes: u64,
    ) -> Result<(), StoreError> {
        let from = [InboxState::Accepted];
        if !self.store.settle(&message.id, &from, InboxState::Accepted, OLD).await? {
            return Ok(());
        }
        let offer =
            Offer { id: message.id.clone(), lane: message.lane(), sender: message.sender.clone() };
        self.offers.keep(offer);
        let first: String = message.text.chars().take(200).collect();
        let has_buttons = self.account(&message.lane()).is_some_and(|it| it.has_buttons());
        let how = if has_buttons { "" } else { "\n\nreply: run / drop" };
        let body =
            format!("This is from {minutes} minutes ago; still wanted?\n\n> {}{how}", first.trim());
        let verbs = [("Run", "run"), ("Drop", "drop")];
        self.say(NewDelivery {
            token: format!("old-{}", message.id),
            buttons: if has_buttons { buttons(&message.id, &verbs) } else { Vec::new() },
            inbox: None,
            ..message.reply(DeliveryClass::Question, body)
        })
        .await
    }

    /// Whether a message was the answer to whether something old still counts.
    pub(crate) async fn answered_an_offer(
        self: &Arc<Self>,
        message: &Admitted,
    ) -> Result<bool, StoreError> {
        let verb = match message.text.trim().to_lowercase().as_str() {
            "run" => "run",
            "drop" => "drop",
            _ => return Ok(false),
        };
        let offers = self.offers.of(message);
        if offers.is_empty() || message.has_media {
            return Ok(false);
        }
        let mut word = String::new();
        for offer in offers {
            if let Some(row) = self.store.message(&offer.id).await? {
                word = self.take_offer(&row, verb).await?;
            }
        }
        self.end_with(message, "an answer", word).await.map(|()| true)
    }

    /// A button of an offer was pressed; gives a word for the presser.
    pub(crate) async fn press_offer(
        self: &Arc<Self>,
        lane: &Lane,
        arrival: &Arrival,
        (data, class): (&str, Class),
    ) -> String {
        let Some((id, verb)) = data.rsplit_once(':') else {
            return "This button does nothing.".to_owned();
        };
        let row = match self.store.message(id).await {
            Ok(Some(row)) if row.message.key.lane() == *lane => row,
            Ok(_) => return "No such request here.".to_owned(),
            Err(error) => return error.to_string(),
        };
        let own = arrival.sender.id.as_deref() == Some(row.message.sender.as_str());
        if !own && class != Class::Owner {
            return "This is not yours to answer.".to_owned();
        }
        self.take_offer(&row, verb).await.unwrap_or_else(|error| error.to_string())
    }

    async fn take_offer(
        self: &Arc<Self>,
        row: &InboxRow,
        verb: &str,
    ) -> Result<String, StoreError> {
        self.offers.0.lock().retain(|known| known.id != row.id);
        let waits = row.state == InboxState::Accepted && row.reason == OLD;
        match verb {
            "run" if waits => {
                let Some(message) = self.admitted_again(row).await? else {
                    return Ok("You may no longer write here.".to_owned());
                };
                self.place(&message).await?;
                Ok("It runs now.".to_owned())
            }
            "drop" if waits => {
                let from = [InboxState::Accepted];
                self.store.settle(&row.id, &from, InboxState::Withdrawn, "dropped").await?;
                Ok("Dropped.".to_owned())
            }
            "go" if row.state == InboxState::Interrupted => self.go_on_after(row).await,
            "drop" if row.state == InboxState::Interrupted => Ok("Dropped.".to_owned()),
            _ => Ok("This is decided already.".to_owned()),
        }
    }

    /// Somebody wants a turn that was cut off to go on: as if they had said so, and once.
    async fn go_on_after(self: &Arc<Self>, row: &InboxRow) -> Result<String, StoreError> {
        let message = InboundMessage {
            dedup: format!("go-{}", row.id),
            message: String::new(),
            sent_ms: now_ms(),
            kind: InboundKind::Text,
            text: "continue".to_owned(),
            media: Vec::new(),
            ..row.message.clone()
        };
        let Receipt::New(id) = self.store.accept(&message).await? else {
            return Ok("This is decided already.".to_owned());
        };
        info!(id, after = row.id, "a turn that was cut off goes on");
        let Some(stored) = self.store.message(&id).await? else {
            return Ok("This is decided already.".to_owned());
        };
        let Some(admitted) = self.admitted_again(&stored).await? else {
            return Ok("You may no longer write here.".to_owned());
        };
        self.place(&admitted).await?;
        Ok("It goes on.".to_owned())
    }

    /// A stored message once more, as it would be let in now; nothing when it would not.
    pub(crate) async fn admitted_again(
        &self,
        row: &InboxRow,
    ) -> Result<Option<Admitted>, StoreError> {
        let message = &row.message;
        let Some(account) = self.account(&message.key.lane()) else { return Ok(None) };
        let access = self.standing(&account, row).await?;
        let Some(class) = access.class else {
            let gone = "its sender may no longer write";
            let from = [InboxState::Accepted, InboxState::Queued, InboxState::Running];
            self.store.settle(&row.id, &from, InboxState::Ignored, gone).await?;
            return Ok(None);
        };
        let (session, busy): (SessionId, BusyMode) =
            self.route(&message.key, account.options().busy).await?;
        Ok(Some(Admitted {
            id: row.id.clone(),
            key: message.key.clone(),
            session,
            sender: message.sender.clone(),
            sender_name: message.sender_name.clone(),
            class,
            rule: access.rule,
            text: message.text.clone(),
            message: message.message.clone(),
            has_media: !message.media.is_empty(),
            busy,
        }))
    }

    /// Tells a chat that the gateway is back, when somebody there asked it to restart.
    pub(crate) async fn tell_back(&self) {
        let kept = self.store.cursor("gateway", "", "restart").await;
        let Ok(Some(kept)) = kept.map(|kept| kept.filter(|text| !text.is_empty())) else { return };
        let Ok((lane, at)) = serde_json::from_str::<(Lane, i64)>(&kept) else { return };
        let notice = NewDelivery {
            class: DeliveryClass::Command,
            // The same restart is told once, however often a process begins.
            token: format!("back-{at}"),
            body: "I am back.".to_owned(),
            ..crate::gateway::blank(&lane)
        };
        if let Err(error) = self.say(notice).await {
            warn!(%error, "a chat was not told that the restart is done");
            return;
        }
        if let Err(error) = self.store.set_cursor("gateway", "", "restart", "").await {
            warn!(%error, "a restart is told once more");
        }
    }

    /// Remembers which chat asked for a restart.
    pub(crate) async fn remember_restart(&self, lane: &Lane) {
        let Ok(text) = serde_json::to_string(&(lane, now_ms())) else { return };
        if let Err(error) = self.store.set_cursor("gateway", "", "restart", &text).await {
            warn!(%error, "nobody will be told that the restart is done");
        }
    }
}
