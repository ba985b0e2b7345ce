//! Whoever is connected: told about progress, asked through its own host.
//!
//! Server-to-client requests exist up to protocol 2025-11-25, which is why the server offers no
//! later one.
#![expect(deprecated, reason = "sampling and logging are what the offered protocol versions have")]

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use petasos_contract::wait;
use rmcp::RoleServer;
use rmcp::model::{
    CreateMessageRequestParams, ElicitRequestParams, ElicitationAction,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::Peer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::content::reread;

/// How long telling a client something may take before it is dropped.
const TELL: Duration = Duration::from_secs(2);

/// The levels of log messages, from talkative to quiet.
pub(super) const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// A connected client, for the length of one request.
#[derive(Clone)]
pub struct Caller {
    pub(super) peer: Peer<RoleServer>,
    pub(super) session: Arc<str>,
    pub(super) token: Option<ProgressToken>,
    pub(super) cancel: CancellationToken,
    pub(super) quietest: Arc<AtomicU8>,
    pub(super) line: Option<super::http::Line>,
}

/// What the client's user said.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// Yes, with what was filled in.
    Accepted(Value),
    /// No.
    Declined,
    /// Neither: the question was closed.
    Dismissed,
}

/// A question that got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The client has no way to ask.
    #[error("the connected client cannot {what}")]
    Unable {
        /// What it cannot do.
        what: &'static str,
    },
    /// No answer in time.
    #[error("the connected client did not answer in time")]
    Late,
    /// The client failed.
    #[error("the connected client refused: {0}")]
    Refused(String),
}

impl Caller {
    /// The connection it belongs to.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Ends when the client takes its request back, or goes away.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Whether it wants to be told about progress.
    pub fn wants_progress(&self) -> bool {
        self.token.is_some()
    }

    /// Tells progress, if it is wanted.
    pub async fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let Some(token) = self.token.clone() else { return };
        let mut told = ProgressNotificationParam::new(token, done);
        told.total = total;
        told.message = message;
        settle(self.peer.notify_progress(told)).await;
    }

    /// Sends a log message of one of the usual levels, unless the client wants fewer.
    pub async fn log(&self, level: &str, logger: &str, data: Value) {
        let rank = LEVELS.iter().position(|known| *known == level).unwrap_or(1);
        if rank < usize::from(self.quietest.load(Ordering::Relaxed)) {
            return;
        }
        let message = json!({ "level": level, "logger": logger, "data": data });
        if let Some(message) = reread::<LoggingMessageNotificationParam>(&message) {
            settle(self.peer.notify_logging_message(message)).await;
        }
    }

    /// Whether its user can be asked.
    pub fn can_ask(&self) -> bool {
        self.able("elicitation")
    }

    /// Asks its user to fill in a form.
    pub async fn ask(
        &self,
        message: &str,
        schema: Value,
        within: Duration,
    ) -> Result<Asked, AskError> {
        if !self.can_ask() {
            return Err(AskError::Unable { what: "ask its user (no `elicitation` capability)" });
        }
        let form = json!({ "mode": "form", "message": message, "requestedSchema": schema });
        let form: ElicitRequestParams = serde_json::from_value(form)
            .map_err(|error| AskError::Refused(format!("the form is not valid: {error}")))?;
        let asking = self.peer.create_elicitation_with_timeout(form, Some(within));
        let answer = self.answered(asking, within).await?;
        Ok(match answer.action {
            ElicitationAction::Accept => {
                Asked::Accepted(answer.content.unwrap_or_else(|| json!({})))
            }
            ElicitationAction::Decline => Asked::Declined,
            _ => Asked::Dismissed,
        })
    }

    /// Asks its model for a completion; both sides in the protocol's own shape.
    pub async fn sample(&self, request: Value, within: Duration) -> Result<Value, AskError> {
        if !self.able("sampling") {
            return Err(AskError::Unable { what: "ask a model (no `sampling` capability)" });
        }
        let request: CreateMessageRequestParams = serde_json::from_value(request)
            .map_err(|error| AskError::Refused(format!("the request is not valid: {error}")))?;
        let answer = self.answered(self.peer.create_message(request), within).await?;
        serde_json::to_value(answer).map_err(|error| AskError::Refused(error.to_string()))
    }

    /// Tells that a watched resource has changed.
    pub async fn resource_changed(&self, uri: &str) {
        let told = rmcp::model::ResourceUpdatedNotificationParam::new(uri);
        settle(self.peer.notify_resource_updated(told)).await;
    }

    /// Lets the client's connection go while the request is still worked on: it comes back for the
    /// answer. Only a streaming HTTP connection can be let go; elsewhere nothing happens.
    pub fn let_go(&self) {
        if let Some(line) = &self.line {
            line.let_go();
        }
    }

    fn able(&self, ability: &str) -> bool {
        let client = self.peer.peer_info();
        let abilities = client.and_then(|client| serde_json::to_value(&client.capabilities).ok());
        abilities
            .is_some_and(|abilities| abilities.get(ability).is_some_and(|able| !able.is_null()))
    }

    async fn answered<T, E: fmt::Display>(
        &self,
        asking: impl Future<Output = Result<T, E>>,
        within: Duration,
    ) -> Result<T, AskError> {
        let waited = wait::until(Instant::now() + within, "an answer of the MCP client", asking);
        tokio::select! {
            answer = waited => match answer {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(error)) => Err(AskError::Refused(error.to_string())),
                Err(_) => Err(AskError::Late),
            },
            () = self.cancel.cancelled() => Err(AskError::Refused("the call was cancelled".to_owned())),
        }
    }
}

/// A client that does not take what it is told loses it; the call goes on.
async fn settle<E: fmt::Display>(telling: impl Future<Output = Result<(), E>>) {
    match wait::until(Instant::now() + TELL, "the MCP client to take a message", telling).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the MCP client was not told"),
        Err(error) => tracing::debug!(%error, "the MCP client was not told"),
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("session", &self.session).finish_non_exhaustive()
    }
}
