//! One program on a connection: tells apart how it ended from how the connection did.
//!
//! `ssh` ends with 255 when a program there did so, when a signal ended it, when the connection
//! broke and when there never was one. The connection's own process knows which.

use std::sync::Arc;

use petasos_contract::BoxFuture;
use petasos_contract::environment::{Control, Ending, EnvError, Exit, Input, Process, Step};

use super::connection::{Seat, no};

/// What ssh ends with when it has something of its own to say.
const OWN_CODE: i32 = 255;
/// More noise than this is not ssh's.
const NOISE_BYTES_MAX: usize = 2000;
/// Words of ssh when a program was not begun: the master is not there, or takes no more.
const NEVER_BEGAN: &[&str] = &[
    "session request failed",
    "session open refused",
    "kex_exchange_identification",
    "unknown port 65535",
    "control socket",
];

/// One program on a connection.
pub(super) struct Session {
    process: Box<dyn Process>,
    seat: Seat,
    label: String,
    is_terminal: bool,
    /// Anything that came from there proves that a program was begun.
    heard: bool,
    noise: Vec<u8>,
    /// An end that is still to be told apart.
    ended: Option<Exit>,
}

impl Session {
    pub(super) fn new(
        process: Box<dyn Process>,
        seat: Seat,
        label: &str,
        is_terminal: bool,
    ) -> Self {
        let (label, noise) = (label.to_owned(), Vec::new());
        Self { process, seat, label, is_terminal, heard: false, noise, ended: None }
    }

    async fn step(&mut self, into: &mut Vec<u8>) -> Result<Step, EnvError> {
        let before = into.len();
        if self.ended.is_none() {
            let step = self.process.next(into).await?;
            let news = into.get(before..).unwrap_or_default();
            match &step {
                // A terminal has one stream, and ssh's own words are in it.
                Step::Output if self.is_terminal => self.note(news.to_owned()),
                Step::Output => self.heard = true,
                Step::Errors => self.note(news.to_owned()),
                Step::Exited(exit) if exit.ending == Ending::Code(OWN_CODE) => {
                    self.ended = Some(exit.clone());
                }
                Step::Exited(_) | Step::Closed => {}
            }
            if self.ended.is_none() {
                return Ok(step);
            }
        }
        self.told_apart().await?;
        self.ended.take().map_or(Ok(Step::Closed), |exit| Ok(Step::Exited(exit)))
    }

    fn note(&mut self, news: Vec<u8>) {
        if self.noise.len() + news.len() > NOISE_BYTES_MAX {
            self.heard = true;
        } else {
            self.noise.extend(news);
        }
    }

    /// An error unless the program itself ended.
    async fn told_apart(&mut self) -> Result<(), EnvError> {
        let noise = String::from_utf8_lossy(&self.noise).to_lowercase();
        if !self.heard && NEVER_BEGAN.iter().any(|words| noise.contains(words)) {
            if noise.contains("refused") {
                self.seat.0.crowded();
            }
            return Err(no(noise.lines().next().unwrap_or("ssh did not reach its connection")));
        }
        if self.seat.0.answers().await {
            return Ok(());
        }
        let why = "the connection broke while a command ran: whether it did its work is unknown, \
                   and it is not run again; look before you repeat it";
        Err(EnvError::Lost { target: self.label.clone(), why: why.to_owned() })
    }
}

impl Process for Session {
    fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    fn next<'a>(&'a mut self, into: &'a mut Vec<u8>) -> BoxFuture<'a, Result<Step, EnvError>> {
        Box::pin(self.step(into))
    }

    fn input(&mut self) -> Option<Box<dyn Input>> {
        self.process.input()
    }

    fn control(&self) -> Arc<dyn Control> {
        self.process.control()
    }

    fn confinement(&self) -> &str {
        self.process.confinement()
    }
}
