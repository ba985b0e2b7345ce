//! The vendor's REST interface: sandboxes, one command, files.
//!
//! Two addresses with one key: the API, and the toolbox of a sandbox, which the API names. A
//! toolbox that is no neighbour of the API does not get the key.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::Secret;
use petasos_net::{
    Allowed, Credential, Method, Net, Origin, Reply, Request, Scheme, Scope, Url, checked_url,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::multipart;
use crate::hosted::{Repeat, VendorError, patiently};

/// The largest answer that is read whole.
const ANSWER_MAX: usize = 64 << 20;

/// One attempt of a short call.
const ATTEMPT: Duration = Duration::from_secs(20);

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
    net: Arc<Net>,
    base: Url,
    credential: Credential,
    organization: Option<String>,
    pub(super) limits: Limits,
}

/// How long calls may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) short: Duration,
    pub(super) create: Duration,
}

/// One call.
struct Call<'a> {
    method: Method,
    url: Url,
    kind: &'static str,
    body: Vec<u8>,
    within: Duration,
    repeat: Repeat,
    what: &'a str,
}

impl Api {
    /// The interface at an address.
    pub(super) fn new(net: Arc<Net>, base: Url, key: Secret, organization: Option<String>) -> Self {
        let credential = Credential {
            owner: "daytona".to_owned(),
            secret: key,
            scope: scope(&base),
            scheme: Scheme::Bearer,
        };
        let limits = Limits { short: Duration::from_secs(40), create: Duration::from_mins(3) };
        Self { net, base, credential, organization, limits }
    }

    /// Makes a sandbox; never twice.
    pub(super) async fn create(&self, new: &NewSandbox) -> Result<Sandbox, VendorError> {
        let body = serde_json::to_value(new).unwrap_or(Value::Null);
        let call = self.call(Method::POST, "sandbox", Some(body));
        let call = Call { within: self.limits.create, repeat: Repeat::OnlyUnacted, ..call };
        read(&self.send(call).await?)
    }

    /// A sandbox by number or name.
    pub(super) async fn get(&self, reference: &str) -> Result<Sandbox, VendorError> {
        let path = format!("sandbox/{reference}");
        read(&self.send(self.call(Method::GET, &path, None)).await?)
    }

    /// The sandboxes with these labels.
    pub(super) async fn list(
        &self,
        labels: &BTreeMap<String, String>,
    ) -> Result<Vec<Sandbox>, VendorError> {
        let mut url = below(&self.base, "sandbox/paginated");
        let labels = serde_json::to_string(labels).unwrap_or_default();
        url.query_pairs_mut().append_pair("labels", &labels).append_pair("limit", "100");
        let call = Call { url, ..self.call(Method::GET, "sandbox/paginated", None) };
        let page: Page = read(&self.send(call).await?)?;
        Ok(page.items)
    }

    /// Starts a stopped sandbox; one that runs is left alone.
    pub(super) async fn start(&self, id: &str) -> Result<(), VendorError> {
        let path = format!("sandbox/{id}/start");
        self.send(self.call(Method::POST, &path, None)).await.map(drop)
    }

    /// Stops a sandbox; its files stay.
    pub(super) async fn stop(&self, id: &str) -> Result<(), VendorError> {
        let path = format!("sandbox/{id}/stop");
        self.send(self.call(Method::POST, &path, None)).await.map(drop)
    }

    /// Removes a sandbox; one that is gone is no fault.
    pub(super) async fn delete(&self, id: &str) -> Result<(), VendorError> {
        let path = format!("sandbox/{id}");
        match self.send(self.call(Method::DELETE, &path, None)).await {
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
        let call = Call { url, within, repeat, ..self.call(Method::POST, "", Some(body)) };
        let call = Call { what: "process/execute", ..call };
        read(&self.send(call).await?)
    }

    /// Writes files; writing the same again is harmless.
    pub(super) async fn upload(
        &self,
        toolbox: &Url,
        files: &[(&str, &[u8])],
    ) -> Result<(), VendorError> {
        let (kind, body) = multipart::encode(files);
        let url = below(toolbox, "files/bulk-upload");
        let request = Request::new(Method::POST, url).header("content-type", &kind)?;
        let within = self.limits.short + Duration::from_secs(body.len() as u64 / 200_000);
        let body = bytes::Bytes::from(body);
        let deadline = Instant::now() + within;
        patiently(deadline, Repeat::Harmless, |left| {
            let request = self.dressed(request.clone().body(body.clone()), left);
            async move { self.answer(request?, left, "files/bulk-upload").await.map(drop) }
        })
        .await
    }

    /// The address of a sandbox's toolbox, when it may have the key.
    pub(super) fn toolbox(&self, sandbox: &Sandbox) -> Result<Url, VendorError> {
        let text = sandbox.toolbox_proxy_url.as_deref().unwrap_or_default();
        let url = checked_url(text).map_err(|error| VendorError::Unknown {
            why: format!("the vendor names no usable toolbox: {error}"),
        })?;
        if !self.credential.scope.permits(&url) {
            let why = format!("the key may go to {} and not to `{url}`", self.credential.scope);
            return Err(VendorError::Refused { why });
        }
        Ok(below(&url, &sandbox.id))
    }

    fn call<'a>(&self, method: Method, what: &'a str, body: Option<Value>) -> Call<'a> {
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let (kind, within, repeat) = ("application/json", self.limits.short, Repeat::Harmless);
        Call { method, url: below(&self.base, what), kind, body, within, repeat, what }
    }

    fn dressed(&self, request: Request, within: Duration) -> Result<Request, VendorError> {
        let mut request = request.header("x-daytona-source", "petasos")?;
        if let Some(organization) = &self.organization {
            request = request.header("x-daytona-organization-id", organization)?;
        }
        Ok(request.credential(Some(self.credential.clone())).first_byte(within))
    }

    async fn send(&self, call: Call<'_>) -> Result<Vec<u8>, VendorError> {
        let deadline = Instant::now() + call.within;
        let body = bytes::Bytes::from(call.body);
        patiently(deadline, call.repeat, |left| {
            let attempt = match call.repeat {
                Repeat::Harmless => left.min(ATTEMPT.max(call.within / 2)),
                Repeat::OnlyUnacted => left,
            };
            let request = Request::new(call.method.clone(), call.url.clone());
            let request = request.header("content-type", call.kind).map_err(VendorError::from);
            let request =
                request.and_then(|request| self.dressed(request.body(body.clone()), attempt));
            async move { self.answer(request?, attempt, call.what).await }
        })
        .await
    }

    async fn answer(
        &self,
        request: Request,
        within: Duration,
        what: &str,
    ) -> Result<Vec<u8>, VendorError> {
        let reply = self.net.send(request).await?;
        let (status, after) = (reply.status, retry_after(&reply));
        let body = reply.bytes(ANSWER_MAX, within).await?;
        if (200..300).contains(&status) {
            return Ok(body.to_vec());
        }
        Err(refusal(status, after, &body, what))
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

fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let whole = format!("{}/{path}", base.path().trim_end_matches('/'));
    url.set_path(&whole);
    url
}

fn retry_after(reply: &Reply) -> Option<Duration> {
    let text = |name: &str| reply.headers.get(name).and_then(|value| value.to_str().ok());
    let seconds = text("retry-after").or_else(|| text("x-ratelimit-reset"))?;
    seconds.trim().parse().ok().map(Duration::from_secs).filter(|after| after.as_secs() < 86_400)
}

fn refusal(status: u16, after: Option<Duration>, body: &[u8], what: &str) -> VendorError {
    let said: Option<Value> = serde_json::from_slice(body).ok();
    let message = said
        .as_ref()
        .and_then(|said| said.get("message"))
        .map(|message| message.as_str().map_or_else(|| message.to_string(), str::to_owned));
    let message: String = message.unwrap_or_default().chars().take(300).collect();
    let why = format!("`{what}` gave HTTP {status} {message}").trim().to_owned();
    match status {
        429 => VendorError::RateLimited { why, after },
        503 if after.is_some() => VendorError::RateLimited { why, after },
        401 | 403 => VendorError::Credential { why },
        404 => VendorError::Missing { why },
        408 | 500.. => VendorError::Unknown { why },
        _ => VendorError::Refused { why },
    }
}

fn read<A: DeserializeOwned>(body: &[u8]) -> Result<A, VendorError> {
    serde_json::from_slice(body).map_err(|error| {
        let head: String = String::from_utf8_lossy(body).chars().take(120).collect();
        VendorError::Unknown { why: format!("the answer cannot be read: {error} in `{head}`") }
    })
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
