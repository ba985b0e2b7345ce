//! The few messages of the vendor's API that a sandbox needs, with the vendor's field numbers.
//!
//! Written by hand after the published `api.proto` and `task_command_router.proto`: fields we
//! neither send nor read are left out, which the format allows.

use prost::{Enumeration, Message, Oneof};

/// Whether a lookup makes what it does not find.
pub(super) const CREATE_IF_MISSING: i32 = 1;

/// Images of this workspace.
pub(super) const NAMESPACE_WORKSPACE: i32 = 1;

#[derive(Clone, PartialEq, Message)]
pub(super) struct AppGetOrCreateRequest {
    #[prost(string, tag = "1")]
    pub(super) app_name: String,
    #[prost(string, tag = "2")]
    pub(super) environment_name: String,
    #[prost(int32, tag = "3")]
    pub(super) object_creation_type: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AppGetOrCreateResponse {
    #[prost(string, tag = "1")]
    pub(super) app_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct EnvironmentGetOrCreateRequest {
    #[prost(string, tag = "1")]
    pub(super) deployment_name: String,
    #[prost(int32, tag = "2")]
    pub(super) object_creation_type: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct EnvironmentGetOrCreateResponse {
    #[prost(message, optional, tag = "2")]
    pub(super) metadata: Option<EnvironmentMetadata>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct EnvironmentMetadata {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) settings: Option<EnvironmentSettings>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct EnvironmentSettings {
    #[prost(string, tag = "1")]
    pub(super) image_builder_version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Image {
    #[prost(string, repeated, tag = "6")]
    pub(super) dockerfile_commands: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ImageGetOrCreateRequest {
    #[prost(message, optional, tag = "2")]
    pub(super) image: Option<Image>,
    #[prost(string, tag = "4")]
    pub(super) app_id: String,
    #[prost(int32, tag = "8")]
    pub(super) namespace: i32,
    #[prost(string, tag = "9")]
    pub(super) builder_version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ImageGetOrCreateResponse {
    #[prost(string, tag = "1")]
    pub(super) image_id: String,
    #[prost(message, optional, tag = "2")]
    pub(super) result: Option<GenericResult>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ImageJoinStreamingRequest {
    #[prost(string, tag = "1")]
    pub(super) image_id: String,
    #[prost(float, tag = "2")]
    pub(super) timeout: f32,
    #[prost(string, tag = "3")]
    pub(super) last_entry_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ImageJoinStreamingResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) result: Option<GenericResult>,
    #[prost(string, tag = "3")]
    pub(super) entry_id: String,
}

/// How something ended; `0` means it has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub(super) enum GenericStatus {
    Unspecified = 0,
    Success = 1,
    Failure = 2,
    Terminated = 3,
    Timeout = 4,
    InitFailure = 5,
    InternalFailure = 6,
    IdleTimeout = 7,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct GenericResult {
    #[prost(enumeration = "GenericStatus", tag = "1")]
    pub(super) status: i32,
    #[prost(string, tag = "2")]
    pub(super) exception: String,
    #[prost(int32, tag = "3")]
    pub(super) exitcode: i32,
}

impl GenericResult {
    /// Why it ended, for people.
    pub(super) fn reason(&self) -> String {
        let what = match self.status() {
            GenericStatus::Unspecified => "it has not ended",
            GenericStatus::Success => "it ended",
            GenericStatus::Failure => "it failed",
            GenericStatus::Terminated => "it was terminated",
            GenericStatus::Timeout => "its lifetime is over",
            GenericStatus::InitFailure => "it could not be set up",
            GenericStatus::InternalFailure => "the vendor failed",
            GenericStatus::IdleTimeout => "it was idle for too long",
        };
        if self.exception.is_empty() {
            return what.to_owned();
        }
        format!("{what}: {}", self.exception)
    }
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Resources {
    #[prost(uint32, tag = "2")]
    pub(super) memory_mb: u32,
    #[prost(uint32, tag = "3")]
    pub(super) milli_cpu: u32,
    #[prost(uint32, tag = "6")]
    pub(super) ephemeral_disk_mb: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NetworkAccess {
    #[prost(int32, tag = "1")]
    pub(super) network_access_type: i32,
}

impl NetworkAccess {
    /// Everything may be reached.
    pub(super) const OPEN: i32 = 1;
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Sandbox {
    #[prost(string, repeated, tag = "1")]
    pub(super) entrypoint_args: Vec<String>,
    #[prost(string, tag = "3")]
    pub(super) image_id: String,
    #[prost(message, optional, tag = "5")]
    pub(super) resources: Option<Resources>,
    #[prost(uint32, tag = "7")]
    pub(super) timeout_secs: u32,
    #[prost(string, optional, tag = "8")]
    pub(super) workdir: Option<String>,
    #[prost(message, optional, tag = "22")]
    pub(super) network_access: Option<NetworkAccess>,
    #[prost(string, optional, tag = "30")]
    pub(super) name: Option<String>,
    #[prost(bool, tag = "34")]
    pub(super) direct_sandbox_commands_enabled: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SandboxCreateRequest {
    #[prost(string, tag = "1")]
    pub(super) app_id: String,
    #[prost(message, optional, tag = "2")]
    pub(super) definition: Option<Sandbox>,
}

/// An answer that is only the number of a sandbox: of creating and of finding by name.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SandboxIdResponse {
    #[prost(string, tag = "1")]
    pub(super) sandbox_id: String,
}

#[derive(Clone, PartialEq, Message)]
#[expect(clippy::struct_field_names, reason = "the vendor's names")]
pub(super) struct SandboxGetFromNameRequest {
    #[prost(string, tag = "1")]
    pub(super) sandbox_name: String,
    #[prost(string, tag = "2")]
    pub(super) environment_name: String,
    #[prost(string, tag = "3")]
    pub(super) app_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SandboxGetTaskIdRequest {
    #[prost(string, tag = "1")]
    pub(super) sandbox_id: String,
    #[prost(float, optional, tag = "2")]
    pub(super) timeout: Option<f32>,
    #[prost(bool, tag = "3")]
    pub(super) wait_until_ready: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SandboxGetTaskIdResponse {
    #[prost(string, optional, tag = "1")]
    pub(super) task_id: Option<String>,
    #[prost(message, optional, tag = "2")]
    pub(super) task_result: Option<GenericResult>,
}

/// A question about a sandbox with a limit: waiting for its end, and making a snapshot.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SandboxTimedRequest {
    #[prost(string, tag = "1")]
    pub(super) sandbox_id: String,
    #[prost(float, tag = "2")]
    pub(super) timeout: f32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SandboxWaitResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) result: Option<GenericResult>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SandboxTerminateRequest {
    #[prost(string, tag = "1")]
    pub(super) sandbox_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SandboxTerminateResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) existing_result: Option<GenericResult>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SandboxSnapshotFsResponse {
    #[prost(string, tag = "1")]
    pub(super) image_id: String,
    #[prost(message, optional, tag = "2")]
    pub(super) result: Option<GenericResult>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TaskGetCommandRouterAccessRequest {
    #[prost(string, tag = "1")]
    pub(super) task_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TaskGetCommandRouterAccessResponse {
    #[prost(string, tag = "1")]
    pub(super) jwt: String,
    #[prost(string, tag = "2")]
    pub(super) url: String,
}

/// What becomes of a stream of a command, on the control plane.
pub(super) const OUTPUT_PIPE: i32 = 2;

#[derive(Clone, PartialEq, Message)]
pub(super) struct ContainerExecRequest {
    #[prost(string, tag = "1")]
    pub(super) task_id: String,
    #[prost(string, repeated, tag = "2")]
    pub(super) command: Vec<String>,
    #[prost(int32, tag = "6")]
    pub(super) stdout_output: i32,
    #[prost(int32, tag = "7")]
    pub(super) stderr_output: i32,
    #[prost(uint32, tag = "8")]
    pub(super) timeout_secs: u32,
    #[prost(string, optional, tag = "9")]
    pub(super) workdir: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ContainerExecResponse {
    #[prost(string, tag = "1")]
    pub(super) exec_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ContainerExecPutInputRequest {
    #[prost(string, tag = "1")]
    pub(super) exec_id: String,
    #[prost(message, optional, tag = "2")]
    pub(super) input: Option<RuntimeInputMessage>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RuntimeInputMessage {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) message: Vec<u8>,
    #[prost(uint64, tag = "2")]
    pub(super) message_index: u64,
    #[prost(bool, tag = "3")]
    pub(super) eof: bool,
}

/// Which stream, on the control plane.
pub(super) const STDOUT: i32 = 1;
/// Which stream, on the control plane.
pub(super) const STDERR: i32 = 2;

#[derive(Clone, PartialEq, Message)]
pub(super) struct ContainerExecGetOutputRequest {
    #[prost(string, tag = "1")]
    pub(super) exec_id: String,
    #[prost(float, tag = "2")]
    pub(super) timeout: f32,
    #[prost(uint64, tag = "3")]
    pub(super) last_batch_index: u64,
    #[prost(int32, tag = "4")]
    pub(super) file_descriptor: i32,
    #[prost(bool, tag = "5")]
    pub(super) get_raw_bytes: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RuntimeOutputBatch {
    #[prost(message, repeated, tag = "1")]
    pub(super) items: Vec<RuntimeOutputMessage>,
    #[prost(uint64, tag = "2")]
    pub(super) batch_index: u64,
    #[prost(int32, optional, tag = "3")]
    pub(super) exit_code: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RuntimeOutputMessage {
    #[prost(int32, tag = "1")]
    pub(super) file_descriptor: i32,
    #[prost(string, tag = "2")]
    pub(super) message: String,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) message_bytes: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ContainerExecWaitRequest {
    #[prost(string, tag = "1")]
    pub(super) exec_id: String,
    #[prost(float, tag = "2")]
    pub(super) timeout: f32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ContainerExecWaitResponse {
    #[prost(int32, optional, tag = "1")]
    pub(super) exit_code: Option<i32>,
    #[prost(bool, tag = "2")]
    pub(super) completed: bool,
}

/// What becomes of standard output, at the router.
pub(super) const ROUTER_STDOUT_PIPE: i32 = 1;
/// What becomes of error output, at the router.
pub(super) const ROUTER_STDERR_PIPE: i32 = 1;

#[derive(Clone, PartialEq, Message)]
pub(super) struct TaskExecStartRequest {
    #[prost(string, tag = "1")]
    pub(super) task_id: String,
    #[prost(string, tag = "2")]
    pub(super) exec_id: String,
    #[prost(string, repeated, tag = "3")]
    pub(super) command_args: Vec<String>,
    #[prost(int32, tag = "4")]
    pub(super) stdout_config: i32,
    #[prost(int32, tag = "5")]
    pub(super) stderr_config: i32,
    #[prost(uint32, optional, tag = "6")]
    pub(super) timeout_secs: Option<u32>,
    #[prost(string, optional, tag = "7")]
    pub(super) workdir: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TaskExecStdinWriteRequest {
    #[prost(string, tag = "1")]
    pub(super) task_id: String,
    #[prost(string, tag = "2")]
    pub(super) exec_id: String,
    #[prost(uint64, tag = "3")]
    pub(super) offset: u64,
    #[prost(bytes = "vec", tag = "4")]
    pub(super) data: Vec<u8>,
    #[prost(bool, tag = "5")]
    pub(super) eof: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TaskExecStdioReadRequest {
    #[prost(string, tag = "1")]
    pub(super) task_id: String,
    #[prost(string, tag = "2")]
    pub(super) exec_id: String,
    #[prost(uint64, tag = "3")]
    pub(super) offset: u64,
    #[prost(int32, tag = "4")]
    pub(super) file_descriptor: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TaskExecStdioReadResponse {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TaskExecWaitRequest {
    #[prost(string, tag = "1")]
    pub(super) task_id: String,
    #[prost(string, tag = "2")]
    pub(super) exec_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TaskExecWaitResponse {
    #[prost(oneof = "ExitStatus", tags = "1, 2")]
    pub(super) exit_status: Option<ExitStatus>,
}

/// How a command ended, at the router.
#[derive(Clone, Copy, PartialEq, Eq, Oneof)]
pub(super) enum ExitStatus {
    #[prost(int32, tag = "1")]
    Code(i32),
    #[prost(int32, tag = "2")]
    Signal(i32),
}

/// An answer that says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(super) struct Empty {}

/// What the vendor puts into `grpc-status-details-bin`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct StatusDetails {
    #[prost(message, repeated, tag = "3")]
    pub(super) details: Vec<AnyMessage>,
}

/// A message with the name of its type.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AnyMessage {
    #[prost(string, tag = "1")]
    pub(super) type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
}

/// How long the vendor asks to wait.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct RpcRetryPolicy {
    #[prost(float, tag = "1")]
    pub(super) retry_after_secs: f32,
}
