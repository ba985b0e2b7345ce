//! What the settings want of a scanner, and where its program is.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use petasos_contract::Settings;
use serde_json::Value;

use crate::settings::{ApprovalSettingsError, seconds};

/// The program that is taken where it is found when none is named.
const PROGRAM: &str = "tirith";

const TIMEOUT: Duration = Duration::from_secs(5);

/// What the settings want of a scanner.
#[derive(Debug)]
pub struct Wish {
    named: Option<String>,
    /// How long a scan may take.
    pub(super) timeout: Duration,
    /// Whether a command passes when a scan fails.
    pub(super) fail_open: bool,
    /// Where the program is, looked for once.
    found: OnceLock<Option<PathBuf>>,
}

impl Wish {
    /// Reads a snapshot; nothing where scanning is off.
    pub(crate) fn read(settings: &Settings) -> Result<Option<Self>, ApprovalSettingsError> {
        if !flag(settings, "security.tirith_enabled")? {
            return Ok(None);
        }
        let named = settings.text("security.tirith_path").map(str::trim);
        Ok(Some(Self {
            named: named.filter(|name| !name.is_empty()).map(str::to_owned),
            timeout: seconds(settings, "security.tirith_timeout", TIMEOUT)?,
            fail_open: flag(settings, "security.tirith_fail_open")?,
            found: OnceLock::new(),
        }))
    }

    /// Whether nobody misses a scanner that is not there.
    pub(super) fn is_optional(&self) -> bool {
        self.named.is_none() && self.fail_open
    }

    /// What people call the program.
    pub(super) fn name(&self, settings: &Settings) -> String {
        let found = self.program(settings).map(|path| path.display().to_string());
        found.unwrap_or_else(|| self.named.clone().unwrap_or_else(|| PROGRAM.to_owned()))
    }

    /// Where the program is.
    pub(super) fn program(&self, settings: &Settings) -> Option<&Path> {
        let find = || find(self.named.as_deref().unwrap_or(PROGRAM), settings);
        self.found.get_or_init(find).as_deref()
    }
}

/// A path as it is, below the user's home at most; a name in the agent's own folder of programs
/// and then on the search path.
fn find(name: &str, settings: &Settings) -> Option<PathBuf> {
    let is_file = |path: &PathBuf| path.is_file();
    if name.contains('/') {
        let inside = name.strip_prefix("~/").unwrap_or(name);
        return Some(settings.user_home().join(inside)).filter(is_file);
    }
    let path = settings.variable("PATH").map_or("", |path| path.value.expose());
    std::iter::once(settings.home().join("bin"))
        .chain(std::env::split_paths(path))
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(is_file)
}

/// A switch that is on unless it is turned off.
fn flag(settings: &Settings, key: &'static str) -> Result<bool, ApprovalSettingsError> {
    match settings.get(key) {
        None | Some(Value::Null) => Ok(true),
        Some(Value::Bool(is_on)) => Ok(*is_on),
        Some(_) => Err(ApprovalSettingsError::Kind { key, expected: "true or false" }),
    }
}
