//! One connection to the machine: a master process of our own that dies with this program.
//!
//! It is made within a deadline or not at all. When its process ends, for whatever reason, every
//! command on it has an unknown outcome and the next command needs another connection.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use petasos_contract::environment::{Control, EnvError, Process, Stderr, Step};
use petasos_contract::wait::{self, Owned};

use super::{argv, trouble};
use crate::remote::{HostPrograms, Order};

/// How long first contact may take, name resolution, jump hosts and authentication included.
const CONTACT: Duration = Duration::from_secs(15);
/// How long output that an ended ssh wrote may take to arrive.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long the master may take to answer a question or to leave.
const ANSWER: Duration = Duration::from_secs(5);
/// Commands side by side on one connection. Servers allow ten unless told otherwise; the rest is
/// for kills and transfers.
const SEATS: usize = 8;

/// A living connection.
pub(super) struct Connection {
    socket: PathBuf,
    ssh: PathBuf,
    host: HostPrograms,
    /// Holding it holds the master: its tree ends when this is dropped.
    control: Arc<dyn Control>,
    gone: Arc<AtomicBool>,
    seats: AtomicUsize,
    taken: AtomicUsize,
    /// What ssh said although it connected, such as a key it saw for the first time.
    pub(super) said: String,
    _watch: Owned<()>,
}

impl Connection {
    /// Connects with this command line, whose master will listen on `socket`.
    pub(super) async fn open(
        host: &HostPrograms,
        argv: Vec<String>,
        socket: PathBuf,
        label: &str,
    ) -> Result<Self, EnvError> {
        let ssh = PathBuf::from(argv.first().cloned().unwrap_or_default());
        let order = program(argv);
        let mut process = host.start(order).await.map_err(|error| no(&error.to_string()))?;
        let contact = contact(&mut *process);
        let deadline = Instant::now() + CONTACT;
        let contacted = wait::until(deadline, "the ssh connection", contact).await;
        let Ok(answer) = contacted else {
            let why = format!(
                "`{label}` did not let us in within {} s: check the host, the network and any jump \
                 host",
                CONTACT.as_secs()
            );
            return Err(no(&why));
        };
        let (code, said) = answer?;
        if code != 0 {
            return Err(no(&trouble::explain(&said, label)));
        }
        let (control, gone) = (process.control(), Arc::new(AtomicBool::new(false)));
        let watched = (Arc::clone(&control), Arc::clone(&gone));
        let watch = Owned::start(async move {
            // The process is kept here: dropping it would end the master.
            let _process = process;
            watched.0.emptied().await;
            watched.1.store(true, Ordering::SeqCst);
        });
        Ok(Self {
            socket,
            ssh,
            host: host.clone(),
            control,
            gone,
            seats: AtomicUsize::new(SEATS),
            taken: AtomicUsize::new(0),
            said: said.trim().to_owned(),
            _watch: watch,
        })
    }

    /// Whether its process has ended.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    /// A place for one more command, if there is one.
    pub(super) fn seat(self: &Arc<Self>) -> Option<Seat> {
        let seats = self.seats.load(Ordering::SeqCst);
        let free = |taken: usize| (taken < seats).then_some(taken + 1);
        if self.is_gone() {
            return None;
        }
        let taken = self.taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, free);
        taken.is_ok().then(|| Seat(Arc::clone(self)))
    }

    /// The server refused one more command: it allows fewer than we thought.
    pub(super) fn crowded(&self) {
        let fewer = self.taken.load(Ordering::SeqCst).saturating_sub(1).max(1);
        self.seats.fetch_min(fewer, Ordering::SeqCst);
    }

    /// The command line that runs a script on it.
    pub(super) fn run(&self, terminal: bool, script: &str) -> Vec<String> {
        argv::run(&self.ssh, &self.socket, terminal, script)
    }

    /// Whether its process answers.
    pub(super) async fn answers(&self) -> bool {
        !self.is_gone() && self.tell("check").await == Some(0)
    }

    /// Ends it: politely, so that the server hears of it, then surely.
    pub(super) async fn close(&self) {
        if !self.is_gone() {
            self.tell("exit").await;
        }
        if let Err(error) = self.control.kill(Duration::from_millis(500)).await {
            tracing::warn!(%error, "the ssh connection did not end cleanly");
        }
        if let Err(error) = std::fs::remove_file(&self.socket)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "the control socket of ssh stays behind");
        }
    }

    async fn tell(&self, what: &str) -> Option<i32> {
        let order = program(argv::tell(&self.ssh, &self.socket, what));
        let mut process = self.host.start(order).await.ok()?;
        let answer = contact(&mut *process);
        let answer = wait::until(Instant::now() + ANSWER, "an answer of ssh", answer).await;
        answer.ok()?.ok().map(|(code, _)| code)
    }
}

/// A place for one command on a connection; free again when dropped.
pub(super) struct Seat(pub(super) Arc<Connection>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::SeqCst);
    }
}

fn program(argv: Vec<String>) -> Order {
    Order {
        argv,
        variables: Vec::new(),
        stdin: Vec::new(),
        open: false,
        stderr: Stderr::Apart,
        pty: None,
    }
}

/// Waits for the end of the first process; gives its code and what it said.
async fn contact(process: &mut dyn Process) -> Result<(i32, String), EnvError> {
    let (mut said, mut bytes) = (Vec::new(), Vec::new());
    loop {
        bytes.clear();
        match process.next(&mut bytes).await? {
            Step::Output | Step::Errors => said.append(&mut bytes),
            Step::Closed => {}
            Step::Exited(exit) => {
                let code = exit.ending.code();
                // A master that lives on holds its output open; one that failed may have its last
                // words still under way.
                if code != 0 {
                    let rest = last_words(process, &mut said);
                    wait::until(Instant::now() + LAST_WORDS, "the last words of ssh", rest)
                        .await
                        .unwrap_or_default();
                }
                return Ok((code, String::from_utf8_lossy(&said).into_owned()));
            }
        }
    }
}

async fn last_words(process: &mut dyn Process, said: &mut Vec<u8>) {
    let mut bytes = Vec::new();
    while let Ok(Step::Output | Step::Errors) = process.next(&mut bytes).await {
        said.append(&mut bytes);
    }
}

/// Nothing has run, and why.
pub(super) fn no(why: &str) -> EnvError {
    EnvError::NotStarted { what: "the command".to_owned(), why: why.to_owned() }
}
