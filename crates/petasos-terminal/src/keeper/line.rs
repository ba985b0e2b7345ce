//! The program's end of the line to one sitter: what became of the tree, and what to do with it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::environment::Ending;
use petasos_contract::wait::{self, Owned};
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
    socket: Arc<AsyncFd<OwnedFd>>,
    tree: watch::Receiver<Tree>,
    _listener: Owned<()>,
}

impl Line {
    /// A line, and the sitter's end of it.
    pub(crate) fn open() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = pair()?;
        let socket = Arc::new(crate::ready::register(ours, Interest::READABLE)?);
        let (sender, tree) = watch::channel(Tree::default());
        let listener = Owned::start(listen(Arc::clone(&socket), sender));
        Ok((Self { socket, tree, _listener: listener }, theirs))
    }

    /// What is known now.
    pub(crate) fn tree(&self) -> Tree {
        *self.tree.borrow()
    }

    /// Waits until something holds of the tree, or its sitter is gone.
    pub(crate) async fn until(&self, holds: impl Fn(&Tree) -> bool) -> Tree {
        let mut tree = self.tree.clone();
        // The sender only goes after it said that the sitter is gone.
        match tree.wait_for(|tree| tree.gone || holds(tree)).await {
            Ok(tree) => *tree,
            Err(_) => Tree { gone: true, ..self.tree() },
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

async fn listen(socket: Arc<AsyncFd<OwnedFd>>, tree: watch::Sender<Tree>) {
    let mut bytes = [0; Message::SIZE];
    loop {
        let heard = socket
            .async_io(Interest::READABLE, |fd| {
                Ok(rustix::net::recv(fd, &mut bytes[..], RecvFlags::empty())?.0)
            })
            .await;
        let message = match heard {
            Ok(count) if count > 0 => Message::from_bytes(&bytes),
            Ok(_) | Err(_) => {
                tree.send_modify(|tree| tree.gone = true);
                return;
            }
        };
        if let Some(message) = message {
            tree.send_modify(|tree| note(tree, message));
        }
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
