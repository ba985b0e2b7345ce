//! Logins that belong to other programs: Claude Code, Codex, Qwen. Read here; only a renewal
//! writes, and only where the owner would look for it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::credential::login::Login;

/// A file that is there and cannot be understood.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is passed over: {problem}", path.display())]
pub struct Unreadable {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub problem: String,
}

/// Reads a JSON file; a missing one is nothing.
pub(crate) fn json(path: &Path) -> Result<Option<Value>, Unreadable> {
    let unreadable = |problem: String| Unreadable { path: path.to_owned(), problem };
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error.to_string())),
    };
    // The parser's message names a position and never quotes the text.
    serde_json::from_slice(&bytes).map(Some).map_err(|error| unreadable(error.to_string()))
}

/// Claude Code's login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaudeCode {
    /// The tokens.
    pub login: Login,
}

impl ClaudeCode {
    /// How long before its end a token no longer counts as valid.
    pub const SKEW_MS: u64 = 60_000;

    /// Reads the file.
    pub fn read(path: &Path) -> Result<Option<Self>, Unreadable> {
        Ok(json(path)?.as_ref().and_then(Self::from_value))
    }

    /// Takes the file's content.
    pub fn from_value(value: &Value) -> Option<Self> {
        let own = value.get("claudeAiOauth")?;
        let renamed = serde_json::json!({
            "access_token": own.get("accessToken"),
            "refresh_token": own.get("refreshToken"),
            "expires_at_ms": own.get("expiresAt"),
        });
        Login::from_value(&renamed).map(|login| Self { login })
    }

    /// Whether it can be renewed without a person.
    pub fn is_refreshable(&self) -> bool {
        self.login.refresh.is_some()
    }
}

/// The login of another command-line program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliLogin {
    /// The tokens.
    pub login: Login,
    /// The host it was issued for, where the program records it.
    pub resource: Option<String>,
}

impl CliLogin {
    /// Reads the Codex program's file.
    pub fn read_codex(path: &Path) -> Result<Option<Self>, Unreadable> {
        let found = json(path)?;
        let login = found.as_ref().and_then(Login::from_value);
        Ok(login.map(|login| Self { login, resource: None }))
    }

    /// Reads the Qwen program's file.
    pub fn read_qwen(path: &Path) -> Result<Option<Self>, Unreadable> {
        let found = json(path)?;
        let resource = found.as_ref().and_then(|value| value.get("resource_url")?.as_str());
        let resource = resource.map(str::to_owned);
        let login = found.as_ref().and_then(Login::from_value);
        Ok(login.map(|login| Self { login, resource }))
    }
}
