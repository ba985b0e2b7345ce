//! The chat itself: waits for a message, runs a turn, shows what happens, and waits again.
//!
//! It holds one conversation at a time. Everything it shows comes from events and pages; what
//! anything means is decided below (the loop) or backstage (the program).

mod aside;
mod conversation;
mod news;
mod typed;
mod work;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_agent::engine::{Choice, Engine};
use petasos_agent::steer::Inbox;
use petasos_agent::{Agent, TurnError};
use petasos_contract::event::{Event, EventSink, Subscriber};
use petasos_contract::store::StoreError;
use petasos_contract::{SessionId, Settings};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::backstage::Backstage;
use crate::command::{self, Extra};
use crate::composer::{ComposerOptions, Said};
use crate::draft::Draft;
use crate::input::Input;
use crate::line::{Line, Style};
use crate::person::{Questions, Typed};
use crate::raw::Raw;
use crate::screen::{Look, Screen};
use crate::signals::{Signal, Signals};
use crate::view::{self, Detail, Piece, View};
use aside::Asides;

pub(crate) use conversation::quoted;

/// Two of Ctrl-C at an empty prompt within this time end the chat.
const TWICE: Duration = Duration::from_secs(2);

/// Why a chat could not go on.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The terminal failed.
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] std::io::Error),
    /// The conversation that was asked for is not there.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The conversation could not be taken up again.
    #[error(transparent)]
    Turn(#[from] TurnError),
}

/// What a message does while the agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busy {
    /// The turn is stopped, and the message begins the next one.
    Interrupt,
    /// It waits for the end of the turn.
    Queue,
    /// The model reads it behind the next results.
    Steer,
}

impl Busy {
    /// By its name in the configuration.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "interrupt" => Some(Self::Interrupt),
            "queue" => Some(Self::Queue),
            "steer" => Some(Self::Steer),
            _ => None,
        }
    }

    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "interrupt",
            Self::Queue => "queue",
            Self::Steer => "steer",
        }
    }
}

/// What a chat begins with.
pub struct Setup {
    /// What agents share.
    pub engine: Arc<Engine>,
    /// What the conversation chooses.
    pub choice: Choice,
    /// The program around.
    pub backstage: Arc<dyn Backstage>,
    /// Where questions to the person arrive.
    pub questions: Questions,
    /// What the terminal can do.
    pub look: Look,
    /// The file of earlier messages.
    pub history: Option<PathBuf>,
    /// The conversation to go on with.
    pub resume: Option<SessionId>,
    /// The first message.
    pub first: Option<String>,
    /// The first lines on the screen.
    pub greeting: String,
    /// Commands besides the built-in ones.
    pub extras: Vec<Arc<dyn Extra>>,
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("choice", &self.choice).finish_non_exhaustive()
    }
}

/// A running chat.
pub(crate) struct Chat {
    pub(crate) engine: Arc<Engine>,
    pub(crate) choice: Choice,
    pub(crate) backstage: Arc<dyn Backstage>,
    pub(crate) extras: Vec<Arc<dyn Extra>>,
    pub(crate) screen: Screen,
    pub(crate) view: View,
    pub(crate) agent: Option<Agent>,
    pub(crate) working: Option<Working>,
    pub(crate) busy: Busy,
    pub(crate) footer: bool,
    pub(crate) queue: VecDeque<String>,
    /// What the model reads before the next message.
    pub(crate) context: Vec<String>,
    /// Tasks beside the conversation.
    pub(crate) asides: Asides,
    /// The conversation that was left for a new one, which has not begun yet.
    pub(crate) left: Option<SessionId>,
    /// What to go back to after the next turn.
    pub(crate) once: Option<Choice>,
    /// The toolsets that the chat began with.
    pub(crate) chosen_at_first: Option<Vec<String>>,
    input: Input,
    signals: Signals,
    questions: Questions,
    asking: Option<Asking>,
    draft: Draft,
    events: mpsc::UnboundedReceiver<Event>,
    sink: EventSink,
    interrupted: Option<Instant>,
    /// Ends the wait for an answer while nothing else runs.
    answered: Option<CancellationToken>,
    ending: bool,
}

/// A turn that runs.
#[derive(Debug, Clone)]
pub(crate) struct Working {
    pub(crate) cancel: CancellationToken,
    pub(crate) inbox: Option<Inbox>,
    pub(crate) session: SessionId,
}

/// A question that waits for its line.
struct Asking {
    answer: oneshot::Sender<Typed>,
    /// What was being typed before.
    draft: Draft,
}

struct Channel(mpsc::UnboundedSender<Event>);

impl Subscriber for Channel {
    fn take(&self, event: Event) {
        // A chat that has ended shows nothing more.
        self.0.send(event).unwrap_or_default();
    }
}

/// What a message does during a turn, as configured; lines of a pipe were all written beforehand.
fn busy(settings: &Settings, piped: bool) -> Busy {
    let configured = settings.text("display.busy_input_mode").and_then(Busy::named);
    configured.unwrap_or(if piped { Busy::Queue } else { Busy::Interrupt })
}

/// Chats until the person leaves; gives the conversation, if there was one.
pub async fn run(setup: Setup) -> Result<Option<SessionId>, ChatError> {
    let (resume, first) = (setup.resume.clone(), setup.first.clone());
    let _raw = if setup.look.live { Some(Raw::hold()?) } else { None };
    let mut chat = Chat::new(setup)?;
    if let Some(session) = resume {
        chat.adopt(&session).await?;
    }
    chat.queue.extend(first);
    let conversed = chat.converse().await;
    chat.leave("shutdown", None).await;
    chat.screen.bracketed(false);
    conversed?;
    Ok(chat.agent.map(|agent| agent.session().clone()))
}

impl Chat {
    fn new(setup: Setup) -> Result<Self, ChatError> {
        let Setup { engine, choice, backstage, questions, look, history, greeting, .. } = setup;
        let (extras, refused) = command::admitted(setup.extras);
        let settings = Arc::clone(&choice.settings);
        let flag = |key: &str| settings.get(key).and_then(serde_json::Value::as_bool);
        let input = if look.live {
            Input::composer(ComposerOptions {
                history,
                workspace: settings.workspace().to_path_buf(),
                commands: command::listed(&extras),
                colour: look.colour,
            })
        } else {
            Input::lines()
        };
        let (sender, events) = mpsc::unbounded_channel();
        let curtain = Arc::clone(&backstage);
        let mut view = View::new(look.live, Arc::new(move |tool| curtain.emoji(tool)));
        view.reasoning = flag("display.show_reasoning").unwrap_or_default();
        if flag("agent.verbose").unwrap_or_default() {
            view.detail = Detail::Verbose;
        }
        let mut chat = Self {
            engine,
            backstage,
            extras,
            screen: Screen::stdout(look),
            view,
            agent: None,
            working: None,
            busy: busy(&settings, input.is_piped()),
            footer: flag("display.show_cost").unwrap_or_default()
                || flag("display.runtime_footer").unwrap_or_default(),
            queue: VecDeque::new(),
            context: Vec::new(),
            asides: Asides::default(),
            left: None,
            once: None,
            chosen_at_first: choice.selection.enabled.clone(),
            input,
            signals: Signals::new()?,
            questions,
            asking: None,
            draft: Draft::default(),
            events,
            sink: EventSink::to(Arc::new(Channel(sender))),
            interrupted: None,
            answered: None,
            ending: false,
            choice,
        };
        chat.tell(&greeting);
        for name in refused {
            chat.remark(&format!(
                "/{name} is built in; the added command of that name is not used"
            ));
        }
        Ok(chat)
    }

    /// Messages and turns, until the end.
    async fn converse(&mut self) -> Result<(), ChatError> {
        while !self.ending {
            if let Some(message) = self.queue.pop_front() {
                self.heard(&message).await?;
                continue;
            }
            if self.input.has_ended() {
                break;
            }
            self.idle().await?;
        }
        self.leave_composer().await;
        Ok(())
    }

    /// Waits for a message, or for news.
    async fn idle(&mut self) -> Result<(), ChatError> {
        if self.input.needs_prompt() {
            self.screen.plain("> ");
        }
        // What was typed during the turn and not sent is the beginning of the next message.
        if self.input.carry(self.draft.text()) {
            self.draft = Draft::default();
        }
        loop {
            let jobs = self.engine.ports.jobs.clone();
            let (inbox, session) = (self.agent.as_ref().map(Agent::inbox), self.session());
            let backstage = Arc::clone(&self.backstage);
            tokio::select! {
                said = self.input.message() => {
                    self.said(said);
                    return Ok(());
                }
                signal = self.signals.next() => {
                    let said = match signal {
                        Signal::Interrupt => Said::Interrupt,
                        Signal::End => Said::End,
                    };
                    let said = match self.input.interrupt().await {
                        Said::Line(line) => Said::Line(line),
                        Said::Broken(text) => {
                            self.draft.put(&text);
                            said
                        }
                        Said::Interrupt | Said::End => said,
                    };
                    self.said(said);
                    return Ok(());
                }
                Some(event) = self.events.recv() => self.aside(event),
                Some(ask) = self.questions.0.recv() => {
                    self.leave_composer().await;
                    self.hear_out(ask).await?;
                    return Ok(());
                }
                () = news::jobs_changed(jobs.as_ref(), session.as_ref()) => {
                    let news = self.job_news();
                    if !news.is_empty() {
                        self.leave_composer().await;
                        self.tell_jobs(&news);
                        return self.follow_news().await;
                    }
                }
                Some(ended) = self.asides.ended.recv() => self.tell_aside(&ended),
                () = news::arrival(inbox.as_ref()) => {
                    self.leave_composer().await;
                    return self.follow_news().await;
                }
                message = backstage.injected() => {
                    self.leave_composer().await;
                    self.remark(&format!("↪ from a plugin: {message}"));
                    self.queue.push_back(message);
                    return Ok(());
                }
            }
        }
    }

    fn said(&mut self, said: Said) {
        match said {
            Said::Line(line) => {
                self.interrupted = None;
                if !line.is_empty() {
                    self.queue.push_back(line);
                }
            }
            Said::Interrupt => {
                let now = Instant::now();
                if self.interrupted.is_some_and(|last| now.duration_since(last) < TWICE) {
                    self.screen.below();
                    self.ending = true;
                } else {
                    self.interrupted = Some(now);
                    self.screen.below();
                    self.remark("Ctrl-C again leaves; /help shows what else there is");
                }
            }
            Said::End => self.ending = true,
            Said::Broken(text) => self.draft.put(&text),
        }
    }

    /// The terminal is ours from here on; a message that was just sent is not lost.
    async fn leave_composer(&mut self) {
        if !self.input.is_open() {
            return;
        }
        match self.input.interrupt().await {
            Said::Line(line) => self.queue.push_back(line),
            Said::Broken(text) => {
                self.draft.put(&text);
                self.screen.below();
            }
            Said::Interrupt | Said::End => self.screen.below(),
        }
    }

    /// Where the events of a turn go.
    pub(crate) fn sink(&self) -> EventSink {
        self.sink.clone()
    }

    /// The conversation, also while a turn of it runs.
    pub(crate) fn session(&self) -> Option<SessionId> {
        let running = self.working.as_ref().map(|working| working.session.clone());
        running.or_else(|| self.agent.as_ref().map(|agent| agent.session().clone()))
    }

    /// An event while nothing runs: somebody works in the background.
    fn aside(&mut self, event: Event) {
        let canvas = self.screen.canvas();
        self.view.take(event, canvas);
        let line = |piece| match piece {
            Piece::Line(line) => Some(line),
            Piece::Raw(_) => None,
        };
        let lines: Vec<Line> = self.view.done().into_iter().filter_map(line).collect();
        self.put(&lines);
    }

    /// Lines that stay, also while somebody types.
    pub(crate) fn put(&mut self, lines: &[Line]) {
        let colour = self.screen.look().colour;
        let text: Vec<String> = lines.iter().map(|line| line.ansi(colour)).collect();
        if !lines.is_empty() && self.input.above(text.join("\n")).is_some() {
            self.screen.lines(lines);
        }
    }

    /// A page of Markdown.
    pub(crate) fn tell(&mut self, text: &str) {
        let lines = view::page(text, self.screen.canvas());
        self.put(&lines);
    }

    /// A remark of less importance.
    pub(crate) fn remark(&mut self, text: &str) {
        let lines = Line::of(Style::FAINT, text).wrapped(self.screen.canvas().columns);
        self.put(&lines);
    }

    /// Something went wrong.
    pub(crate) fn complain(&mut self, text: &str) {
        let style = Style::of(crate::line::Colour::Red);
        let lines = Line::of(style, &format!("✗ {text}")).wrapped(self.screen.canvas().columns);
        self.put(&lines);
    }
}
