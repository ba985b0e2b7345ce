//! Bodies of senders that nobody knows yet: their signature is known when the last byte is there.
//!
//! So many at once and each in a short time; where all places are taken, the slowest makes room.
//! Somebody who sends a byte now and then keeps no delivery out.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use http::StatusCode;
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::body;
use crate::error::ApiError;

/// How long a body may take: a whole one of a mebibyte in it is not much for a server.
const TIME: Duration = Duration::from_secs(15);
/// So many are read at once; half of the connections stay free for others.
const MOST: usize = 256;
/// Nobody makes room before this: a delivery that comes at its pace is not given up for another.
const FAIR: Duration = Duration::from_secs(1);

/// The bodies that are being read, the oldest first.
#[derive(Default)]
pub(super) struct Reading(Mutex<Line>);

#[derive(Default)]
struct Line {
    count: u64,
    bodies: BTreeMap<u64, (Instant, CancellationToken)>,
}

impl Reading {
    /// Reads a body whole, unless it is too large, too slow, or in the way.
    pub(super) async fn read(&self, body: Incoming, most: usize) -> Result<Vec<u8>, ApiError> {
        let place = self.take()?;
        tokio::select! {
            read = body::read_within(body, most, TIME) => read,
            () = place.left.cancelled() => Err(body::slow()),
        }
    }

    fn take(&self) -> Result<Place<'_>, ApiError> {
        let mut line = self.0.lock();
        if line.bodies.len() >= MOST {
            match line.bodies.first_entry() {
                Some(oldest) if oldest.get().0.elapsed() >= FAIR => oldest.remove().1.cancel(),
                _ => {
                    let message = "too many deliveries arrive at once";
                    let status = StatusCode::SERVICE_UNAVAILABLE;
                    return Err(ApiError::new(status, "busy", message).after(FAIR.as_secs()));
                }
            }
        }
        line.count += 1;
        let (number, left) = (line.count, CancellationToken::new());
        line.bodies.insert(number, (Instant::now(), left.clone()));
        Ok(Place { line: &self.0, number, left })
    }
}

/// The place of one body.
struct Place<'a> {
    line: &'a Mutex<Line>,
    number: u64,
    left: CancellationToken,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.line.lock().bodies.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_all_places_are_taken_the_slowest_makes_room_and_nobody_before_a_second() {
        let reading = Reading::default();
        let mut places: Vec<_> = (0..MOST).map(|_| reading.take().ok()).collect();
        assert!(places.iter().all(Option::is_some));
        assert!(reading.take().is_err_and(|it| it.status == StatusCode::SERVICE_UNAVAILABLE));
        places[7] = None;
        let next = reading.take();
        assert!(next.is_ok(), "a place that became free is taken");
        for (since, _) in reading.0.lock().bodies.values_mut() {
            *since = since.checked_sub(FAIR).unwrap();
        }
        let last = reading.take();
        assert!(last.is_ok());
        let left = |at: usize| places[at].as_ref().is_some_and(|it| it.left.is_cancelled());
        assert!(left(0), "the oldest makes room");
        assert!((1..MOST).all(|at| !left(at)), "nobody else does");
    }
}
