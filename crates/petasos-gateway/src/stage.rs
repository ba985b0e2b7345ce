//! What a chat sees of a turn before its answer: words as they come, and which tools run.
//!
//! Both are one message each that is edited, no faster than the platform likes, and never the
//! record: the answer is planned as if nothing had been shown, and takes the place of the words. A
//! call that fails here is not repeated.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::event::Event;
use petasos_contract::reply::Delta;
use petasos_session::Outcome;
use petasos_store::{InboxRow, Lane};
use tracing::{debug, warn};

use crate::account::Account;
use crate::display::{Display, Progress};
use crate::gateway::Shared;
use crate::platform::{Outgoing, SendError};
use crate::render::{self, add};
use crate::turns::Ended;

/// How long one call may take.
const CALL: Duration = Duration::from_secs(5);
/// The longest pause between two edits of a server that wants us to go slower.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// So many refusals in a row end what is shown of this turn.
const FLOODS_MAX: u32 = 3;
/// The first words are shown after so long, however few they are.
const FIRST_AFTER: Duration = Duration::from_millis(1200);
/// So much room is left below the limit of a message.
const ROOM: usize = 64;
/// So many lines of progress are kept.
const LINES_MAX: usize = 20;

/// Words that are on the screen already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The platform's name of the message.
    pub(crate) name: String,
    /// The Markdown that it shows.
    pub(crate) words: String,
}

/// One message that is edited.
#[derive(Debug, Default)]
struct Board {
    name: Option<String>,
    shown: String,
    wanted: String,
    next: Option<Instant>,
    floods: u32,
    pause: Duration,
    off: bool,
}

impl Board {
    fn is_due(&self) -> bool {
        !self.off && !self.wanted.is_empty() && self.wanted != self.shown
    }

    fn due(&self, now: Instant) -> Option<Instant> {
        self.is_due().then(|| self.next.unwrap_or(now))
    }
}

/// What is shown of one turn.
pub(crate) struct Stage {
    account: Arc<Account>,
    lane: Lane,
    token: String,
    display: Display,
    shared_chat: bool,
    words: Board,
    tools: Board,
    text: String,
    source: (u32, u32),
    began: Option<Instant>,
    turn_began: Instant,
    /// The sign of life of a long turn, and how often it is given.
    life: Board,
    alive: Option<Duration>,
    lines: Vec<String>,
    seen: Vec<String>,
}

impl Stage {
    /// What the settings want shown in this chat; nothing when that is nothing.
    pub(crate) fn new(shared: &Shared, row: &InboxRow, chosen: Option<Progress>) -> Option<Self> {
        let key = &row.message.key;
        let lane = key.lane();
        let account = shared.account(&lane)?;
        let mut display = Display::of(&shared.settings.lock(), account.def);
        display.progress = chosen.filter(|_| !display.quiet).unwrap_or(display.progress);
        let alive = shared.options().turn_alive.filter(|_| !display.quiet);
        if account.def.edits.is_none() || !(display.shows_anything() || alive.is_some()) {
            return None;
        }
        let pause = display.pause(account.def);
        let board = || Board { pause, ..Board::default() };
        // Words that an earlier process left on the screen are written over.
        let left = account.shown.lock().remove(&answer_token(&row.id));
        let words = Board { name: left.map(|left| left.name), ..board() };
        Some(Self {
            account,
            lane,
            token: row.id.clone(),
            display,
            shared_chat: key.kind.is_shared(),
            words,
            tools: board(),
            text: String::new(),
            source: (0, 0),
            began: None,
            turn_began: Instant::now(),
            life: board(),
            alive,
            lines: Vec::new(),
            seen: Vec::new(),
        })
    }

    /// Something happened in the loop.
    pub(crate) fn hear(&mut self, event: &Event, redact: impl Fn(&str) -> String) {
        match event {
            Event::Delta { request, attempt, delta: Delta::Text { text }, .. } => {
                if !self.display.streaming {
                    return;
                }
                // Another attempt, or the words after a call, take the place of these.
                if self.source != (*request, *attempt) {
                    self.source = (*request, *attempt);
                    self.text.clear();
                }
                self.began.get_or_insert_with(Instant::now);
                self.text.push_str(text);
                self.compose();
            }
            Event::ToolRequested { tool, arguments, .. } => {
                self.note(tool.as_str(), arguments, redact);
            }
            _ => {}
        }
    }

    fn compose(&mut self) {
        let (words, _) = render::directives(&self.text);
        let early = self.began.is_none_or(|at| at.elapsed() < FIRST_AFTER);
        let few = words.chars().count() < self.display.buffer;
        if self.words.name.is_none() && (render::may_be_silence(&words) || (few && early)) {
            return;
        }
        self.words.wanted = words;
    }

    /// A line about a call. In a shared chat its arguments are nobody's business.
    fn note(&mut self, tool: &str, arguments: &str, redact: impl Fn(&str) -> String) {
        let first = !self.seen.iter().any(|seen| seen == tool);
        if first {
            self.seen.push(tool.to_owned());
        }
        let line = match self.display.progress {
            Progress::Off => return,
            Progress::New if !first => return,
            _ if self.shared_chat => format!("- {tool}"),
            Progress::New | Progress::All => {
                let shown = short(&redact(arguments), self.display.preview);
                format!("- {tool} `{shown}`")
            }
            Progress::Verbose => format!("- {tool} `{}`", short(&redact(arguments), 400)),
        };
        self.lines.push(line);
        if self.lines.len() > LINES_MAX {
            self.lines.remove(0);
        }
        self.tools.wanted = self.lines.join("\n");
    }

    /// Comes back when something is to be shown. Nothing is lost when nobody waits for it.
    pub(crate) async fn due(&self) {
        let now = Instant::now();
        let life = self.alive_at().filter(|_| !self.life.off);
        let due = [self.words.due(now), self.tools.due(now), life].into_iter().flatten().min();
        match due {
            Some(at) => tokio::time::sleep_until(at.into()).await,
            None => std::future::pending().await,
        }
    }

    /// When the next sign of life is due.
    fn alive_at(&self) -> Option<Instant> {
        let every = self.alive?;
        Some(self.life.next.map_or(self.turn_began, |last| last.max(self.turn_began)) + every)
    }

    /// A long turn says that it still works, in one message.
    async fn live(&mut self) {
        let minutes = self.turn_began.elapsed().as_secs() / 60;
        self.life.wanted = format!("Still working, {minutes} min.");
        let token = format!("alive-{}", self.token);
        update(&mut self.life, &self.account, &self.lane, &token, "").await;
        self.life.next = Some(Instant::now());
    }

    /// The turn is over: nothing says any longer that it works.
    pub(crate) async fn rest(&mut self) {
        if self.life.name.is_some() {
            let minutes = self.turn_began.elapsed().as_secs() / 60;
            self.life.wanted = format!("Worked for {minutes} min.");
            let token = format!("alive-{}", self.token);
            update(&mut self.life, &self.account, &self.lane, &token, "").await;
        }
    }

    /// Shows what is due.
    pub(crate) async fn show(&mut self, shared: &Shared) {
        let now = Instant::now();
        if !self.life.off && self.alive_at().is_some_and(|at| at <= now) {
            self.live().await;
        }
        if self.tools.due(now).is_some_and(|at| at <= now) {
            let token = format!("progress-{}", self.token);
            update(&mut self.tools, &self.account, &self.lane, &token, "").await;
        }
        if self.words.due(now).is_some_and(|at| at <= now) {
            let token = format!("preview-{}", self.token);
            let known = self.words.name.clone();
            update(&mut self.words, &self.account, &self.lane, &token, &self.display.cursor).await;
            if self.words.name != known {
                shared.remember_shown(&self.lane, &self.token, self.words.name.as_deref()).await;
            }
        }
    }

    /// The turn is over: the words that its answer takes the place of.
    pub(crate) fn end(self) -> Option<Shown> {
        let words = self.words.shown;
        self.words.name.map(|name| Shown { name, words })
    }
}

/// The token of the answer to a stored message.
pub(crate) fn answer_token(id: &str) -> String {
    format!("turn-{id}")
}

impl Shared {
    /// Keeps which message shows the words of a turn, for the day that this process dies.
    pub(crate) async fn remember_shown(&self, lane: &Lane, id: &str, name: Option<&str>) {
        let (key, value) = (shown_key(lane), format!("{id}\n{}", name.unwrap_or_default()));
        let kept = self.store.set_cursor(&lane.platform, &lane.account, &key, &value).await;
        if let Err(error) = kept {
            debug!(%error, "words on a screen may stay there after a crash");
        }
    }

    /// The answer takes the place of the words on the screen; a turn without one says why they end.
    pub(crate) async fn leave_shown(&self, row: &InboxRow, shown: Shown, ended: &Ended) {
        let lane = row.message.key.lane();
        let Some(account) = self.account(&lane) else { return };
        let end = match ended {
            Ended::Turn(end) if end.outcome == Outcome::Interrupted => " (interrupted)",
            // Nothing follows: the words stay as they are, without the sign that more comes.
            Ended::Turn(end) if end.text.trim().is_empty() || render::is_silence(&end.text) => "",
            Ended::Turn(_) => {
                account.shown.lock().insert(answer_token(&row.id), shown);
                return;
            }
            Ended::Failed(_) | Ended::Silent => " (interrupted)",
        };
        let parts = account.def.form.parts(&format!("{}{end}", shown.words));
        let text = parts.first().cloned().unwrap_or_default();
        if let Err(error) = account.platform.edit(&lane, &shown.name, &text).await {
            warn!(%error, "words on a screen do not say that they end");
        }
    }

    /// The words of a turn that an earlier process left on the screen, for its answer to replace.
    pub(crate) async fn find_shown(&self, lane: &Lane, id: &str) {
        let key = shown_key(lane);
        let kept = self.store.cursor(&lane.platform, &lane.account, &key).await.ok().flatten();
        let Some((of, name)) = kept.as_deref().and_then(|kept| kept.split_once('\n')) else {
            return;
        };
        let Some(account) = self.account(lane).filter(|_| of == id && !name.is_empty()) else {
            return;
        };
        let shown = Shown { name: name.to_owned(), words: String::new() };
        account.shown.lock().insert(answer_token(id), shown);
    }
}

/// Comes back when something is to be shown.
pub(crate) async fn due(stage: Option<&Stage>) {
    match stage {
        Some(stage) => stage.due().await,
        None => std::future::pending().await,
    }
}

fn shown_key(lane: &Lane) -> String {
    format!("shown:{}:{}", lane.chat, lane.thread.as_deref().unwrap_or_default())
}

/// Sends or edits a board. The text never grows past one message.
async fn update(board: &mut Board, account: &Account, lane: &Lane, token: &str, cursor: &str) {
    let form = account.def.form;
    let wanted = board.wanted.clone();
    let whole = form.parts(&format!("{wanted}{cursor}"));
    let (Some(text), true) = (whole.first(), whole.len() == 1) else {
        // The rest comes with the answer.
        board.off = true;
        return;
    };
    if form.unit.measure(text) + ROOM > form.limit {
        board.off = true;
        return;
    }
    let plain = render::plain(&wanted);
    let call = async {
        if let Some(name) = &board.name {
            return account.platform.edit(lane, name, text).await.map(|()| None);
        }
        let message = Outgoing {
            lane,
            text,
            plain: &plain,
            unmarked: false,
            buttons: &[],
            reply_to: None,
            media: None,
            token,
            context: None,
        };
        account.platform.send(message).await.map(Some)
    };
    let ended = tokio::time::timeout(CALL, call).await;
    match ended {
        Ok(Ok(name)) => {
            board.name = name.or_else(|| board.name.take());
            board.shown = wanted;
            board.floods = 0;
        }
        Ok(Err(SendError::RateLimited { after })) => {
            board.floods += 1;
            board.pause = (board.pause * 2).min(PAUSE_MAX).max(after.min(PAUSE_MAX));
            board.off = board.floods >= FLOODS_MAX;
        }
        Ok(Err(error)) => {
            debug!(%error, "what happens is not shown");
            board.off = true;
        }
        Err(_) => board.off = true,
    }
    board.next = Some(Instant::now() + board.pause);
}

/// The beginning of a text on one line.
fn short(text: &str, most: usize) -> String {
    let line: String = text.replace(['\n', '`'], " ");
    let mut out: String = line.chars().take(most).collect();
    if out.len() < line.len() {
        add(&mut out, format_args!("…"));
    }
    out
}
