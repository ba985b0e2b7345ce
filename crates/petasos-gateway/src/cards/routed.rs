//! Questions of turns that no chat began: schedules, webhooks, programs. The operator names the chat
//! whose administrators are asked (`approvals.route_to`). They are found in the store, so that the
//! turn may run in any process of this home.

use std::sync::Arc;
use std::time::Duration;

use petasos_session::{Closed, Question, QuestionKind};
use petasos_store::{Lane, SessionScope, StoreError};
use tracing::warn;

use super::{Card, card_id};
use crate::gateway::Shared;
use crate::platform::now_ms;

/// How often open questions are looked for.
const LOOK: Duration = Duration::from_secs(1);
/// Where such turns come from.
const SOURCES: [&str; 3] = ["cron", "webhook", "api_server"];
/// Numbers of these cards, apart from those that a chat counts itself.
const NUMBERS: std::ops::Range<u32> = 1000..10_000;

impl Shared {
    /// Puts such questions into a chat, until it is dropped.
    pub(crate) async fn route_questions(self: Arc<Self>, lane: Lane) {
        loop {
            if let Err(error) = self.route_open(&lane).await {
                warn!(%error, "questions of turns without a chat are not shown");
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn route_open(&self, lane: &Lane) -> Result<(), StoreError> {
        let open = self.sessions.questions().open(None).await?;
        for card in self.cards.open(lane).into_iter().filter(|card| card.routed) {
            if !open.iter().any(|question| question.id == card.question.id) {
                let age = now_ms() - card.opened_ms;
                let has_expired =
                    i128::from(age) >= card.question.patience.as_millis().cast_signed();
                let how = if has_expired { Closed::Expired } else { Closed::Answered };
                self.close_card(&card_id(&card.question), how).await;
            }
        }
        for question in open {
            let known = self.cards.get(&card_id(&question)).is_some();
            if known || !matches!(question.kind, QuestionKind::Approval(_)) {
                continue;
            }
            let session = question.session.as_str();
            let Ok(head) = self.conversations.find(session, &SessionScope::Everyone).await else {
                continue;
            };
            if head.id == session && SOURCES.contains(&head.source.as_str()) {
                self.route_one(lane, question).await?;
            }
        }
        Ok(())
    }

    async fn route_one(&self, lane: &Lane, question: Question) -> Result<(), StoreError> {
        let card = Card {
            number: self.routed_number(lane, &question),
            session: question.session.clone(),
            lane: lane.clone(),
            asked_in: lane.clone(),
            // Whoever caused it is not in this chat.
            requester: String::new(),
            question: Arc::new(question),
            opened_ms: now_ms(),
            closed: None,
            routed: true,
        };
        self.show(card, None).await
    }

    /// The same number for a question after a restart, and one that no open card here has.
    fn routed_number(&self, lane: &Lane, question: &Question) -> u32 {
        let taken = self.cards.open_numbers(lane);
        let span = NUMBERS.end - NUMBERS.start;
        let mixed = |sum: u32, byte: u8| sum.wrapping_mul(31).wrapping_add(u32::from(byte));
        let first = question.id.as_str().bytes().fold(17, mixed);
        let mut numbers = (0..span).map(|step| NUMBERS.start + first.wrapping_add(step) % span);
        numbers.find(|number| !taken.contains(number)).unwrap_or(NUMBERS.start)
    }
}
