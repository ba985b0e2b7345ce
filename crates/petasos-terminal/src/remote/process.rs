//! A program in a target: its bytes without our own words, its end as its shell told it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use petasos_contract::environment::{
    Control, Ending, EnvError, Exit, Exports, Input, Process, Session, Stderr, Step,
};
use petasos_contract::{BoxFuture, wait};

use super::boot;
use super::control::{Link, RemoteControl};
use super::frames::{Piece, Splitter, Word, word};
use super::loan::Loan;
use crate::exports;

/// How long output that was written before the end may take to come after it.
const LATE_OUTPUT: Duration = Duration::from_secs(2);
/// How long a shell that was started ahead may take to say that it is there.
const READY: Duration = Duration::from_secs(5);
/// So much of what the carrier said is kept.
const NOISE_MAX: usize = 4096;

/// What a process is made from, besides its stream.
pub(super) struct Parts {
    pub(super) link: Link,
    pub(super) nonce: String,
    pub(super) mark: String,
    pub(super) given: Exports,
    pub(super) keeps_state: bool,
    pub(super) stderr: Stderr,
    pub(super) is_terminal: bool,
    pub(super) confinement: String,
}

/// A program in a target.
#[expect(clippy::struct_excessive_bools, reason = "what has come so far, in any order")]
pub(super) struct RemoteProcess {
    parts: Parts,
    inner: Box<dyn Process>,
    buffer: Vec<u8>,
    output: Splitter,
    errors: Splitter,
    ready: VecDeque<(Step, Vec<u8>)>,
    noise: String,
    first: Option<Word>,
    /// Whether the start came to an end of any kind.
    is_settled: bool,
    /// Whether output and errors are the command's by now.
    begun: (bool, bool),
    ended: Option<(i32, u32, Vec<u8>)>,
    late_until: Option<Instant>,
    carrier_ending: Option<Ending>,
    is_drained: bool,
    stream_closed: bool,
    has_exited: bool,
    is_closed: bool,
    control: Option<Arc<RemoteControl>>,
    /// Kept open: its end would tell the target that we are gone.
    lifeline: Option<Box<dyn Input>>,
    input: Option<Box<dyn Input>>,
    /// Files that are there as long as it runs.
    loan: Option<Loan>,
}

impl RemoteProcess {
    pub(super) fn new(inner: Box<dyn Process>, parts: Parts) -> Self {
        Self {
            output: Splitter::new(&parts.nonce),
            errors: Splitter::new(&parts.nonce),
            parts,
            inner,
            buffer: Vec::new(),
            ready: VecDeque::new(),
            noise: String::new(),
            first: None,
            is_settled: false,
            begun: (false, false),
            ended: None,
            late_until: None,
            carrier_ending: None,
            is_drained: false,
            stream_closed: false,
            has_exited: false,
            is_closed: false,
            control: None,
            lifeline: None,
            input: None,
            loan: None,
        }
    }

    /// Files are lent to it.
    pub(super) fn borrows(&mut self, loan: Option<Loan>) {
        self.loan = loan;
    }

    /// Asks a shell that was started ahead whether it is there. After `false` nothing has run.
    pub(super) async fn is_ready(&mut self, input: &mut dyn Input) -> bool {
        let question = boot::question(&self.parts.nonce);
        let answer = async {
            input.write(&question).await?;
            self.first_word().await
        };
        let answer = wait::until(Instant::now() + READY, "a waiting shell", answer).await;
        self.first = None;
        matches!(answer, Ok(Ok(Word::Ready)))
    }

    /// Says that nothing was started, so that nothing needs to be ended.
    pub(super) fn never_began(&mut self) {
        self.is_settled = true;
    }

    /// Waits for the first word. Without one nothing has run, unless the carrier knows better.
    pub(super) async fn begin(&mut self) -> Result<Word, EnvError> {
        let first = self.first_word().await;
        self.is_settled = true;
        first
    }

    async fn first_word(&mut self) -> Result<Word, EnvError> {
        while self.first.is_none() {
            if self.carrier_ending.is_some() && self.stream_closed {
                let ending = self.carrier_ending.unwrap_or(Ending::Code(-1));
                let noise = self.noise.trim().to_owned();
                self.parts.link.carrier.judge(ending, &noise).await?;
                let why = if noise.is_empty() {
                    format!("its shell ended with {} before it began", ending.code())
                } else {
                    noise
                };
                return Err(EnvError::NotStarted { what: "the command".to_owned(), why });
            }
            self.advance().await?;
        }
        self.first.clone().ok_or_else(|| self.parts.link.lost("it said nothing"))
    }

    /// Makes it controllable, once its number is known.
    pub(super) fn begun(&mut self, pid: u32, handle: Option<String>) {
        self.control = Some(Arc::new(RemoteControl {
            link: self.parts.link.clone(),
            pid,
            mark: self.parts.mark.clone(),
            handle,
            near: self.inner.control(),
            is_terminal: self.parts.is_terminal,
            lives: true.into(),
            is_lost: false.into(),
        }));
    }

    /// What stays open for us and not for the command.
    pub(super) fn hold(&mut self, input: Option<Box<dyn Input>>) {
        self.lifeline = input;
    }

    /// What the command can be typed to by.
    pub(super) fn types(&mut self, input: Option<Box<dyn Input>>) {
        self.input = input;
    }

    pub(super) fn take_input(&mut self) -> Option<Box<dyn Input>> {
        self.inner.input()
    }

    /// Takes one thing from the stream.
    async fn advance(&mut self) -> Result<(), EnvError> {
        let step = match self.inner.next(&mut self.buffer).await {
            Ok(step) => step,
            // Its last word came: how the way ends after it does not matter.
            Err(_) if self.ended.is_some() => {
                self.stream_closed = true;
                return Ok(());
            }
            Err(EnvError::Lost { why, .. }) if self.first.is_some() => {
                return Err(self.parts.link.lost(&why));
            }
            Err(error) => return Err(error),
        };
        let bytes = std::mem::take(&mut self.buffer);
        match step {
            Step::Output => self.sort(&bytes, &Step::Output),
            Step::Errors => self.sort(&bytes, &Step::Errors),
            Step::Exited(exit) => self.carrier_ending = Some(exit.ending),
            Step::Closed => {
                self.stream_closed = true;
                let rest = self.output.finish();
                self.queue(Step::Output, rest);
            }
        }
        self.buffer = bytes;
        self.buffer.clear();
        Ok(())
    }

    fn sort(&mut self, bytes: &[u8], step: &Step) {
        let is_errors = *step == Step::Errors;
        let splitter = if is_errors { &mut self.errors } else { &mut self.output };
        for piece in splitter.push(bytes) {
            match piece {
                Piece::Frame(frame) => self.hear(&frame, is_errors),
                // Login files, banners and the carrier itself speak beside the command.
                Piece::Text(text) if self.is_noise(is_errors) => {
                    if self.noise.len() < NOISE_MAX {
                        self.noise.push_str(&String::from_utf8_lossy(&text));
                    }
                }
                Piece::Text(text) => self.queue(step.clone(), text),
            }
        }
    }

    /// Each stream tells by itself when the command begins, for they do not come in step.
    fn is_noise(&self, is_errors: bool) -> bool {
        let (output_begun, errors_begun) = self.begun;
        if is_errors { !errors_begun || self.parts.stderr == Stderr::Joined } else { !output_begun }
    }

    fn hear(&mut self, frame: &[u8], is_errors: bool) {
        match word(frame) {
            Some(Word::Ended(code, survivors, left)) => {
                self.late_until = Some(Instant::now() + LATE_OUTPUT);
                self.ended = Some((code, survivors, left));
            }
            Some(Word::Drained) => self.is_drained = true,
            Some(first) => {
                if matches!(first, Word::Began(..)) {
                    *(if is_errors { &mut self.begun.1 } else { &mut self.begun.0 }) = true;
                }
                self.first.get_or_insert(first);
            }
            None => {}
        }
    }

    fn queue(&mut self, step: Step, text: Vec<u8>) {
        if !text.is_empty() {
            self.ready.push_back((step, text));
        }
    }

    /// What happens next.
    async fn step(&mut self, into: &mut Vec<u8>) -> Result<Step, EnvError> {
        loop {
            if let Some((step, text)) = self.ready.pop_front() {
                into.extend_from_slice(&text);
                return Ok(step);
            }
            if !self.has_exited
                && let Some(exit) = self.exit().await?
            {
                if !self.ready.is_empty() {
                    continue;
                }
                self.has_exited = true;
                // All that the command wrote is here and nobody of it lives: how long the carrier
                // takes to notice is of no interest.
                self.stream_closed |= self.ended.is_some()
                    && self.is_drained
                    && exit.survivors == 0
                    && (self.parts.stderr == Stderr::Joined || self.parts.is_terminal);
                if let Some(control) = &self.control {
                    control.lives.store(exit.survivors > 0, Ordering::Relaxed);
                }
                if exit.survivors == 0
                    && let Some(loan) = self.loan.take()
                {
                    loan.give_back().await;
                }
                return Ok(Step::Exited(exit));
            }
            if self.stream_closed && !self.is_closed {
                self.is_closed = true;
                return Ok(Step::Closed);
            }
            let late = self.late_until.filter(|_| !self.has_exited);
            if self.stream_closed && self.carrier_ending.is_some() && late.is_none() {
                return std::future::pending().await;
            }
            let waits = async {
                match late {
                    Some(late) => tokio::time::sleep_until(late.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                advanced = self.advance() => advanced?,
                () = waits => self.is_drained = true,
            }
        }
    }

    /// How it ended, once that is known.
    async fn exit(&mut self) -> Result<Option<Exit>, EnvError> {
        if let Some((code, survivors, left)) = &self.ended {
            if !self.is_drained && !self.stream_closed {
                return Ok(None);
            }
            let session = self.parts.keeps_state.then(|| session(left, &self.parts.given));
            let exit = Exit {
                ending: Ending::Code(*code),
                session: session.flatten(),
                survivors: *survivors,
            };
            self.explain(exit.ending).await;
            return Ok(Some(exit));
        }
        let Some(ending) = self.carrier_ending.filter(|_| self.stream_closed) else {
            return Ok(None);
        };
        let judged = self.parts.link.carrier.judge(ending, self.noise.trim()).await;
        let ending = judged.map_err(|error| match error {
            EnvError::Lost { why, .. } | EnvError::NotStarted { why, .. } => {
                self.parts.link.lost(&why)
            }
            other => other,
        })?;
        self.explain(ending).await;
        Ok(Some(Exit { ending, session: None, survivors: 0 }))
    }

    async fn explain(&mut self, ending: Ending) {
        // Only a kill from outside needs a word, and asking costs a round trip.
        if ending.code() != 137 || self.is_explained() {
            return;
        }
        if let Some(remark) = self.parts.link.carrier.remark(ending.code()).await {
            self.noise.push_str(EXPLAINED);
            self.queue(Step::Output, format!("[{remark}]\n").into_bytes());
        }
    }

    fn is_explained(&self) -> bool {
        self.noise.ends_with(EXPLAINED)
    }
}

/// Marks that the remark was made.
const EXPLAINED: &str = "\0explained";

fn session(left: &[u8], given: &Exports) -> Option<Session> {
    (!left.is_empty()).then(|| exports::session(left, given)).flatten()
}

impl Drop for RemoteProcess {
    fn drop(&mut self) {
        // Whoever waited for the first word has gone; it may still begin.
        if !self.is_settled {
            self.parts.link.sweeper.end(None, &self.parts.mark);
        }
    }
}

impl Process for RemoteProcess {
    fn pid(&self) -> Option<u32> {
        self.control.as_ref().map(|control| control.pid)
    }

    fn next<'a>(&'a mut self, into: &'a mut Vec<u8>) -> BoxFuture<'a, Result<Step, EnvError>> {
        Box::pin(async move {
            let step = self.step(into).await;
            if let (Err(_), Some(control)) = (&step, &self.control) {
                control.is_lost.store(true, Ordering::Relaxed);
            }
            step
        })
    }

    fn input(&mut self) -> Option<Box<dyn Input>> {
        self.input.take()
    }

    fn control(&self) -> Arc<dyn Control> {
        match &self.control {
            Some(control) => Arc::clone(control) as _,
            None => self.inner.control(),
        }
    }

    fn confinement(&self) -> &str {
        &self.parts.confinement
    }
}
