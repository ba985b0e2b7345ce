//! A process whose bytes come through a channel, for carriers that speak a protocol themselves.
//!
//! The carrier's own task feeds [`Event`]s and reads what is typed; it is owned here and ends
//! with the process.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::BoxFuture;
use petasos_contract::environment::{Control, Ending, EnvError, Exit, Input, Process, Size, Step};
use petasos_contract::wait::Owned;
use tokio::sync::mpsc;

/// What happened with a program in the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It wrote.
    Output(Vec<u8>),
    /// It wrote error output.
    Errors(Vec<u8>),
    /// It ended with this code.
    Exited(i32),
    /// The way to it broke; nobody knows what became of it.
    Lost(EnvError),
}

/// What is typed to a program; `None` is the end of input.
pub type ChannelInput = mpsc::Receiver<Option<Vec<u8>>>;

/// A process made of channels.
#[derive(Debug)]
pub struct ChannelProcess {
    backend: &'static str,
    events: mpsc::Receiver<Event>,
    typed: Option<mpsc::Sender<Option<Vec<u8>>>>,
    _task: Owned<()>,
    has_exited: bool,
    is_closed: bool,
}

impl ChannelProcess {
    /// `task` feeds the events and is ended when the process is dropped. The channel's end is
    /// the end of all output.
    pub fn new(
        backend: &'static str,
        events: mpsc::Receiver<Event>,
        typed: Option<mpsc::Sender<Option<Vec<u8>>>>,
        task: Owned<()>,
    ) -> Self {
        Self { backend, events, typed, _task: task, has_exited: false, is_closed: false }
    }

    async fn step(&mut self, into: &mut Vec<u8>) -> Result<Step, EnvError> {
        if self.is_closed {
            return std::future::pending().await;
        }
        match self.events.recv().await {
            Some(Event::Output(bytes)) => {
                into.extend_from_slice(&bytes);
                Ok(Step::Output)
            }
            Some(Event::Errors(bytes)) => {
                into.extend_from_slice(&bytes);
                Ok(Step::Errors)
            }
            Some(Event::Exited(code)) => {
                self.has_exited = true;
                let ending = Ending::Code(code);
                Ok(Step::Exited(Exit { ending, session: None, survivors: 0 }))
            }
            Some(Event::Lost(error)) => Err(error),
            None if self.has_exited => {
                self.is_closed = true;
                Ok(Step::Closed)
            }
            None => {
                let target = self.backend.to_owned();
                let why = "its connection ended early and the outcome is unknown".to_owned();
                Err(EnvError::Lost { target, why })
            }
        }
    }
}

impl Process for ChannelProcess {
    fn pid(&self) -> Option<u32> {
        None
    }

    fn next<'a>(&'a mut self, into: &'a mut Vec<u8>) -> BoxFuture<'a, Result<Step, EnvError>> {
        Box::pin(self.step(into))
    }

    fn input(&mut self) -> Option<Box<dyn Input>> {
        let backend = self.backend;
        self.typed.take().map(|typed| Box::new(Typing { backend, typed }) as Box<dyn Input>)
    }

    fn control(&self) -> Arc<dyn Control> {
        Arc::new(NoControl { backend: self.backend })
    }

    fn confinement(&self) -> &'static str {
        "off"
    }
}

struct Typing {
    backend: &'static str,
    typed: mpsc::Sender<Option<Vec<u8>>>,
}

impl Input for Typing {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(async move {
            let sent = self.typed.send(Some(bytes.to_vec())).await;
            sent.map_err(|_| gone(self.backend))
        })
    }

    fn close(&mut self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move { self.typed.send(None).await.map_err(|_| gone(self.backend)) })
    }
}

fn gone(backend: &'static str) -> EnvError {
    EnvError::Lost { target: backend.to_owned(), why: "it takes no more input".to_owned() }
}

/// The near side of such a process ends by dropping it.
struct NoControl {
    backend: &'static str,
}

impl Control for NoControl {
    fn kill(&self, _: Duration) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async { Ok(()) })
    }

    fn keep(&self) -> BoxFuture<'_, Result<Option<String>, EnvError>> {
        Box::pin(async { Ok(None) })
    }

    fn emptied(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn resize(&self, _: Size) -> BoxFuture<'_, Result<(), EnvError>> {
        let what = "resize its terminal";
        Box::pin(async move { Err(EnvError::Unsupported { backend: self.backend, what }) })
    }

    fn pids(&self) -> Vec<u32> {
        Vec::new()
    }
}
