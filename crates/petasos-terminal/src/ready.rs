//! Descriptors of our own on the runtime's reactor.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Makes a descriptor non-blocking and waits for it to become readable or writable.
#[expect(unsafe_code, reason = "the reactor trusts that a descriptor stays open")]
pub(crate) fn register(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    rustix::io::ioctl_fionbio(&fd, true)?;
    // SAFETY: an `OwnedFd` stays open and the same until it is dropped, and the reactor owns it.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest) }?)
}

/// Waits until something can be read; for ever without a descriptor. False when the runtime that
/// registered the descriptor has ended: then there is nothing to wait for, and whoever asked again
/// would never yield.
pub(crate) async fn readable(fd: Option<&AsyncFd<OwnedFd>>) -> bool {
    let Some(fd) = fd else { return std::future::pending().await };
    fd.readable().await.is_ok()
}

/// Reads once into the spare room of `into`, without waiting; 0 at the end, `None` when there is
/// nothing yet.
pub(crate) fn read(fd: &AsyncFd<OwnedFd>, into: &mut Vec<u8>) -> io::Result<Option<usize>> {
    const ROOM: usize = 64 * 1024;
    into.reserve(ROOM);
    let read = fd.try_io(Interest::READABLE, |fd| {
        Ok(rustix::io::read(fd, rustix::buffer::spare_capacity(into))?)
    });
    match read {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        // A terminal whose last program is gone says so with this error.
        Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(Some(0)),
        Err(error) => Err(error),
    }
}

/// Writes all of it.
pub(crate) async fn write(fd: &AsyncFd<OwnedFd>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = fd.async_io(Interest::WRITABLE, |fd| Ok(rustix::io::write(fd, bytes)?)).await?;
        bytes = bytes.get(count..).unwrap_or_default();
    }
    Ok(())
}
