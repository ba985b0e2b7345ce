//! What the server asks of the program around it.

use std::sync::Arc;

use petasos_contract::{Address, SessionId};
use petasos_session::Choice;
use serde_json::Value;

use crate::options::ModelRoute;

/// What a conversation over HTTP is to choose.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// Whose tools: `api_server` or `webhook`.
    pub platform: &'static str,
    /// Only these toolsets, of those that the platform has.
    pub toolsets: Option<Vec<String>>,
    /// These toolsets instead of those that the platform has.
    pub instead: Option<Vec<String>>,
    /// Which model.
    pub route: ModelRoute,
    /// Text at the end of the system prompt.
    pub instructions: Option<String>,
    /// Whether the model may ask somebody.
    pub may_ask: bool,
}

/// The program around the server.
pub trait ApiHost: Send + Sync {
    /// What a conversation chooses.
    fn wished(&self, wish: &Wish) -> Choice;

    /// Where a conversation is reached, and whether somebody can be asked. Commands of it are
    /// confined as those of an unattended one.
    fn reached(&self, session: &SessionId, address: &Arc<Address>, attended: bool);

    /// Masks secrets.
    fn redact(&self, text: &str) -> String;

    /// Why no tool runs at the moment, when everything was stopped.
    fn halted(&self) -> Option<String>;

    /// The toolsets of the platform, for clients.
    fn toolsets(&self) -> Value;
}
