//! Messages and descriptors over a socket, for processes that may not allocate.
//!
//! The program's own end uses the safe face of the same calls; see `keeper::send`.

#![expect(unsafe_code, reason = "control messages are raw memory without an allocator")]

use std::mem::zeroed;
use std::os::fd::RawFd;

use super::sys::errno;
use super::wire::{FDS_MAX, Message};

/// Sends a message and its descriptors.
pub(crate) fn send(socket: RawFd, message: Message) {
    let bytes = message.to_bytes();
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the slice and its length belong together.
    unsafe { libc::send(socket, bytes.as_ptr().cast(), bytes.len(), flags) };
}

/// What `receive` found.
#[derive(Debug)]
pub(crate) enum Received {
    /// A message, and how many descriptors came along.
    Message(Message, usize),
    /// Nothing we know.
    Nothing,
    /// The other end is gone.
    Gone,
}

/// Takes one message; descriptors are put into `fds`.
pub(crate) fn receive(socket: RawFd, fds: &mut [RawFd; FDS_MAX]) -> Received {
    let mut bytes = [0_u8; Message::SIZE];
    // Aligned like a control header, with room for `FDS_MAX` descriptors.
    let mut control = [0_u64; 16];
    let mut slice = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: all buffers are locals that outlive the call, and their lengths are true.
    unsafe {
        let mut header = zeroed::<libc::msghdr>();
        header.msg_iov = &raw mut slice;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&control) as _;
        let got = libc::recvmsg(socket, &raw mut header, libc::MSG_CMSG_CLOEXEC);
        if got == 0 {
            return Received::Gone;
        }
        if got < 0 {
            let again = matches!(errno(), libc::EINTR | libc::EAGAIN);
            return if again { Received::Nothing } else { Received::Gone };
        }
        let mut count = 0;
        let first = libc::CMSG_FIRSTHDR(&raw const header);
        if !first.is_null() && (*first).cmsg_type == libc::SCM_RIGHTS {
            let length = (*first).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
            count = (length / size_of::<RawFd>()).min(FDS_MAX);
            let data = libc::CMSG_DATA(first);
            for (at, slot) in fds.iter_mut().enumerate().take(count) {
                let bytes = data.add(at * size_of::<RawFd>()).cast::<[u8; 4]>().read();
                *slot = RawFd::from_ne_bytes(bytes);
            }
        }
        match Message::from_bytes(&bytes) {
            Some(message) => Received::Message(message, count),
            None => Received::Nothing,
        }
    }
}

/// Two ends of a socket that keeps messages whole.
pub(crate) fn socket_pair() -> Option<(RawFd, RawFd)> {
    let mut ends = [-1; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: the array has room for both ends.
    let done = unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) };
    (done == 0).then_some((ends[0], ends[1]))
}

/// Sends a message and one descriptor.
pub(crate) fn send_fd(socket: RawFd, message: Message, fd: RawFd) {
    let mut bytes = message.to_bytes();
    let mut control = [0_u64; 4];
    let mut slice = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: all buffers are locals that outlive the call; the control buffer is aligned and has
    // room for a header and one descriptor.
    unsafe {
        let mut header = zeroed::<libc::msghdr>();
        header.msg_iov = &raw mut slice;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = libc::CMSG_SPACE(4) as _;
        let first = libc::CMSG_FIRSTHDR(&raw const header);
        (*first).cmsg_level = libc::SOL_SOCKET;
        (*first).cmsg_type = libc::SCM_RIGHTS;
        (*first).cmsg_len = libc::CMSG_LEN(4) as _;
        libc::CMSG_DATA(first).cast::<[u8; 4]>().write(fd.to_ne_bytes());
        libc::sendmsg(socket, &raw const header, libc::MSG_NOSIGNAL);
    }
}
