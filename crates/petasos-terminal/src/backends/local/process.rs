//! A running local tree: output, input, control.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::BoxFuture;
use petasos_contract::environment::{
    Control, EnvError, Exit, Exports, Input, Process, Session, Size, Step,
};
use rustix::termios::LocalModes;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::found;
use super::pipes::{self, Ours};
use crate::keeper::{Line, Tree};
use crate::{exports, ready, tree};

/// No shell has exports that are longer.
const STATE_BYTES_MAX: usize = 4 << 20;

/// A started tree before it is a process.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) line: Arc<Line>,
    pub(super) ours: Ours,
    pub(super) state: Option<OwnedFd>,
    pub(super) given: Exports,
    pub(super) confinement: String,
    pub(super) folder: PathBuf,
}

/// A running local tree.
#[derive(Debug)]
pub(super) struct LocalProcess {
    pid: u32,
    line: Arc<Line>,
    output: Option<Arc<AsyncFd<OwnedFd>>>,
    errors: Option<AsyncFd<OwnedFd>>,
    input: Option<OwnedFd>,
    state: Option<AsyncFd<OwnedFd>>,
    /// What the shell has told of its end so far.
    left: Vec<u8>,
    given: Exports,
    confinement: String,
    control: Arc<LocalControl>,
    has_exited: bool,
    is_closed: bool,
}

impl LocalProcess {
    pub(super) fn new(parts: Parts, pid: u32, sitter: u32) -> io::Result<Self> {
        let Parts { line, ours, state, given, confinement, folder } = parts;
        let output = Arc::new(ready::register(ours.output, Interest::READABLE)?);
        let errors = ours.errors.map(|fd| ready::register(fd, Interest::READABLE)).transpose()?;
        let state = state.map(|fd| ready::register(fd, Interest::READABLE)).transpose()?;
        let control = Arc::new(LocalControl {
            line: Arc::clone(&line),
            output: Arc::clone(&output),
            is_terminal: ours.is_terminal,
            pid,
            sitter,
            folder,
            kept: Mutex::new(None),
        });
        Ok(Self {
            pid,
            line,
            output: Some(output),
            errors,
            input: ours.input,
            state,
            left: Vec::new(),
            given,
            confinement,
            control,
            has_exited: false,
            is_closed: false,
        })
    }

    /// What happens next.
    pub(super) async fn step(&mut self, into: &mut Vec<u8>) -> Result<Step, EnvError> {
        loop {
            let (output, errors) = (self.output.as_deref(), self.errors.as_ref());
            if output.is_none() && errors.is_none() && !self.is_closed {
                self.is_closed = true;
                return Ok(Step::Closed);
            }
            let line = &self.line;
            let woke = tokio::select! {
                // Output first, so that what was written before the end comes before it.
                biased;
                there = ready::readable(output) => Woke::Output.or_gone(there),
                there = ready::readable(errors) => Woke::Errors.or_gone(there),
                there = ready::readable(self.state.as_ref()) => Woke::State.or_gone(there),
                tree = line.until(|tree| tree.exited.is_some()), if !self.has_exited => {
                    Woke::Ended(tree)
                }
            };
            match woke {
                Woke::Output => match output.map(|fd| ready::read(fd, into)) {
                    Some(Ok(Some(0)) | Err(_)) => self.output = None,
                    Some(Ok(Some(_))) => return Ok(Step::Output),
                    Some(Ok(None)) | None => {}
                },
                Woke::Errors => match errors.map(|fd| ready::read(fd, into)) {
                    Some(Ok(Some(0)) | Err(_)) => self.errors = None,
                    Some(Ok(Some(_))) => return Ok(Step::Errors),
                    Some(Ok(None)) | None => {}
                },
                Woke::State => self.hear(),
                Woke::Ended(tree) => return self.ended(&tree),
                Woke::Gone => return Err(gone("the runtime that started it has ended")),
            }
        }
    }

    fn ended(&mut self, tree: &Tree) -> Result<Step, EnvError> {
        self.has_exited = true;
        let Some((ending, lives_on)) = tree.exited else {
            return Err(self.lost(tree.failure.is_some()));
        };
        let session = self.session();
        Ok(Step::Exited(Exit { ending, session, survivors: lives_on.into() }))
    }

    /// Takes what the shell tells of its end; nothing more once it has told too much.
    fn hear(&mut self) {
        let Some(state) = &self.state else { return };
        match ready::read(state, &mut self.left) {
            Ok(Some(count)) if count > 0 && self.left.len() < STATE_BYTES_MAX => {}
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => self.state = None,
        }
    }

    /// What the shell wrote at its end. Asked of the socket itself: the reactor may not know yet
    /// that something is there.
    pub(super) fn left(&mut self) -> &[u8] {
        if let Some(state) = self.state.take() {
            let mut piece = [0; 4096];
            while let Ok(count) = rustix::io::read(state.get_ref(), &mut piece)
                && count > 0
                && self.left.len() < STATE_BYTES_MAX
            {
                self.left.extend_from_slice(piece.get(..count).unwrap_or_default());
            }
        }
        &self.left
    }

    fn session(&mut self) -> Option<Session> {
        if self.left().is_empty() {
            return None;
        }
        exports::session(&self.left, &self.given)
    }

    fn lost(&self, never_began: bool) -> EnvError {
        let why = if never_began {
            "the program could not be executed".to_owned()
        } else {
            format!("the process that watched over {} was killed", self.pid)
        };
        EnvError::Lost { target: "local".to_owned(), why }
    }
}

/// What the next step is about.
enum Woke {
    Output,
    Errors,
    State,
    Ended(Tree),
    /// Nothing can be waited for any more.
    Gone,
}

impl Woke {
    fn or_gone(self, there: bool) -> Self {
        if there { self } else { Self::Gone }
    }
}

impl Process for LocalProcess {
    fn pid(&self) -> Option<u32> {
        Some(self.pid)
    }

    fn next<'a>(&'a mut self, into: &'a mut Vec<u8>) -> BoxFuture<'a, Result<Step, EnvError>> {
        Box::pin(self.step(into))
    }

    fn input(&mut self) -> Option<Box<dyn Input>> {
        let fd = ready::register(self.input.take()?, Interest::WRITABLE).ok()?;
        Some(Box::new(LocalInput { fd: Some(fd), is_terminal: self.control.is_terminal }))
    }

    fn control(&self) -> Arc<dyn Control> {
        Arc::clone(&self.control) as _
    }

    fn confinement(&self) -> &str {
        &self.confinement
    }
}

/// The hand that writes input.
#[derive(Debug)]
struct LocalInput {
    fd: Option<AsyncFd<OwnedFd>>,
    is_terminal: bool,
}

impl Input for LocalInput {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(async move {
            let fd = self.fd.as_ref().ok_or_else(|| gone("its input is closed"))?;
            ready::write(fd, bytes).await.map_err(|error| gone(&error.to_string()))
        })
    }

    fn close(&mut self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            if self.is_terminal
                && let Some(fd) = &self.fd
            {
                // A terminal ends its input by the character for it.
                ready::write(fd, b"\x04").await.map_err(|error| gone(&error.to_string()))?;
            }
            self.fd = None;
            Ok(())
        })
    }
}

fn gone(why: &str) -> EnvError {
    EnvError::Lost { target: "local".to_owned(), why: why.to_owned() }
}

/// The hand that ends a tree.
#[derive(Debug)]
struct LocalControl {
    line: Arc<Line>,
    output: Arc<AsyncFd<OwnedFd>>,
    is_terminal: bool,
    pid: u32,
    sitter: u32,
    folder: PathBuf,
    kept: Mutex<Option<String>>,
}

impl Drop for LocalControl {
    fn drop(&mut self) {
        // A tree that lives on is found again by these files; one that is gone needs them no more.
        if self.line.tree().empty
            && let Some(handle) = self.kept.get_mut()
        {
            found::discard(handle);
        }
    }
}

impl Control for LocalControl {
    fn kill(&self, grace: Duration) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            let killed = self.line.kill(grace).await;
            killed.map_err(|error| gone(&format!("process {} may still run: {error}", self.pid)))
        })
    }

    fn keep(&self) -> BoxFuture<'_, Result<Option<String>, EnvError>> {
        Box::pin(async move {
            let io = |error: io::Error| gone(&format!("cannot be kept: {error}"));
            let kept = found::Kept::make(&self.folder, self.pid, self.sitter).map_err(io)?;
            let [raw, exit] = [&kept.raw, &kept.exit].map(|file| file.as_fd());
            match self.line.keep([self.output.get_ref().as_fd(), raw, exit]) {
                // It is over already, and nothing of it will be found again: but it is written down
                // like every other, so that later programs hear how it ended.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                kept => kept.map_err(io)?,
            }
            *self.kept.lock() = Some(kept.handle.clone());
            Ok(Some(kept.handle))
        })
    }

    fn emptied(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.line.until(|tree| tree.empty).await;
        })
    }

    fn resize(&self, size: Size) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            if !self.is_terminal {
                let what = "resize a program without a terminal";
                return Err(EnvError::Unsupported { backend: "local", what });
            }
            pipes::resize(self.output.get_ref(), size).map_err(|error| gone(&error.to_string()))
        })
    }

    fn echoes(&self) -> bool {
        !self.is_terminal
            || rustix::termios::tcgetattr(self.output.get_ref())
                .is_ok_and(|modes| modes.local_modes.contains(LocalModes::ECHO))
    }

    fn hides_input(&self) -> bool {
        self.is_terminal
            && rustix::termios::tcgetattr(self.output.get_ref()).is_ok_and(|modes| {
                let local = modes.local_modes;
                local.contains(LocalModes::ICANON) && !local.contains(LocalModes::ECHO)
            })
    }

    fn pids(&self) -> Vec<u32> {
        tree::descendants(self.sitter)
    }
}
