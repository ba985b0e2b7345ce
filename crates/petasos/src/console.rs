//! The person at the terminal: shows a question and waits for one typed line.
//!
//! The terminal is opened by its own name, so that a piped standard input neither answers a
//! question nor hides that a person is there.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};

use petasos_approval::ask::{Console, Input, Look};
use petasos_contract::BoxFuture;
use tokio::io::unix::AsyncFd;

/// The terminal that controls this process.
#[derive(Debug)]
pub(crate) struct Tty {
    file: File,
    look: Look,
}

impl Tty {
    /// The terminal, when there is one.
    pub(crate) fn open(look: Look) -> io::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt as _;
        let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
        let file =
            OpenOptions::new().read(true).write(true).custom_flags(nonblocking).open("/dev/tty")?;
        Ok(Self { file, look })
    }

    async fn typed(&self) -> io::Result<Input> {
        // What was typed before the question was shown does not answer it.
        rustix::termios::tcflush(&self.file, rustix::termios::QueueSelector::IFlush)?;
        let terminal = AsyncFd::new(self.file.try_clone()?)?;
        let mut line = Vec::new();
        loop {
            let mut ready = tokio::select! {
                ready = terminal.readable() => ready?,
                pressed = tokio::signal::ctrl_c() => {
                    pressed?;
                    return Ok(Input::Interrupted);
                }
            };
            let mut piece = [0; 256];
            match ready.try_io(|terminal| terminal.get_ref().read(&mut piece)) {
                Ok(Ok(0)) => return Ok(Input::End),
                Ok(Ok(count)) => line.extend(piece.iter().take(count)),
                Ok(Err(error)) => return Err(error),
                Err(_would_block) => continue,
            }
            if line.ends_with(b"\n") {
                return Ok(Input::Line(String::from_utf8_lossy(&line).trim().to_owned()));
            }
        }
    }
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
