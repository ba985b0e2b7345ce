//! The one resolver: a request and two snapshots in, a runtime and the reasons out.
//!
//! Pure: no clock, no disk, no network. Every surface, side task, fallback and model switch calls
//! [`resolve`]; `provider explain` prints the trace of that same call.

mod anthropic;
mod api_key;
mod assemble;
mod choose;
mod cloud;
mod custom;
mod endpoint;
mod entry;
mod keys;
mod login;
mod openrouter;
mod saved;
mod scene;
pub mod view;

use petasos_contract::{Secret, Settings};
use serde::Serialize;

use crate::credential::VaultView;
use crate::credential::command::SecretCommand;
use crate::runtime::ProviderRuntime;
use scene::Scene;

/// What somebody asks for. Everything is optional: an empty request means the saved choice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// A provider id, alias, `custom:<name>` or `auto`.
    pub provider: Option<String>,
    /// The model about to be used.
    pub model: Option<String>,
    /// An endpoint.
    pub base_url: Option<String>,
    /// A key for it.
    pub api_key: Option<Secret>,
    /// A variable that holds the key, for entries of the configuration that name one.
    pub key_env: Option<String>,
    /// A dialect, for entries of the configuration that name one.
    pub api_mode: Option<String>,
    /// Whether the variable that selects a provider is passed over, as scheduled jobs do.
    pub ignores_selection_variable: bool,
}

impl Request {
    /// A request for a provider by name.
    pub fn of(provider: &str) -> Self {
        Self { provider: Some(provider.to_owned()), ..Self::default() }
    }
}

/// What happened to a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is in force.
    Taken,
    /// It was there and may not be used.
    Refused,
    /// It was not there, or something else came first.
    Passed,
}

/// One candidate that was considered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The rule that considered it.
    pub rule: &'static str,
    /// What was considered.
    pub what: String,
    /// What happened to it.
    pub verdict: Verdict,
    /// Why.
    pub why: String,
}

/// Why there is no runtime.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize)]
#[error("{message}")]
pub struct ResolveError {
    /// Stable name of the kind of failure.
    pub code: &'static str,
    /// One line for people.
    pub message: String,
    /// The provider it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether a person must log in again.
    pub relogin_required: bool,
}

impl ResolveError {
    pub(crate) fn new(code: &'static str, provider: &str, message: String) -> Self {
        let provider = (!provider.is_empty()).then(|| provider.to_owned());
        Self { code, message, provider, hint: None, relogin_required: false }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The answer and the reasons for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The runtime, or why there is none.
    pub outcome: Result<ProviderRuntime, ResolveError>,
    /// Every candidate considered, in order.
    pub trace: Vec<Candidate>,
    /// Commands whose output is needed first: the outcome counts when this is empty.
    pub wants: Vec<SecretCommand>,
}

pub(crate) type Outcome = Result<ProviderRuntime, ResolveError>;

/// A rule: an answer, or nothing when the next rule should look.
pub(crate) type Rule = fn(&mut Scene<'_>) -> Option<Outcome>;

/// The rules in order; the first answer wins and its name is in the trace.
pub(crate) const RULES: &[(&str, Rule)] = &[
    ("disabled provider", choose::disabled),
    ("mixture of agents", cloud::mixture),
    ("named custom entry", custom::named),
    ("saved endpoint without provider", custom::saved_endpoint),
    ("automatic choice", choose::automatic),
    ("known provider", choose::known),
    ("custom endpoint", custom::plain),
    ("openrouter", openrouter::openrouter),
    ("anthropic", anthropic::anthropic),
    ("azure foundry", cloud::azure_foundry),
    ("vertex", cloud::vertex),
    ("bedrock", cloud::bedrock),
    ("copilot process", cloud::copilot_process),
    ("codex process", cloud::codex_process),
    ("login", login::login),
    ("api key", api_key::api_key),
];

/// Resolves a request.
pub fn resolve(request: &Request, settings: &Settings, vault: &VaultView) -> Resolved {
    let mut scene = Scene::new(request, settings, vault);
    for (name, rule) in RULES {
        scene.rule = name;
        if let Some(outcome) = rule(&mut scene) {
            return scene.close(outcome);
        }
    }
    let message = format!("no rule answers for provider `{}`", scene.requested);
    let outcome = Err(ResolveError::new("no_rule", &scene.requested, message));
    scene.close(outcome)
}

#[cfg(test)]
mod tests;
