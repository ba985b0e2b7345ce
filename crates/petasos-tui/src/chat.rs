//! The chat itself: a composer while nothing runs, a draft while something does, and the events of a
//! session in between.
//!
//! It holds one session at a time. What a line means to the agent is decided by the session; here is
//! only what is typed and what is seen.

mod away;
mod begin;
pub(crate) mod busy;
mod event;
mod menu;
mod offering;
mod typed;
mod work;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::context::Phase;
use petasos_contract::{BoxFuture, Settings};
use petasos_session::{
    Admission, CommandOutcome, EndReason, EventStream, Offer, Question, Session, SessionError,
    Stored, StreamItem, SubmissionId, WhenBusy,
};

use crate::composer::Said;
use crate::draft::Draft;
use crate::input::Input;
use crate::line::{Colour, Line, Style};
use crate::picker::Picker;
use crate::raw::Raw;
use crate::screen::{Look, Screen};
use crate::signals::{Signal, Signals};
use crate::skin::Skin;
use crate::status::{self, Status};
use crate::view::{self, Piece, View};
use crate::watch::Emoji;
use menu::{Menu, Swallow};
use offering::Offering;

/// Two of Ctrl-C at an empty prompt within this time end the chat.
const TWICE: Duration = Duration::from_secs(2);
/// After the first of them.
const LEAVES: &str = "Ctrl-C again leaves; /help shows what else there is";
/// What comes within this time is shown together.
const TOGETHER: Duration = Duration::from_millis(20);
/// Columns of the sign before what is typed.
const SIGN_WIDTH: usize = 2;
/// The last exchange of a resumed conversation is looked for among so many messages.
const RECAP: usize = 50;

/// Why a chat could not go on.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The terminal failed.
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] std::io::Error),
    /// The session failed.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// What a chat begins with.
pub struct Setup {
    /// The session.
    pub session: Session,
    /// What the terminal can do.
    pub look: Look,
    /// The file of earlier messages.
    pub history: Option<PathBuf>,
    /// The first message.
    pub first: Option<String>,
    /// The first lines on the screen.
    pub greeting: String,
    /// The emoji of a tool.
    pub emoji: Emoji,
    /// The person's editor, where there is one.
    pub editor: Option<Editor>,
    /// Where pictures come from that are pasted.
    pub clipboard: Clipboard,
    /// Where they are kept.
    pub pasted: PathBuf,
    /// How pictures are shown, where the terminal can.
    pub pictures: Option<Pictures>,
    /// Listens to the person, where there is a microphone and somebody who hears.
    pub ears: Ears,
    /// Says something aloud, where there is a voice.
    pub mouth: Mouth,
}

/// A file as what is written to a terminal of so many columns and rows; nothing for what is no
/// picture.
pub type Pictures = Arc<dyn Fn(&Path, (usize, usize)) -> Option<String> + Send + Sync>;

/// Records so many seconds, the usual time without a number, and gives what was said.
pub type Ears =
    Arc<dyn Fn(Option<u32>) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// Says a text aloud where it can, and ends when it was said.
pub type Mouth = Arc<dyn Fn(String) -> BoxFuture<'static, ()> + Send + Sync>;

/// Opens a file in the person's editor, and waits until it is closed.
pub type Editor = Arc<dyn Fn(PathBuf) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Keeps the picture that is in the clipboard in a file, and names it.
pub type Clipboard = Arc<dyn Fn() -> BoxFuture<'static, Result<PathBuf, String>> + Send + Sync>;

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("session", &self.session).finish_non_exhaustive()
    }
}

/// Something that was asked of the session and is waited for, with the screen alive.
pub(crate) type Doing = BoxFuture<'static, Done>;

/// Answers on their way; gives why some were not taken.
pub(crate) type Answering = BoxFuture<'static, Vec<String>>;

/// What came of it.
pub(crate) enum Done {
    /// A command.
    Command(Result<CommandOutcome, SessionError>),
    /// A message.
    Submit { text: String, admission: Result<Admission, SessionError> },
    /// The way to another session, and its last messages.
    Switch(Result<(Session, Vec<Stored>), SessionError>),
    /// A command of the person's own.
    Run { command: String, admission: Result<Admission, SessionError> },
    /// Things to choose from, under a title.
    Offers(&'static str, Result<Vec<Offer>, String>),
    /// The text of the last reply.
    Copy(Result<String, String>),
    /// A message that waited and is not to be said; its words, unless its turn has begun.
    TakenBack(Result<Option<String>, SessionError>),
    /// What the person said aloud.
    Spoken(Result<String, String>),
}

/// A running chat.
pub(crate) struct Chat {
    pub(crate) session: Session,
    pub(crate) screen: Screen,
    pub(crate) view: View,
    pub(crate) busy: WhenBusy,
    pub(crate) footer: bool,
    /// Nothing once the session has ended.
    events: Option<EventStream>,
    settings: Arc<Settings>,
    /// Lines that were typed and not acted on yet.
    lines: VecDeque<String>,
    doing: Option<Doing>,
    /// Messages whose turns have not ended.
    pending: BTreeSet<SubmissionId>,
    /// Those among them that wait for others, and their words.
    queued: BTreeMap<SubmissionId, String>,
    question: Option<Asking>,
    picker: Option<Picker>,
    offering: Offering,
    swallow: Swallow,
    /// Tokens of the last request and its reply.
    used: u64,
    /// The status line above the composer.
    status: Arc<Mutex<String>>,
    answering: Option<Answering>,
    input: Input,
    signals: Signals,
    draft: Draft,
    interrupted: Option<Instant>,
    mode: Mode,
    next: Next,
    editor: Option<Editor>,
    clipboard: Clipboard,
    pictures: Option<Pictures>,
    pub(crate) ears: Ears,
    mouth: Mouth,
    /// Whether they speak with each other: answers are said, and the person is heard after them.
    pub(crate) speaks: bool,
    /// The colours, also of the composer.
    skin: Arc<Mutex<Skin>>,
    /// Whether messages are edited with the keys of vi.
    is_vi: Arc<AtomicBool>,
    /// Held while the chat lives; the terminal gets its former mode back with it.
    raw: Option<Raw>,
}

/// How the screen is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// At once, above the composer.
    Lines,
    /// In frames; keys come one by one.
    Frames,
}

/// What follows on this session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// It goes on.
    Stay,
    /// Another one; the end of this one is part of the way there.
    Switch,
    /// The end of the chat.
    Leave,
}

/// A question that waits for its line.
struct Asking {
    question: Arc<Question>,
    /// What was being typed before.
    draft: Draft,
    /// The answers, where keys come one by one.
    menu: Option<Menu>,
    since: Instant,
}

/// Chats until the person leaves, and ends the session; gives its name when it had begun.
pub async fn run(setup: Setup) -> Result<Option<petasos_contract::SessionId>, ChatError> {
    let view = setup.session.view().await?;
    let recent = setup.session.recent(RECAP).await?;
    let mut chat = Chat::new(setup, Arc::clone(&view.choice.settings))?;
    chat.recap(&recent);
    let conversed = chat.converse().await;
    chat.screen.bracketed(false);
    let stored = chat.session.view().await.is_ok_and(|view| view.head.is_some());
    let ended = chat.session.end(EndReason::Shutdown).await;
    conversed?;
    match ended {
        Ok(()) | Err(SessionError::Ended(_)) => Ok(stored.then(|| chat.session.id().clone())),
        Err(error) => Err(error.into()),
    }
}

impl Chat {
    /// Lines and turns, until the end.
    async fn converse(&mut self) -> Result<(), ChatError> {
        loop {
            self.catch_up();
            self.act();
            if self.is_working() {
                self.work().await?;
            } else if self.next == Next::Leave || self.input.has_ended() {
                break;
            } else {
                self.idle().await;
            }
        }
        self.leave_composer().await;
        Ok(())
    }

    /// Whether something goes on that the person may want to watch or stop.
    fn is_working(&self) -> bool {
        let asked = self.question.is_some() || self.answering.is_some();
        asked || self.picker.is_some() || self.doing.is_some() || !self.pending.is_empty()
    }

    /// Waits for a line, or for something to begin by itself.
    async fn idle(&mut self) {
        if self.input.needs_prompt() {
            self.screen.end_line();
            self.screen.plain("> ");
        } else {
            self.refresh_status().await;
            self.screen.make_room();
        }
        // What was typed during the turn and not sent is the beginning of the next message.
        if !self.input.needs_prompt() {
            self.input.carry(&self.draft.take());
        }
        while !self.is_working() && self.next != Next::Leave {
            tokio::select! {
                said = self.input.message() => return self.said(said).await,
                signal = self.signals.next() => {
                    let said = match signal {
                        Signal::Interrupt => Said::Interrupt,
                        Signal::End => Said::End,
                    };
                    let said = match self.input.interrupt().await {
                        Said::Line(line) => Said::Line(line),
                        Said::Broken(text) | Said::Wants(_, text) => {
                            self.draft.put(&text);
                            said
                        }
                        Said::Interrupt | Said::End => said,
                    };
                    return self.said(said).await;
                }
                item = event::next(&mut self.events) => {
                    if self.taken_while_composing(item).await {
                        return;
                    }
                }
            }
        }
    }

    /// Something happened while a message was being typed; what announces a turn is seen before it.
    /// Whether the composer gave way to what there is to see.
    async fn taken_while_composing(&mut self, item: Option<StreamItem>) -> bool {
        let mut items = vec![item];
        tokio::time::sleep(TOGETHER).await;
        while let Some(more) = self.events.as_mut().and_then(EventStream::try_next) {
            items.push(Some(more));
        }
        let begins = items.iter().any(|item| event::begins_something(item.as_ref()));
        if begins {
            self.leave_composer().await;
        }
        self.mode = Mode::Frames;
        for item in items {
            self.take(item);
        }
        // What is shown above the line that is typed takes the place of an older status.
        let leaves = !begins && self.input.is_composing() && self.view.has_lines();
        if leaves {
            self.leave_composer().await;
        }
        self.mode = Mode::Lines;
        self.flush();
        leaves
    }

    /// The line above the composer, as things are now.
    async fn refresh_status(&mut self) {
        let Ok(view) = self.session.view().await else { return };
        let settings = &self.settings;
        let workspace = settings.workspace();
        let mut modes = Vec::new();
        if self.session.service().services().approvals_off() {
            modes.push("⚠ approvals off".to_owned());
        }
        if view.choice.phase == Phase::Plan {
            modes.push("plan mode".to_owned());
        }
        let sandbox = settings.text("terminal.sandbox").filter(|level| *level != "off");
        modes.extend(sandbox.map(|level| format!("sandbox: {level}")));
        let configured = settings.text("model.default").map(str::to_owned);
        let status = Status {
            model: view.choice.model.clone().or(configured).unwrap_or_default(),
            folder: status::folder(workspace, Some(settings.user_home())),
            branch: status::branch(workspace),
            used: self.used,
            window: if view.is_window_known { view.window } else { 0 },
            cost_usd: view.head.as_ref().map_or(0.0, |head| head.cost_usd),
            modes,
            queued: view.waiting,
            jobs: view.jobs,
            subagents: self.view.subagents(),
        };
        let columns = self.screen.canvas().columns;
        // The hint stands where the status does, so that the line that is typed stays where it is.
        let line = match self.interrupted {
            Some(_) => Some(Line::of(Style::FAINT, LEAVES).cut(columns)),
            None => status.line(columns),
        };
        *self.status.lock() = line.map(|line| self.screen.text(&line)).unwrap_or_default();
    }

    async fn said(&mut self, said: Said) {
        match said {
            Said::Line(line) => {
                if self.input.needs_prompt() && !self.input.is_piped() {
                    self.screen.entered();
                }
                self.interrupted = None;
                self.lines.extend(Some(line).filter(|line| !line.is_empty()));
            }
            Said::Interrupt => {
                let now = Instant::now();
                if self.interrupted.is_some_and(|last| now.duration_since(last) < TWICE) {
                    self.screen.below();
                    self.next = Next::Leave;
                } else {
                    self.interrupted = Some(now);
                    if self.input.needs_prompt() {
                        self.note(LEAVES);
                    }
                }
            }
            Said::End => self.next = Next::Leave,
            Said::Wants(want, text) => self.wanted(want, text).await,
            Said::Broken(text) => self.draft.put(&text),
        }
    }

    /// The terminal is ours from here on; a message that was just sent is not lost.
    async fn leave_composer(&mut self) {
        if !self.input.is_open() {
            return;
        }
        match self.input.interrupt().await {
            Said::Line(line) => self.lines.push_back(line),
            Said::Broken(text) | Said::Wants(_, text) => {
                self.draft.put(&text);
                self.erase_composer(&text);
            }
            Said::Interrupt | Said::End => self.screen.below(),
        }
    }

    /// What the composer showed goes on below what comes now; one that is taller than its line stays.
    fn erase_composer(&mut self, text: &str) {
        let width = Line::of(Style::PLAIN, text).width() + SIGN_WIDTH;
        if text.contains('\n') || width >= self.screen.size().0 {
            return self.screen.below();
        }
        let has_status = !self.status.lock().is_empty();
        self.screen.erase_composer(has_status);
    }

    /// The chat ends when what runs has stopped.
    pub(crate) fn leave(&mut self) {
        self.next = Next::Leave;
        self.picker = None;
        self.lines.clear();
        self.stop();
    }

    /// Stops what runs; a second time while it is being stopped changes nothing.
    pub(crate) fn stop(&mut self) {
        if self.session.interrupt() {
            self.view.doing("stopping");
        }
    }

    /// Lines that stay, behind everything that was shown before them.
    pub(crate) fn put(&mut self, lines: impl IntoIterator<Item = Line>) {
        self.view.lines(lines);
        self.flush();
    }

    /// Shows what the view has finished: above the line that is being typed, or on the screen. While
    /// frames are drawn it waits for the next one, because the window may be changing its size.
    fn flush(&mut self) {
        if self.mode == Mode::Frames {
            return;
        }
        let stay = self.view.done();
        let above = self.input.is_composing() && !stay.is_empty();
        if !above {
            return self.screen.show(stay, &[]);
        }
        let text = |piece: &Piece| match piece {
            Piece::Line(line) => self.screen.text(line),
            Piece::Raw(text) => text.clone(),
        };
        let text: Vec<String> = stay.iter().map(text).collect();
        self.input.above(text.join("\n"));
    }

    /// Other colours from here on, also of what is typed.
    pub(crate) fn paint(&mut self, skin: Skin) {
        self.screen.paint(skin);
        *self.skin.lock() = skin;
    }

    /// Whether messages are edited with the keys of vi.
    pub(crate) fn is_vi(&self) -> bool {
        self.is_vi.load(Ordering::Acquire)
    }

    /// From here on they are, or not.
    pub(crate) fn set_vi(&self, on: bool) {
        self.is_vi.store(on, Ordering::Release);
    }

    /// A page of Markdown.
    pub(crate) fn markdown(&mut self, text: &str) {
        let lines = view::page(text, self.screen.canvas());
        self.put(lines);
    }

    /// A remark of less importance.
    pub(crate) fn note(&mut self, text: &str) {
        let columns = self.screen.canvas().columns;
        let lines: Vec<Line> =
            text.lines().flat_map(|line| Line::of(Style::FAINT, line).wrapped(columns)).collect();
        self.put(lines);
    }

    /// Something went wrong.
    pub(crate) fn complain(&mut self, text: &str) {
        let style = Style::of(Colour::Red);
        let lines = Line::of(style, &format!("✗ {text}")).wrapped(self.screen.canvas().columns);
        self.put(lines);
    }
}
