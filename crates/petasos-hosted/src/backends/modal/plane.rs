//! The control plane: apps, images, sandboxes, and commands where no router is to be had.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::Secret;
use petasos_net::{Allowed, Credential, Net, Origin, Scheme, Scope, Tls, Url};

use super::messages::{
    AppGetOrCreateRequest, AppGetOrCreateResponse, CREATE_IF_MISSING,
    EnvironmentGetOrCreateRequest, EnvironmentGetOrCreateResponse, GenericResult, GenericStatus,
    Image, ImageGetOrCreateRequest, ImageGetOrCreateResponse, ImageJoinStreamingRequest,
    ImageJoinStreamingResponse, NAMESPACE_WORKSPACE, NetworkAccess, Resources, Sandbox,
    SandboxCreateRequest, SandboxGetFromNameRequest, SandboxGetTaskIdRequest,
    SandboxGetTaskIdResponse, SandboxIdResponse, SandboxSnapshotFsResponse,
    SandboxTerminateRequest, SandboxTerminateResponse, SandboxTimedRequest, SandboxWaitResponse,
};
use super::wire::{Manner, Wire};
use crate::{HostedSettings, VendorError};

/// The app that holds our sandboxes.
const APP: &str = "hermes-agent";

/// The longest life of a sandbox, after which the vendor ends it whatever became of us.
pub(super) const LIFETIME: u32 = 3600;

/// The interface we were written against; the vendor turns away versions it no longer serves.
const CLIENT_VERSION: &str = "1.3.4";

/// How images are put together where the workspace does not say.
const BUILDER: &str = "2024.10";

const SHORT: Duration = Duration::from_secs(30);
/// A container may wait for a machine and an image for its download.
const STARTING: Duration = Duration::from_mins(3);
const BUILDING: Duration = Duration::from_mins(15);

/// The control plane with a user's token.
#[derive(Debug, Clone)]
pub(super) struct Plane {
    pub(super) wire: Wire,
    environment: String,
}

/// A sandbox that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Running {
    pub(super) sandbox: String,
    pub(super) task: String,
}

impl Plane {
    /// The plane at an address.
    pub(super) fn new(
        net: Arc<Net>,
        server: Url,
        (id, secret): (&Secret, Secret),
        environment: String,
    ) -> Self {
        let scope = Scope::new(Origin::of(&server).map(Allowed::Exact));
        let credential = Credential {
            owner: "modal".to_owned(),
            secret,
            scope,
            scheme: Scheme::Header("x-modal-token-secret"),
        };
        let headers = vec![
            ("x-modal-token-id", id.expose().to_owned()),
            ("x-modal-client-version", CLIENT_VERSION.to_owned()),
            ("x-modal-client-type", "1".to_owned()),
        ];
        let service = "modal.client.ModalClient";
        let wire = Wire { net, server, service, headers, credential, tls: Tls::default() };
        Self { wire, environment }
    }

    /// The app, made when it is not there.
    pub(super) async fn app(&self) -> Result<String, VendorError> {
        let question = AppGetOrCreateRequest {
            app_name: APP.to_owned(),
            environment_name: self.environment.clone(),
            object_creation_type: CREATE_IF_MISSING,
        };
        let answer: AppGetOrCreateResponse =
            self.wire.call("AppGetOrCreate", &question, Manner::harmless(SHORT)).await?;
        Ok(answer.app_id)
    }

    /// How the workspace wants its images to be put together.
    async fn builder(&self) -> Result<String, VendorError> {
        let question = EnvironmentGetOrCreateRequest {
            deployment_name: self.environment.clone(),
            object_creation_type: 0,
        };
        let answer: EnvironmentGetOrCreateResponse =
            self.wire.call("EnvironmentGetOrCreate", &question, Manner::harmless(SHORT)).await?;
        let settings = answer.metadata.and_then(|metadata| metadata.settings);
        let version = settings.map(|settings| settings.image_builder_version);
        Ok(version.filter(|version| !version.is_empty()).unwrap_or_else(|| BUILDER.to_owned()))
    }

    /// The image of a name, built when it is new; `im-…` names one that is there.
    pub(super) async fn image(&self, app: &str, name: &str) -> Result<String, VendorError> {
        if name.starts_with("im-") {
            return Ok(name.to_owned());
        }
        if name.is_empty() || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
            let why = format!("`{name}` is no image; set `terminal.modal_image`");
            return Err(VendorError::Refused { why });
        }
        let question = ImageGetOrCreateRequest {
            image: Some(Image { dockerfile_commands: vec![format!("FROM {name}")] }),
            app_id: app.to_owned(),
            namespace: NAMESPACE_WORKSPACE,
            builder_version: self.builder().await?,
        };
        let answer: ImageGetOrCreateResponse =
            self.wire.call("ImageGetOrCreate", &question, Manner::harmless(SHORT)).await?;
        let known = answer.result.filter(|result| result.status() != GenericStatus::Unspecified);
        let result = match known {
            Some(result) => result,
            None => self.built(&answer.image_id).await?,
        };
        if result.status() == GenericStatus::Success {
            return Ok(answer.image_id);
        }
        let why = format!("the image `{name}` cannot be built: {}", result.reason());
        Err(VendorError::Refused { why })
    }

    /// Follows a build to its end; the stream is taken up again where it broke off.
    async fn built(&self, image: &str) -> Result<GenericResult, VendorError> {
        let deadline = Instant::now() + BUILDING;
        let mut last_entry_id = String::new();
        while Instant::now() < deadline {
            let question = ImageJoinStreamingRequest {
                image_id: image.to_owned(),
                timeout: 55.0,
                last_entry_id: last_entry_id.clone(),
            };
            let mut stream = self
                .wire
                .stream::<ImageJoinStreamingResponse>("ImageJoinStreaming", &question, STARTING)
                .await?;
            while let Some(news) = stream.next(STARTING).await? {
                if !news.entry_id.is_empty() {
                    last_entry_id = news.entry_id;
                }
                if let Some(result) = news.result
                    && result.status() != GenericStatus::Unspecified
                {
                    return Ok(result);
                }
            }
        }
        let why = format!("the image was not built within {} s", BUILDING.as_secs());
        Err(VendorError::Unknown { why })
    }

    /// Makes a sandbox. When it is not known whether that worked, it is looked for by its name and
    /// ended, so that none is left behind.
    pub(super) async fn create(
        &self,
        app: &str,
        image: String,
        name: &str,
        settings: &HostedSettings,
    ) -> Result<String, VendorError> {
        let definition = Sandbox {
            entrypoint_args: vec!["sleep".to_owned(), LIFETIME.to_string()],
            image_id: image,
            resources: Some(Resources {
                memory_mb: u32::try_from(settings.container_memory).unwrap_or(u32::MAX),
                milli_cpu: settings.milli_cpus(),
                ephemeral_disk_mb: 0,
            }),
            timeout_secs: LIFETIME,
            workdir: None,
            network_access: Some(NetworkAccess { network_access_type: NetworkAccess::OPEN }),
            name: Some(name.to_owned()),
            direct_sandbox_commands_enabled: true,
        };
        let question =
            SandboxCreateRequest { app_id: app.to_owned(), definition: Some(definition) };
        let made: Result<SandboxIdResponse, _> =
            self.wire.call("SandboxCreate", &question, Manner::once(STARTING)).await;
        match made {
            Ok(made) => Ok(made.sandbox_id),
            Err(error) => {
                if !error.did_nothing() {
                    self.end_by_name(name).await;
                }
                Err(error)
            }
        }
    }

    async fn end_by_name(&self, name: &str) {
        let question = SandboxGetFromNameRequest {
            sandbox_name: name.to_owned(),
            environment_name: self.environment.clone(),
            app_name: APP.to_owned(),
        };
        let found: Result<SandboxIdResponse, _> =
            self.wire.call("SandboxGetFromName", &question, Manner::harmless(SHORT)).await;
        let ended = match found {
            Ok(found) => self.terminate(&found.sandbox_id).await,
            Err(VendorError::Missing { .. }) => return,
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::warn!(%error, name, "a sandbox may be left until its lifetime is over");
        }
    }

    /// Waits until a sandbox has a container, and names it.
    pub(super) async fn task(&self, sandbox: &str) -> Result<Running, VendorError> {
        let question = SandboxGetTaskIdRequest {
            sandbox_id: sandbox.to_owned(),
            timeout: Some(55.0),
            wait_until_ready: false,
        };
        let deadline = Instant::now() + STARTING;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer: SandboxGetTaskIdResponse =
                self.wire.call("SandboxGetTaskId", &question, Manner::harmless(left)).await?;
            if let Some(result) = answer.task_result
                && result.status() != GenericStatus::Unspecified
            {
                let why = format!("the sandbox is over: {}", result.reason());
                return Err(VendorError::Missing { why });
            }
            if let Some(task) = answer.task_id.filter(|task| !task.is_empty()) {
                return Ok(Running { sandbox: sandbox.to_owned(), task });
            }
            if Instant::now() + Duration::from_secs(1) >= deadline {
                let why = format!("the sandbox has no machine after {} s", STARTING.as_secs());
                return Err(VendorError::Unknown { why });
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// How a sandbox ended, when it has.
    pub(super) async fn ended(&self, sandbox: &str) -> Result<Option<GenericResult>, VendorError> {
        let question = SandboxTimedRequest { sandbox_id: sandbox.to_owned(), timeout: 0.0 };
        let answer: SandboxWaitResponse =
            self.wire.call("SandboxWait", &question, Manner::harmless(SHORT)).await?;
        Ok(answer.result.filter(|result| result.status() != GenericStatus::Unspecified))
    }

    /// Keeps the files of a sandbox as an image.
    pub(super) async fn snapshot(&self, sandbox: &str) -> Result<String, VendorError> {
        let question = SandboxTimedRequest { sandbox_id: sandbox.to_owned(), timeout: 55.0 };
        let answer: SandboxSnapshotFsResponse =
            self.wire.call("SandboxSnapshotFs", &question, Manner::harmless(STARTING)).await?;
        let failed = answer.result.filter(|result| result.status() != GenericStatus::Success);
        match failed {
            None if !answer.image_id.is_empty() => Ok(answer.image_id),
            None => Err(VendorError::Unknown { why: "the snapshot has no name".to_owned() }),
            Some(result) => Err(VendorError::Refused { why: result.reason() }),
        }
    }

    /// Ends a sandbox; one that is gone is no fault.
    pub(super) async fn terminate(&self, sandbox: &str) -> Result<(), VendorError> {
        let question = SandboxTerminateRequest { sandbox_id: sandbox.to_owned() };
        let done: Result<SandboxTerminateResponse, _> =
            self.wire.call("SandboxTerminate", &question, Manner::harmless(SHORT)).await;
        match done {
            Ok(_) | Err(VendorError::Missing { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
