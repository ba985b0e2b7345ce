//! The vendor's REST interface, version 2: sandboxes, their sessions, one command, snapshots.
//!
//! The shapes are those that version 3.1.0 of the vendor's own library sends and checks.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use petasos_contract::BoxFuture;
use petasos_net::{Credential, Method, Net, Origin, Scheme, Scope, Url};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

use super::credential::Identity;
use crate::{Call, Calls, Repeat, Rest, Said, VendorError, read};

/// So many bytes of a file fit into one argument, encoded.
const PIECE: usize = 60 * 1024;

/// What a new sandbox shall be.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewSandbox {
    pub(super) project_id: String,
    pub(super) name: String,
    /// Milliseconds that it lives.
    pub(super) timeout: u64,
    pub(super) resources: Resources,
    pub(super) persistent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) runtime: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<Source>,
}

/// The size of a sandbox; memory follows from it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Resources {
    pub(super) vcpus: u32,
}

/// Where its files come from.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub(super) enum Source {
    /// A snapshot.
    Snapshot {
        /// Which one.
        snapshot_id: String,
    },
}

/// A sandbox while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) status: String,
    #[serde(default)]
    pub(super) cwd: String,
}

#[derive(Debug, Deserialize)]
struct WithSession {
    session: Session,
}

#[derive(Debug, Deserialize)]
struct WithSnapshot {
    snapshot: Snapshot,
}

#[derive(Debug, Deserialize)]
struct Snapshot {
    id: String,
}

/// One line of a command's stream.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Line {
    Command { command: Command },
    Log { stream: String, data: Value },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Command {
    exit_code: Option<i32>,
}

/// The interface with a user's token.
#[derive(Debug, Clone)]
pub(super) struct Api {
    pub(super) rest: Rest,
    pub(super) project: String,
}

impl Api {
    /// The interface at an address.
    pub(super) fn new(net: Arc<Net>, base: Url, identity: Identity) -> Self {
        let credential = Credential {
            owner: "vercel".to_owned(),
            secret: identity.token,
            scope: Origin::of(&base).map(Scope::exactly).unwrap_or_default(),
            scheme: Scheme::Bearer,
        };
        let rest = Rest::new(net, base, credential).query("teamId", &identity.team);
        Self { rest, project: identity.project }
    }

    /// Makes a sandbox; never twice.
    pub(super) async fn create(&self, new: &NewSandbox) -> Result<Session, VendorError> {
        // The vendor takes a sandbox without a runtime at its newer address only.
        let path = if new.runtime.is_some() { "v2/sandboxes" } else { "v3/sandboxes" };
        let body = serde_json::to_value(new).unwrap_or(Value::Null);
        let call = self.rest.call(Method::POST, path, Some(body));
        let (within, repeat) = (self.rest.short * 3, Repeat::OnlyUnacted);
        let made: WithSession = read(&self.rest.send(Call { within, repeat, ..call }).await?)?;
        Ok(made.session)
    }

    /// How a session fares.
    pub(super) async fn session(&self, id: &str) -> Result<Session, VendorError> {
        let path = format!("v2/sandboxes/sessions/{id}");
        let found: WithSession =
            read(&self.rest.send(self.rest.call(Method::GET, &path, None)).await?)?;
        Ok(found.session)
    }

    /// Keeps the files of a session, which ends by that; gives the snapshot's name.
    pub(super) async fn snapshot(&self, id: &str) -> Result<String, VendorError> {
        let path = format!("v2/sandboxes/sessions/{id}/snapshot");
        let call = self.rest.call(Method::POST, &path, None);
        let (within, repeat) = (self.rest.short * 3, Repeat::OnlyUnacted);
        let made: WithSnapshot = read(&self.rest.send(Call { within, repeat, ..call }).await?)?;
        Ok(made.snapshot.id)
    }

    /// Ends a session; one that is over is no fault.
    pub(super) async fn stop(&self, id: &str) -> Result<(), VendorError> {
        let path = format!("v2/sandboxes/sessions/{id}/stop");
        gone_is_well(self.rest.send(self.rest.call(Method::POST, &path, None)).await)
    }

    /// Removes a sandbox; one that is gone is no fault.
    pub(super) async fn delete(&self, name: &str) -> Result<(), VendorError> {
        let path = format!("v2/sandboxes/{name}");
        let mut call = self.rest.call(Method::DELETE, &path, None);
        call.url.query_pairs_mut().append_pair("projectId", &self.project);
        gone_is_well(self.rest.send(call).await)
    }
}

fn gone_is_well(done: Result<Vec<u8>, VendorError>) -> Result<(), VendorError> {
    match done {
        Ok(_) | Err(VendorError::Missing { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// One session as the calls that programs are made of.
pub(super) struct Commands {
    pub(super) api: Api,
    pub(super) session: String,
}

impl Calls for Commands {
    fn run(
        &self,
        script: String,
        within: Duration,
        repeat: Repeat,
    ) -> BoxFuture<'_, Result<Said, VendorError>> {
        Box::pin(async move {
            let path = format!("v2/sandboxes/sessions/{}/cmd", self.session);
            let milliseconds = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
            let body = json!({
                "command": "sh", "args": ["-c", script], "env": {}, "sudo": false,
                "wait": true, "logs": true, "timeout": milliseconds,
            });
            let call = self.api.rest.call(Method::POST, &path, Some(body));
            // Ours is a little longer, so that the vendor's own word on a timeout arrives.
            let within = within + Duration::from_secs(5);
            said(&self.api.rest.send(Call { within, repeat, what: "cmd", ..call }).await?)
        })
    }

    fn put<'a>(&'a self, path: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), VendorError>> {
        Box::pin(async move {
            // Each piece has its place, so that a repetition changes nothing.
            let quoted = format!("'{}'", path.replace('\'', r"'\''"));
            let open = format!("mkdir -p \"$(dirname {quoted})\" && : >{quoted}");
            let mut scripts = vec![open];
            scripts.extend(bytes.chunks(PIECE).zip(0_usize..).map(|(piece, at)| {
                let (text, at) = (STANDARD.encode(piece), at * PIECE);
                format!(
                    "echo '{text}' | base64 -d | \
                     dd of={quoted} bs=1 seek={at} conv=notrunc 2>/dev/null"
                )
            }));
            for script in scripts {
                let said = self.run(script, self.api.rest.short, Repeat::Harmless).await?;
                if said.code != 0 {
                    let why = format!("`{path}` cannot be written there: {}", said.text.trim());
                    return Err(VendorError::Refused { why });
                }
            }
            Ok(())
        })
    }
}

/// What a command said, from its stream.
fn said(body: &[u8]) -> Result<Said, VendorError> {
    let (mut text, mut code) = (String::new(), None);
    for line in body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match read(line)? {
            Line::Command { command } => code = command.exit_code.or(code),
            Line::Log { stream, data } if stream == "error" => {
                let why = format!("the vendor lost the command: {data}");
                return Err(VendorError::Unknown { why });
            }
            Line::Log { stream, data } if stream == "stdout" => {
                text.push_str(data.as_str().unwrap_or_default());
            }
            Line::Log { .. } => {}
        }
    }
    match code {
        Some(code) => Ok(Said { code, text }),
        None => Err(VendorError::Unknown { why: "the answer ended before the command".to_owned() }),
    }
}
