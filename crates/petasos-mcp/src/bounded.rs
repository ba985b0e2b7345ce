//! A stream of messages, one a line, with a bound on each.
//!
//! The SDK drops a line that is too long without a word, and whoever waits for it waits in vain.
//! Here the rest of such a line is swallowed and a short message about the same request follows.

use std::io;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use regex::bytes::Regex;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, ReadBuf};

/// The longest answer of a program.
pub(crate) const ANSWER_MAX: usize = 32 * 1024 * 1024;
/// The longest request of a client.
pub(crate) const REQUEST_MAX: usize = 16 * 1024 * 1024;
/// What a client's request that is too long becomes: a method that is answered with an error.
pub(crate) const TOO_LARGE: &str = "petasos/too_large";
/// How much is read at once.
const CHUNK: usize = 64 * 1024;
/// How much of either end of a message is looked at for its number.
const END: usize = 1024;

#[expect(clippy::unwrap_used, reason = "the pattern is a constant that a test compiles")]
static FIRST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,18})\s*,"#).unwrap()
});
#[expect(clippy::unwrap_used, reason = "the pattern is a constant that a test compiles")]
static LAST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#",\s*"id"\s*:\s*(\d{1,18})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$"#).unwrap()
});

/// What stands for a message with this number that is longer than this limit.
type Instead = fn(&Value, usize) -> Value;

/// Reads messages; one above the limit is replaced.
pub(crate) struct Bounded<R> {
    from: R,
    limit: usize,
    instead: Instead,
    chunk: Vec<u8>,
    ready: BytesMut,
    line: Line,
    /// A message above the limit that belongs to no request: nothing after it can be trusted.
    lost: bool,
}

/// The line that is being read.
#[derive(Default)]
struct Line {
    length: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
    answered: bool,
}

impl Line {
    fn add(&mut self, part: &[u8]) {
        self.length += part.len();
        let room = END.saturating_sub(self.head.len());
        self.head.extend(part.iter().take(room));
        self.tail.extend(part.iter().skip(part.len().saturating_sub(END)));
        let old = self.tail.len().saturating_sub(END);
        self.tail.drain(..old);
    }

    /// The number of the request that it answers, where servers write it: at either end.
    fn id(&self, whole: bool) -> Option<u64> {
        let last = || LAST.captures(&self.tail).filter(|_| whole);
        let found = FIRST.captures(&self.head).or_else(last)?;
        std::str::from_utf8(found.get(1)?.as_bytes()).ok()?.parse().ok()
    }
}

impl<R> Bounded<R> {
    /// The answers of a server: one that is too long becomes an error of its call.
    pub(crate) fn answers(from: R) -> Self {
        Self::new(from, ANSWER_MAX, refused_answer)
    }

    /// The requests of a client: one that is too long becomes one that is refused.
    pub(crate) fn requests(from: R) -> Self {
        Self::new(from, REQUEST_MAX, refused_request)
    }

    fn new(from: R, limit: usize, instead: Instead) -> Self {
        let (ready, line) = (BytesMut::new(), Line::default());
        Self { from, limit, instead, chunk: vec![0; CHUNK], ready, line, lost: false }
    }

    fn take(&mut self, count: usize) {
        let chunk = std::mem::take(&mut self.chunk);
        for part in chunk.get(..count).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
            let room = self.limit.saturating_sub(self.line.length);
            self.ready.extend(part.iter().take(room));
            self.line.add(part);
            let whole = part.ends_with(b"\n");
            if self.line.length > self.limit && !self.line.answered {
                self.refuse(whole);
            }
            if self.lost {
                break;
            }
            if whole {
                self.line = Line::default();
            }
        }
        self.chunk = chunk;
    }

    /// Ends what was passed on of a line and answers in its place, as soon as it is known whom.
    fn refuse(&mut self, whole: bool) {
        let (length, limit) = (self.line.length, self.limit);
        let Some(id) = self.line.id(whole) else {
            self.lost = whole || length > 4 * limit;
            return;
        };
        tracing::warn!(length, limit, "an MCP message is too large");
        let instead = (self.instead)(&id.into(), limit);
        self.ready.extend_from_slice(format!("\n{instead}\n").as_bytes());
        self.line.answered = true;
    }
}

/// The error of a call whose answer is too large.
pub(crate) fn refused_answer(id: &Value, limit: usize) -> Value {
    let mib = limit / (1024 * 1024);
    let message = format!(
        "its answer is larger than {limit} bytes ({mib} MiB), the limit for one message: ask for less at once"
    );
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": message } })
}

fn refused_request(id: &Value, _: usize) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": TOO_LARGE })
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.ready.is_empty() {
            if this.lost {
                return Poll::Ready(Ok(()));
            }
            let mut chunk = ReadBuf::new(&mut this.chunk);
            ready!(Pin::new(&mut this.from).poll_read(cx, &mut chunk))?;
            let count = chunk.filled().len();
            if count == 0 {
                return Poll::Ready(Ok(()));
            }
            this.take(count);
        }
        let count = this.ready.len().min(into.remaining());
        into.put_slice(this.ready.get(..count).unwrap_or_default());
        this.ready.advance(count);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;

    async fn read(text: &str, limit: usize) -> String {
        let mut read = String::new();
        let mut bounded = Bounded::new(text.as_bytes(), limit, refused_answer);
        bounded.read_to_string(&mut read).await.unwrap();
        read
    }

    #[tokio::test]
    async fn a_message_above_the_limit_becomes_an_error_of_its_request() {
        let small = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
        assert_eq!(read(&small.repeat(3), 100).await, small.repeat(3));
        let big = "x".repeat(5000);
        let messages = [
            format!("{{\"jsonrpc\": \"2.0\", \"id\": 7, \"result\": \"{big}\"}}\n"),
            format!("{{\"id\":7,\"result\":\"{big}\"}}\n"),
            format!("{{\"result\":\"{big}\",\"jsonrpc\":\"2.0\",\"id\":7}}\r\n"),
            format!("{{\"result\":\"{big}\",\"id\":7,\"jsonrpc\":\"2.0\"}}\n"),
        ];
        for message in messages {
            let read = read(&format!("{small}{message}{small}"), 100).await;
            let lines: Vec<&str> = read.lines().collect();
            assert_eq!((lines[0], lines[3]), (small.trim(), small.trim()), "{message}");
            let answer: serde_json::Value = serde_json::from_str(lines[2]).unwrap();
            assert_eq!(answer["id"], 7);
            assert!(answer["error"]["message"].as_str().unwrap().contains("larger than 100 bytes"));
            assert_eq!(lines.len(), 4);
        }
    }

    #[tokio::test]
    async fn a_message_above_the_limit_that_answers_nothing_ends_the_connection() {
        let read = read(&format!("{}\n{{}}\n", "x".repeat(5000)), 100).await;
        assert_eq!(read, "x".repeat(100));
    }
}
