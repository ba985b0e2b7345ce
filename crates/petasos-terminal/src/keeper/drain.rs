//! What a sitter does for a job whose program is gone: keeps its pipe from filling up and leaves
//! its exit status where a later program finds it.

use std::os::fd::RawFd;

use super::sys;

/// More than this of unread output is dropped: nobody is there to roll the log.
const LOG_BYTES_MAX: i64 = 64 << 20;

/// Moves what is there from the pipe to the log; `false` at the end of the output.
pub(super) fn pour(output: RawFd, log: RawFd) -> bool {
    let mut buffer = [0_u8; 8192];
    let got = sys::read(output, &mut buffer);
    if got <= 0 {
        return got < 0 && matches!(sys::errno(), libc::EAGAIN | libc::EINTR) && wait(output);
    }
    let bytes = usize::try_from(got).ok().and_then(|got| buffer.get(..got)).unwrap_or_default();
    if sys::size(log) < LOG_BYTES_MAX {
        sys::write(log, bytes);
    }
    true
}

/// A moment for a pipe without data; `false` when nothing comes.
fn wait(output: RawFd) -> bool {
    let mut fds = [libc::pollfd { fd: output, events: libc::POLLIN, revents: 0 }];
    sys::poll(&mut fds, 10);
    fds.iter().any(|fd| fd.revents & libc::POLLIN != 0)
}

/// Writes the wait status as a decimal number, once.
pub(super) fn leave_status(exit: RawFd, status: i32) {
    let mut text = [0_u8; 12];
    let (mut rest, mut at) = (status.unsigned_abs(), text.len());
    loop {
        at -= 1;
        if let Some(slot) = text.get_mut(at) {
            *slot = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        }
        rest /= 10;
        if rest == 0 || at == 0 {
            break;
        }
    }
    sys::write(exit, text.get(at..).unwrap_or_default());
}
