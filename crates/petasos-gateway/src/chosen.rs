//! What a chat chose for itself: facts below answers, how much of tool calls is shown, answers that
//! are said aloud, and which conversation a topic belongs to. Kept with the route of the chat.

use std::sync::Arc;

use petasos_contract::Address;
use petasos_contract::event::Event;
use petasos_contract::wait::Owned;
use petasos_session::command::switched;
use petasos_session::{Outcome, Session};
use petasos_store::{ChatKey, InboxRow, MediaFile, NewDelivery, SessionScope, StoreError};
use serde_json::Value;
use tracing::warn;

use crate::display::Progress;
use crate::gateway::{Shared, blank};
use crate::intake::Admitted;
use crate::media;
use crate::turns::Ended;

const FOOTER: &str = "footer";
const PROGRESS: &str = "progress";
const VOICE: &str = "voice";
/// How full the windows of so many conversations are is remembered.
const FOOTERS_MAX: usize = 4096;

/// Which answers are said aloud.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Voice {
    #[default]
    Off,
    /// Those to voice messages.
    On,
    All,
}

impl Voice {
    fn named(word: &str) -> Option<Self> {
        match word {
            "off" => Some(Self::Off),
            "on" => Some(Self::On),
            "all" => Some(Self::All),
            _ => None,
        }
    }

    fn told(self) -> &'static str {
        match self {
            Self::Off => "Answers are not said aloud.",
            Self::On => "Answers to voice messages are said aloud, too.",
            Self::All => "Every answer is said aloud, too.",
        }
    }
}

/// What stands below the answer of a turn.
#[derive(Debug, Clone)]
pub(crate) struct Footer {
    fields: Vec<String>,
    model: String,
    folder: String,
    window: u64,
    /// How many tokens the model read last.
    read: Option<u64>,
}

impl Footer {
    fn line(&self) -> String {
        let field = |name: &String| match name.as_str() {
            "model" => Some(self.model.clone()),
            "cwd" => Some(self.folder.clone()),
            "context_pct" => {
                let read = self.read.filter(|_| self.window > 0)?;
                Some(format!("{} % of the window", read * 100 / self.window))
            }
            _ => None,
        };
        self.fields.iter().filter_map(field).collect::<Vec<_>>().join(" · ")
    }
}

impl Shared {
    /// A choice of a chat.
    async fn choice(&self, key: &ChatKey, name: &str) -> Option<Value> {
        let route = self.store.route(key).await.ok().flatten()?;
        route.choices.get(name).cloned()
    }

    /// `/footer`: facts below answers.
    pub(crate) async fn set_footer(
        &self,
        message: &Admitted,
        words: &str,
    ) -> Result<String, StoreError> {
        let now = self.has_footer(&message.key).await;
        let on = match words {
            "status" => return Ok(footer_told(now).to_owned()),
            words => match switched(words, now) {
                Ok(on) => on,
                Err(why) => return Ok(why),
            },
        };
        self.store.choose(&message.key, FOOTER, Some(Value::Bool(on))).await?;
        Ok(footer_told(on).to_owned())
    }

    async fn has_footer(&self, key: &ChatKey) -> bool {
        let chosen = self.choice(key, FOOTER).await.and_then(|value| value.as_bool());
        let settings = self.settings.lock();
        let usual = settings.get("display.runtime_footer.enabled").and_then(Value::as_bool);
        chosen.or(usual).unwrap_or(false)
    }

    /// What stands below the answer of this turn, where the chat wants anything there.
    pub(crate) async fn begin_footer(&self, row: &InboxRow, session: &Session) {
        if !self.has_footer(&row.message.key).await {
            return;
        }
        let Ok(view) = session.view().await else { return };
        let settings = self.settings.lock().clone();
        let fields = settings.names("display.runtime_footer.fields");
        let fields =
            fields.unwrap_or_else(|| ["model", "context_pct", "cwd"].map(str::to_owned).to_vec());
        let model = view.choice.model.or_else(|| settings.text("model.default").map(str::to_owned));
        let mut footers = self.footers.lock();
        let read = footers.get(session.id().as_str()).and_then(|before| before.read);
        let footer = Footer {
            fields,
            model: model.unwrap_or_default(),
            folder: settings.workspace().display().to_string(),
            window: view.window,
            read,
        };
        if footers.len() >= FOOTERS_MAX {
            footers.clear();
        }
        footers.insert(session.id().as_str().to_owned(), footer);
    }

    /// How full the window is.
    pub(crate) fn note_read(&self, session: &Session, event: &Event) {
        if let Event::Replied { usage, .. } = event
            && let Some(footer) = self.footers.lock().get_mut(session.id().as_str())
        {
            footer.read = Some(usage.prompt());
        }
    }

    /// The answer with what stands below it.
    pub(crate) fn with_footer(&self, row: &InboxRow, text: String) -> String {
        let session = row.session.as_ref().map(|session| session.as_str().to_owned());
        let footers = self.footers.lock();
        let line = session.and_then(|session| footers.get(&session)).map(Footer::line);
        match line.filter(|line| !line.is_empty() && !text.trim().is_empty()) {
            Some(line) => format!("{text}\n\n_{line}_"),
            None => text,
        }
    }

    /// `/verbose`: how much of tool calls is shown.
    pub(crate) async fn set_progress(
        &self,
        message: &Admitted,
        words: &str,
    ) -> Result<String, StoreError> {
        let offered = self.settings.lock().get("display.tool_progress_command").cloned();
        if offered != Some(Value::Bool(true)) {
            let hint = "`display.tool_progress_command: true` lets chats choose with /verbose";
            return Ok(format!("That is not for chats to choose here: {hint}."));
        }
        let value = Value::from(words);
        if words.is_empty() || words == "status" {
            let now = self.chosen_progress(&message.key).await;
            let now = now.map_or("as configured", Progress::as_str);
            return Ok(format!("Tool calls are shown: {now}."));
        }
        if Progress::named(&value).is_none() {
            return Ok(format!("`{words}` is none of off, new, all, verbose."));
        }
        self.store.choose(&message.key, PROGRESS, Some(value)).await?;
        Ok(format!("Tool calls are shown from the next turn on: {words}."))
    }

    /// How much of tool calls a chat wants to see, where it said so.
    pub(crate) async fn chosen_progress(&self, key: &ChatKey) -> Option<Progress> {
        self.choice(key, PROGRESS).await.as_ref().and_then(Progress::named)
    }

    /// `/voice`: answers that are said aloud.
    pub(crate) async fn set_voice(
        &self,
        message: &Admitted,
        words: &str,
    ) -> Result<String, StoreError> {
        if words.is_empty() || words == "status" {
            return Ok(self.voice(&message.key).await.told().to_owned());
        }
        let Some(voice) = Voice::named(words) else {
            return Ok(format!("`{words}` is none of on, off, all."));
        };
        self.store.choose(&message.key, VOICE, Some(Value::from(words))).await?;
        Ok(voice.told().to_owned())
    }

    async fn voice(&self, key: &ChatKey) -> Voice {
        let chosen = self.choice(key, VOICE).await;
        chosen.as_ref().and_then(Value::as_str).and_then(Voice::named).unwrap_or_default()
    }

    /// What is to be said aloud when a turn has ended so.
    pub(crate) async fn to_say(&self, row: &InboxRow, ended: &Ended) -> Option<String> {
        let Ended::Turn(end) = ended else { return None };
        let spoken = row.message.media.iter().any(|file| file.mime.starts_with("audio/"));
        let wanted = match self.voice(&row.message.key).await {
            Voice::Off => false,
            Voice::On => spoken,
            Voice::All => true,
        };
        let said = end.outcome == Outcome::Replied && !crate::render::is_silence(&end.text);
        (wanted && said).then(|| crate::render::plain(&end.text))
    }

    /// Says an answer aloud, behind its words; a voice that fails takes nothing away from them.
    pub(crate) fn say_aloud(self: &Arc<Self>, row: &InboxRow, text: String) {
        let (shared, row) = (Arc::clone(self), row.clone());
        self.runners.errand(Owned::start(async move {
            let path = match shared.host.spoken(&text).await {
                Ok(path) => path,
                Err(why) => return warn!(why, id = row.id, "an answer was not said aloud"),
            };
            let name = path.rsplit('/').next().unwrap_or("answer").to_owned();
            let mime = media::mime_of(&name).to_owned();
            let delivery = NewDelivery {
                token: format!("spoken-{}", row.id),
                media: vec![MediaFile { path, mime, name }],
                ..blank(&row.message.key.lane())
            };
            if let Err(error) = shared.say(delivery).await {
                warn!(%error, id = row.id, "an answer was not said aloud");
            }
        }));
    }

    /// `/topic`: which conversation a topic of a chat belongs to.
    pub(crate) async fn topic(
        &self,
        message: &Admitted,
        words: &str,
    ) -> Result<String, StoreError> {
        const HELP: &str = "Each topic has a conversation of its own. `/topic off` lets this topic \
            go on with that of the chat, `/topic on` gives it its own again, `/topic ID` another.";
        if message.key.platform != "telegram" {
            return Ok(
                "Topics are Telegram's: /resume goes on with a conversation here.".to_owned()
            );
        }
        let Some(thread) = &message.key.thread else {
            return Ok(format!("This is no topic. {HELP}"));
        };
        if self.runners.is_working(&message.session) {
            return Ok("I work in this topic: /stop first, or wait.".to_owned());
        }
        let whole = ChatKey { thread: None, ..message.key.clone() };
        let session = match words {
            "" | "status" | "help" => {
                let hint =
                    if words == "help" { HELP } else { "`/topic help` says what can be done." };
                return Ok(format!("Topic {thread}, conversation `{}`. {hint}", message.session));
            }
            "off" => match self.store.route(&whole).await? {
                Some(route) => route.session,
                None => self.store.bind_first(&whole, &message.session).await?,
            },
            "on" => self.host.new_session(),
            id => match self.conversations.find(id, &scope_of(message)).await {
                Ok(head) => head.session(),
                Err(error) => return Ok(error.to_string()),
            },
        };
        self.store.bind(&message.key, &session).await?;
        Ok(format!("This topic goes on with `{session}`."))
    }
}

fn footer_told(on: bool) -> &'static str {
    if on { "Facts stand below answers." } else { "No facts stand below answers." }
}

/// The conversations that whoever wrote this may see.
fn scope_of(message: &Admitted) -> SessionScope {
    let ChatKey { platform, chat, .. } = &message.key;
    SessionScope::Chat(Address {
        platform: platform.as_str().into(),
        chat: chat.as_str().into(),
        thread: None,
        user: Some(message.sender.as_str().into()),
    })
}
