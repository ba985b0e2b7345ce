//! Lines from a pipe, of bounded length.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::plugin::Log;

/// The longest message.
pub(super) const LINE_MAX: usize = 16 * 1024 * 1024;
/// How much of a line of error output is kept.
const LOGGED_MAX: usize = 4096;
const CHUNK: usize = 64 * 1024;

/// Reads lines; what is longer than the limit is an error.
pub(super) struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    searched: usize,
    limit: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(from: R, limit: usize) -> Self {
        Self { from, buffer: Vec::new(), searched: 0, limit }
    }

    /// The next line without its end; `None` at the end.
    pub(super) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let fresh = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(at) = fresh.iter().position(|byte| *byte == b'\n') {
                let end = self.searched + at;
                let line = self.buffer.get(..end).unwrap_or_default().to_vec();
                self.buffer.drain(..=end);
                // The room stays for the next line, except after an unusual one.
                if self.buffer.capacity() > 4 * CHUNK {
                    self.buffer.shrink_to(CHUNK);
                }
                self.searched = 0;
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            if self.searched > self.limit {
                return Err(io::Error::other(format!(
                    "a line is longer than {} bytes",
                    self.limit
                )));
            }
            self.buffer.reserve(CHUNK);
            if self.from.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }
}

/// Keeps error output in the log, cut where it is too long.
pub(super) async fn log(from: impl AsyncRead + Unpin, log: Log) {
    let mut lines = Lines::new(from, LOGGED_MAX);
    loop {
        match lines.next().await {
            Ok(Some(line)) => log.line(&String::from_utf8_lossy(&line)),
            Ok(None) => return,
            Err(_) => {
                // Longer than anyone reads: what is there is kept and the rest begins anew.
                let cut = std::mem::take(&mut lines.buffer);
                lines.searched = 0;
                let cut = cut.get(..LOGGED_MAX).unwrap_or(&cut);
                log.line(&String::from_utf8_lossy(cut));
            }
        }
    }
}
