//! Questions in a chat: the card, who may answer it, and what counts as an answer.
//!
//! A button decides its own card. A bare word counts only while exactly one card is open; any other
//! words are a message and never consent.

mod book;
mod routed;
mod sent;
mod words;

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::Address;
use petasos_contract::approval::Scope;
use petasos_session::{
    AnswerError, Answerer, Closed, Question, QuestionKind, QuestionReply, Session,
};
use petasos_store::{
    ChatKey, DeliveryClass, DeliveryState, InboxRow, InboxState, Lane, NewDelivery, OutboxRow,
    StoreError,
};
use tracing::{info, warn};

pub(crate) use self::book::{Card, Cards};
use self::words::{buttons_of, card_text, described, typed};
use crate::access::Class;
use crate::account::Account;
use crate::gateway::{Shared, blank};
use crate::intake::Admitted;
use crate::options::Approvers;
use crate::platform::{Arrival, now_ms};
use crate::render;

/// A longer denial is cut.
const WHY_CHARS_MAX: usize = 280;

/// Who answers, for the check.
#[derive(Debug, Clone)]
pub(crate) struct Hand {
    pub(crate) lane: Lane,
    pub(crate) user: String,
    pub(crate) name: String,
    pub(crate) class: Class,
}

impl Hand {
    pub(crate) fn of(message: &Admitted) -> Self {
        Self {
            lane: message.lane(),
            user: message.sender.clone(),
            name: message.sender_name.clone(),
            class: message.class,
        }
    }
}

impl Shared {
    /// Puts a question into the chat of a message.
    pub(crate) async fn ask(
        &self,
        row: &InboxRow,
        session: &Session,
        question: &Arc<Question>,
    ) -> Result<(), StoreError> {
        // The chat may have another identity since the turn began.
        let running = self.running_row(&row.id);
        let lane = running.as_ref().unwrap_or(row).message.key.lane();
        let card = Card {
            number: question.number,
            session: session.id().clone(),
            asked_in: lane.clone(),
            lane: lane.clone(),
            requester: row.message.sender.clone(),
            question: Arc::clone(question),
            opened_ms: now_ms(),
            closed: None,
            routed: false,
        };
        let reply_to = Some(row.message.message.clone()).filter(|name| !name.is_empty());
        self.show(card, reply_to).await
    }

    /// Puts a card into its chat.
    async fn show(&self, card: Card, reply_to: Option<String>) -> Result<(), StoreError> {
        let (lane, id) = (card.lane.clone(), card_id(&card.question));
        let buttons = self.account(&lane).is_some_and(|account| account.has_buttons());
        let (subject, whole) = self.subject_for(&card);
        let body = card_text(&card, buttons, &subject);
        let choices = if buttons { buttons_of(&card.question) } else { Vec::new() };
        self.cards.insert(card.clone());
        self.card_goes(&card).await;
        info!(question = id, chat = %lane, "a question goes to the chat");
        self.say(NewDelivery {
            class: DeliveryClass::Question,
            // The same question after a restart is the same card.
            token: format!("card-{id}"),
            body,
            media: whole.into_iter().collect(),
            buttons: choices,
            reply_to,
            ..blank(&lane)
        })
        .await
    }

    /// A button was pressed; gives a word for the presser.
    pub(crate) async fn press(
        &self,
        account: &Account,
        arrival: &Arrival,
        data: &str,
        class: Class,
    ) -> (String, Option<Card>) {
        let word = |word: &str| (word.to_owned(), None);
        let mut parts = data.splitn(3, ':');
        let (kind, id, choice) = (parts.next(), parts.next(), parts.next());
        let (Some("pa" | "pc"), Some(id), Some(choice)) = (kind, id, choice) else {
            return word("This button does nothing.");
        };
        let hand = Hand {
            lane: Lane {
                platform: account.def.name.to_owned(),
                account: account.platform.account().to_owned(),
                chat: arrival.chat.clone(),
                thread: arrival.thread.clone(),
            },
            user: arrival.sender.id.clone().unwrap_or_default(),
            name: render::harmless(&arrival.sender.name),
            class,
        };
        let Some(card) = self.cards.get(id) else { return word("No such request here.") };
        let reply = match (&card.question.kind, choice) {
            (QuestionKind::Approval(_), "o") => QuestionReply::Allow(Scope::Once),
            (QuestionKind::Approval(_), "s") => QuestionReply::Allow(Scope::Session),
            (QuestionKind::Approval(_), "w") => QuestionReply::Allow(Scope::Always),
            (QuestionKind::Approval(_), _) => QuestionReply::Deny { comment: None },
            (QuestionKind::Choice { choices, .. }, number) => {
                let chosen = number.parse().ok().and_then(|at: usize| choices.get(at));
                match chosen {
                    Some(text) => QuestionReply::Text(text.clone()),
                    None => return word("This button does nothing."),
                }
            }
            (QuestionKind::Password { .. }, _) => QuestionReply::Decline,
        };
        self.answer(&card, reply, &hand).await
    }

    /// Somebody who may not write pressed a button of a card: the owner hears of it, once a card.
    pub(crate) async fn tell_of_stranger(&self, account: &Account, data: &str) {
        let card = data.split(':').nth(1).and_then(|id| self.cards.get(id));
        let Some(card) = card.filter(|card| card.closed.is_none()) else { return };
        let body = format!(
            "Somebody whom I do not know pressed a button of #{} on {}. Nothing was decided.",
            card.number, account.def.name
        );
        self.tell_home(&body, &format!("stranger-{}", card_id(&card.question))).await;
    }

    /// A mark under a card is an answer, where it is one of ours.
    pub(crate) async fn react(&self, arrival: &Arrival, key: &ChatKey, mark: &str, class: Class) {
        let reply = match mark.trim_end_matches('\u{fe0f}') {
            "✅" | "👍" => QuestionReply::Allow(Scope::Once),
            "♾" => QuestionReply::Allow(Scope::Session),
            "❌" | "👎" => QuestionReply::Deny { comment: None },
            _ => return,
        };
        let lane = key.lane();
        for card in self.cards.open(&lane) {
            let sent = self.delivery_of(&card).await.map(|row| row.sent).unwrap_or_default();
            if sent.contains(&arrival.message)
                && matches!(card.question.kind, QuestionKind::Approval(_))
            {
                let hand = Hand {
                    lane: lane.clone(),
                    user: arrival.sender.id.clone().unwrap_or_default(),
                    name: render::harmless(&arrival.sender.name),
                    class,
                };
                let word = self.settle(&card, reply, &hand).await;
                info!(word, "a mark answered a card");
                return;
            }
        }
    }

    /// Answers a card and shows it there; gives a word for whoever did.
    async fn settle(&self, card: &Card, reply: QuestionReply, hand: &Hand) -> String {
        let (word, decided) = self.answer(card, reply, hand).await;
        self.redraw(decided).await;
        word
    }

    /// Answers a card; gives a word for whoever did, and the card when this decided it.
    async fn answer(
        &self,
        card: &Card,
        reply: QuestionReply,
        hand: &Hand,
    ) -> (String, Option<Card>) {
        let number = card.number;
        if card.lane != hand.lane {
            return ("No such request here.".to_owned(), None);
        }
        if let Some(outcome) = &card.closed {
            return (format!("#{number} is already decided: {outcome}."), None);
        }
        if !self.may_answer(card, hand) {
            info!(question = card_id(&card.question), "somebody else tried to answer");
            return (format!("#{number} is not yours to answer."), None);
        }
        let outcome = described(&reply, &hand.name);
        // A turn that no chat began has no place of its own that an answer must come from.
        let from = (!card.routed).then(|| address(&card.asked_in));
        let by = Answerer { name: Some(hand.name.clone()), address: from };
        let word = match self.sessions.questions().answer(&card.question.id, reply, &by).await {
            Ok(()) => {
                let decided = self.cards.close(&card_id(&card.question), &outcome);
                return (format!("#{number}: {outcome}."), decided);
            }
            Err(AnswerError::Unfit { offered }) => format!("#{number}: type {offered}"),
            Err(error) => format!("#{number}: {error}"),
        };
        (word, None)
    }

    fn may_answer(&self, card: &Card, hand: &Hand) -> bool {
        if card.routed {
            return hand.class >= Class::Admin && listed_admin(self, card, hand);
        }
        let requester = hand.user == card.requester && !hand.user.is_empty();
        let is_question = !matches!(card.question.kind, QuestionKind::Approval(_));
        match self.options().approvers {
            _ if is_question && requester => true,
            Approvers::RequesterOrAdmin => {
                requester || hand.class >= Class::Admin && listed_admin(self, card, hand)
            }
            Approvers::Requester => requester,
            Approvers::Admins => hand.class >= Class::Admin,
            Approvers::AnyAllowed => true,
        }
    }

    /// Whether a message was the answer to a card.
    pub(crate) async fn answered_a_card(&self, message: &Admitted) -> Result<bool, StoreError> {
        let lane = message.lane();
        let open = self.cards.open(&lane);
        if open.is_empty() || message.has_media {
            return Ok(false);
        }
        let hand = Hand::of(message);
        let word = match typed(&message.text) {
            Some((reply, Some(number))) => match open.iter().find(|card| card.number == number) {
                Some(card) => self.settle(card, reply, &hand).await,
                None => return Ok(false),
            },
            Some((reply, None)) => {
                let approvals: Vec<&Card> = open
                    .iter()
                    .filter(|card| matches!(card.question.kind, QuestionKind::Approval(_)))
                    .collect();
                match (&approvals[..], own_question(&open, &hand)) {
                    ([card], _) => self.settle(card, reply, &hand).await,
                    ([], Some(card)) => self.settle(card, spoken(card, &message.text), &hand).await,
                    ([], None) => return Ok(false),
                    (several, _) => {
                        let numbers: Vec<String> =
                            several.iter().map(|card| format!("#{}", card.number)).collect();
                        format!(
                            "Several are open: {}. Say which, as in `yes {}`.",
                            numbers.join(", "),
                            several[0].number
                        )
                    }
                }
            }
            None => match own_question(&open, &hand) {
                Some(card) => self.settle(card, spoken(card, &message.text), &hand).await,
                None => return Ok(false),
            },
        };
        self.end_with(message, "an answer", word).await.map(|()| true)
    }

    /// Ends a message with a short word.
    pub(crate) async fn end_with(
        &self,
        message: &Admitted,
        reason: &str,
        word: String,
    ) -> Result<(), StoreError> {
        let replies: Vec<NewDelivery> = if word.is_empty() {
            Vec::new()
        } else {
            vec![message.reply(DeliveryClass::Command, word)]
        };
        self.store.finish(&message.id, InboxState::Answered, reason, replies).await?;
        self.nudge(&message.lane());
        Ok(())
    }

    /// `/approve`, `/deny` and `/answer`; gives what to say.
    pub(crate) async fn decide(&self, message: &Admitted, name: &str, words: &str) -> String {
        let open = self.cards.open(&message.lane());
        let hand = Hand::of(message);
        let (mut number, mut all, mut rest) = (None, false, Vec::new());
        for word in words.split_whitespace() {
            match word.trim_start_matches('#').parse::<u32>() {
                Ok(found) if number.is_none() && rest.is_empty() => number = Some(found),
                _ if word == "all" && rest.is_empty() => all = true,
                _ => rest.push(word),
            }
        }
        let reply = match (name, rest.first().copied()) {
            ("answer", _) => QuestionReply::Text(rest.join(" ")),
            ("deny", _) => {
                let why: String = rest.join(" ").chars().take(WHY_CHARS_MAX).collect();
                QuestionReply::Deny { comment: Some(why).filter(|why| !why.is_empty()) }
            }
            (_, None | Some("once")) => QuestionReply::Allow(Scope::Once),
            (_, Some("session")) => QuestionReply::Allow(Scope::Session),
            (_, Some("always")) if all => {
                return "`all always` is refused: decide one by one.".to_owned();
            }
            (_, Some("always")) => QuestionReply::Allow(Scope::Always),
            (_, Some(other)) => return format!("`{other}` is no scope: once, session or always."),
        };
        let fitting = |card: &&Card| {
            matches!(card.question.kind, QuestionKind::Approval(_)) == (name != "answer")
        };
        let cards: Vec<&Card> = open.iter().filter(fitting).collect();
        match (number, all) {
            (Some(number), _) => match cards.iter().find(|card| card.number == number) {
                Some(card) => self.settle(card, spoken_reply(card, reply), &hand).await,
                None => self.late(number, &message.lane()),
            },
            (None, true) => {
                let mut said = Vec::new();
                for card in cards {
                    said.push(self.settle(card, reply.clone(), &hand).await);
                }
                if said.is_empty() { "Nothing is open here.".to_owned() } else { said.join("\n\n") }
            }
            (None, false) => match &cards[..] {
                [] => "Nothing is open here.".to_owned(),
                [card] => self.settle(card, spoken_reply(card, reply), &hand).await,
                several => {
                    let numbers: Vec<String> =
                        several.iter().map(|card| format!("#{}", card.number)).collect();
                    format!("Several are open: {}. Say which.", numbers.join(", "))
                }
            },
        }
    }

    fn late(&self, number: u32, lane: &Lane) -> String {
        match self.cards.outcome(number, lane) {
            Some(outcome) => format!("#{number} is already decided: {outcome}."),
            None => format!("There is no #{number} here."),
        }
    }

    /// A question was closed, by whichever surface or by nobody.
    pub(crate) async fn close_card(&self, id: &str, how: Closed) {
        let outcome = match how {
            Closed::Answered => "answered elsewhere",
            Closed::Expired => "expired, nothing ran",
            Closed::Withdrawn => "cancelled",
        };
        let Some(card) = self.cards.close(id, outcome) else { return };
        self.redraw(Some(card.clone())).await;
        if how == Closed::Expired {
            let notice = NewDelivery {
                class: DeliveryClass::Command,
                token: format!("expired-{id}"),
                body: format!("#{} expired, nothing ran.", card.number),
                ..blank(&card.lane)
            };
            if let Err(error) = self.say(notice).await {
                warn!(%error, "a chat was not told that a question expired");
            }
        }
    }

    async fn delivery_of(&self, card: &Card) -> Option<OutboxRow> {
        let token = format!("card-{}", card_id(&card.question));
        self.store.delivery_of(&token).await.ok().flatten()
    }

    /// The delivery of a card that has arrived. Somebody may be faster than the note of it.
    async fn arrived(&self, card: &Card) -> Option<OutboxRow> {
        const LOOKS: usize = 40;
        const LOOK: Duration = Duration::from_millis(50);
        for _ in 0..LOOKS {
            let row = self.delivery_of(card).await?;
            if !row.sent.is_empty() {
                return Some(row);
            }
            if matches!(row.state, DeliveryState::Dead | DeliveryState::Superseded) {
                return None;
            }
            tokio::time::sleep(LOOK).await;
        }
        None
    }

    /// Shows on the card what became of it, where messages can be edited.
    pub(crate) async fn redraw(&self, card: Option<Card>) {
        let Some(card) = &card else { return };
        let outcome = card.closed.as_deref().unwrap_or_default();
        let Some(account) = self.account(&card.lane).filter(|account| account.has_buttons()) else {
            return;
        };
        let Some(row) = self.arrived(card).await else { return };
        let Some(name) = row.sent.first() else { return };
        let body = format!("{}\n\n**{outcome}**", row.delivery.body);
        let parts = account.def.form.parts(&body);
        let text = parts.first().cloned().unwrap_or_default();
        if let Err(error) = account.platform.edit(&card.lane, name, &text).await {
            warn!(%error, "a card still shows its buttons");
        }
    }
}

/// In a direct chat with an open list of administrators everybody is one; elsewhere somebody
/// else's request needs a real administrator.
fn listed_admin(shared: &Shared, card: &Card, hand: &Hand) -> bool {
    let Some(account) = shared.account(&card.lane) else { return false };
    let options = account.options();
    hand.class == Class::Owner
        || options.admins.contains(&hand.user)
        || options.group_admins.contains(&hand.user)
}

fn own_question<'a>(open: &'a [Card], hand: &Hand) -> Option<&'a Card> {
    open.iter().find(|card| {
        matches!(card.question.kind, QuestionKind::Choice { .. }) && card.requester == hand.user
    })
}

/// Words as the answer to a question with choices: a number chooses.
fn spoken(card: &Card, text: &str) -> QuestionReply {
    card.question.read(text).unwrap_or_else(|_| QuestionReply::Text(text.to_owned()))
}

fn spoken_reply(card: &Card, reply: QuestionReply) -> QuestionReply {
    match reply {
        QuestionReply::Text(text) => spoken(card, &text),
        other => other,
    }
}

/// What a question is called in buttons and tokens.
fn card_id(question: &Question) -> String {
    question.id.as_str().to_owned()
}

fn address(lane: &Lane) -> Address {
    Address {
        platform: lane.platform.as_str().into(),
        chat: lane.chat.as_str().into(),
        thread: lane.thread.as_deref().map(Into::into),
        user: None,
    }
}
