//! Recordings that came in: their words stand in the turn, and the chat sees what was understood.

use petasos_contract::message::{Content, Part};
use petasos_session::Input;
use petasos_store::{InboxRow, NewDelivery};
use serde_json::Value;
use tracing::warn;

use crate::gateway::{Shared, blank};

/// What became of a recording.
#[derive(Debug, Clone, PartialEq)]
pub enum Hearing {
    /// What is said in it.
    Words(String),
    /// Why nothing was understood, in a word.
    Failed(String),
    /// Nobody listens; how many seconds it has, where that is known.
    Unheard(Option<f64>),
}

impl Hearing {
    /// As it stands in the turn. Advice about settings is for the log and not for the conversation,
    /// where later turns would take it for true.
    fn line(&self) -> String {
        match self {
            Self::Words(text) => format!("[spoken] {text}"),
            Self::Failed(why) => format!("[voice message, not transcribed: {why}]"),
            Self::Unheard(Some(seconds)) => format!("[voice message of {seconds:.0} s]"),
            Self::Unheard(None) => "[voice message]".to_owned(),
        }
    }
}

impl Shared {
    /// The input with what is said in the recordings of its message. Where that fails the turn goes
    /// on with a word and the file.
    pub(crate) async fn with_words(&self, mut input: Input, row: &InboxRow) -> Input {
        let mut words = Vec::new();
        for file in row.message.media.iter().filter(|file| file.mime.starts_with("audio/")) {
            let heard = self.host.heard(&file.path).await;
            if let Hearing::Words(text) = &heard {
                self.echo(row, words.len(), text).await;
            }
            words.push(heard.line());
        }
        if words.is_empty() {
            return input;
        }
        let words = words.join("\n");
        input.content = match input.content {
            Content::Text(text) => Content::Text(format!("{words}\n\n{text}").trim().to_owned()),
            Content::Parts(parts) => {
                Content::Parts(std::iter::once(Part::text(words)).chain(parts).collect())
            }
        };
        input
    }

    /// Shows the chat what was understood, once, unless that is not wanted.
    async fn echo(&self, row: &InboxRow, number: usize, text: &str) {
        if self.settings.lock().get("stt.echo_transcripts") == Some(&Value::Bool(false)) {
            return;
        }
        let said = self.say(NewDelivery {
            token: format!("heard-{}-{number}", row.id),
            body: format!("🎙️ \"{}\"", self.host.redact(text)),
            ..blank(&row.message.key.lane())
        });
        if let Err(error) = said.await {
            warn!(%error, id = row.id, "a chat does not see what was understood");
        }
    }
}
