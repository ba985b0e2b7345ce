//! The events of a run as a stream of frames, in the words of one interface.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::Stream;
use petasos_contract::BoxFuture;
use tokio::time::{Instant, timeout_at};

use crate::answer::{KEEPALIVE, SILENCE};
use crate::error::ApiError;
use crate::run::{Read, RunEvent, RunReader};

/// A stream begins after so long at most; a turn that fails before is an error with its status.
const FIRST: Duration = Duration::from_millis(800);

/// How an interface puts events.
pub(crate) trait Frames: Send + 'static {
    /// What comes before everything.
    fn open(&mut self) -> String;

    /// One event; nothing where the interface does not tell it.
    fn event<'a>(&'a mut self, number: i64, event: &'a RunEvent) -> BoxFuture<'a, String>;

    /// The reader was too slow.
    fn lagged(&mut self) -> String;
}

/// Events that came before the answer began.
pub(crate) type Early = VecDeque<(i64, Arc<RunEvent>)>;

/// Waits a moment for what a turn begins with: one that fails at once is an error.
pub(crate) async fn early(reader: &mut RunReader) -> Result<Early, ApiError> {
    let mut early = Early::new();
    let until = Instant::now() + FIRST;
    while let Ok(Read::Event(number, event)) = timeout_at(until, reader.next()).await {
        let failed = match &*event {
            RunEvent::Failed { error, status } => Some(ApiError::told(error, *status)),
            _ => None,
        };
        let waits = matches!(&*event, RunEvent::Started {});
        early.push_back((number, event));
        match failed {
            // Words were told before: they are part of the answer.
            Some(error) if early.iter().all(|(_, event)| is_silent(event)) => return Err(error),
            _ if waits => {}
            _ => break,
        }
    }
    Ok(early)
}

fn is_silent(event: &RunEvent) -> bool {
    matches!(event, RunEvent::Started {} | RunEvent::Failed { .. })
}

struct Going<F> {
    reader: RunReader,
    frames: F,
    early: Early,
    opened: bool,
    over: bool,
}

/// The frames, until the run is over. Dropping them lets go of the run.
pub(crate) fn frames(
    reader: RunReader,
    early: Early,
    frames: impl Frames,
) -> impl Stream<Item = String> + Send + 'static {
    let going = Going { reader, frames, early, opened: false, over: false };
    futures::stream::unfold(going, |mut going| async move {
        let frame = going.next().await?;
        Some((frame, going))
    })
}

impl<F: Frames> Going<F> {
    async fn next(&mut self) -> Option<String> {
        if !self.opened {
            self.opened = true;
            let opening = self.frames.open();
            if !opening.is_empty() {
                return Some(opening);
            }
        }
        while !self.over {
            let read = match self.early.pop_front() {
                Some((number, event)) => Read::Event(number, event),
                None => match tokio::time::timeout(SILENCE, self.reader.next()).await {
                    Ok(read) => read,
                    Err(_) => return Some(KEEPALIVE.to_owned()),
                },
            };
            let frame = match read {
                Read::Event(number, event) => self.frames.event(number, &event).await,
                Read::Lagged => {
                    self.over = true;
                    self.frames.lagged()
                }
                Read::End => return None,
            };
            if !frame.is_empty() {
                return Some(frame);
            }
        }
        None
    }
}
