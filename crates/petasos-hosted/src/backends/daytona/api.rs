//! The vendor's REST interface: sandboxes, one command, files.
//!
//! Two addresses with one key: the API, and the toolbox of a sandbox, which the API names. A
//! toolbox that is no neighbour of the API does not get the key.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::Secret;
use petasos_net::{Allowed, Credential, Method, Net, Origin, Scheme, Scope, Url, checked_url};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::multipart;
use crate::{Call, Repeat, Rest, VendorError, below, read};

/// A sandbox, as far as we read it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sandbox {
    pub(super) id: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) state: String,
    #[serde(default)]
    pub(super) error_reason: Option<String>,
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) toolbox_proxy_url: Option<String>,
}

/// What a new sandbox shall be.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewSandbox {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) cpu: u32,
    pub(super) memory: u32,
    pub(super) disk: u32,
    pub(super) auto_stop_interval: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) auto_delete_interval: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<String>,
    pub(super) build_info: BuildInfo,
}

/// The image of a new sandbox.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BuildInfo {
    pub(super) dockerfile_content: String,
}

#[derive(Debug, Deserialize)]
struct Page {
    items: Vec<Sandbox>,
}

/// What a command said.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Executed {
    #[serde(rename = "exitCode")]
    pub(super) code: i32,
    #[serde(default)]
    pub(super) result: String,
}

/// The interface with a user's key.
#[derive(Debug, Clone)]
pub(super) struct Api {
    rest: Rest,
    pub(super) limits: Limits,
}

/// How long calls may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) short: Duration,
    pub(super) create: Duration,
}

impl Api {
    /// The interface at an address.
    pub(super) fn new(net: Arc<Net>, base: Url, key: Secret, organization: Option<&str>) -> Self {
        let credential = Credential {
            owner: "daytona".to_owned(),
            secret: key,
            scope: scope(&base),
            scheme: Scheme::Bearer,
        };
        let limits = Limits { short: Duration::from_secs(40), create: Duration::from_mins(3) };
        let mut rest = Rest::new(net, base, credential).header("x-daytona-source", "petasos");
        if let Some(organization) = organization {
            rest = rest.header("x-daytona-organization-id", organization);
        }
        Self { rest, limits }
    }

    fn call<'a>(&self, method: Method, what: &'a str, body: Option<Value>) -> Call<'a> {
        Call { within: self.limits.short, ..self.rest.call(method, what, body) }
    }

    /// Makes a sandbox; never twice.
    pub(super) async fn create(&self, new: &NewSandbox) -> Result<Sandbox, VendorError> {
        let body = serde_json::to_value(new).unwrap_or(Value::Null);
        let call = self.call(Method::POST, "sandbox", Some(body));
        let call = Call { within: self.limits.create, repeat: Repeat::OnlyUnacted, ..call };
        read(&self.rest.send(call).await?)
    }

    /// A sandbox by number or name.
    pub(super) async fn get(&self, reference: &str) -> Result<Sandbox, VendorError> {
        let path = format!("sandbox/{reference}");
        read(&self.rest.send(self.call(Method::GET, &path, None)).await?)
    }

    /// The sandboxes with these labels.
    pub(super) async fn list(
        &self,
        labels: &BTreeMap<String, String>,
    ) -> Result<Vec<Sandbox>, VendorError> {
        let mut call = self.call(Method::GET, "sandbox/paginated", None);
        let labels = serde_json::to_string(labels).unwrap_or_default();
        call.url.query_pairs_mut().append_pair("labels", &labels).append_pair("limit", "100");
        let page: Page = read(&self.rest.send(call).await?)?;
        Ok(page.items)
    }

    /// Starts a stopped sandbox; one that runs is left alone.
    pub(super) async fn start(&self, id: &str) -> Result<(), VendorError> {
        let path = format!("sandbox/{id}/start");
        self.rest.send(self.call(Method::POST, &path, None)).await.map(drop)
    }

    /// Stops a sandbox; its files stay.
    pub(super) async fn stop(&self, id: &str) -> Result<(), VendorError> {
        let path = format!("sandbox/{id}/stop");
        self.rest.send(self.call(Method::POST, &path, None)).await.map(drop)
    }

    /// Removes a sandbox; one that is gone is no fault.
    pub(super) async fn delete(&self, id: &str) -> Result<(), VendorError> {
        let path = format!("sandbox/{id}");
        match self.rest.send(self.call(Method::DELETE, &path, None)).await {
            Ok(_) | Err(VendorError::Missing { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Runs a command to its end.
    pub(super) async fn execute(
        &self,
        toolbox: &Url,
        command: &str,
        within: Duration,
        repeat: Repeat,
    ) -> Result<Executed, VendorError> {
        let body = json!({ "command": command, "timeout": within.as_secs().max(1) });
        // Ours is a little longer, so that the vendor's own word on a timeout arrives.
        let within = within + Duration::from_secs(5);
        let url = below(toolbox, "process/execute");
        let call = self.call(Method::POST, "process/execute", Some(body));
        read(&self.rest.send(Call { url, within, repeat, ..call }).await?)
    }

    /// Writes files; writing the same again is harmless.
    pub(super) async fn upload(
        &self,
        toolbox: &Url,
        files: &[(&str, &[u8])],
    ) -> Result<(), VendorError> {
        let (kind, body) = multipart::encode(files);
        let url = below(toolbox, "files/bulk-upload");
        let within = self.limits.short + Duration::from_secs(body.len() as u64 / 200_000);
        let call = self.call(Method::POST, "files/bulk-upload", None);
        let call = Call { url, kind, body: body.into(), within, ..call };
        self.rest.send(call).await.map(drop)
    }

    /// The address of a sandbox's toolbox, when it may have the key.
    pub(super) fn toolbox(&self, sandbox: &Sandbox) -> Result<Url, VendorError> {
        let text = sandbox.toolbox_proxy_url.as_deref().unwrap_or_default();
        let url = checked_url(text).map_err(|error| VendorError::Unknown {
            why: format!("the vendor names no usable toolbox: {error}"),
        })?;
        let scope = &self.rest.credential.scope;
        if !scope.permits(&url) {
            let why = format!("the key may go to {scope} and not to `{url}`");
            return Err(VendorError::Refused { why });
        }
        Ok(below(&url, &sandbox.id))
    }
}

/// Where the key may go: the API, and the names below and beside it that the vendor serves.
fn scope(base: &Url) -> Scope {
    let Some(origin) = Origin::of(base) else { return Scope::default() };
    let exact = Scope::exactly(origin.clone());
    if origin.is_loopback() {
        return exact.and(Allowed::Loopback);
    }
    match origin.domain() {
        Some(host) if petasos_net::origin::is_below(host, "daytona.io") => {
            exact.and(Allowed::Below("daytona.io".to_owned()))
        }
        Some(host) => exact.and(Allowed::Below(host.to_owned())),
        None => exact,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_goes_to_the_vendor_and_its_toolboxes_only() {
        let permits = |base: &str, url: &str| {
            scope(&Url::parse(base).unwrap()).permits(&Url::parse(url).unwrap())
        };
        let vendor = "https://app.daytona.io/api";
        assert!(permits(vendor, "https://proxy.app.daytona.io/toolbox"));
        assert!(permits(vendor, "https://proxy.eu.daytona.io/toolbox"));
        assert!(!permits(vendor, "https://daytona.io.evil.test/toolbox"));
        assert!(!permits(vendor, "http://proxy.app.daytona.io/toolbox"));
        assert!(permits("http://127.0.0.1:9/api", "http://127.0.0.1:10/toolbox"));
        assert!(permits("https://box.example.com/api", "https://proxy.box.example.com/t"));
        assert!(!permits("https://box.example.com/api", "https://other.example.com/t"));
    }
}
