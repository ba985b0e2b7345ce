//! The keeper and its sitters, seen from the program: starting trees and hearing of them.
//!
//! ```text
//! program ── keeper            made once, small, deaf to terminals
//!               └─ sitter      one for each call or job; subreaper of its tree
//!                    └─ shell  its own session and group, confined
//! ```
//! A tree that was not kept dies when its line breaks: when the call is dropped, and when the
//! program is gone however it went.

mod begin;
mod capabilities;
mod drain;
mod group;
mod keep;
mod line;
mod payload;
mod privacy;
mod probe;
mod sitter;
mod socket;
mod survey;
mod sys;
mod trim;
mod wire;

use std::io;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use rustix::process::{Pid, PidfdFlags, WaitOptions};

pub(crate) use begin::{filter_fd, script_fd, state_fd};
pub(crate) use capabilities::KEPT_NAMES;
pub(crate) use line::{Failure, Line, Tree, ending};
pub(crate) use payload::{FLAG_COVER, FLAG_POWERLESS, FLAG_TTY, FLAG_USERNS, Plan};
pub(crate) use privacy::{forget_values, forget_words, hide};
pub(crate) use probe::{Namespaces, landlock_version, namespaces};
use wire::{Kind, Message};
pub(crate) use wire::{Role, Stage};

/// The keeper of this program.
#[derive(Debug)]
pub(crate) struct Keeper {
    socket: Option<OwnedFd>,
    pid: Pid,
    /// Absent on kernels before 5.3.
    handle: Option<OwnedFd>,
    /// Where trees get groups, when that is allowed here.
    groups: Option<group::Folder>,
}

impl Keeper {
    /// Makes the keeper. Costs a copy of the program's page tables, once.
    pub(crate) fn start() -> io::Result<Self> {
        let (ours, theirs) = pair()?;
        let groups = group::Folder::make();
        let folder = groups.as_ref().map_or(-1, |groups| groups.fd.as_raw_fd());
        // A handler of the program must not run in its copy before the copy has settled.
        let mask = sys::block_signals();
        let forked = sys::fork();
        if forked == Ok(0) {
            keep::keep(theirs.as_raw_fd(), folder);
        }
        sys::restore_signals(&mask);
        let pid = forked.map_err(io::Error::from_raw_os_error)?;
        let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::Other)?;
        let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok();
        Ok(Self { socket: Some(ours), pid, handle, groups })
    }

    /// Whether every tree has a control group of its own.
    pub(crate) fn has_groups(&self) -> bool {
        self.groups.is_some()
    }

    /// Whether it still makes sitters.
    pub(crate) fn lives(&self) -> bool {
        let Some(handle) = &self.handle else { return true };
        let mut fds = [PollFd::new(handle, PollFlags::IN)];
        rustix::event::poll(&mut fds, Some(&Timespec::default())) == Ok(0)
    }

    /// Asks for a sitter with these descriptors, which must be in the order of their roles.
    pub(crate) fn sit(&self, fds: &[(Role, BorrowedFd<'_>)]) -> io::Result<()> {
        let bits = fds.iter().fold(0, |bits, (role, _)| bits | 1 << (*role as i32));
        let raw: Vec<BorrowedFd<'_>> = fds.iter().map(|(_, fd)| *fd).collect();
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        send(socket.as_fd(), Message::new(Kind::Sit, bits, 0), &raw)?;
        // Whoever got it was often woken on this very processor, and it is waited for.
        std::thread::yield_now();
        Ok(())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.socket.take());
        // It leaves as soon as it sees the end of its socket; a moment at most.
        let until = Instant::now() + Duration::from_millis(200);
        while Instant::now() < until {
            match rustix::process::waitpid(Some(self.pid), WaitOptions::NOHANG) {
                Ok(None) | Err(Errno::INTR) => std::thread::sleep(Duration::from_micros(200)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
    }
}

/// Two ends of a socket that keeps messages whole.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let pair = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    Ok(pair)
}

/// Two ends of a socket for a text that one end writes.
pub(crate) fn stream() -> io::Result<(OwnedFd, OwnedFd)> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    Ok(rustix::net::socketpair(family, kind, SocketFlags::CLOEXEC, None)?)
}

/// A file in memory, to be read from its start.
pub(crate) fn memory(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?;
    write_all(&file, bytes)?;
    if !bytes.is_empty() {
        rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0))?;
    }
    Ok(file)
}

/// Writes all of it.
pub(crate) fn write_all(fd: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = rustix::io::write(fd, bytes)?;
        bytes = bytes.get(count..).unwrap_or_default();
    }
    Ok(())
}

fn send(socket: BorrowedFd<'_>, message: Message, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(wire::FDS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(fds));
    }
    let bytes = message.to_bytes();
    let slices = [IoSlice::new(&bytes)];
    loop {
        match rustix::net::sendmsg(socket, &slices, &mut control, SendFlags::NOSIGNAL) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
