//! Programs over calls that only run a script and tell its text: input, streams, ends and lost
//! answers, for vendors without streaming.
//!
//! Each program has a folder in the target. Its output is cut there into numbered pieces that
//! later calls fetch, so that an answer that got lost is asked for again and nothing is fetched
//! twice. A program that nobody listens to is held up and does not fill the disk.

mod news;
mod relay;
mod scripts;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::BoxFuture;
use petasos_contract::environment::{EnvError, Process};
use petasos_contract::wait::Owned;
use tokio::sync::mpsc;

use super::{Repeat, VendorError};
use news::{Fate, News};
use petasos_terminal::ids;
use petasos_terminal::remote::{ChannelInput, ChannelProcess, Event, Order};
use relay::Relay;
use scripts::At;

pub(crate) use scripts::program_text;
use scripts::quoted;

/// What a script said and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// Its exit code.
    pub(crate) code: i32,
    /// Its output, as text.
    pub(crate) text: String,
}

/// A vendor's calls, as little as this needs of them.
pub(crate) trait Calls: Send + Sync {
    /// Runs a script with `sh` to its end, with nothing to read.
    fn run(
        &self,
        script: String,
        within: Duration,
        repeat: Repeat,
    ) -> BoxFuture<'_, Result<Said, VendorError>>;

    /// Puts a file there.
    fn put<'a>(&'a self, path: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), VendorError>>;
}

/// How long a quick call may take.
const SHORT: Duration = Duration::from_secs(30);
/// How long a question for news is held open over there, in seconds.
const HELD: u32 = 20;
/// And how long we wait for its answer.
const HELD_MAX: Duration = Duration::from_secs(45);
/// Input up to this travels inside the starting call; the rest of a line has its place too.
const INLINE_MAX: usize = 48 * 1024;
/// The most bytes of one write of input, which must fit into one argument.
const TYPED_MAX: usize = 64 * 1024;

/// The programs of one target.
pub(crate) struct Programs {
    calls: Arc<dyn Calls>,
    backend: &'static str,
    target: String,
    folder: String,
    relay: Option<Relay>,
    garbage: Arc<Mutex<Vec<String>>>,
    abandon: mpsc::UnboundedSender<String>,
    _sweeper: Owned<()>,
}

impl std::fmt::Debug for Programs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Programs").field("target", &self.target).finish_non_exhaustive()
    }
}

impl Programs {
    /// Looks whether what one call starts can be seen by the next, and keeps one call open to
    /// start things when it cannot.
    pub(crate) async fn open(
        calls: Arc<dyn Calls>,
        backend: &'static str,
        target: String,
    ) -> Result<Self, VendorError> {
        let needed = relay::is_needed(&*calls).await?;
        Self::new(calls, backend, target, needed).await
    }

    /// As `open`, but only where programs of two calls cannot see each other: whoever streams
    /// needs none of this elsewhere.
    pub(crate) async fn open_where_needed(
        calls: Arc<dyn Calls>,
        backend: &'static str,
        target: String,
    ) -> Result<Option<Self>, VendorError> {
        if !relay::is_needed(&*calls).await? {
            return Ok(None);
        }
        Self::new(calls, backend, target, true).await.map(Some)
    }

    async fn new(
        calls: Arc<dyn Calls>,
        backend: &'static str,
        target: String,
        needs_relay: bool,
    ) -> Result<Self, VendorError> {
        let folder = format!("/tmp/.petasos.{}", ids::hex(6));
        let relay =
            if needs_relay { Some(Relay::open(Arc::clone(&calls), &folder).await?) } else { None };
        let garbage = Arc::default();
        let (abandon, abandoned) = mpsc::unbounded_channel();
        let sweeper = Owned::start(sweep(Arc::clone(&calls), abandoned));
        Ok(Self { calls, backend, target, folder, relay, garbage, abandon, _sweeper: sweeper })
    }

    /// Whether the target answers and, where one is needed, the starting call is still open.
    pub(crate) fn lives(&self) -> bool {
        self.relay.as_ref().is_none_or(Relay::lives)
    }

    /// Starts a program.
    pub(crate) async fn start(&self, order: Order) -> Result<Box<dyn Process>, EnvError> {
        let failed = |error: VendorError| error.starting("the command", &self.target);
        if !self.lives() {
            let why = "the call that starts commands in the sandbox has ended".to_owned();
            return Err(EnvError::NotStarted { what: "the command".to_owned(), why });
        }
        let folder = format!("{}/{}", self.folder, ids::hex(6));
        let inline = order.stdin.len() <= INLINE_MAX;
        if !inline {
            // A file that is there before its program is no sign that the program began.
            let put = self.calls.put(&format!("{folder}.in"), order.stdin.clone()).await;
            put.map_err(|error| EnvError::NotStarted {
                what: "the command".to_owned(),
                why: format!("its input cannot be brought there: {error}"),
            })?;
        }
        let garbage = std::mem::take(&mut *self.garbage.lock());
        let relay = self.relay.as_ref().map(Relay::fifo);
        let script = scripts::start(&folder, &order, inline, relay, &garbage);
        let said = self.calls.run(script, SHORT, Repeat::OnlyUnacted).await.map_err(failed)?;
        let news = News::parse(&said.text).map_err(|why| failed(VendorError::Unknown { why }))?;
        if let Some(Fate::NotStarted(why)) = news.fate {
            return Err(EnvError::NotStarted { what: "the command".to_owned(), why });
        }
        let (tell, events) = mpsc::channel(16);
        let (typed, typing) = mpsc::channel(16);
        let fetcher = Fetcher {
            calls: Arc::clone(&self.calls),
            target: self.target.clone(),
            at: At::of(folder, &order),
            garbage: Arc::clone(&self.garbage),
            abandon: order.open.then(|| self.abandon.clone()),
        };
        let typed = order.open.then_some(typed);
        let task = Owned::start(fetcher.serve(news, tell, typing));
        Ok(Box::new(ChannelProcess::new(self.backend, events, typed, task)))
    }

    /// Removes what was put there.
    pub(crate) async fn close(&self) -> Result<(), VendorError> {
        let folder = quoted(&self.folder);
        let end = format!("[ -p {folder}/relay ] && echo end 1<>{folder}/relay\nrm -rf {folder}");
        let ended = self.calls.run(scripts::whole(&end), SHORT, Repeat::Harmless).await;
        if let Some(relay) = &self.relay {
            relay.close();
        }
        ended.map(drop)
    }
}

/// Whether a target can give a program a terminal.
pub(crate) async fn has_terminals(calls: &dyn Calls) -> bool {
    let look = "command -v script >/dev/null && command -v stty >/dev/null && echo petasos-yes";
    let said = calls.run(scripts::whole(look), SHORT, Repeat::Harmless).await;
    said.is_ok_and(|said| said.text.contains("petasos-yes"))
}

/// Fetches the news of one program and types to it.
struct Fetcher {
    calls: Arc<dyn Calls>,
    target: String,
    at: At,
    garbage: Arc<Mutex<Vec<String>>>,
    abandon: Option<mpsc::UnboundedSender<String>>,
}

impl Drop for Fetcher {
    fn drop(&mut self) {
        let folder = self.at.folder.clone();
        match &self.abandon {
            // A sweeper that is gone went with the whole place.
            Some(abandon) if !self.at.is_over() => drop(abandon.send(folder)),
            // The next start takes it along.
            _ if self.at.is_over() => self.garbage.lock().push(folder),
            _ => {}
        }
    }
}

/// Ends the input of programs that nobody listens to any more: those that watch it end by that.
async fn sweep(calls: Arc<dyn Calls>, mut abandoned: mpsc::UnboundedReceiver<String>) {
    while let Some(folder) = abandoned.recv().await {
        let script = scripts::abandon(&folder);
        if let Err(error) = calls.run(script, SHORT, Repeat::Harmless).await {
            tracing::debug!(%error, "a program that nobody listens to may run on");
        }
    }
}

impl Fetcher {
    async fn serve(mut self, first: News, tell: mpsc::Sender<Event>, typing: ChannelInput) {
        let typist = Typist {
            calls: Arc::clone(&self.calls),
            folder: self.at.folder.clone(),
            target: self.target.clone(),
            tell: tell.clone(),
        };
        let _typist = Owned::start(typist.serve(typing));
        if self.pass_on(first, &tell).await.is_err() {
            return;
        }
        while !self.at.is_over() {
            let script = scripts::fetch(&self.at, HELD);
            let asked = self.calls.run(script, HELD_MAX, Repeat::Harmless).await;
            let news = asked.and_then(|said| {
                News::parse(&said.text).map_err(|why| VendorError::Unknown { why })
            });
            let told = match news {
                Ok(news) if news.fate.is_some() => Err(gone(&self.target)),
                Ok(news) => self.pass_on(news, &tell).await,
                Err(error) => Err(error.lost(&self.target)),
            };
            if let Err(error) = told {
                // Nobody listening means nobody to tell.
                drop(tell.send(Event::Lost(error)).await);
                return;
            }
        }
    }

    async fn pass_on(&mut self, news: News, tell: &mpsc::Sender<Event>) -> Result<(), EnvError> {
        self.at.take(&news);
        let output = (!news.output.is_empty()).then_some(Event::Output(news.output));
        let errors = (!news.errors.is_empty()).then_some(Event::Errors(news.errors));
        let exit = news.exit.map(Event::Exited);
        for event in [output, errors, exit].into_iter().flatten() {
            tell.send(event).await.map_err(|_| gone(&self.target))?;
        }
        Ok(())
    }
}

fn gone(target: &str) -> EnvError {
    let why = "its folder in the sandbox is gone and the outcome is unknown".to_owned();
    EnvError::Lost { target: target.to_owned(), why }
}

/// Types to one program.
struct Typist {
    calls: Arc<dyn Calls>,
    folder: String,
    target: String,
    tell: mpsc::Sender<Event>,
}

impl Typist {
    async fn serve(self, mut typing: ChannelInput) {
        while let Some(typed) = typing.recv().await {
            let done = match &typed {
                Some(bytes) => self.write(bytes).await,
                None => self.run(scripts::close_input(&self.folder)).await,
            };
            if let Err(error) = done {
                tracing::debug!(%error, "input was not taken");
                if !error.did_nothing() {
                    drop(self.tell.send(Event::Lost(error.lost(&self.target))).await);
                }
                return;
            }
            if typed.is_none() {
                return;
            }
        }
    }

    async fn write(&self, bytes: &[u8]) -> Result<(), VendorError> {
        for piece in bytes.chunks(TYPED_MAX) {
            self.run(scripts::write_input(&self.folder, piece)).await?;
        }
        Ok(())
    }

    async fn run(&self, script: String) -> Result<(), VendorError> {
        // A program that does not read makes its writer wait, as a pipe does.
        let said = self.calls.run(script, Duration::from_mins(10), Repeat::OnlyUnacted).await?;
        match said.code {
            0 => Ok(()),
            _ => Err(VendorError::Refused { why: "it takes no more input".to_owned() }),
        }
    }
}
