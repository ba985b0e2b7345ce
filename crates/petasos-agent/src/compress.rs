//! Making a conversation fit its window without forgetting in silence.
//!
//! Tool bulk goes first; only when that is not enough is the middle summarised. Beginning and end
//! stay word for word. A pass shrinks the conversation or stops with a typed reason and changes
//! nothing. Rows are hidden, never removed: the log keeps everything.

mod bounds;
mod prune;
mod summary;

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::message::Message;
use petasos_contract::model::Reason;
use petasos_contract::{CallContext, Settings, event::Event};
use petasos_store::{Seq, StoreError, Stored, Swap};
use serde_json::Value;

use crate::engine::{Choice, Engine};
use crate::todo::TodoList;
use crate::transcript::Transcript;

/// After a failure that time may heal.
const COOLDOWN: Duration = Duration::from_mins(10);
/// What a pass must save to count as one, in percent.
const SHARE_MIN: u64 = 10;
/// So many passes in a row may save too little.
const FUTILE_MAX: u32 = 2;
const FLOOR: u64 = 64_000;
const LARGE: u64 = 512_000;

/// Why nothing was changed, or not enough.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stopped {
    /// The last attempts saved too little.
    #[error("the last attempts saved too little: start a new session, or fork an earlier point")]
    Futile,
    /// Everything that is left is protected.
    #[error("there is nothing to compress yet")]
    NothingLeft,
    /// The summary would be as long as what it stands for.
    #[error("the summary would be no shorter than what it stands for")]
    NoGain,
    /// The summarising model cannot be used now.
    #[error("the summarising model is not available ({line}); the next attempt is in 10 minutes")]
    Unavailable {
        /// What it said.
        line: String,
    },
    /// A failure was not long ago.
    #[error("the last attempt failed not long ago; the next one is in {seconds} s")]
    Resting {
        /// How long to wait.
        seconds: u64,
    },
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A pass that shrank the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compressed {
    /// About how many tokens it was.
    pub before: u64,
    /// About how many it is.
    pub after: u64,
    /// How.
    pub how: &'static str,
}

/// What a pass works on.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The shared parts.
    pub engine: &'a Arc<Engine>,
    /// The conversation.
    pub transcript: &'a mut Transcript,
    /// Its open tasks, which a summary must not lose.
    pub todo: &'a Mutex<TodoList>,
}

/// When and how much, for one conversation.
#[derive(Debug)]
pub struct Compressor {
    on: bool,
    /// The window of the model.
    window: u64,
    /// A smaller one that a provider stated when it refused.
    stated: Option<u64>,
    share: Option<f64>,
    target_ratio: f64,
    protect_first: usize,
    protect_last: usize,
    reserved: u64,
    futile: Futile,
    resting_until: Option<Instant>,
}

/// Passes in a row that saved too little, and how long the conversation was.
#[derive(Debug, Clone, Copy, Default)]
struct Futile {
    passes: u32,
    tokens: u64,
}

impl Futile {
    fn once_more(self, tokens: u64) -> Self {
        Self { passes: self.passes + 1, tokens }
    }

    /// Whether another pass would be no better: until the conversation has grown.
    fn holds(self, tokens: u64) -> bool {
        self.passes >= FUTILE_MAX && tokens * 100 <= self.tokens * (100 + SHARE_MIN)
    }
}

impl Compressor {
    /// As configured, for the window of the chosen model.
    pub fn new(choice: &Choice) -> Self {
        let settings: &Settings = &choice.settings;
        let fraction = |key: &str| {
            settings.get(key).and_then(Value::as_f64).filter(|share| *share > 0.0 && *share < 1.0)
        };
        let count = |key: &str, usual: usize| {
            let value = settings.get(key).and_then(Value::as_u64);
            value.and_then(|value| usize::try_from(value).ok()).unwrap_or(usual)
        };
        Self {
            on: settings.get("compression.enabled") != Some(&Value::Bool(false)),
            window: choice.window_or(None),
            stated: None,
            share: fraction("compression.threshold").or_else(|| usual_share(choice)),
            target_ratio: fraction("compression.target_ratio").unwrap_or(0.2),
            protect_first: count("compression.protect_first_n", 3),
            protect_last: count("compression.protect_last_n", 20),
            reserved: settings.get("model.max_tokens").and_then(Value::as_u64).unwrap_or(0),
            futile: Futile::default(),
            resting_until: None,
        }
    }

    /// The model has this window. What a refusal stated holds until that is another one.
    pub fn resize(&mut self, window: u64) {
        if self.window != window {
            self.window = window;
            self.stated = None;
            self.futile = Futile::default();
        }
    }

    /// The provider stated its window.
    pub fn learn(&mut self, window: u64) {
        self.stated = Some(window.min(self.window()));
        self.futile = Futile::default();
    }

    /// The window in tokens.
    pub fn window(&self) -> u64 {
        self.stated.unwrap_or(self.window)
    }

    /// At how many tokens a conversation is shortened.
    pub fn threshold(&self) -> u64 {
        let window = self.window();
        let room = window.saturating_sub(self.reserved);
        let least = if window < LARGE { 0.75 } else { 0.0 };
        let threshold = part(room, self.share.unwrap_or(0.5).max(least)).max(FLOOR);
        if threshold >= window { part(window, 0.85) } else { threshold }
    }

    /// Whether a conversation should be shortened now, by what stands before it and by its size.
    pub fn is_due(&self, preamble: u64, tokens: u64) -> bool {
        let rested = self.resting_until.is_none_or(|until| Instant::now() >= until);
        let full = preamble + tokens > self.threshold();
        self.on && full && rested && !self.futile.holds(tokens)
    }

    /// Shortens the conversation now.
    pub async fn now(
        &mut self,
        bench: Bench<'_>,
        focus: Option<&str>,
        cx: &CallContext,
    ) -> Result<Compressed, Stopped> {
        let tokens = bench.transcript.tokens();
        if self.futile.holds(tokens) {
            return Err(Stopped::Futile);
        }
        if let Some(until) = self.resting_until.filter(|until| *until > Instant::now()) {
            let seconds = until.saturating_duration_since(Instant::now()).as_secs();
            return Err(Stopped::Resting { seconds });
        }
        let session = bench.transcript.session().clone();
        let _shortening = bench.engine.shorten(&session);
        let done = self.pass(bench, focus, cx).await;
        match &done {
            Ok(done) => {
                let saved = done.before.saturating_sub(done.after);
                let little = saved * 100 < done.before * SHARE_MIN;
                self.futile =
                    if little { self.futile.once_more(tokens) } else { Futile::default() };
                cx.events.emit(|| Event::Compressed {
                    session,
                    before: done.before,
                    after: done.after,
                    how: done.how.to_owned(),
                });
            }
            Err(Stopped::Unavailable { .. }) => {
                self.resting_until = Some(Instant::now() + COOLDOWN);
            }
            // A conversation that is short enough says nothing about later.
            Err(Stopped::NothingLeft | Stopped::NoGain) if tokens > self.threshold() => {
                self.futile = self.futile.once_more(tokens);
            }
            // An interrupt, another process or the disk say nothing about the conversation.
            Err(_) => {}
        }
        done
    }

    async fn pass(
        &mut self,
        bench: Bench<'_>,
        focus: Option<&str>,
        cx: &CallContext,
    ) -> Result<Compressed, Stopped> {
        let Bench { engine, transcript, todo } = bench;
        let before = transcript.tokens();
        let tail_budget = part(self.threshold(), self.target_ratio);
        let tail = bounds::tail(transcript.rows(), tail_budget, self.protect_last);
        let pruned = prune::swaps(transcript.rows(), tail);
        // Nothing is stored before all is known: a pass that stops has changed nothing.
        let rows = prune::applied(transcript.rows(), &pruned);
        let after = rows.iter().map(|row| u64::from(row.stored.tokens)).sum();
        let enough =
            after < part(self.threshold(), 0.7) && after * 100 <= before * (100 - SHARE_MIN);
        let tail = bounds::tail(&rows, tail_budget, self.protect_last);
        let head = bounds::head(&rows, self.protect_first, tail);
        let middle = rows.get(head..tail).unwrap_or_default();
        if (enough && focus.is_none()) || (middle.is_empty() && after < before) {
            transcript.swap(pruned).await?;
            take_back(engine, transcript);
            return Ok(Compressed { before, after, how: "old tool results were shortened" });
        }
        if middle.is_empty() {
            return Err(Stopped::NothingLeft);
        }
        let removed: u64 = middle.iter().map(|row| u64::from(row.stored.tokens)).sum();
        let most = (removed / 5).clamp(2000, (self.window() / 20).clamp(2000, 10_000));
        let asked = summary::Asked { rows: middle, focus, tokens_max: most };
        let (mut text, how) = summary::write(engine, &asked, cx).await?;
        if let Some(open) = todo.lock().open() {
            text = format!("{text}\n\n{open}");
        }
        if let Some(note) = crate::provenance::summary_note(cx.words.as_ref()) {
            text = format!("{text}\n\n{note}");
        }
        let shown = summary::message(&text);
        if crate::tokens::of_message(&shown.message) >= removed {
            return Err(Stopped::NoGain);
        }
        let hidden: Vec<Seq> = middle.iter().map(|row| row.seq).collect();
        let mut swaps = pruned;
        swaps.retain(|swap| !swap.hidden.iter().any(|seq| hidden.contains(seq)));
        swaps.push(Swap { hidden, shown: Some(shown) });
        transcript.swap(swaps).await?;
        take_back(engine, transcript);
        // The beginning is part of the summary from now on.
        self.protect_first = 0;
        Ok(Compressed { before, after: transcript.tokens(), how })
    }
}

/// A skill whose text is no longer in the conversation is no longer in use: what it lent to commands
/// is taken back. Its text names its folder; a summary of it does not count.
pub(crate) fn take_back(engine: &Engine, transcript: &Transcript) {
    let Some(terminal) = &engine.ports.terminal else { return };
    let in_use = |folder: &str| {
        transcript.rows().iter().filter(|row| row.stored.note.is_none()).any(|row| {
            let said = match &row.stored.message {
                Message::User { content } => content.text(),
                Message::Tool(result) => result.content.text(),
                Message::Assistant(_) => return false,
            };
            row.stored.sent.as_ref().unwrap_or(&said).contains(folder)
        })
    };
    terminal.take_back(transcript.session(), &in_use);
}

/// Models that use more of their window well than others do.
fn usual_share(choice: &Choice) -> Option<f64> {
    let chosen = choice.session(None);
    let model = chosen.model?.to_ascii_lowercase();
    let is_codex = chosen.provider.as_deref() == Some("openai-codex");
    if model.contains("spark") {
        Some(0.70)
    } else if model.contains("trinity") {
        Some(0.75)
    } else if is_codex && ["gpt-5.4", "gpt-5.5", "gpt-5.6"].iter().any(|it| model.contains(it)) {
        Some(0.85)
    } else {
        None
    }
}

/// A share of a number of tokens.
fn part(whole: u64, share: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "estimates of at most a few million"
    )]
    let part = (whole as f64 * share) as u64;
    part
}

/// Failures that say nothing about the conversation and pass with time.
fn is_passing(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Auth
            | Reason::Billing
            | Reason::RateLimit
            | Reason::UpstreamRateLimit
            | Reason::Overloaded
            | Reason::ServerError
            | Reason::Timeout
            | Reason::NotConfigured
            | Reason::Refused
            | Reason::Certificate
            | Reason::Deadline
    )
}

/// A message that stands for others.
fn noted(stored: Stored, note: &str) -> Stored {
    Stored { note: Some(note.to_owned()), ..stored }
}
