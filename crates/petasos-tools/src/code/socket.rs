//! Carries a script's calls over a Unix socket that only this user can open.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

use super::gate::Gate;

/// A request holds at most one file's content.
const REQUEST_BYTES_MAX: u64 = 64 << 20;

/// Threads of one script; more wait their turn.
const CONNECTIONS_MAX: usize = 64;

/// Opens the socket.
pub(super) fn open(path: &Path) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Serves until it is dropped, with every connection in it.
pub(super) async fn serve(listener: &UnixListener, gate: &Gate) {
    let mut open = FuturesUnordered::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if open.len() < CONNECTIONS_MAX => {
                if let Ok((stream, _)) = accepted {
                    open.push(connection(stream, gate));
                }
            }
            Some(()) = open.next() => {}
        }
    }
}

/// Answers line after line; a peer that breaks off has nobody left to tell.
async fn connection(stream: UnixStream, gate: &Gate) {
    let (reading, mut writing) = stream.into_split();
    let mut reading = BufReader::new(reading);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut reading).take(REQUEST_BYTES_MAX).read_until(b'\n', &mut line).await;
        if !matches!(read, Ok(length) if length > 0) || !line.ends_with(b"\n") {
            return;
        }
        let mut answer = gate.answer(&line).await;
        answer.push('\n');
        if writing.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}
