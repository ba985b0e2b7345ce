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

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;
    use petasos_contract::SessionId;
    use petasos_sqlite::{OpenOptions, Store};
    use petasos_store::{ApiStore, RunRow};
    use serde_json::json;

    use super::*;
    use crate::run::{Held, LAG_MAX, Life, Run, RunFacts, RunStatus};
    use crate::run_routes::RunFrames;

    const ID: &str = "run_1";

    fn facts() -> RunFacts {
        RunFacts {
            id: ID.to_owned(),
            owner: "una".to_owned(),
            session: SessionId::new("s"),
            created_ms: 1,
            model: "petasos".to_owned(),
            life: Life::OnItsOwn,
            kept: true,
            deadline: None,
            held: Held::default(),
            to: None,
        }
    }

    /// A run in a store of its own.
    async fn stage() -> (tempfile::TempDir, Arc<dyn ApiStore>, Arc<Run>) {
        let folder = tempfile::TempDir::new().unwrap();
        let store = Store::open(&OpenOptions::new(folder.path().join("petasos.db"))).unwrap();
        let store: Arc<dyn ApiStore> = Arc::new(store);
        let RunFacts { id, owner, session, created_ms, .. } = facts();
        let (status, about) = (RunStatus::Running.as_str().to_owned(), json!({}));
        let row = RunRow { id, owner, session, status, about, created_ms, ended_ms: None };
        store.put_run(row).await.unwrap();
        (folder, store, Run::new(facts(), 1))
    }

    async fn keep(run: &Run, store: &dyn ApiStore) {
        let (events, status) = run.take_unstored();
        let last = events.last().unwrap().0;
        store.add_run_events(ID, events, status.as_str(), None).await.unwrap();
        run.stored_until(last);
    }

    fn told(run: &Arc<Run>, after: i64, store: &Arc<dyn ApiStore>) -> impl Stream<Item = String> {
        let reader = run.read(after, Arc::clone(store));
        frames(reader, Early::new(), RunFrames { run: ID.to_owned() })
    }

    fn number(frame: &str) -> i64 {
        frame.lines().find_map(|line| line.strip_prefix("id: ")?.parse().ok()).unwrap()
    }

    #[tokio::test]
    async fn s107_a_reader_that_lags_is_cut_off_and_goes_on_by_the_number() {
        let (_folder, store, run) = stage().await;
        let word = |number: usize| RunEvent::Text { delta: format!("word{number} ") };
        run.push(word(0));
        let mut slow = Box::pin(told(&run, 0, &store));
        let first = slow.next().await.unwrap();
        // It has seen everything, and does not come back for a long time.
        assert!(futures::poll!(slow.next()).is_pending());
        for number in 1..=LAG_MAX + 10 {
            run.push(word(number));
        }
        keep(&run, &*store).await;
        let cut = slow.next().await.unwrap();
        assert!(cut.starts_with("event: lagged\n"), "{cut}");
        assert_eq!(slow.next().await, None, "the stream ends");
        run.push(RunEvent::Completed {
            output: "all".to_owned(),
            usage: crate::run::Spent::default(),
            finish_reason: "stop".to_owned(),
        });
        keep(&run, &*store).await;
        let rest: Vec<String> = told(&run, number(&first), &store).collect().await;
        let numbers: Vec<i64> = rest.iter().map(|frame| number(frame)).collect();
        let wanted: Vec<i64> = (2..).take(LAG_MAX + 11).collect();
        assert_eq!(numbers, wanted, "nothing is missing and nothing comes twice");
        assert!(rest.last().unwrap().contains("run.completed"));
    }

    #[tokio::test]
    async fn a_silent_stream_is_kept_open_after_fifteen_seconds() {
        let (_folder, store, run) = stage().await;
        tokio::time::pause();
        let mut stream = Box::pin(told(&run, 0, &store));
        let asked = Instant::now();
        assert_eq!(stream.next().await.as_deref(), Some(": keepalive\n\n"));
        let waited = asked.elapsed();
        assert!((15..16).contains(&waited.as_secs()), "{waited:?}");
        run.push(RunEvent::Text { delta: "here".to_owned() });
        assert!(stream.next().await.unwrap().contains("here"));
    }
}
