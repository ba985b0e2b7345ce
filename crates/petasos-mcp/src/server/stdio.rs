//! The server on a pair of streams: one client, one line a message.

use std::io;
use std::sync::Arc;

use rmcp::serve_server;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::handler::Handler;
use crate::bounded::{Bounded, REQUEST_MAX};
use crate::offer::Offer;

/// Serves until the client closes its end, or somebody cancels.
pub async fn serve_stdio<R, W>(
    offer: Arc<dyn Offer>,
    read: R,
    write: W,
    stop: CancellationToken,
) -> io::Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let transport = AsyncRwTransport::new_server(Bounded::requests(read), write)
        .with_max_line_length(REQUEST_MAX);
    let begun = tokio::select! {
        begun = serve_server(Handler::new(offer), transport) => begun,
        () = stop.cancelled() => return Ok(()),
    };
    let running = match begun {
        Ok(running) => running,
        Err(error) => return Err(io::Error::other(error.to_string())),
    };
    let ending = running.cancellation_token();
    tokio::select! {
        ended = running.waiting() => ended.map(drop).map_err(|error| io::Error::other(error.to_string())),
        () = stop.cancelled() => {
            ending.cancel();
            Ok(())
        }
    }
}
