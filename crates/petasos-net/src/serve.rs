//! Serving HTTP/1.1 to whoever connects: so many connections, a deadline for each head, a longer one
//! between two requests, an end for those who do not read what they asked for, and an end for all
//! when the program says so.
//!
//! Where all places are taken, whoever has waited longest without asking for anything makes room:
//! connections that only sit there keep nobody out.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

/// How much a server takes from whoever connects.
#[derive(Debug, Clone, Copy)]
pub struct ServeLimits {
    /// So many connections are served at once; the next ones wait, unless one that asks for nothing
    /// can make room.
    pub connections: usize,
    /// How long the head of a request may take, and the first one to come at all.
    pub head: Duration,
    /// How long a connection may stay without a further request.
    pub idle: Duration,
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
            idle: Duration::from_mins(2),
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
    let (room, idle) = (Arc::new(Semaphore::new(limits.connections)), Arc::<Idle>::default());
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
        let seat = idle.seat();
        connections.spawn(async move {
            let place = if let Ok(place) = Arc::clone(&room).try_acquire_owned() {
                Ok(place)
            } else {
                seat.idle.make_room();
                room.acquire_owned().await
            };
            let Ok(_place) = place else { return };
            connection(stream, peer, (limits, stop, seat), handle).await;
        });
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    drop(tokio::time::timeout(limits.farewell, ended).await);
}

async fn connection<H, F, B>(
    stream: TcpStream,
    peer: SocketAddr,
    (limits, stop, seat): (ServeLimits, CancellationToken, Seat),
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
    let left = seat.left.clone();
    let _seated = Seated::new(seat.clone());
    let io = TokioIo::new(Impatient::new(stream, limits, seat.clone()));
    let answer = service_fn(move |request| {
        let (answered, busy) = (handle(request, peer), seat.busy());
        async move {
            // Busy until the last piece of the answer is gone.
            let answer = answered.await.map(|body| Told { body: Box::pin(body), _busy: busy });
            Ok::<_, Infallible>(answer)
        }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle)
        .max_buf_size(limits.head_bytes.max(8192))
        .serve_connection(io, answer);
    let mut served = std::pin::pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = stop.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
        () = left.cancelled() => {
            tracing::debug!(%peer, "a connection that asked for nothing makes room");
            return;
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended badly");
    }
}

/// Connections that ask for nothing at the moment, the longest waiting first.
#[derive(Default)]
struct Idle {
    waiting: Mutex<BTreeMap<u64, CancellationToken>>,
    count: AtomicU64,
}

impl Idle {
    fn seat(self: &Arc<Self>) -> Seat {
        Seat { idle: Arc::clone(self), left: CancellationToken::new(), at: Arc::default() }
    }

    /// Sends away whoever has waited longest.
    fn make_room(&self) {
        if let Some((_, left)) = self.waiting.lock().pop_first() {
            left.cancel();
        }
    }
}

/// The seat of one connection.
#[derive(Clone)]
struct Seat {
    idle: Arc<Idle>,
    /// Somebody else needs it more.
    left: CancellationToken,
    /// Its number among those that wait; zero while it does not.
    at: Arc<AtomicU64>,
}

impl Seat {
    /// From now on it asks for nothing.
    fn wait(&self) {
        let number = self.idle.count.fetch_add(1, Ordering::Relaxed) + 1;
        self.idle.waiting.lock().insert(number, self.left.clone());
        self.at.store(number, Ordering::Release);
    }

    /// Its number among those that wait; zero while it asks for something.
    fn number(&self) -> u64 {
        self.at.load(Ordering::Acquire)
    }

    fn stir(&self) {
        let number = self.at.swap(0, Ordering::AcqRel);
        self.idle.waiting.lock().remove(&number);
    }

    /// It asks for something, until the value is dropped.
    fn busy(&self) -> Busy {
        self.stir();
        Busy(self.clone())
    }
}

/// The body of an answer; its connection is busy for as long as there is something of it.
struct Told<B> {
    body: Pin<Box<B>>,
    _busy: Busy,
}

impl<B: Body> Body for Told<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.body.as_mut().poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

struct Busy(Seat);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.wait();
    }
}

/// Somebody who sits there; nobody is asked to make room after they have gone.
struct Seated(Seat);

impl Seated {
    fn new(seat: Seat) -> Self {
        seat.wait();
        Self(seat)
    }
}

impl Drop for Seated {
    fn drop(&mut self) {
        self.0.stir();
    }
}

/// A connection that fails when its other side does not read for too long, or does not end a head
/// that it began.
struct Impatient {
    stream: TcpStream,
    limits: ServeLimits,
    seat: Seat,
    /// Since when nothing is read there.
    since: Option<Pin<Box<Sleep>>>,
    /// When the head must be there, and for which wait of the seat.
    head: Option<(u64, Pin<Box<Sleep>>)>,
}

impl Impatient {
    /// Somebody who connects has something to say.
    fn new(stream: TcpStream, limits: ServeLimits, seat: Seat) -> Self {
        let head = (seat.number(), Box::pin(tokio::time::sleep(limits.head)));
        Self { stream, limits, seat, since: None, head: Some(head) }
    }

    /// Fails when a head that has begun is not there in time.
    fn read(
        &mut self,
        cx: &mut Context<'_>,
        read: Poll<io::Result<()>>,
        bytes: usize,
    ) -> Poll<io::Result<()>> {
        let wait = self.seat.number();
        self.head.take_if(|(of, _)| *of != wait);
        // While a request is answered there is no head to wait for.
        if wait == 0 {
            return read;
        }
        if read.is_ready() {
            let due = Instant::now() + self.limits.head;
            if bytes > 0 {
                self.head.get_or_insert_with(|| (wait, Box::pin(tokio::time::sleep_until(due))));
            }
            return read;
        }
        let Some((_, due)) = &mut self.head else { return Poll::Pending };
        ready!(due.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the head does not end")))
    }

    fn written<T>(
        &mut self,
        cx: &mut Context<'_>,
        wrote: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.since = None;
            return wrote;
        }
        let due = Instant::now() + self.limits.unread;
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
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let bytes = buffer.filled().len() - before;
        self.read(cx, read, bytes)
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
