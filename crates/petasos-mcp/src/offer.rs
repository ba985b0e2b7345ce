//! What a server offers, in our own words: tools, resources and prompts behind one trait.
//!
//! [`crate::server`] speaks the protocol for whoever implements it. Ours is
//! [`crate::server::Toolbox`]; the conformance suite has one of its own.

use petasos_contract::BoxFuture;
use serde_json::{Map, Value};

use crate::content::{Attached, Piece};
use crate::server::Caller;

/// Who the server says it is.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What a model should know about it.
    pub instructions: Option<String>,
    /// What it can do beside tools.
    pub abilities: Vec<Ability>,
}

/// Something that a server can do beside offering tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    /// Resources can be read.
    Resources,
    /// Resources can be watched.
    Watching,
    /// Prompts can be fetched.
    Prompts,
    /// Arguments are completed.
    Completion,
    /// Log messages are sent.
    Logging,
}

/// A tool.
#[derive(Debug, Clone, Default)]
pub struct OfferedTool {
    /// The name on the wire.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Map<String, Value>,
    /// Whether it changes nothing.
    pub read_only: Option<bool>,
    /// Whether calling it again changes nothing more.
    pub idempotent: Option<bool>,
}

/// A resource, or a template of addresses.
#[derive(Debug, Clone, Default)]
pub struct OfferedResource {
    /// The address, or its template.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// What it holds.
    pub description: String,
    /// Its media type.
    pub mime_type: String,
}

/// A prompt.
#[derive(Debug, Clone, Default)]
pub struct OfferedPrompt {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its arguments: name, description, whether it must be given.
    pub arguments: Vec<(String, String, bool)>,
}

/// The result of a call.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// What the caller reads.
    pub content: Vec<Piece>,
    /// The same as a value, where there is one.
    pub structured: Option<Value>,
    /// Whether it is an error.
    pub is_error: bool,
}

/// A request that cannot be answered at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// No such tool, resource or prompt.
    #[error("there is no {kind} `{name}`")]
    Unknown {
        /// What was looked for.
        kind: &'static str,
        /// By which name.
        name: String,
    },
    /// The request does not fit.
    #[error("{0}")]
    Invalid(String),
    /// It failed here.
    #[error("{0}")]
    Failed(String),
}

/// What a server offers.
pub trait Offer: Send + Sync + 'static {
    /// Who it is.
    fn identity(&self) -> Identity;

    /// Its tools, in a stable order.
    fn tools<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Vec<OfferedTool>>;

    /// Calls one of them.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Outcome, OfferError>>;

    /// A number that changes when the list of tools does.
    fn tools_version(&self) -> u64 {
        0
    }

    /// Its resources.
    fn resources(&self) -> BoxFuture<'_, Vec<OfferedResource>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Its templates of resources.
    fn templates(&self) -> Vec<OfferedResource> {
        Vec::new()
    }

    /// Reads a resource.
    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<Attached, OfferError>> {
        let unknown = OfferError::Unknown { kind: "resource", name: uri.to_owned() };
        Box::pin(std::future::ready(Err(unknown)))
    }

    /// Its prompts.
    fn prompts(&self) -> Vec<OfferedPrompt> {
        Vec::new()
    }

    /// Fills in a prompt; each piece is a message of the user.
    fn prompt(
        &self,
        name: &str,
        _arguments: &Map<String, Value>,
    ) -> Result<Vec<Piece>, OfferError> {
        Err(OfferError::Unknown { kind: "prompt", name: name.to_owned() })
    }
}
