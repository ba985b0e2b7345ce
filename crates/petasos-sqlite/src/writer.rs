//! The one connection that writes, on a thread of its own.
//!
//! Jobs that queue up while one is written share a transaction, each behind its own savepoint, so
//! that many writers cost few commits and a failing job takes nobody with it. A job is answered
//! after the commit: until then nothing is durable. A file that another process is writing to is
//! waited for; whoever is told that this took too long can rely on it that the job is not done
//! later.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::wait;
use petasos_store::StoreError;
use rusqlite::Connection;
use tokio::sync::{oneshot, watch};
use tracing::warn;

use crate::sqlite::{failed, is_busy};

/// How long a write may wait for its turn before whoever waits is told.
const QUEUED_MAX: Duration = Duration::from_mins(5);
/// The same for one before which nothing has happened yet, so that giving up loses nothing.
const UNBEGUN_MAX: Duration = Duration::from_secs(30);
/// How long one that has begun may take beyond that.
const BEGUN_MAX: Duration = Duration::from_mins(10);
/// How long a program that ends still waits for another process.
const LEAVING_MAX: Duration = Duration::from_secs(10);
/// The longest pause before the file is tried again.
const PAUSE_MAX: Duration = Duration::from_millis(250);
/// So many jobs share one transaction at most.
const TOGETHER_MAX: usize = 64;

/// What is left to do after the commit: answer.
type Reply = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
/// Told the transaction to work in, or why there is none.
type Work = Box<dyn FnOnce(Result<&Connection, StoreError>) -> Reply + Send>;

struct Job {
    work: Work,
    ticket: Arc<Ticket>,
}

/// Whether a job has begun. The writer begins it or its owner takes it back, never both.
#[derive(Debug, Default)]
struct Ticket(AtomicU8);

impl Ticket {
    const WAITING: u8 = 0;
    const BEGUN: u8 = 1;
    const REVOKED: u8 = 2;

    fn settle(&self, as_what: u8) -> bool {
        let (set, fetch) = (Ordering::AcqRel, Ordering::Acquire);
        self.0.compare_exchange(Self::WAITING, as_what, set, fetch).is_ok()
    }
}

/// Hands jobs to the thread; ends it on drop, after what was handed over is written.
pub(crate) struct Writer {
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    leaving: Arc<AtomicBool>,
}

impl Writer {
    /// Starts the thread; the bell rings after every commit.
    pub(crate) fn start(
        connection: Connection,
        bell: Arc<watch::Sender<u64>>,
    ) -> Result<Self, StoreError> {
        let (sender, receiver) = mpsc::channel::<Job>();
        let leaving = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&leaving);
        let thread = std::thread::Builder::new()
            .name("session-writer".to_owned())
            .spawn(move || work(&connection, &receiver, &told, &bell))
            .map_err(|error| StoreError::Failed(format!("no thread to write: {error}")))?;
        let (jobs, thread) = (Mutex::new(Some(sender)), Mutex::new(Some(thread)));
        Ok(Self { jobs, thread, leaving })
    }

    /// Does something inside a transaction and answers when it is durable.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        what: &'static str,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write_within(QUEUED_MAX, what, job).await
    }

    /// The same for what begins something: somebody waits for a first sign.
    pub(crate) async fn begin<T: Send + 'static>(
        &self,
        what: &'static str,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write_within(UNBEGUN_MAX, what, job).await
    }

    async fn write_within<T: Send + 'static>(
        &self,
        queued_max: Duration,
        what: &'static str,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, mut answered) = oneshot::channel();
        let ticket = self.hand_over(job, move |result| {
            if answer.send(result).is_err() {
                warn!(what, "nobody waits any more for a write that was done");
            }
        })?;
        let ended = || StoreError::Failed("the writer ended before it answered".to_owned());
        let deadline = Instant::now() + queued_max;
        if let Ok(result) = wait::until(deadline, what, &mut answered).await {
            return result.map_err(|_| ended())?;
        }
        if ticket.settle(Ticket::REVOKED) {
            return Err(StoreError::Slow { what });
        }
        match wait::until(deadline + BEGUN_MAX, what, answered).await {
            Ok(result) => result.map_err(|_| ended())?,
            Err(_) => Err(StoreError::Slow { what }),
        }
    }

    /// Does something for which nobody waits.
    pub(crate) fn write_later(
        &self,
        what: &'static str,
        job: impl FnOnce(&Connection) -> Result<(), StoreError> + Send + 'static,
    ) {
        let done = move |result: Result<(), StoreError>| {
            if let Err(error) = result {
                warn!(what, %error, "a write failed for which nobody waits");
            }
        };
        if let Err(error) = self.hand_over(job, done) {
            warn!(what, %error, "a write failed for which nobody waits");
        }
    }

    fn hand_over<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
        done: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) -> Result<Arc<Ticket>, StoreError> {
        let work: Work = Box::new(move |connection| {
            let result = connection.and_then(|connection| guarded(connection, job));
            // What went wrong with this job says more than what became of the others.
            Box::new(move |committed| done(result.and_then(|value| committed.map(|()| value))))
        });
        let ticket = Arc::new(Ticket::default());
        let job = Job { work, ticket: Arc::clone(&ticket) };
        match self.jobs.lock().as_ref().map(|jobs| jobs.send(job).is_ok()) {
            Some(true) => Ok(ticket),
            _ => Err(StoreError::Failed("the writer has ended".to_owned())),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.leaving.store(true, Ordering::Release);
        drop(self.jobs.lock().take());
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            warn!("the writer of the session database panicked");
        }
    }
}

/// A job behind its savepoint: what it did is undone when it fails or panics.
fn guarded<T>(
    connection: &Connection,
    job: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    connection.execute_batch("SAVEPOINT job").map_err(failed)?;
    let result = catch_unwind(AssertUnwindSafe(|| job(connection)));
    let result = result.unwrap_or_else(|_| {
        Err(StoreError::Failed("a write panicked; nothing of it is stored".to_owned()))
    });
    if connection.is_autocommit() {
        // The whole transaction is gone, savepoints included.
        return result;
    }
    let end = if result.is_ok() { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" };
    connection.execute_batch(end).map_err(failed)?;
    result
}

fn work(
    connection: &Connection,
    jobs: &mpsc::Receiver<Job>,
    leaving: &AtomicBool,
    bell: &watch::Sender<u64>,
) {
    let mut waiting = VecDeque::new();
    loop {
        if waiting.is_empty() {
            match jobs.recv() {
                Ok(job) => waiting.push_back(job),
                Err(_) => break,
            }
        }
        while let Ok(job) = jobs.try_recv() {
            waiting.push_back(job);
        }
        if write_together(connection, &mut waiting, leaving) {
            bell.send_modify(|count| *count += 1);
        }
    }
    if let Err(error) = connection.execute_batch("PRAGMA optimize") {
        warn!(%error, "the session database was not optimised");
    }
}

/// Whether something was written.
fn write_together(connection: &Connection, jobs: &mut VecDeque<Job>, leaving: &AtomicBool) -> bool {
    let transaction = patiently(connection, "BEGIN IMMEDIATE", leaving);
    let begun = transaction.is_ok();
    let mut replies: Vec<Reply> = Vec::new();
    while replies.len() < TOGETHER_MAX
        && let Some(job) = jobs.pop_front()
    {
        if !job.ticket.settle(Ticket::BEGUN) {
            continue;
        }
        replies.push((job.work)(transaction.clone().map(|()| connection)));
        if begun && connection.is_autocommit() {
            break;
        }
    }
    let committed = match transaction {
        Err(_) => Ok(()),
        // A full disk or a failing one makes SQLite give up the transaction as a whole. Whoever
        // has not begun yet gets another one.
        Ok(()) if connection.is_autocommit() => Err(StoreError::Failed(
            "the disk did not take the write: nothing of it is stored".to_owned(),
        )),
        Ok(()) => patiently(connection, "COMMIT", leaving).inspect_err(|_| {
            if let Err(error) = connection.execute_batch("ROLLBACK") {
                warn!(%error, "a transaction that failed was not undone");
            }
        }),
    };
    for reply in replies {
        reply(committed.clone());
    }
    begun && committed.is_ok()
}

/// Carries out a statement that another process may stand in the way of.
fn patiently(
    connection: &Connection,
    statement: &str,
    leaving: &AtomicBool,
) -> Result<(), StoreError> {
    let started = Instant::now();
    let mut pause = Duration::from_millis(10);
    loop {
        match connection.execute_batch(statement) {
            Err(error) if is_busy(&error) => {
                let waited = started.elapsed();
                let most = if leaving.load(Ordering::Acquire) { LEAVING_MAX } else { QUEUED_MAX };
                if waited >= most {
                    return Err(failed(error));
                }
                warn!(
                    waited_s = waited.as_secs(),
                    "another process writes to the session database"
                );
                std::thread::sleep(pause);
                pause = (pause * 2).min(PAUSE_MAX);
            }
            done => return done.map_err(failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer() -> Writer {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t(x)").unwrap();
        Writer::start(connection, Arc::new(watch::Sender::new(0))).unwrap()
    }

    async fn put(writer: &Writer, x: i64) -> Result<usize, StoreError> {
        let job = move |connection: &Connection| {
            connection.execute("INSERT INTO t VALUES (?1)", [x]).map_err(failed)
        };
        writer.write("a test", job).await
    }

    async fn all(writer: &Writer) -> Vec<i64> {
        let job = |connection: &Connection| {
            let mut statement = connection.prepare("SELECT x FROM t ORDER BY x").map_err(failed)?;
            let rows = statement.query_map([], |row| row.get(0)).map_err(failed)?;
            rows.collect::<Result<Vec<i64>, _>>().map_err(failed)
        };
        writer.write("a test", job).await.unwrap()
    }

    #[tokio::test]
    async fn a_panic_ends_one_write_and_not_the_writer() {
        let writer = writer();
        let broken = writer
            .write("a test", |connection: &Connection| -> Result<(), StoreError> {
                connection.execute("INSERT INTO t VALUES (1)", []).map_err(failed)?;
                panic!("a fault of ours")
            })
            .await;
        assert!(matches!(broken, Err(StoreError::Failed(_))), "{broken:?}");
        put(&writer, 2).await.unwrap();
        assert_eq!(all(&writer).await, [2]);
    }

    #[tokio::test]
    async fn a_transaction_that_is_given_up_is_reported_by_each_of_its_writes() {
        let writer = writer();
        // The first job holds the thread until the others are queued behind each other.
        let (go, gone) = mpsc::channel::<()>();
        writer.write_later("a test", move |_| {
            gone.recv().unwrap();
            Ok(())
        });
        let give_up = writer.write("a test", |connection: &Connection| {
            connection.execute_batch("ROLLBACK").map_err(failed)?;
            Err::<(), _>(StoreError::Failed("disk full".to_owned()))
        });
        let (before, lost, after) = (put(&writer, 1), give_up, put(&writer, 3));
        let queued = async {
            tokio::task::yield_now().await;
            go.send(()).unwrap();
        };
        let (before, lost, after, ()) = tokio::join!(before, lost, after, queued);
        assert!(matches!(before, Err(StoreError::Failed(_))), "it is not stored: {before:?}");
        assert_eq!(lost, Err(StoreError::Failed("disk full".to_owned())));
        assert_eq!(after, Ok(1), "it had not begun");
        assert_eq!(all(&writer).await, [3]);
    }
}
