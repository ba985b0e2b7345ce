//! A command inside a sandbox, over the router where there is one and over the control plane where
//! there is not. What it reads can be read again from where it was; what it writes is numbered.

use std::time::{Duration, Instant};

use petasos_contract::environment::Ending;

use super::messages::{
    ContainerExecGetOutputRequest, ContainerExecPutInputRequest, ContainerExecRequest,
    ContainerExecResponse, ContainerExecWaitRequest, ContainerExecWaitResponse, Empty, OUTPUT_PIPE,
    RuntimeInputMessage, RuntimeOutputBatch, STDERR, STDOUT,
};
use super::plane::Plane;
use super::router::Router;
use super::wire::{Manner, Stream};
use crate::VendorError;

const SHORT: Duration = Duration::from_secs(30);

/// How long the vendor holds a question for output open.
const HELD: f32 = 55.0;
/// And how long we wait for that at most.
const HELD_MAX: Duration = Duration::from_secs(70);

/// Broken readings in a row after which a command counts as lost.
const BREAKS_MAX: u32 = 6;

/// The way to the commands of one container.
#[derive(Debug, Clone)]
pub(super) enum Lane {
    /// Straight to the machine that runs it.
    Router(Router),
    /// Through the control plane.
    Plane(Plane),
}

/// Which stream of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    Output,
    Errors,
}

/// A command that was started.
#[derive(Debug, Clone)]
pub(super) struct Exec {
    lane: Lane,
    id: String,
}

impl Lane {
    /// Starts a command; an unknown outcome is never followed by a second start.
    pub(super) async fn start(
        &self,
        task: &str,
        command: Vec<String>,
        timeout: Option<u32>,
    ) -> Result<Exec, VendorError> {
        let id = match self {
            Self::Router(router) => router.start(command, timeout).await?,
            Self::Plane(plane) => {
                let question = ContainerExecRequest {
                    task_id: task.to_owned(),
                    command,
                    stdout_output: OUTPUT_PIPE,
                    stderr_output: OUTPUT_PIPE,
                    timeout_secs: timeout.unwrap_or(0),
                    workdir: None,
                };
                let manner = Manner::once(SHORT);
                let answer: ContainerExecResponse =
                    plane.wire.call("ContainerExec", &question, manner).await?;
                answer.exec_id
            }
        };
        Ok(Exec { lane: self.clone(), id })
    }
}

impl Exec {
    /// Reads one of its streams from the beginning.
    pub(super) fn reader(&self, channel: Channel) -> Reader {
        Reader { exec: self.clone(), channel, at: 0, open: None, breaks: 0, done: false }
    }

    /// The hand that writes its input.
    pub(super) fn writer(&self) -> Writer {
        Writer { exec: self.clone(), at: 0 }
    }

    /// Waits for its end; `None` when it runs on after `within`.
    pub(super) async fn wait(&self, within: Duration) -> Result<Option<Ending>, VendorError> {
        match &self.lane {
            Lane::Router(router) => router.wait(&self.id, within).await,
            Lane::Plane(plane) => {
                let timeout = within.as_secs_f32().min(HELD);
                let question = ContainerExecWaitRequest { exec_id: self.id.clone(), timeout };
                let limit = (within + SHORT).min(HELD_MAX);
                let answer: ContainerExecWaitResponse = plane
                    .wire
                    .call("ContainerExecWait", &question, Manner::harmless(limit))
                    .await?;
                if !answer.completed {
                    return Ok(None);
                }
                Ok(Some(ending(answer.exit_code.unwrap_or(-1))))
            }
        }
    }
}

/// The plane tells signals as negative numbers, as the library does that reports them.
fn ending(code: i32) -> Ending {
    if code < 0 { Ending::Signal(-code) } else { Ending::Code(code) }
}

/// One stream of a command.
#[derive(Debug)]
pub(super) struct Reader {
    exec: Exec,
    channel: Channel,
    /// Bytes at the router, batches at the plane.
    at: u64,
    open: Option<Open>,
    breaks: u32,
    done: bool,
}

#[derive(Debug)]
enum Open {
    Router(super::router::Reading),
    Plane(Stream<RuntimeOutputBatch>),
}

impl Reader {
    /// The next piece; `None` at the end of the stream. A broken reading is taken up again, because
    /// reading does nothing to the command.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, VendorError> {
        loop {
            if self.done {
                return Ok(None);
            }
            match self.step().await {
                Ok(Some(piece)) => {
                    self.breaks = 0;
                    return Ok(Some(piece));
                }
                Ok(None) => {}
                Err(error) if error.may_pass() && self.breaks < BREAKS_MAX => {
                    self.open = None;
                    self.breaks += 1;
                    let pause = Duration::from_millis(50) * 2_u32.pow(self.breaks);
                    tracing::debug!(%error, "reading a command's output is taken up again");
                    tokio::time::sleep(pause).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// One answer: bytes, or nothing yet.
    async fn step(&mut self) -> Result<Option<Vec<u8>>, VendorError> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.begin().await?,
        };
        match open {
            Open::Router(mut reading) => {
                let Some(data) = reading.next(HELD_MAX).await? else {
                    self.done = true;
                    return Ok(None);
                };
                self.at += data.len() as u64;
                self.open = Some(Open::Router(reading));
                Ok(Some(data))
            }
            Open::Plane(mut stream) => match stream.next(HELD_MAX).await? {
                Some(batch) => {
                    self.at = batch.batch_index;
                    self.done = batch.exit_code.is_some();
                    self.open = Some(Open::Plane(stream));
                    let pieces = batch.items.into_iter().map(|item| item.message_bytes);
                    let data: Vec<u8> = pieces.flatten().collect();
                    Ok((!data.is_empty()).then_some(data))
                }
                // The question's time is over; the command runs on.
                None => Ok(None),
            },
        }
    }

    async fn begin(&self) -> Result<Open, VendorError> {
        match &self.exec.lane {
            Lane::Router(router) => {
                let errors = self.channel == Channel::Errors;
                router.read(&self.exec.id, self.at, errors).await.map(Open::Router)
            }
            Lane::Plane(plane) => {
                let question = ContainerExecGetOutputRequest {
                    exec_id: self.exec.id.clone(),
                    timeout: HELD,
                    last_batch_index: self.at,
                    file_descriptor: match self.channel {
                        Channel::Output => STDOUT,
                        Channel::Errors => STDERR,
                    },
                    get_raw_bytes: true,
                };
                let method = "ContainerExecGetOutput";
                plane.wire.stream(method, &question, HELD_MAX).await.map(Open::Plane)
            }
        }
    }
}

/// Writes a command's input.
#[derive(Debug)]
pub(super) struct Writer {
    exec: Exec,
    /// Bytes at the router, messages at the plane.
    at: u64,
}

/// The most bytes of one message; the vendor takes two mebibytes.
const PIECE: usize = 1 << 20;

impl Writer {
    /// Writes all of it.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), VendorError> {
        for piece in bytes.chunks(PIECE) {
            self.put(piece, false).await?;
        }
        Ok(())
    }

    /// Ends the input.
    pub(super) async fn close(&mut self) -> Result<(), VendorError> {
        self.put(&[], true).await
    }

    /// Numbered, so that a repeated message is known as one that came already.
    async fn put(&mut self, data: &[u8], eof: bool) -> Result<(), VendorError> {
        let started = Instant::now();
        match &self.exec.lane {
            Lane::Router(router) => {
                router.write(&self.exec.id, self.at, data, eof).await?;
                self.at += data.len() as u64;
            }
            Lane::Plane(plane) => {
                let message_index = self.at + 1;
                let input = RuntimeInputMessage { message: data.to_vec(), message_index, eof };
                let question = ContainerExecPutInputRequest {
                    exec_id: self.exec.id.clone(),
                    input: Some(input),
                };
                let manner = Manner::once(SHORT);
                let _: Empty = plane.wire.call("ContainerExecPutInput", &question, manner).await?;
                self.at = message_index;
            }
        }
        tracing::trace!(bytes = data.len(), eof, took = ?started.elapsed(), "input was written");
        Ok(())
    }
}
