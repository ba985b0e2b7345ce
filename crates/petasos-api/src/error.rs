//! What went wrong, in the shape that OpenAI's clients read.

use std::borrow::Cow;

use http::StatusCode;
use petasos_contract::reply::Reason;
use petasos_session::{SessionError, TurnError};
use petasos_store::StoreError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest message, in characters.
const MESSAGE_MAX: usize = 500;

/// An error as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ErrorBody {
    /// What went wrong and what to do.
    pub(crate) message: String,
    /// The family: `invalid_request_error`, `authentication_error`, …
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The field that is meant.
    pub(crate) param: Option<String>,
    /// The exact kind.
    pub(crate) code: Option<String>,
}

/// The frame around an error.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ErrorFrame {
    /// The error.
    pub(crate) error: ErrorBody,
}

/// A refusal or a failure with its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: Cow<'static, str>,
    pub(crate) message: String,
    pub(crate) param: Option<&'static str>,
    /// When it is worth asking again, in seconds.
    pub(crate) retry_after: Option<u64>,
    /// Whether a turn has begun: a client must not ask again by itself.
    pub(crate) begun: bool,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let (code, message) = (Cow::Borrowed(code), message.into());
        let (param, retry_after) = (None, None);
        Self { status, code, message, param, retry_after, begun: false }
    }

    pub(crate) fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// A field that is not as it must be.
    pub(crate) fn field(param: &'static str, message: impl Into<String>) -> Self {
        Self { param: Some(param), ..Self::bad("invalid_value", message) }
    }

    /// A field that is not supported.
    pub(crate) fn unsupported(param: &'static str, message: impl Into<String>) -> Self {
        Self { param: Some(param), ..Self::bad("unsupported_parameter", message) }
    }

    pub(crate) fn not_found(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }

    pub(crate) fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        let error = Self::new(StatusCode::CONFLICT, code, message);
        Self { begun: true, ..error }
    }

    /// The same after a turn began.
    pub(crate) fn begun(self) -> Self {
        Self { begun: true, ..self }
    }

    pub(crate) fn after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// One that a run has told.
    pub(crate) fn told(error: &ErrorBody, status: u16) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let code = error.code.clone().unwrap_or_default();
        let told = Self::new(status, "internal", error.message.clone());
        Self { code: Cow::Owned(code), ..told }.begun()
    }

    /// As clients see it; `redact` masks secrets.
    pub(crate) fn body(&self, redact: &dyn Fn(&str) -> String) -> ErrorBody {
        let message: String = redact(&self.message).chars().take(MESSAGE_MAX).collect();
        ErrorBody {
            message,
            kind: kind(self.status).to_owned(),
            param: self.param.map(str::to_owned),
            code: Some(self.code.clone().into_owned()),
        }
    }
}

/// The family of a status.
fn kind(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        409 => "conflict_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { handle } => {
                Self::not_found("session_not_found", format!("no session `{handle}`"))
            }
            StoreError::TitleTaken { title } => {
                Self::field("title", format!("another session is called `{title}`"))
            }
            StoreError::Leased { session, .. } | StoreError::Conflict { session } => {
                busy(session.as_str())
            }
            error => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", error.to_string())
            }
        }
    }
}

impl From<SessionError> for ApiError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Busy => busy("it"),
            SessionError::Full(_) => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_runs", error.to_string())
            }
            SessionError::Draining => draining(),
            SessionError::NotTaken(_) => Self::bad("not_taken", error.to_string()),
            SessionError::Store(error) => error.into(),
            SessionError::Turn(error) => Self::from(&error),
            SessionError::Ended(_) => Self::conflict("session_busy", error.to_string()),
        }
    }
}

impl From<&TurnError> for ApiError {
    fn from(error: &TurnError) -> Self {
        match error {
            TurnError::Store(error) => Self::from(error.clone()),
            TurnError::TooLong { .. } | TurnError::NoRoom(_) => {
                Self::bad("context_length_exceeded", error.to_string())
            }
            TurnError::Model(model) => match model.reason {
                Reason::ContextOverflow => Self::bad("context_length_exceeded", model.line.clone()),
                _ => Self::new(StatusCode::BAD_GATEWAY, "provider_error", model.line.clone()),
            },
        }
    }
}

fn busy(session: &str) -> ApiError {
    let message =
        format!("a turn of session {session} runs: wait for it, or send X-Petasos-Queue: 1");
    ApiError::conflict("session_busy", message)
}

/// The program is about to end.
pub(crate) fn draining() -> ApiError {
    let message = "the server is about to restart: ask again in a moment";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "draining", message).after(5)
}

/// Something of ours that should not have happened.
pub(crate) fn internal(message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
}
