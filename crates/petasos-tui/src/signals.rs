//! Signals of the system as one stream: an interrupt, or the wish that the program ends.

use std::io::IsTerminal as _;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

/// What was signalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// As Ctrl-C.
    Interrupt,
    /// The program is to end: the window is closed, or somebody asks for it.
    End,
}

/// The signals that a chat listens to.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Stream,
    terminate: Stream,
    hangup: Stream,
    /// When to look whether the terminal is still there; a process that is not its session's own
    /// is not signalled when it goes, and whoever reads keys would read nothing for ever.
    look: Option<tokio::time::Interval>,
}

const LOOK: Duration = Duration::from_millis(500);

impl Signals {
    /// Begins to listen.
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            look: std::io::stdin().is_terminal().then(|| tokio::time::interval(LOOK)),
        })
    }

    /// The next one. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::End,
            _ = self.hangup.recv() => Signal::End,
            () = gone(&mut self.look) => Signal::End,
        }
    }
}

/// Waits until the terminal is gone; for ever where there never was one.
async fn gone(look: &mut Option<tokio::time::Interval>) {
    let Some(look) = look else { return std::future::pending().await };
    loop {
        look.tick().await;
        let stdin = std::io::stdin();
        let mut watched = [PollFd::new(&stdin, PollFlags::empty())];
        let ready = poll(&mut watched, Some(&Timespec::default()));
        let lost = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        if ready.is_ok() && watched.iter().any(|fd| fd.revents().intersects(lost)) {
            return;
        }
    }
}
