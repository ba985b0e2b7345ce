//! The descriptors of one launch: the program's ends and ours.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use petasos_contract::environment::{Launch, Size, Stderr, Stdin};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::keeper;

/// What fits into a fresh pipe without anybody reading.
const PIPE_BYTES: usize = 64 * 1024;

/// Both ends.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) theirs: Theirs,
    pub(super) ours: Ours,
}

/// What the program gets.
#[derive(Debug)]
pub(super) struct Theirs {
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    stderr: Option<OwnedFd>,
}

/// What we keep.
#[derive(Debug)]
pub(super) struct Ours {
    pub(super) output: OwnedFd,
    pub(super) errors: Option<OwnedFd>,
    pub(super) input: Option<OwnedFd>,
    pub(super) is_terminal: bool,
}

impl Theirs {
    /// Input, output and error output; `null` where there is no input.
    pub(super) fn three<'a>(&'a self, null: &'a OwnedFd) -> [BorrowedFd<'a>; 3] {
        let stdin = self.stdin.as_ref().unwrap_or(null);
        let stderr = self.stderr.as_ref().unwrap_or(&self.stdout);
        [stdin.as_fd(), self.stdout.as_fd(), stderr.as_fd()]
    }
}

/// Opens what a launch needs.
pub(super) fn open(launch: &Launch) -> io::Result<Pipes> {
    if let Some(size) = launch.pty {
        return terminal(size, &launch.stdin);
    }
    let (output, stdout) = pipe_with(PipeFlags::CLOEXEC)?;
    let (errors, stderr) = match launch.stderr {
        Stderr::Joined => (None, None),
        Stderr::Apart => {
            let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
            (Some(ours), Some(theirs))
        }
    };
    let (stdin, input) = match &launch.stdin {
        Stdin::Closed => (None, None),
        Stdin::Bytes(bytes) => (Some(filled(bytes)?), None),
        Stdin::Open => {
            let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
            (Some(theirs), Some(ours))
        }
    };
    Ok(Pipes {
        theirs: Theirs { stdin, stdout, stderr },
        ours: Ours { output, errors, input, is_terminal: false },
    })
}

fn terminal(size: Size, stdin: &Stdin) -> io::Result<Pipes> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    resize(&master, size)?;
    if let Stdin::Bytes(bytes) = stdin {
        rustix::io::write(&master, bytes)?;
    }
    let input = master.try_clone()?;
    Ok(Pipes {
        theirs: Theirs { stdin: Some(slave.try_clone()?), stdout: slave, stderr: None },
        ours: Ours { output: master, errors: None, input: Some(input), is_terminal: true },
    })
}

/// Tells a terminal its size.
pub(super) fn resize(master: &OwnedFd, size: Size) -> io::Result<()> {
    let size = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(master, size)?)
}

/// Something that reads as these bytes and then ends.
fn filled(bytes: &[u8]) -> io::Result<OwnedFd> {
    if bytes.len() > PIPE_BYTES {
        return keeper::memory("stdin", bytes);
    }
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
    keeper::write_all(&ours, bytes)?;
    Ok(theirs)
}
