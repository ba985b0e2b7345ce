//! What commands print about a resolution: the runtime with its key masked, or the error, and the
//! trace.

use petasos_contract::Secret;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Candidate, ResolveError, Resolved};
use crate::credential::jwt;
use crate::mode::{ApiMode, Wire};
use crate::runtime::{EndpointKind, Launch, Notice, ProviderRuntime, Source};

/// A runtime as `provider resolve --json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuntimeView {
    /// Canonical id.
    pub provider: String,
    /// The dialect.
    pub api_mode: ApiMode,
    /// Where.
    pub base_url: String,
    /// The key, masked; null when none is sent.
    pub api_key: Option<String>,
    /// Where the key came from.
    pub source: Source,
    /// The name asked for.
    pub requested_provider: String,
    /// When the key ends.
    pub expires_at: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The transport.
    pub wire: Wire,
    /// Whether the user configured the endpoint.
    pub endpoint_kind: EndpointKind,
    /// The origins that the key may go to.
    pub allowed_origins: Vec<String>,
    /// The program that is started, where one is.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub launch: Option<Launch>,
    /// What a person should be told once.
    pub notices: Vec<Notice>,
}

impl From<&ProviderRuntime> for RuntimeView {
    fn from(runtime: &ProviderRuntime) -> Self {
        let credential = runtime.credential.as_ref();
        let origins = credential.map_or(&[][..], |credential| credential.scope.rules());
        Self {
            provider: runtime.provider.clone(),
            api_mode: runtime.api_mode,
            base_url: runtime.base_url.to_string(),
            api_key: credential.map(|credential| masked(&credential.secret)),
            source: runtime.source.clone(),
            requested_provider: runtime.requested.clone(),
            expires_at: runtime
                .expiry
                .and_then(|expiry| expiry.at_ms)
                .filter(|at| *at > 0)
                .map(jwt::format_date),
            model: runtime.model.clone(),
            wire: runtime.wire,
            endpoint_kind: runtime.endpoint_kind,
            allowed_origins: origins.iter().map(ToString::to_string).collect(),
            launch: runtime.launch.clone(),
            notices: runtime.notices.clone(),
        }
    }
}

/// Dots and the last four characters; only dots when that would be most of it.
pub fn masked(secret: &Secret) -> String {
    let count = secret.expose().chars().count();
    if count < 6 {
        return "••••".to_owned();
    }
    let tail: String = secret.expose().chars().skip(count - 4).collect();
    format!("••••{tail}")
}

impl Resolved {
    /// The object that `provider resolve --json` prints.
    pub fn to_json(&self) -> Value {
        match &self.outcome {
            Ok(runtime) => {
                let mut view = json!(RuntimeView::from(runtime));
                if let Some(object) = view.as_object_mut() {
                    object.insert("trace".to_owned(), json!(self.trace));
                }
                view
            }
            Err(error) => error_json(error, &self.trace),
        }
    }
}

fn error_json(error: &ResolveError, trace: &[Candidate]) -> Value {
    let mut error = json!(error);
    if let Some(object) = error.as_object_mut() {
        object.insert("trace".to_owned(), json!(trace));
    }
    json!({ "error": error })
}
