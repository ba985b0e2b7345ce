//! The settings under `browser`.

use std::collections::BTreeMap;
use std::time::Duration;

use petasos_contract::settings::Section;
use serde::Deserialize;

/// What becomes of a dialog of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DialogPolicy {
    #[default]
    MustRespond,
    AutoAccept,
    AutoDismiss,
}

/// Whether the browser's own sandbox must work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SandboxWish {
    #[default]
    Auto,
    Required,
}

/// A secret that is typed without the model seeing it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct TypedSecret {
    /// The variable that holds it.
    pub(crate) env: String,
    /// The hosts it may be typed on.
    pub(crate) hosts: Vec<String>,
}

/// What the look at a page may take beside the usual time of an action.
const LOOK: Duration = Duration::from_secs(8);

/// The section.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the configuration file")]
pub struct BrowserSettings {
    pub(crate) path: Option<String>,
    pub(crate) cdp_url: Option<String>,
    pub(crate) cdp_insecure: bool,
    pub(crate) raw_cdp: bool,
    pub(crate) headed: bool,
    pub(crate) restrict_evaluate: bool,
    pub(crate) action_changes: bool,
    pub(crate) sandbox: SandboxWish,
    pub(crate) user_agent: Option<String>,
    pub(crate) dialog_policy: DialogPolicy,
    pub(crate) dialog_timeout_s: f64,
    pub(crate) command_timeout: f64,
    pub(crate) inactivity_timeout: f64,
    pub(crate) settle_ms: u64,
    pub(crate) max_sessions: usize,
    pub(crate) max_mb: u64,
    pub(crate) memory_max_mb: u64,
    pub(crate) profile: Option<String>,
    pub(crate) cloud_provider: Option<String>,
    pub(crate) auto_local_for_private_urls: bool,
    pub(crate) download_max_mb: u64,
    pub(crate) record_sessions: bool,
    pub(crate) secrets: BTreeMap<String, TypedSecret>,
}

impl Default for BrowserSettings {
    fn default() -> Self {
        Self {
            path: None,
            cdp_url: None,
            cdp_insecure: false,
            raw_cdp: false,
            headed: false,
            restrict_evaluate: false,
            action_changes: true,
            sandbox: SandboxWish::Auto,
            user_agent: None,
            dialog_policy: DialogPolicy::MustRespond,
            dialog_timeout_s: 300.0,
            command_timeout: 30.0,
            inactivity_timeout: 120.0,
            settle_ms: 8_000,
            max_sessions: 50,
            max_mb: 200,
            memory_max_mb: 4_096,
            profile: None,
            cloud_provider: None,
            auto_local_for_private_urls: true,
            download_max_mb: 100,
            record_sessions: false,
            secrets: BTreeMap::new(),
        }
    }
}

impl Section for BrowserSettings {
    const NAME: &'static str = "browser";
}

impl BrowserSettings {
    /// Whether a browser of somebody else is named.
    pub fn attaches(&self) -> bool {
        self.cdp_url.as_deref().is_some_and(|url| !url.trim().is_empty())
    }

    /// Whether the browser is one that is not started here.
    pub fn is_elsewhere(&self) -> bool {
        let cloud = self.cloud_provider.as_deref().map(str::trim).unwrap_or_default();
        self.attaches() || !matches!(cloud, "" | "local")
    }

    /// Whether the bare protocol is offered.
    pub fn offers_raw(&self) -> bool {
        self.raw_cdp || self.attaches()
    }

    pub(crate) fn command(&self) -> Duration {
        seconds(self.command_timeout, 30.0)
    }

    /// How long one look at a page may take; who gives actions more time gives looks more.
    pub(crate) fn look(&self) -> Duration {
        LOOK.max(LOOK.mul_f64(self.command().as_secs_f64() / 30.0))
    }

    pub(crate) fn idle(&self) -> Duration {
        seconds(self.inactivity_timeout, 120.0)
    }

    pub(crate) fn dialog(&self) -> Duration {
        seconds(self.dialog_timeout_s, 300.0)
    }

    pub(crate) fn settle(&self) -> Duration {
        Duration::from_millis(self.settle_ms)
    }
}

fn seconds(given: f64, usual: f64) -> Duration {
    let sound = given.is_finite() && (0.05..=86_400.0).contains(&given);
    Duration::from_secs_f64(if sound { given } else { usual })
}
