//! Signals of the system as one stream: an interrupt, or the wish that the program ends.

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
}

impl Signals {
    /// Begins to listen.
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The next one. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::End,
            _ = self.hangup.recv() => Signal::End,
        }
    }
}
