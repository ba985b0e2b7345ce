//! Words that reach a running turn from outside: guidance of the user, news of background work; and
//! another model for the requests that are still to come.
//!
//! They wait here until the loop can hand them over without breaking the order of roles: behind
//! the next tool results, or as the next message.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::model::Effort;
use tokio::sync::Notify;

/// Something for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// The user's guidance.
    Guidance(String),
    /// News: a job or a delegation ended.
    News(String),
}

impl Word {
    /// As the model reads it.
    pub fn text(&self) -> String {
        match self {
            Self::Guidance(text) => format!("[The user adds while you work: {text}]"),
            Self::News(text) => format!("[News from background work]\n{text}"),
        }
    }
}

/// Who answers from now on, chosen while a turn runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Switch {
    /// The model; the configured one when absent.
    pub model: Option<String>,
    /// The provider; the configured one when absent.
    pub provider: Option<String>,
    /// How much thinking is asked for.
    pub effort: Option<Effort>,
}

/// Where such words wait. Cheap to clone; all clones are one inbox.
#[derive(Debug, Clone, Default)]
pub struct Inbox {
    words: Arc<Mutex<VecDeque<Word>>>,
    arrived: Arc<Notify>,
    switch: Arc<Mutex<Option<Switch>>>,
}

impl Inbox {
    /// Leaves guidance for the model.
    pub fn steer(&self, text: impl Into<String>) {
        self.leave(Word::Guidance(text.into()));
    }

    /// Leaves news for the model.
    pub fn news(&self, text: impl Into<String>) {
        self.leave(Word::News(text.into()));
    }

    /// The requests that follow go to somebody else; one that is under way goes on.
    pub fn switch(&self, to: Switch) {
        *self.switch.lock() = Some(to);
    }

    /// Who answers from now on, where that was chosen during the turn.
    pub(crate) fn switched(&self) -> Option<Switch> {
        self.switch.lock().clone()
    }

    /// The turn is over, and whoever holds the agent knows of the change: says whether there was one.
    pub fn settle(&self) -> bool {
        self.switch.lock().take().is_some()
    }

    fn leave(&self, word: Word) {
        self.words.lock().push_back(word);
        self.arrived.notify_one();
    }

    /// Whether something waits.
    pub fn is_empty(&self) -> bool {
        self.words.lock().is_empty()
    }

    /// Takes everything that waits.
    pub fn drain(&self) -> Vec<Word> {
        self.words.lock().drain(..).collect()
    }

    /// Takes the guidance that nobody has read; news waits on.
    pub fn unread_guidance(&self) -> Vec<String> {
        let mut words = self.words.lock();
        let (guidance, news) = std::mem::take(&mut *words).into_iter().fold(
            (Vec::new(), VecDeque::new()),
            |(mut guidance, mut news), word| {
                match word {
                    Word::Guidance(text) => guidance.push(text),
                    word @ Word::News(_) => news.push_back(word),
                }
                (guidance, news)
            },
        );
        *words = news;
        guidance
    }

    /// Puts back what was taken and could not be handed over.
    pub(crate) fn restore(&self, taken: Vec<Word>) {
        let mut words = self.words.lock();
        for word in taken.into_iter().rev() {
            words.push_front(word);
        }
    }

    /// Ends when something was left; for surfaces that begin a turn because of news.
    pub async fn arrival(&self) {
        if self.is_empty() {
            self.arrived.notified().await;
        }
    }
}
