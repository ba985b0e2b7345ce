//! A card on its way: its time counts from the moment it arrives, one that cannot arrive is no
//! question, and a text that is too long for it goes along as a file.

use std::time::Duration;

use petasos_session::QuestionKind;
use petasos_store::{Attempt, MediaFile};
use tracing::warn;

use super::Card;
use super::words::shortened;
use crate::gateway::Shared;
use crate::media;
use crate::platform::PlatformDef;
use crate::render;

/// A card that has not arrived is waited for so much longer.
const ON_ITS_WAY: Duration = Duration::from_mins(1);
/// So much of a message is left to the words around what is asked about.
const AROUND: usize = 600;
/// What is asked about is shown whole up to here, where the platform has room.
const WHOLE: usize = 2500;
/// Less than this is not worth showing.
const LEAST: usize = 300;

impl Shared {
    /// A card goes out: nobody can answer it yet.
    pub(super) async fn card_goes(&self, card: &Card) {
        self.extend(card, card.question.patience + ON_ITS_WAY).await;
    }

    /// A try to deliver a card has ended.
    pub(crate) async fn card_tried(&self, token: &str, attempt: &Attempt) {
        let Some(card) = token.strip_prefix("card-").and_then(|id| self.cards.get(id)) else {
            return;
        };
        match attempt {
            Attempt::Sent => self.extend(&card, card.question.patience).await,
            Attempt::Dead { error } => {
                let why = format!("the question did not reach the chat: {error}");
                self.sessions.questions().give_up(&card.question.id, &why);
            }
            _ => {}
        }
    }

    async fn extend(&self, card: &Card, patience: Duration) {
        let extended = self.sessions.questions().extend(&card.question.id, patience).await;
        if let Err(error) = extended {
            warn!(%error, "the time of a question does not count from its arrival");
        }
    }

    /// What an approval is about, without secrets and with everything visible.
    fn subject(&self, card: &Card) -> Option<String> {
        let QuestionKind::Approval(request) = &card.question.kind else { return None };
        let text = self.sessions.services().approval_text(request, false);
        Some(render::visible(&self.host.redact(&text)))
    }

    /// The same as it fits into a card of this platform, and the whole as a file where it does not.
    pub(super) fn subject_for(&self, card: &Card) -> (String, Option<MediaFile>) {
        let Some(text) = self.subject(card) else { return (String::new(), None) };
        let def = self.account(&card.lane).map_or(&PlatformDef::USUAL, |account| account.def);
        let room = def.form.limit.saturating_sub(AROUND).clamp(LEAST, WHOLE);
        let shown = shortened(&text, room);
        if shown == text || def.media_bytes_max == 0 {
            return (shown, None);
        }
        match self.as_file(&text, card.number) {
            Ok(file) => (shown, Some(file)),
            Err(why) => {
                warn!(why, "the whole text of a question is not attached");
                (shown, None)
            }
        }
    }

    fn as_file(&self, text: &str, number: u32) -> Result<MediaFile, String> {
        let path = self.media_path("text/plain")?;
        media::keep(&path, text.as_bytes()).map_err(|error| error.to_string())?;
        Ok(MediaFile {
            path: path.display().to_string(),
            mime: "text/plain".to_owned(),
            name: format!("request-{number}.txt"),
        })
    }
}
