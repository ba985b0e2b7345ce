//! The one connection that writes, on a thread of its own.
//!
//! Jobs that queue up while one is written share a transaction, each behind its own savepoint, so
//! that many writers cost few commits and a failing job takes nobody with it. A job is answered
//! after the commit: until then nothing is durable.

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::store::StoreError;
use petasos_contract::wait;
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;
use tracing::warn;

use crate::sqlite::failed;

/// How long a write may take before whoever waits is told.
const WRITE_DEADLINE: Duration = Duration::from_secs(30);
/// So many jobs share one transaction at most.
const TOGETHER_MAX: usize = 64;

/// What is left to do after the commit: answer.
type Reply = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
/// Told the transaction to work in, or why there is none.
type Job = Box<dyn FnOnce(Result<&Connection, StoreError>) -> Reply + Send>;

/// Hands jobs to the thread; ends it on drop, after what was handed over is written.
pub(crate) struct Writer {
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(connection: Connection) -> Result<Self, StoreError> {
        let (sender, receiver) = mpsc::channel::<Job>();
        let thread = std::thread::Builder::new()
            .name("session-writer".to_owned())
            .spawn(move || work(connection, &receiver))
            .map_err(|error| StoreError::Failed(format!("no thread to write: {error}")))?;
        Ok(Self { jobs: Mutex::new(Some(sender)), thread: Mutex::new(Some(thread)) })
    }

    /// Does something inside a transaction and answers when it is durable.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        what: &'static str,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let result = connection.and_then(|connection| guarded(connection, job));
            Box::new(move |committed| {
                let result = committed.and(result);
                if answer.send(result).is_err() {
                    warn!(what, "nobody waits any more for a write that was done");
                }
            })
        });
        let sent = self.jobs.lock().as_ref().map(|jobs| jobs.send(job).is_ok());
        if sent != Some(true) {
            return Err(StoreError::Failed("the writer has ended".to_owned()));
        }
        let deadline = Instant::now() + WRITE_DEADLINE;
        match wait::until(deadline, what, answered).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(StoreError::Failed("the writer ended before it answered".to_owned())),
            Err(_) => Err(StoreError::Slow { what }),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.lock().take());
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            warn!("the writer of the session database panicked");
        }
    }
}

/// A job behind its savepoint: what it did is undone when it fails.
fn guarded<T>(
    connection: &Connection,
    job: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    connection.execute_batch("SAVEPOINT job").map_err(failed)?;
    let result = job(connection);
    let end = if result.is_ok() { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" };
    connection.execute_batch(end).map_err(failed)?;
    result
}

fn work(mut connection: Connection, jobs: &mpsc::Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        let mut together = vec![first];
        while together.len() < TOGETHER_MAX
            && let Ok(next) = jobs.try_recv()
        {
            together.push(next);
        }
        write_together(&mut connection, together);
    }
    if let Err(error) = connection.execute_batch("PRAGMA optimize") {
        warn!(%error, "the session database was not optimised");
    }
}

fn write_together(connection: &mut Connection, jobs: Vec<Job>) {
    let transaction = match connection.transaction_with_behavior(TransactionBehavior::Immediate) {
        Ok(transaction) => transaction,
        Err(error) => {
            let why = failed(error);
            for job in jobs {
                job(Err(why.clone()))(Ok(()));
            }
            return;
        }
    };
    let replies: Vec<Reply> = jobs.into_iter().map(|job| job(Ok(&transaction))).collect();
    let committed = transaction.commit().map_err(failed);
    for reply in replies {
        reply(committed.clone());
    }
}
