//! Secrets: where they are kept, how one is chosen, how a login is renewed.
//!
//! Reading makes a [`VaultView`], an immutable picture that the pure resolver works on; it never
//! writes. Everything that writes goes through [`Vault`], under a lock that other processes honour.

pub mod aws;
pub mod borrowed;
pub mod command;
pub mod copilot;
pub mod jwt;
pub mod keep;
pub mod keyring;
pub mod login;
pub mod minted;
pub mod oauth;
pub mod pool;
pub mod refresh;
pub mod services;
pub mod spec;
pub mod store;
pub mod usable;
pub mod zai;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use petasos_contract::Settings;

use crate::credential::aws::AwsProfiles;
use crate::credential::borrowed::{ClaudeCode, CliLogin};
use crate::credential::command::{PrintedSecret, SecretCommand};
use crate::credential::keyring::{Asked, Keyring, Wish};
use crate::credential::store::AuthFile;
use crate::local::LocalServer;
use crate::table::Table;

/// Where the secrets of one snapshot live.
#[derive(Debug, Clone)]
pub struct Vault {
    home: PathBuf,
    /// The home above a profile's own: its logins serve the profile too, read only.
    root: Option<PathBuf>,
    claude_code: PathBuf,
    codex_cli: PathBuf,
    qwen_cli: PathBuf,
    keyring: Arc<dyn Keyring>,
    /// What the user wants done with the keyring.
    wish: Wish,
}

impl Vault {
    /// The vault of a snapshot; nothing is read yet.
    pub fn of(settings: &Settings) -> Self {
        let user = settings.user_home();
        let codex = settings.variable("CODEX_HOME").map(|variable| variable.value.expose().trim());
        let codex = codex.filter(|text| !text.is_empty()).map(PathBuf::from);
        Self {
            home: settings.home().to_owned(),
            root: root_of(settings.home()),
            claude_code: user.join(".claude/.credentials.json"),
            codex_cli: codex.unwrap_or_else(|| user.join(".codex")).join("auth.json"),
            qwen_cli: user.join(".qwen/oauth_creds.json"),
            keyring: keyring::of_system(settings),
            wish: Wish::of(settings),
        }
    }

    /// The same vault with another keyring.
    #[must_use]
    pub fn with_keyring(mut self, keyring: Arc<dyn Keyring>) -> Self {
        self.keyring = keyring;
        self
    }

    /// The keyring, and what the user wants done with it.
    pub(crate) fn keyring(&self) -> (&Arc<dyn Keyring>, Wish) {
        (&self.keyring, self.wish)
    }

    /// The agent home, which holds `auth.json`.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The home whose store holds a provider's login: the profile's own, else the root's. A renewed
    /// token is written where it came from.
    pub fn holder_of(&self, provider: &str) -> &Path {
        let holds =
            |home: &Path| AuthFile::read(home).is_ok_and(|file| file.login(provider).is_some());
        match &self.root {
            Some(root) if !holds(&self.home) && holds(root) => root,
            _ => &self.home,
        }
    }

    /// The home whose store holds a pool: the profile's own, else the root's.
    pub fn pool_holder(&self, pool: &str) -> &Path {
        let holds =
            |home: &Path| AuthFile::read(home).is_ok_and(|file| !file.pool(pool).is_empty());
        match &self.root {
            Some(root) if !holds(&self.home) && holds(root) => root,
            _ => &self.home,
        }
    }

    /// Claude Code's file.
    pub fn claude_code(&self) -> &Path {
        &self.claude_code
    }

    /// The Qwen program's file.
    pub fn qwen_cli(&self) -> &Path {
        &self.qwen_cli
    }

    /// Reads everything once. Files that are missing are empty; what cannot be read is named in
    /// [`VaultView::problems`]. May wait for the keyring, if keys are in it.
    pub fn view(&self, settings: &Settings) -> VaultView {
        let mut view = self.files(settings);
        if let Some(asked) = self.asked(&mut view) {
            keyring::fill(&mut view, keyring::within(|| asked.fetch()));
        }
        view
    }

    /// The same without blocking the runtime while the keyring is asked.
    pub async fn view_soon(&self, settings: &Settings) -> VaultView {
        let mut view = self.files(settings);
        if let Some(asked) = self.asked(&mut view) {
            let fetched = keyring::soon(|| asked.fetch()).await;
            keyring::fill(&mut view, fetched);
        }
        view
    }

    fn asked(&self, view: &mut VaultView) -> Option<Asked> {
        let homes: Vec<&Path> =
            std::iter::once(self.home.as_path()).chain(self.root.as_deref()).collect();
        let keyring = (self.wish != Wish::Never).then_some(&self.keyring);
        Asked::of(keyring, &homes, view)
    }

    fn files(&self, settings: &Settings) -> VaultView {
        let (table, mut problems) = Table::of(settings);
        let mut store = note(AuthFile::read(&self.home), &mut problems).unwrap_or_default();
        if let Some(root) = &self.root {
            store.fall_back_on(&note(AuthFile::read(root), &mut problems).unwrap_or_default());
        }
        let claude_code = note(ClaudeCode::read(&self.claude_code), &mut problems).flatten();
        let codex_cli = note(CliLogin::read_codex(&self.codex_cli), &mut problems).flatten();
        let qwen_cli = note(CliLogin::read_qwen(&self.qwen_cli), &mut problems).flatten();
        let aws = note(AwsProfiles::read(settings), &mut problems).unwrap_or_default();
        let now_ms = now_ms();
        VaultView {
            table,
            store,
            claude_code,
            codex_cli,
            qwen_cli,
            aws,
            aws_fetched: None,
            printed: BTreeMap::new(),
            local: Vec::new(),
            now_ms,
            draw: now_ms,
            problems,
        }
    }
}

/// A profile lives in `<root>/profiles/<name>`.
fn root_of(home: &Path) -> Option<PathBuf> {
    let profiles =
        home.parent().filter(|folder| folder.file_name().is_some_and(|name| name == "profiles"))?;
    profiles.parent().map(Path::to_owned)
}

fn note<T, E: fmt::Display>(outcome: Result<T, E>, problems: &mut Vec<String>) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(error) => {
            problems.push(error.to_string());
            None
        }
    }
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// An immutable picture of every secret at rest, and of the time it was taken.
#[derive(Debug, Clone)]
pub struct VaultView {
    /// The providers.
    pub table: Arc<Table>,
    /// The auth store.
    pub store: AuthFile,
    /// Claude Code's login.
    pub claude_code: Option<ClaudeCode>,
    /// The Codex program's login.
    pub codex_cli: Option<CliLogin>,
    /// The Qwen program's login.
    pub qwen_cli: Option<CliLogin>,
    /// The profiles of Amazon's tools.
    pub aws: AwsProfiles,
    /// Keys that Amazon handed to this container, cluster or machine; filled by whoever fetched them.
    pub aws_fetched: Option<minted::amazon::Fetched>,
    /// Keys that programs printed; filled by whoever ran them.
    pub printed: BTreeMap<SecretCommand, PrintedSecret>,
    /// Model servers found on this machine; filled by whoever probed.
    pub local: Vec<LocalServer>,
    /// When the picture was taken.
    pub now_ms: u64,
    /// A number for the `random` strategy: the resolver itself draws nothing.
    pub draw: u64,
    /// What could not be read.
    pub problems: Vec<String>,
}

impl VaultView {
    /// A picture of an empty vault at a given time.
    pub fn empty(now_ms: u64) -> Self {
        Self {
            table: Table::built_in(),
            store: AuthFile::default(),
            claude_code: None,
            codex_cli: None,
            qwen_cli: None,
            aws: AwsProfiles::default(),
            aws_fetched: None,
            printed: BTreeMap::new(),
            local: Vec::new(),
            now_ms,
            draw: 0,
            problems: Vec::new(),
        }
    }
}
