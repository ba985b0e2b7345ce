//! Frames: one JSON text a line, at most 16 MiB each, over any pair of byte streams.
//!
//! A reader hands over whole lines and says when one was too long; a writer takes whole lines. What
//! is in them belongs to `rpc`.

use std::io::{self, Read, Write};
use std::thread;

use petasos_contract::wait::Owned;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

/// The longest line that is read or written.
pub const FRAME_MAX: usize = 16 * 1024 * 1024;
/// So many lines wait for a slow reader or writer; then whoever sends waits.
const WAITING: usize = 256;
const CHUNK: usize = 64 * 1024;

/// What arrives.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// One line without its end.
    Line(Vec<u8>),
    /// A line over the limit, which was thrown away.
    TooLong,
}

/// Two streams of lines. Whoever holds it ends the tasks that feed it by dropping it.
#[derive(Debug)]
pub struct Transport {
    /// What arrives; closed when the other side is gone.
    pub lines: mpsc::Receiver<Arrival>,
    /// What goes out, a line each, without its end.
    pub out: mpsc::Sender<String>,
    _pumps: Vec<Owned<()>>,
}

impl Transport {
    /// Over two streams, on the current runtime.
    pub fn over(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let (arrived, lines) = mpsc::channel(WAITING);
        let (out, leaving) = mpsc::channel(WAITING);
        let pumps =
            vec![Owned::start(pump_in(read, arrived)), Owned::start(pump_out(leaving, write))];
        Self { lines, out, _pumps: pumps }
    }

    /// Over blocking streams with a thread each, which end with the program: a thread that reads
    /// standard input cannot be stopped.
    pub fn blocking(
        read: impl Read + Send + 'static,
        write: impl Write + Send + 'static,
    ) -> io::Result<Self> {
        let (arrived, lines) = mpsc::channel(WAITING);
        let (out, leaving) = mpsc::channel(WAITING);
        thread::Builder::new().name("acp-in".to_owned()).spawn(move || read_all(read, &arrived))?;
        thread::Builder::new()
            .name("acp-out".to_owned())
            .spawn(move || write_all(leaving, write))?;
        Ok(Self { lines, out, _pumps: Vec::new() })
    }
}

async fn pump_in(mut read: impl AsyncRead + Unpin, arrived: mpsc::Sender<Arrival>) {
    let (mut cutter, mut chunk) = (Cutter::default(), vec![0; CHUNK]);
    loop {
        let count = match read.read(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        for arrival in cutter.feed(chunk.get(..count).unwrap_or_default()) {
            if arrived.send(arrival).await.is_err() {
                return;
            }
        }
    }
    if let Some(last) = cutter.rest() {
        arrived.send(last).await.unwrap_or_default();
    }
}

async fn pump_out(mut leaving: mpsc::Receiver<String>, mut write: impl AsyncWrite + Unpin) {
    while let Some(mut line) = leaving.recv().await {
        line.push('\n');
        let written = write.write_all(line.as_bytes()).await;
        if written.is_err() || write.flush().await.is_err() {
            return;
        }
    }
}

fn read_all(mut read: impl Read, arrived: &mpsc::Sender<Arrival>) {
    let (mut cutter, mut chunk) = (Cutter::default(), vec![0; CHUNK]);
    loop {
        let count = match read.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        for arrival in cutter.feed(chunk.get(..count).unwrap_or_default()) {
            if arrived.blocking_send(arrival).is_err() {
                return;
            }
        }
    }
    if let Some(last) = cutter.rest() {
        arrived.blocking_send(last).unwrap_or_default();
    }
}

fn write_all(mut leaving: mpsc::Receiver<String>, mut write: impl Write) {
    while let Some(mut line) = leaving.blocking_recv() {
        line.push('\n');
        if write.write_all(line.as_bytes()).is_err() || write.flush().is_err() {
            return;
        }
    }
}

/// Cuts bytes into lines.
#[derive(Debug, Default)]
struct Cutter {
    line: Vec<u8>,
    /// The line is over the limit; the rest of it is thrown away.
    over: bool,
}

impl Cutter {
    fn feed(&mut self, bytes: &[u8]) -> Vec<Arrival> {
        let mut arrived = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (piece, false),
            };
            if self.over || self.line.len() + text.len() > FRAME_MAX {
                self.over = true;
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(text);
            }
            if ends {
                arrived.extend(self.rest());
            }
        }
        arrived
    }

    /// The line so far; a blank one is nothing.
    fn rest(&mut self) -> Option<Arrival> {
        if std::mem::take(&mut self.over) {
            return Some(Arrival::TooLong);
        }
        let line = std::mem::take(&mut self.line);
        let blank = line.iter().all(u8::is_ascii_whitespace);
        (!blank).then_some(Arrival::Line(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_wherever_the_chunks_end() {
        let mut cutter = Cutter::default();
        assert_eq!(cutter.feed(b"{\"a\""), []);
        let lines = cutter.feed(b":1}\n\n  \r\n{}\nx");
        let line = |text: &[u8]| Arrival::Line(text.to_vec());
        assert_eq!(lines, [line(b"{\"a\":1}"), line(b"{}")]);
        assert_eq!(cutter.rest(), Some(line(b"x")));
    }

    #[test]
    fn a_line_over_the_limit_is_told_once_and_the_next_one_is_read() {
        let mut cutter = Cutter::default();
        let half = vec![b'x'; FRAME_MAX / 2 + 1];
        assert_eq!(cutter.feed(&half), []);
        assert_eq!(cutter.feed(&half), []);
        assert_eq!(cutter.feed(b"tail\n{}\n"), [Arrival::TooLong, Arrival::Line(b"{}".to_vec())]);
    }
}
