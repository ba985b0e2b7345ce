//! What a target is, asked once when it is opened: its shell, its home, its login variables.

use std::time::Duration;

use petasos_contract::environment::{EnvError, Exports};

use super::{Carrier, Order, capture};
use crate::exports::exported;

const PROBE: &str = include_str!("scripts/probe.sh");
/// How long a target may take to answer; login files are part of it.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The shell for commands: `bash` where there is one.
    pub(super) shell: String,
    /// The home of whoever we are there.
    pub(super) home: String,
    /// A folder for temporary files.
    pub(super) temp: String,
    /// For people: system and user.
    pub(super) about: String,
    /// What every program there gets without us.
    pub(super) plain: Exports,
    /// What login files change about it.
    pub(super) login: Exports,
}

/// Asks.
pub(super) async fn probe(carrier: &dyn Carrier, target: &str) -> Result<Target, EnvError> {
    let captured = capture(carrier, Order::script(PROBE, &[]), PATIENCE).await?;
    let lost = |why: String| EnvError::NotStarted { what: format!("the {target} terminal"), why };
    // Login files may print before us.
    let text = String::from_utf8_lossy(&captured.output).into_owned();
    let Some((_, text)) = text.split_once("petasos\0") else {
        let said = if captured.errors.is_empty() { text } else { captured.errors };
        let said: String = said.trim().chars().take(400).collect();
        return Err(lost(format!("no POSIX shell answers there (code {}): {said}", captured.code)));
    };
    let mut parts = text.split('\0').map(str::to_owned);
    let mut next = || parts.next().unwrap_or_default();
    let (shell, home, temp) = (next(), next(), next());
    let (user, system) = (next(), next());
    if temp.is_empty() {
        return Err(lost("it has no folder that can be written".to_owned()));
    }
    let plain = exported(&next());
    let mut login = exported(&next());
    login.retain(|name, value| plain.get(name) != Some(value) && !passing(name));
    Ok(Target { shell, home, temp, about: format!("{system}, user {user}"), plain, login })
}

fn passing(name: &str) -> bool {
    matches!(name, "_" | "SHLVL" | "PWD" | "OLDPWD" | "TERM")
}
