//! Direct command routing: the machine that runs a container takes its commands itself.
//!
//! It has an address and a short-lived token of its own, which are asked for on the control plane
//! and renewed there. Starting is idempotent by a number that we choose, so it may be repeated.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::Secret;
use petasos_contract::environment::Ending;
use petasos_net::{Credential, Origin, Scheme, Scope, Tls, checked_url};

use super::messages::{
    Empty, ExitStatus, ROUTER_STDERR_PIPE, ROUTER_STDOUT_PIPE, TaskExecStartRequest,
    TaskExecStdinWriteRequest, TaskExecStdioReadRequest, TaskExecStdioReadResponse,
    TaskExecWaitRequest, TaskExecWaitResponse, TaskGetCommandRouterAccessRequest,
    TaskGetCommandRouterAccessResponse,
};
use super::plane::Plane;
use super::wire::{Manner, Stream, Wire};
use crate::VendorError;
use petasos_terminal::ids;

const SHORT: Duration = Duration::from_secs(30);

/// The router of one container.
#[derive(Debug, Clone)]
pub(super) struct Router {
    plane: Plane,
    task: String,
    wire: Arc<Mutex<Wire>>,
}

/// A stream of output, as bytes.
#[derive(Debug)]
pub(super) struct Reading(Stream<TaskExecStdioReadResponse>);

impl Reading {
    /// The next piece; `None` at the end.
    pub(super) async fn next(&mut self, idle: Duration) -> Result<Option<Vec<u8>>, VendorError> {
        Ok(self.0.next(idle).await?.map(|piece| piece.data))
    }
}

impl Router {
    /// The router of a container; `None` where the vendor offers none for it.
    pub(super) async fn of(
        plane: &Plane,
        task: &str,
        tls: Tls,
    ) -> Result<Option<Self>, VendorError> {
        let access = match access(plane, task).await {
            Ok(access) => access,
            // The vendor's word for "not enabled here": the control plane takes the commands.
            Err(VendorError::Refused { why }) => {
                tracing::debug!(why, "no direct command routing");
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let wire = Arc::new(Mutex::new(wire(plane, &access, tls)?));
        Ok(Some(Self { plane: plane.clone(), task: task.to_owned(), wire }))
    }

    /// Starts a command and gives its number.
    pub(super) async fn start(
        &self,
        command: Vec<String>,
        timeout_secs: Option<u32>,
    ) -> Result<String, VendorError> {
        let id = uuid();
        let question = TaskExecStartRequest {
            task_id: self.task.clone(),
            exec_id: id.clone(),
            command_args: command,
            stdout_config: ROUTER_STDOUT_PIPE,
            stderr_config: ROUTER_STDERR_PIPE,
            timeout_secs,
            workdir: None,
        };
        let _: Empty = self.call("TaskExecStart", &question, Manner::harmless(SHORT)).await?;
        Ok(id)
    }

    /// Reads output from a byte on.
    pub(super) async fn read(
        &self,
        exec: &str,
        offset: u64,
        errors: bool,
    ) -> Result<Reading, VendorError> {
        let question = TaskExecStdioReadRequest {
            task_id: self.task.clone(),
            exec_id: exec.to_owned(),
            offset,
            file_descriptor: i32::from(errors),
        };
        // Headers may come with the first output only, which may be hours away.
        let within = Duration::from_hours(1);
        let wire = self.wire.lock().clone();
        match wire.stream("TaskExecStdioRead", &question, within).await {
            Err(VendorError::Credential { .. }) => {
                let wire = self.renewed().await?;
                wire.stream("TaskExecStdioRead", &question, within).await.map(Reading)
            }
            read => read.map(Reading),
        }
    }

    /// Writes input at a byte.
    pub(super) async fn write(
        &self,
        exec: &str,
        offset: u64,
        data: &[u8],
        eof: bool,
    ) -> Result<(), VendorError> {
        let question = TaskExecStdinWriteRequest {
            task_id: self.task.clone(),
            exec_id: exec.to_owned(),
            offset,
            data: data.to_vec(),
            eof,
        };
        let _: Empty = self.call("TaskExecStdinWrite", &question, Manner::harmless(SHORT)).await?;
        Ok(())
    }

    /// Waits for the end of a command.
    pub(super) async fn wait(
        &self,
        exec: &str,
        within: Duration,
    ) -> Result<Option<Ending>, VendorError> {
        let question = TaskExecWaitRequest { task_id: self.task.clone(), exec_id: exec.to_owned() };
        let deadline = Instant::now() + within;
        let waited: Result<TaskExecWaitResponse, _> =
            self.call("TaskExecWait", &question, Manner::harmless(within)).await;
        match waited {
            Ok(answer) => Ok(answer.exit_status.map(|status| match status {
                ExitStatus::Code(code) => Ending::Code(code),
                ExitStatus::Signal(signal) => Ending::Signal(signal),
            })),
            // It only waits: a question whose time is over says that the command runs.
            Err(VendorError::Unknown { .. }) if Instant::now() >= deadline => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn call<A: prost::Message + Default>(
        &self,
        method: &str,
        question: &impl prost::Message,
        manner: Manner,
    ) -> Result<A, VendorError> {
        let wire = self.wire.lock().clone();
        match wire.call(method, question, manner).await {
            // Turned away before anything was done: the token is over.
            Err(VendorError::Credential { .. }) => {
                self.renewed().await?.call(method, question, manner).await
            }
            answer => answer,
        }
    }

    /// Asks for a new token. The address must stay: a token must not follow a moved one.
    async fn renewed(&self) -> Result<Wire, VendorError> {
        let access = access(&self.plane, &self.task).await?;
        let mut held = self.wire.lock();
        let fresh = wire(&self.plane, &access, held.tls.clone())?;
        if fresh.server != held.server {
            let why = "the router of the container has moved".to_owned();
            return Err(VendorError::Missing { why });
        }
        *held = fresh.clone();
        Ok(fresh)
    }
}

async fn access(
    plane: &Plane,
    task: &str,
) -> Result<TaskGetCommandRouterAccessResponse, VendorError> {
    let question = TaskGetCommandRouterAccessRequest { task_id: task.to_owned() };
    plane.wire.call("TaskGetCommandRouterAccess", &question, Manner::harmless(SHORT)).await
}

fn wire(
    plane: &Plane,
    access: &TaskGetCommandRouterAccessResponse,
    tls: Tls,
) -> Result<Wire, VendorError> {
    let server = checked_url(&access.url)
        .map_err(|error| VendorError::Unknown { why: format!("the router's address: {error}") })?;
    let origin = Origin::of(&server).filter(Origin::is_encrypted).ok_or_else(|| {
        let why = format!("the router's address `{server}` is not encrypted");
        VendorError::Unknown { why }
    })?;
    let credential = Credential {
        owner: "modal's command router".to_owned(),
        secret: Secret::new(access.jwt.clone()),
        scope: Scope::exactly(origin),
        scheme: Scheme::Bearer,
    };
    Ok(Wire {
        net: Arc::clone(&plane.wire.net),
        server,
        service: "modal.task_command_router.TaskCommandRouter",
        headers: Vec::new(),
        credential,
        tls,
    })
}

/// A random number in the vendor's notation.
fn uuid() -> String {
    let digits = ids::hex(16);
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default().to_owned();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}
