//! Serving HTTP/1.1 to whoever connects: so many connections, a deadline for each head, an end for
//! those who do not read what they asked for, and an end for all when the program says so.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

/// How much a server takes from whoever connects.
#[derive(Debug, Clone, Copy)]
pub struct ServeLimits {
    /// So many connections are served at once; the next ones wait.
    pub connections: usize,
    /// How long the head of a request may take.
    pub head: Duration,
    /// The largest head, in bytes.
    pub head_bytes: usize,
    /// How long a client may leave what was sent to it unread.
    pub unread: Duration,
    /// How long answers that have begun may go on after the end was asked for.
    pub farewell: Duration,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            connections: 512,
            head: Duration::from_secs(10),
            head_bytes: 16 * 1024,
            unread: Duration::from_mins(1),
            farewell: Duration::ZERO,
        }
    }
}

/// Answers every request until it is told to stop.
pub async fn serve<H, F, B>(
    listener: TcpListener,
    limits: ServeLimits,
    stop: CancellationToken,
    handle: H,
) where
    H: Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ended = connections.join_next(), if !connections.is_empty() => continue,
            () = stop.cancelled() => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (handle, room, stop) = (handle.clone(), Arc::clone(&room), stop.clone());
        connections.spawn(async move {
            let Ok(_place) = room.acquire_owned().await else { return };
            connection(stream, peer, limits, stop, handle).await;
        });
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    drop(tokio::time::timeout(limits.farewell, ended).await);
}

async fn connection<H, F, B>(
    stream: TcpStream,
    peer: SocketAddr,
    limits: ServeLimits,
    stop: CancellationToken,
    handle: H,
) where
    H: Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "small pieces may wait");
    }
    let answer = service_fn(move |request| {
        let answered = handle(request, peer);
        async move { Ok::<_, Infallible>(answered.await) }
    });
    let io = TokioIo::new(Impatient { stream, unread: limits.unread, since: None });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(limits.head_bytes.max(8192))
        .serve_connection(io, answer);
    let mut served = std::pin::pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = stop.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended badly");
    }
}

/// A connection that fails when its other side does not read for too long.
struct Impatient {
    stream: TcpStream,
    unread: Duration,
    since: Option<Pin<Box<Sleep>>>,
}

impl Impatient {
    fn written<T>(
        &mut self,
        cx: &mut Context<'_>,
        wrote: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.since = None;
            return wrote;
        }
        let due = Instant::now() + self.unread;
        let waits = self.since.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        ready!(waits.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other side does not read")))
    }
}

impl AsyncRead for Impatient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(cx, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.written(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
