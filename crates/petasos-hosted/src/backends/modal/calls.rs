//! The way to a sandbox's commands: each a command of the vendor's where they can see each other,
//! else made of calls like where nothing streams.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::BoxFuture;
use petasos_contract::environment::{EnvError, Process};
use petasos_contract::wait::Owned;
use petasos_net::Tls;
use tokio::sync::mpsc;

use super::exec::{Channel, Exec, Lane, Writer};
use super::plane::{LIFETIME, Plane, Running};
use super::router::Router;
use crate::{Calls, Programs, Repeat, Said, VendorError, program_text};
use petasos_terminal::remote::{ChannelInput, ChannelProcess, Event, Order};

/// How one container's commands are started.
pub(super) struct Way {
    target: String,
    lane: Lane,
    task: String,
    /// Where commands cannot see each other.
    programs: Option<Programs>,
    shell: Arc<Shell>,
    abandon: mpsc::UnboundedSender<Hand>,
    _sweeper: Owned<()>,
}

/// The hand that writes a command's input, which outlives whoever listens to the command.
type Hand = Arc<tokio::sync::Mutex<Writer>>;

/// Ends the input of commands that nobody listens to any more: those that watch it end by that.
async fn sweep(mut abandoned: mpsc::UnboundedReceiver<Hand>) {
    while let Some(hand) = abandoned.recv().await {
        if let Err(error) = hand.lock().await.close().await {
            tracing::debug!(%error, "a command that nobody listens to may run on");
        }
    }
}

/// The container as calls.
#[derive(Debug)]
struct Shell {
    lane: Lane,
    task: String,
}

impl Way {
    /// Finds out how commands are started in a container.
    pub(super) async fn to(
        plane: &Plane,
        running: &Running,
        tls: &Tls,
    ) -> Result<Self, VendorError> {
        let router = Router::of(plane, &running.task, tls.clone()).await?;
        let lane = router.map_or_else(|| Lane::Plane(plane.clone()), Lane::Router);
        let target = format!("modal:{}", running.sandbox);
        let task = running.task.clone();
        let shell = Arc::new(Shell { lane: lane.clone(), task: task.clone() });
        let programs =
            Programs::open_where_needed(Arc::clone(&shell) as _, "modal", target.clone());
        let programs = programs.await?;
        let (abandon, abandoned) = mpsc::unbounded_channel();
        let sweeper = Owned::start(sweep(abandoned));
        Ok(Self { target, lane, task, programs, shell, abandon, _sweeper: sweeper })
    }

    /// Starts a program.
    pub(super) async fn start(&self, order: Order) -> Result<Box<dyn Process>, EnvError> {
        if let Some(programs) = &self.programs {
            return programs.start(order).await;
        }
        let failed = |error: VendorError| error.starting("the command", &self.target);
        let command = ["sh", "-c", &program_text(&order)].map(str::to_owned).to_vec();
        let exec = self.lane.start(&self.task, command, None).await.map_err(failed)?;
        let (tell, events) = mpsc::channel(16);
        let (typed, typing) = mpsc::channel(16);
        let open = order.open;
        let hand = Arc::new(tokio::sync::Mutex::new(exec.writer()));
        let abandon = open.then(|| self.abandon.clone());
        let stream = Streams { exec, target: self.target.clone(), hand, abandon };
        let task = Owned::start(stream.serve(order, tell, typing));
        let typed = open.then_some(typed);
        Ok(Box::new(ChannelProcess::new("modal", events, typed, task)))
    }

    /// Whether commands can be started, as far as that is known without asking.
    pub(super) fn lives(&self) -> bool {
        self.programs.as_ref().is_none_or(Programs::lives)
    }

    /// Whether the target can give a program a terminal.
    pub(super) async fn has_terminals(&self) -> bool {
        crate::has_terminals(&*self.shell).await
    }

    /// For people.
    pub(super) fn describe(&self) -> &'static str {
        match (&self.lane, &self.programs) {
            (Lane::Router(_), None) => "direct command routing",
            (Lane::Plane(_), None) => "commands through the control plane",
            (_, Some(_)) => "commands through one open call",
        }
    }

    /// Removes what was put there.
    pub(super) async fn close(&self) {
        if let Some(programs) = &self.programs
            && let Err(error) = programs.close().await
        {
            tracing::debug!(%error, "the folder of commands is left in the sandbox");
        }
    }
}

/// Carries the streams of one command.
struct Streams {
    exec: Exec,
    target: String,
    hand: Hand,
    abandon: Option<mpsc::UnboundedSender<Hand>>,
}

impl Drop for Streams {
    fn drop(&mut self) {
        if let Some(abandon) = &self.abandon {
            // A sweeper that is gone went with the whole place.
            drop(abandon.send(Arc::clone(&self.hand)));
        }
    }
}

impl Streams {
    async fn serve(mut self, order: Order, tell: mpsc::Sender<Event>, typing: ChannelInput) {
        let typist = Owned::start(type_in(Arc::clone(&self.hand), order, typing, tell.clone()));
        let ended = Box::pin(self.follow(&tell)).await;
        drop(typist);
        if ended.is_ok() {
            self.abandon = None;
        }
        if let Err(error) = ended {
            // Nobody listening means nobody to tell.
            drop(tell.send(Event::Lost(error.lost(&self.target))).await);
        }
    }

    /// Both streams to their ends, and the end of the program as soon as it is known.
    async fn follow(&self, tell: &mpsc::Sender<Event>) -> Result<(), VendorError> {
        let (output, errors) = (self.pass(Channel::Output, tell), self.pass(Channel::Errors, tell));
        let exit = async {
            let deadline = std::time::Instant::now() + Duration::from_secs(LIFETIME.into());
            while std::time::Instant::now() < deadline {
                if let Some(ending) = self.exec.wait(Duration::from_secs(50)).await? {
                    drop(tell.send(Event::Exited(ending.code())).await);
                    return Ok(());
                }
            }
            Err(VendorError::Unknown { why: "it outlived its sandbox".to_owned() })
        };
        let (output, errors, exit) = tokio::join!(output, errors, exit);
        output.and(errors).and(exit)
    }

    async fn pass(&self, channel: Channel, tell: &mpsc::Sender<Event>) -> Result<(), VendorError> {
        let mut reader = self.exec.reader(channel);
        while let Some(bytes) = reader.next().await? {
            let event = match channel {
                Channel::Output => Event::Output(bytes),
                Channel::Errors => Event::Errors(bytes),
            };
            if tell.send(event).await.is_err() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Writes what a command reads: first what the order brings, then what is typed.
async fn type_in(hand: Hand, order: Order, mut typing: ChannelInput, tell: mpsc::Sender<Event>) {
    let mut done = hand.lock().await.write(&order.stdin).await;
    if !order.open && done.is_ok() {
        done = hand.lock().await.close().await;
    }
    while order.open && done.is_ok() {
        let typed = typing.recv().await;
        let mut writer = hand.lock().await;
        done = match &typed {
            Some(Some(bytes)) => writer.write(bytes).await,
            Some(None) | None => writer.close().await,
        };
        if !matches!(typed, Some(Some(_))) {
            break;
        }
    }
    if let Err(error) = done {
        // A program that has ended, or closed its input, takes no more: its own affair.
        tracing::debug!(%error, "input was not taken");
        if !error.did_nothing() {
            let why = format!("{error}; how much of the input arrived is unknown");
            drop(tell.send(Event::Lost(EnvError::Lost { target: "modal".to_owned(), why })).await);
        }
    }
}

impl Calls for Shell {
    fn run(
        &self,
        script: String,
        within: Duration,
        repeat: Repeat,
    ) -> BoxFuture<'_, Result<Said, VendorError>> {
        Box::pin(async move {
            let deadline = std::time::Instant::now() + within;
            let once = |left| Box::pin(self.once(&script, left));
            crate::with_retry(deadline, repeat, once).await
        })
    }

    fn put<'a>(&'a self, path: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), VendorError>> {
        Box::pin(async move {
            let script = r#"umask 077; mkdir -p "${1%/*}" && cat > "$1""#;
            let command = ["sh", "-c", script, "petasos", path].map(str::to_owned).to_vec();
            let exec = self.lane.start(&self.task, command, Some(600)).await?;
            let mut writer = exec.writer();
            writer.write(&bytes).await?;
            writer.close().await?;
            match exec.wait(Duration::from_mins(1)).await? {
                Some(ending) if ending.code() == 0 => Ok(()),
                _ => Err(VendorError::Refused { why: format!("`{path}` cannot be written") }),
            }
        })
    }
}

impl Shell {
    async fn once(&self, script: &str, left: Duration) -> Result<Said, VendorError> {
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        let limit = u32::try_from(left.as_secs().max(1)).unwrap_or(u32::MAX);
        let exec = self.lane.start(&self.task, command, Some(limit)).await?;
        let mut reader = exec.reader(Channel::Output);
        let mut text = Vec::new();
        while let Some(bytes) = reader.next().await? {
            text.extend_from_slice(&bytes);
        }
        let ending = exec.wait(left.min(Duration::from_secs(50))).await?;
        let ending = ending.ok_or_else(|| VendorError::Unknown {
            why: "a call closed its output and did not end".to_owned(),
        })?;
        Ok(Said { code: ending.code(), text: String::from_utf8_lossy(&text).into_owned() })
    }
}
