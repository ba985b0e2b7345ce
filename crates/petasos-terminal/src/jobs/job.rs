//! One job: what is known about it, and the task that reads its output until its tree is empty.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::environment::{Control, EnvError, Input, Process, Step};
use petasos_contract::jobs::{Completion, JobEvent, JobId, JobStatus, JobView, Notify, TypedBy};
use petasos_contract::{SessionId, TaskId, wait};
use tokio::sync::{mpsc, watch};

use super::log::Log;
use super::notices::Notices;
use super::record::{Book, Ended};
use super::restore::Nothing;
use super::seconds_now;
use super::watch::{Told, Watch};
use crate::output::Cleaner;
use crate::prompt::{QUIET, Screen};

/// The exit code of a job that was ended.
pub(super) const KILLED_CODE: i32 = -15;
/// Output is read for so long after the program ended, though somebody holds its pipe.
pub(crate) const DRAIN_QUIET: Duration = Duration::from_millis(100);
/// And no longer than this in all.
pub(crate) const DRAIN_MAX: Duration = Duration::from_millis(300);
/// What a notice shows of the output.
const NOTICE_CHARS: usize = 2000;

/// When a job counts as over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// When its program ends.
    Exit,
    /// When its tree is empty: the program has ended with this code and left others running.
    Empty(i32),
}

/// What never changes about a job.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) id: JobId,
    pub(super) owner: SessionId,
    pub(super) task: TaskId,
    pub(super) command: String,
    pub(super) cwd: String,
    pub(super) pid: Option<u32>,
    pub(super) started_at: f64,
    pub(super) detached: bool,
    pub(super) is_terminal: bool,
    pub(super) log: PathBuf,
    pub(super) book: Book,
}

/// What changes.
#[derive(Debug)]
pub(super) struct State {
    pub(super) ended: Option<End>,
    pub(super) tells_end: bool,
    pub(super) seen: bool,
    pub(super) ender: Option<&'static str>,
    pub(super) question: Option<String>,
    watch: Watch,
    patterns: Vec<String>,
}

/// How a job ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) code: i32,
    pub(super) completion: Completion,
    pub(super) at: Instant,
}

/// What is written to a job.
#[derive(Debug)]
pub(super) enum Typed {
    Bytes(Vec<u8>),
    Close,
}

/// One job.
pub(super) struct Job {
    pub(super) facts: Facts,
    control: Mutex<Arc<dyn Control>>,
    input: Mutex<Option<mpsc::Sender<Typed>>>,
    pub(super) state: Mutex<State>,
    pub(super) log: Mutex<Log>,
    pub(super) over: watch::Sender<bool>,
    /// Nothing of it lives, all of its output was read, and no descriptor is held for it.
    pub(super) released: watch::Sender<bool>,
    started: Instant,
}

impl Job {
    pub(super) fn new(
        facts: Facts,
        notify: &Notify,
        log: Log,
        control: Arc<dyn Control>,
        input: Option<mpsc::Sender<Typed>>,
    ) -> Self {
        let patterns = match notify {
            Notify::Watch(patterns) => patterns.clone(),
            Notify::Silent | Notify::OnComplete => Vec::new(),
        };
        let age = Duration::try_from_secs_f64(seconds_now() - facts.started_at);
        let started = Instant::now().checked_sub(age.unwrap_or_default());
        Self {
            facts,
            control: Mutex::new(control),
            input: Mutex::new(input),
            state: Mutex::new(State {
                ended: None,
                tells_end: *notify == Notify::OnComplete,
                seen: false,
                ender: None,
                question: None,
                watch: Watch::new(patterns.clone()),
                patterns,
            }),
            log: Mutex::new(log),
            over: watch::Sender::new(false),
            released: watch::Sender::new(false),
            started: started.unwrap_or_else(Instant::now),
        }
    }

    /// What ends it.
    pub(super) fn control(&self) -> Arc<dyn Control> {
        Arc::clone(&self.control.lock())
    }

    /// Where to write what is typed.
    pub(super) fn input(&self) -> Option<mpsc::Sender<Typed>> {
        self.input.lock().clone()
    }

    /// What is remembered of it holds no descriptors. One that was lost may still live behind a
    /// broken connection: what ends it stays.
    pub(super) fn release(&self) {
        let end = self.state.lock().ended;
        if end.is_none_or(|end| end.completion != Completion::Lost) {
            *self.control.lock() = Arc::new(Nothing);
        }
        *self.input.lock() = None;
        self.log.lock().close();
        self.released.send_replace(true);
    }

    /// Writes down how it ended, for later programs.
    fn record_end(&self) {
        let Some(end) = self.state.lock().ended else { return };
        let at = seconds_now() - end.at.elapsed().as_secs_f64();
        let ended = Ended { code: end.code, completion: end.completion, at };
        if let Err(error) = self.facts.book.finish(&self.facts.id, ended) {
            tracing::debug!(%error, "the end of a job is not written down");
        }
    }

    /// What is known, with so much of the output.
    pub(super) fn view(&self, preview_chars: usize) -> JobView {
        let output_preview = self.log.lock().tail(preview_chars);
        let typed_by = match (self.facts.is_terminal, self.control().hides_input()) {
            (false, _) => TypedBy::Pipe,
            (true, false) => TypedBy::Terminal,
            (true, true) => TypedBy::HiddenLine,
        };
        let state = self.state.lock();
        let until = state.ended.map_or_else(Instant::now, |end| end.at);
        JobView {
            session_id: self.facts.id.clone(),
            owner: self.facts.owner.clone(),
            command: self.facts.command.clone(),
            cwd: self.facts.cwd.clone(),
            pid: self.facts.pid,
            started_at: self.facts.started_at,
            uptime_seconds: until.saturating_duration_since(self.started).as_secs(),
            status: if state.ended.is_some() { JobStatus::Exited } else { JobStatus::Running },
            output_preview,
            watch_patterns: state.patterns.clone(),
            watch_hit: state.watch.hit().map(str::to_owned),
            notify_on_complete: state.tells_end,
            exit_code: state.ended.map(|end| end.code),
            completion_reason: state.ended.map(|end| end.completion),
            termination_source: state.ender.map(str::to_owned),
            detached: self.facts.detached,
            typed_by,
            needs_input: state.question.clone(),
        }
    }

    /// Marks the end, once, and tells it.
    pub(super) fn end(&self, code: i32, completion: Completion, notices: &Notices) {
        let mut state = self.state.lock();
        if state.ended.is_some() {
            return;
        }
        let killed = state.ender.is_some();
        let (code, completion) =
            if killed { (KILLED_CODE, Completion::Killed) } else { (code, completion) };
        state.ended = Some(End { code, completion, at: Instant::now() });
        state.question = None;
        let (tells, ender) = (state.tells_end && !state.seen, state.ender);
        drop(state);
        if tells {
            let owner = &self.facts.owner;
            let event = JobEvent::Completion {
                session_id: self.facts.id.clone(),
                session_key: self.facts.owner.clone(),
                command: self.facts.command.clone(),
                exit_code: code,
                completion_reason: completion,
                termination_source: ender.map(str::to_owned),
                output: self.log.lock().tail(NOTICE_CHARS),
                started_at: self.facts.started_at,
            };
            notices.push(owner, event);
        }
        // Written down first: whoever hears of the end may end this program at once.
        self.record_end();
        self.over.send_replace(true);
    }

    fn take(&self, text: String, notices: &Notices) {
        if text.is_empty() {
            return;
        }
        let told = {
            let mut state = self.state.lock();
            state.question = None;
            // Once it is over, nobody waits for its words any more.
            if state.ended.is_none() {
                let told = state.watch.look(&text, notices.clock.now());
                state.tells_end |= told == Some(Told::Disabled);
                told
            } else {
                None
            }
        };
        self.log.lock().push(text);
        let (session_id, session_key) = (self.facts.id.clone(), self.facts.owner.clone());
        let command = self.facts.command.clone();
        match told {
            None => {}
            Some(Told::Disabled) => {
                let event = JobEvent::WatchDisabled { session_id, session_key, command };
                notices.push(&self.facts.owner, event);
            }
            Some(Told::Match { pattern, output, suppressed }) => {
                let event = JobEvent::WatchMatch {
                    session_id,
                    session_key,
                    command,
                    pattern,
                    output,
                    suppressed,
                };
                notices.push_match(&self.facts.owner, event);
            }
        }
    }
}

/// Reads a job until nothing of it lives.
pub(super) struct Pump {
    pub(super) job: Arc<Job>,
    pub(super) process: Box<dyn Process>,
    pub(super) cleaner: Cleaner,
    pub(super) until: Until,
    pub(super) notices: Arc<Notices>,
    pub(super) is_terminal: bool,
}

impl Pump {
    /// Reads until nothing of it lives.
    pub(super) async fn run(mut self) {
        self.read().await;
        let Self { job, process, .. } = self;
        // Before the process goes, whose files tell the same.
        job.record_end();
        drop(process);
        job.release();
    }

    async fn read(&mut self) {
        let control = self.process.control();
        let mut screen = Screen::default();
        let mut bytes = Vec::new();
        let (mut exited, mut closed) = (self.until != Until::Exit, false);
        let mut looked = !self.is_terminal;
        loop {
            bytes.clear();
            let step = tokio::select! {
                biased;
                step = self.process.next(&mut bytes), if !(exited && closed) => step,
                () = control.emptied(), if exited => break,
                // One look is enough until something new comes.
                () = tokio::time::sleep(QUIET), if !looked && !exited => {
                    looked = true;
                    let question = screen.question(&self.cleaner.open_line(), control.echoes());
                    self.job.state.lock().question = question;
                    continue;
                }
            };
            match step {
                Ok(Step::Output | Step::Errors) => {
                    looked = !self.is_terminal;
                    screen.see(&bytes);
                    let text = self.cleaner.push(&bytes);
                    self.job.take(text, &self.notices);
                    self.settle(&bytes);
                }
                Ok(Step::Closed) => closed = true,
                Ok(Step::Exited(exit)) => {
                    exited = true;
                    closed |= self.drain(&mut bytes).await;
                    let rest = self.cleaner.finish();
                    self.job.take(rest, &self.notices);
                    let code = exit.ending.code();
                    self.job.end(code, Completion::Exited, &self.notices);
                }
                Err(error) => {
                    self.lost(&error);
                    break;
                }
            }
        }
        let rest = self.cleaner.finish();
        self.job.take(rest, &self.notices);
        if let Until::Empty(code) = self.until {
            self.job.end(code, Completion::Exited, &self.notices);
        }
    }

    /// What is in the log need not come again. Only whole lines: the cleaner holds back the rest.
    fn settle(&mut self, bytes: &[u8]) {
        if !self.job.facts.detached || bytes.last() != Some(&b'\n') {
            return;
        }
        if self.cleaner.open_line().is_empty()
            && let Err(error) = self.process.settle(self.job.log.lock().written())
        {
            tracing::warn!(job = %self.job.facts.id, %error, "output of a job may come twice");
        }
    }

    /// Reads what was written before the end; `true` when the output is at its end.
    async fn drain(&mut self, bytes: &mut Vec<u8>) -> bool {
        let end = Instant::now() + DRAIN_MAX;
        loop {
            bytes.clear();
            let deadline = end.min(Instant::now() + DRAIN_QUIET);
            match wait::until(deadline, "the last output", self.process.next(bytes)).await {
                Ok(Ok(Step::Output | Step::Errors)) => {
                    let text = self.cleaner.push(bytes);
                    self.job.take(text, &self.notices);
                }
                Ok(Ok(Step::Closed)) => return true,
                Ok(Ok(Step::Exited(_))) => {}
                Ok(Err(_)) | Err(_) => return false,
            }
        }
    }

    fn lost(&self, error: &EnvError) {
        tracing::warn!(job = %self.job.facts.id, %error, "a job is lost");
        self.job.take(format!("[{error}]\n"), &self.notices);
        self.job.end(-1, Completion::Lost, &self.notices);
    }
}

/// Writes what is typed, in order, for as long as the program reads.
pub(super) async fn type_in(mut input: Box<dyn Input>, mut typed: mpsc::Receiver<Typed>) {
    while let Some(typed) = typed.recv().await {
        let done = match typed {
            Typed::Bytes(bytes) => input.write(&bytes).await,
            Typed::Close => input.close().await,
        };
        if let Err(error) = done {
            tracing::debug!(%error, "a job takes no more input");
            return;
        }
    }
}
