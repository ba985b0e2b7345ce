//! Somebody else's scanner (`security.tirith_*`): a program that is shown each command before it
//! runs.
//!
//! Its exit code decides, what it prints only says more, and what it finds is asked about: once or
//! for the session, never for good. A scan that fails follows `security.tirith_fail_open`; a
//! scanner that fails again and again is left alone for the rest of the process.

mod said;
mod wish;

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::approval::{Finding, Scope};
use petasos_contract::event::Event;
use petasos_contract::processes::{Helper, HelperSpec, Processes};
use petasos_contract::{CallContext, wait};
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt, copy, sink};

use crate::policy::layers::finding;
use said::Said;
pub use wish::Wish;

/// So many failures in a row are taken for the scanner's own fault.
const FAILURES_MAX: u32 = 3;

/// The kernel takes no single word longer than 128 KiB.
const TEXT_MAX: usize = 127 << 10;

/// What is read of a report; the rest is thrown away.
const OUTPUT_MAX: u64 = 256 << 10;

/// What came of showing one command to the scanner.
#[derive(Debug, Clone, Serialize)]
pub struct Scanned {
    /// The program.
    pub program: String,
    /// What it said.
    pub outcome: Outcome,
    /// How long that took.
    pub milliseconds: u64,
    /// What somebody must agree to for that.
    pub findings: Vec<Finding>,
}

/// What a scanner said of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing.
    Allow,
    /// Something is odd.
    Warn,
    /// It should not run.
    Block,
    /// There is no answer, for this reason.
    Failed(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow => f.write_str("allow"),
            Self::Warn => f.write_str("warn"),
            Self::Block => f.write_str("block"),
            Self::Failed(why) => write!(f, "no answer ({why})"),
        }
    }
}

/// The scanner of a process.
#[derive(Default)]
pub(crate) struct Scanner {
    processes: Option<Arc<dyn Processes>>,
    /// Failures in a row.
    failures: AtomicU32,
    /// Reasons that people have read.
    told: Mutex<HashSet<String>>,
}

impl Scanner {
    /// Starts the program through these, if at all.
    pub(crate) fn new(processes: Option<Arc<dyn Processes>>) -> Self {
        Self { processes, ..Self::default() }
    }

    /// Whether commands are to be shown to it. One that nobody named and that is not installed is
    /// not missed.
    pub(crate) fn is_wanted(&self, wish: &Wish, cx: &CallContext) -> bool {
        let is_there = self.processes.is_some() && wish.program(&cx.settings).is_some();
        is_there || !wish.is_optional()
    }

    /// Shows it one command.
    pub(crate) async fn scan(&self, script: &str, wish: &Wish, cx: &CallContext) -> Scanned {
        let started = Instant::now();
        if script.len() > TEXT_MAX {
            // Not a failure that may pass: anybody can make a command longer.
            let why = format!("more than {TEXT_MAX} bytes cannot be handed to it");
            let findings = vec![unavailable(&why)];
            let (program, outcome) = (wish.name(&cx.settings), Outcome::Failed(why));
            return Scanned { program, outcome, milliseconds: 0, findings };
        }
        let (outcome, findings) = match self.ask(script, wish, cx).await {
            Ok(Said { outcome, findings }) => (outcome, findings),
            Err(why) if wish.fail_open => {
                self.tell(&why, cx);
                (Outcome::Failed(why), Vec::new())
            }
            Err(why) => {
                let findings = vec![unavailable(&why)];
                (Outcome::Failed(why), findings)
            }
        };
        let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Scanned { program: wish.name(&cx.settings), outcome, milliseconds, findings }
    }

    async fn ask(&self, script: &str, wish: &Wish, cx: &CallContext) -> Result<Said, String> {
        let program = wish.program(&cx.settings).ok_or("it is not installed")?;
        let processes = self.processes.as_deref().ok_or("nothing here can start it")?;
        if self.failures.load(Ordering::Relaxed) >= FAILURES_MAX {
            return Err(format!(
                "it failed {FAILURES_MAX} times in a row and is not started again in this process"
            ));
        }
        let told = run(program, script, wish.timeout, processes, cx).await;
        let told = told.and_then(|(code, output)| said::read(code, &output));
        match told {
            Ok(_) => self.failures.store(0, Ordering::Relaxed),
            Err(_) => drop(self.failures.fetch_add(1, Ordering::Relaxed)),
        }
        told
    }

    /// A command passes unseen: people are told, each reason once.
    fn tell(&self, why: &str, cx: &CallContext) {
        tracing::warn!(why, "the command scanner did not answer");
        if self.told.lock().insert(why.to_owned()) {
            let text = format!("commands pass without the scanner's word: {why}");
            cx.events.emit(|| Event::Notice { text });
        }
    }
}

impl fmt::Debug for Scanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scanner").field("failures", &self.failures).finish_non_exhaustive()
    }
}

fn unavailable(why: &str) -> Finding {
    finding("tirith:unavailable", format!("the scanner did not judge it: {why}"), Scope::Session)
}

/// Runs the program on one command; gives its exit code and what it printed.
async fn run(
    program: &Path,
    script: &str,
    timeout: Duration,
    processes: &dyn Processes,
    cx: &CallContext,
) -> Result<(i32, Vec<u8>), String> {
    // A shell drops zero bytes, and no program can be given one.
    let script = script.replace('\0', "");
    let options = ["check", "--json", "--non-interactive", "--shell", "posix", "--"];
    let argv = std::iter::once(program.display().to_string())
        .chain(options.map(str::to_owned))
        .chain([script])
        .collect();
    let mut spec = HelperSpec::new("the command scanner", argv, &cx.settings);
    // Not in the workspace, where whoever is watched could tell it what to overlook.
    spec.cwd = cx.settings.user_home().to_path_buf();
    if spec.cwd.as_os_str().is_empty() {
        spec.cwd = Path::new("/").to_path_buf();
    }
    let answer = async {
        let started = processes.start(spec).await.map_err(|error| error.to_string())?;
        let Helper { stdin, stdout, stderr, hand } = started;
        drop(stdin);
        let (output, _, ending) = tokio::join!(read(stdout), read(stderr), hand.exited());
        let ending = ending.map_err(|error| error.to_string())?;
        Ok((ending.code(), output.map_err(|error| error.to_string())?))
    };
    let deadline = cx.deadline.min(Instant::now() + timeout);
    // Who overruns is ended with its hand.
    wait::until(deadline, "the command scanner", answer)
        .await
        .unwrap_or_else(|_| Err(format!("it did not answer within {} s", timeout.as_secs_f32())))
}

async fn read(mut from: impl AsyncRead + Unpin) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    (&mut from).take(OUTPUT_MAX).read_to_end(&mut bytes).await?;
    copy(&mut from, &mut sink()).await?;
    Ok(bytes)
}
