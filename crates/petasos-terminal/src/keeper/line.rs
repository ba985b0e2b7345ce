//! The program's end of the line to one sitter: what became of the tree, and what to do with it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use petasos_contract::environment::Ending;
use petasos_contract::wait;
use rustix::net::RecvFlags;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;

use super::wire::{Kind, Message, Stage};
use super::{pair, send};

/// What is known of a tree.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tree {
    /// The program and its sitter, once it begins.
    pub(crate) ready: Option<(u32, u32)>,
    /// What kept it from beginning.
    pub(crate) failure: Option<Failure>,
    /// How the program ended, and whether descendants lived on.
    pub(crate) exited: Option<(Ending, bool)>,
    /// Nothing of it lives.
    pub(crate) empty: bool,
    /// The sitter is gone.
    pub(crate) gone: bool,
}

/// What kept a program from beginning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failure {
    pub(crate) stage: Option<Stage>,
    pub(crate) errno: i32,
}

/// The line to one sitter. Dropping it ends a tree that was not kept.
#[derive(Debug)]
pub(crate) struct Line {
    socket: AsyncFd<OwnedFd>,
    tree: watch::Sender<Tree>,
}

impl Line {
    /// A line, and the sitter's end of it.
    pub(crate) fn open() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = pair()?;
        let socket = crate::ready::register(ours, Interest::READABLE)?;
        Ok((Self { socket, tree: watch::Sender::new(Tree::default()) }, theirs))
    }

    /// What is known now.
    pub(crate) fn tree(&self) -> Tree {
        *self.tree.borrow()
    }

    /// Waits until something holds of the tree, or its sitter is gone. Whoever waits also
    /// listens, so that no task stands between a message and its reader.
    pub(crate) async fn until(&self, holds: impl Fn(&Tree) -> bool) -> Tree {
        let mut known = self.tree.subscribe();
        loop {
            let now = *known.borrow_and_update();
            if now.gone || holds(&now) {
                return now;
            }
            tokio::select! {
                // Another one who waits may have heard it.
                _ = known.changed() => {}
                () = self.listen() => {}
            }
        }
    }

    /// Takes the messages that are there, waiting for the first.
    async fn listen(&self) {
        let mut bytes = [0; Message::SIZE];
        let heard = self
            .socket
            .async_io(Interest::READABLE, |fd| {
                Ok(rustix::net::recv(fd, &mut bytes[..], RecvFlags::empty())?.0)
            })
            .await;
        match heard {
            Ok(count) if count > 0 => {
                if let Some(message) = Message::from_bytes(&bytes) {
                    self.tree.send_modify(|tree| note(tree, message));
                }
            }
            // It left without hearing our last word; its own last words are still to be read.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
            Ok(_) | Err(_) => self.tree.send_modify(|tree| tree.gone = true),
        }
    }

    /// Asks for the end of the tree and waits until it is empty.
    pub(crate) async fn kill(&self, grace: Duration) -> io::Result<()> {
        if self.tree().empty {
            return Ok(());
        }
        let grace_ms = i32::try_from(grace.as_millis()).unwrap_or(i32::MAX);
        if let Err(error) = self.say(Message::new(Kind::Kill, grace_ms, 0), &[])
            && !self.tree().empty
        {
            return Err(error);
        }
        let deadline = Instant::now() + grace + Duration::from_secs(10);
        let ended = self.until(|tree| tree.empty);
        let tree = wait::until(deadline, "a process tree to end", ended)
            .await
            .map_err(|error| io::Error::new(io::ErrorKind::TimedOut, error))?;
        if tree.empty { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }

    /// Lets the tree outlive us: its output, its log and its exit file go along.
    pub(crate) fn keep(&self, kept: [BorrowedFd<'_>; 3]) -> io::Result<()> {
        self.say(Message::new(Kind::Keep, 0, 0), &kept)
    }

    fn say(&self, message: Message, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        send(self.socket.get_ref().as_fd(), message, fds)
    }
}

fn note(tree: &mut Tree, message: Message) {
    match message.kind {
        Kind::Ready => {
            tree.ready = Some((message.first.unsigned_abs(), message.second.unsigned_abs()));
        }
        Kind::Failed => {
            let stage = Stage::from_number(message.first);
            tree.failure = Some(Failure { stage, errno: message.second });
        }
        Kind::Exited => tree.exited = Some((ending(message.first), message.second != 0)),
        Kind::Empty => tree.empty = true,
        // These go the other way.
        Kind::Sit | Kind::Kill | Kind::Keep => {}
    }
}

/// A wait status in our words.
pub(crate) fn ending(status: i32) -> Ending {
    if libc::WIFEXITED(status) {
        Ending::Code(libc::WEXITSTATUS(status))
    } else {
        Ending::Signal(libc::WTERMSIG(status))
    }
}
