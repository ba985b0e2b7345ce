//! What every hosted backend is opened from, and making a place of what it brought.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;

use petasos_contract::environment::{Capability, EnvError, Environment, Exports, Isolation};
use petasos_contract::{Secret, Settings};
use petasos_net::{Net, NetOptions};

use super::{HostedSettings, variable};
use petasos_terminal::TerminalSettings;
use petasos_terminal::remote::{Carrier, Profile, Remote};

/// What the settings give.
pub(crate) struct Given {
    pub(crate) hosted: HostedSettings,
    pub(crate) net: Arc<Net>,
    cwd: Option<String>,
}

impl Given {
    /// Reads the settings, once the backend's own check is content with them.
    pub(crate) fn of(
        settings: &Settings,
        usable: fn(&Settings) -> Result<(), String>,
    ) -> Result<Self, EnvError> {
        usable(settings).map_err(EnvError::Settings)?;
        let terminal = TerminalSettings::of(settings)?;
        Ok(Self {
            hosted: HostedSettings::of(settings)?,
            net: Arc::new(Net::new(NetOptions::from_settings(settings))),
            cwd: terminal.cwd().filter(|cwd| !is_of_host(cwd)).map(str::to_owned),
        })
    }

    /// With this folder for commands, unless the settings name one.
    #[cfg(feature = "vercel_sandbox")]
    pub(crate) fn starting_in(mut self, folder: &str) -> Self {
        self.cwd.get_or_insert_with(|| folder.to_owned());
        self
    }

    /// What is said about a sandbox.
    pub(crate) fn profile(self, backend: &'static str, target: String, ptys: bool) -> Profile {
        let pty = ptys.then_some(Capability::Pty);
        Profile {
            backend,
            target,
            isolation: Isolation::Apart,
            cwd: self.cwd,
            base: Exports::new(),
            capabilities: std::iter::once(Capability::Stdin).chain(pty).collect(),
            lifeline: true,
            // A shell that waits would cost calls, and a vendor counts them.
            ahead: false,
        }
    }
}

/// A variable that must be set.
pub(crate) fn required(settings: &Settings, name: &str) -> Result<Secret, EnvError> {
    variable(settings, name).ok_or_else(|| EnvError::Settings(format!("`{name}` is not set")))
}

/// A place on a carrier; when it does not come about, what was brought is taken back.
pub(crate) async fn place<E: Display>(
    carrier: Arc<dyn Carrier>,
    profile: Profile,
    undo: impl Future<Output = Result<(), E>>,
) -> Result<Arc<dyn Environment>, EnvError> {
    let error = match Remote::open(carrier, profile).await {
        Ok(place) => return Ok(place),
        Err(error) => error,
    };
    if let Err(leftover) = undo.await {
        tracing::warn!(%leftover, "a sandbox may be left until its lifetime is over");
    }
    Err(error)
}

/// Paths that mean this machine and nothing over there.
fn is_of_host(path: &str) -> bool {
    let starts = ["/Users/", "/home/", "C:\\", "C:/"];
    let relative = !path.starts_with(['/', '~']);
    (relative || starts.iter().any(|start| path.starts_with(start)))
        && !path.starts_with("/home/daytona")
}
