//! The person at the terminal: shows a question and waits for one typed line.
//!
//! The terminal is opened by its own name, so that a piped standard input neither answers a
//! question nor hides that a person is there.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::ask::{Console, Input, Look};
use petasos_contract::BoxFuture;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::oneshot;

/// How long the reader looks away before it asks whether anybody still waits for it.
const GLANCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The terminal that controls this process.
#[derive(Debug)]
pub(crate) struct Tty {
    file: File,
    look: Look,
}

impl Tty {
    /// The terminal, when there is one.
    pub(crate) fn open(look: Look) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        Ok(Self { file, look })
    }

    async fn typed(&self) -> io::Result<Input> {
        // What was typed before the question was shown does not answer it.
        rustix::termios::tcflush(&self.file, rustix::termios::QueueSelector::IFlush)?;
        let waiting = Waiting(Arc::new(AtomicBool::new(true)));
        let (terminal, wanted) = (self.file.try_clone()?, Arc::clone(&waiting.0));
        let (tx, rx) = oneshot::channel();
        std::thread::spawn(move || {
            // Nobody waits any more when the receiver is gone.
            tx.send(read_line(terminal, &wanted)).unwrap_or_default();
        });
        tokio::select! {
            line = rx => line.unwrap_or(Ok(Input::End)),
            pressed = tokio::signal::ctrl_c() => pressed.map(|()| Input::Interrupted),
        }
    }
}

/// Tells the reader to stop when the wait is given up.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// One line, as long as somebody wants it.
fn read_line(mut terminal: File, wanted: &AtomicBool) -> io::Result<Input> {
    let mut line = Vec::new();
    while wanted.load(Ordering::Acquire) {
        let mut ready = [PollFd::new(&terminal, PollFlags::IN)];
        if poll(&mut ready, Some(&GLANCE))? == 0 {
            continue;
        }
        let mut piece = [0; 256];
        let count = terminal.read(&mut piece)?;
        if count == 0 {
            return Ok(Input::End);
        }
        line.extend(piece.iter().take(count));
        if line.ends_with(b"\n") {
            return Ok(Input::Line(String::from_utf8_lossy(&line).trim().to_owned()));
        }
    }
    Ok(Input::End)
}

impl Console for Tty {
    fn show(&self, text: &str) -> io::Result<()> {
        let mut terminal = &self.file;
        terminal.write_all(text.as_bytes())
    }

    fn line(&self) -> BoxFuture<'_, io::Result<Input>> {
        Box::pin(self.typed())
    }

    fn look(&self) -> Look {
        self.look
    }
}
