//! The keys of `terminal` that hosted sandboxes obey, and the credentials beside them.

use petasos_contract::environment::EnvError;
use petasos_contract::settings::Section;
use petasos_contract::{Secret, Settings};
use petasos_net::{Url, checked_url};
use serde::Deserialize;

/// The image of a sandbox when none is chosen.
const IMAGE: &str = "nikolaik/python-nodejs:python3.11-nodejs20";

/// The keys as they are written.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub(crate) struct HostedSettings {
    /// Processors.
    pub(crate) container_cpu: f64,
    /// Megabytes of memory.
    pub(crate) container_memory: u64,
    /// Megabytes of disk.
    pub(crate) container_disk: u64,
    /// Whether files outlive the program.
    pub(crate) container_persistent: bool,
    /// Modal's image: a name of a registry, or `im-…`.
    pub(crate) modal_image: String,
    /// How Modal is reached.
    pub(crate) modal_mode: String,
    /// Daytona's image.
    pub(crate) daytona_image: String,
    /// Vercel's runtime.
    pub(crate) vercel_runtime: String,
    /// Seconds a command may take.
    pub(crate) timeout: f64,
}

impl Default for HostedSettings {
    fn default() -> Self {
        Self {
            container_cpu: 1.0,
            container_memory: 5120,
            container_disk: 51_200,
            container_persistent: true,
            modal_image: IMAGE.to_owned(),
            modal_mode: "auto".to_owned(),
            daytona_image: IMAGE.to_owned(),
            vercel_runtime: String::new(),
            timeout: 180.0,
        }
    }
}

impl Section for HostedSettings {
    const NAME: &'static str = "terminal";
}

impl HostedSettings {
    /// The keys of a snapshot.
    pub(crate) fn of(settings: &Settings) -> Result<Self, EnvError> {
        settings.section().map_err(|error| EnvError::Settings(error.to_string()))
    }

    /// Whole processors, at least one.
    pub(crate) fn cpus(&self) -> u32 {
        let whole = self.container_cpu.ceil().clamp(1.0, 1024.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to a small positive number above"
        )]
        let whole = whole as u32;
        whole
    }

    /// Thousandths of processors, at least an eighth of one.
    pub(crate) fn milli_cpus(&self) -> u32 {
        let milli = (self.container_cpu * 1000.0).clamp(125.0, 1_024_000.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to a small positive number above"
        )]
        let milli = milli as u32;
        milli
    }

    /// Whole gibibytes of memory, rounded up.
    pub(crate) fn memory_gib(&self) -> u32 {
        gib(self.container_memory)
    }

    /// Whole gibibytes of disk, rounded up.
    pub(crate) fn disk_gib(&self) -> u32 {
        gib(self.container_disk)
    }
}

fn gib(megabytes: u64) -> u32 {
    u32::try_from(megabytes.div_ceil(1024).max(1)).unwrap_or(u32::MAX)
}

/// A task as a part of a vendor's name: letters, digits and `-`, not too long.
pub(crate) fn plain_name(task: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let name: String = task.chars().map(plain).take(40).collect();
    if name.is_empty() { "default".to_owned() } else { name }
}

/// A variable that is set to something.
pub(crate) fn variable(settings: &Settings, name: &str) -> Option<Secret> {
    let value = &settings.variable(name)?.value;
    (!value.expose().trim().is_empty()).then(|| Secret::new(value.expose().trim()))
}

/// The address in a variable, or the vendor's own.
pub(crate) fn address(settings: &Settings, name: &str, usual: &str) -> Result<Url, String> {
    let text = variable(settings, name);
    let text = text.as_ref().map_or(usual, |text| text.expose());
    checked_url(text).map_err(|error| format!("`{name}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up_to_what_vendors_take() {
        let settings = HostedSettings {
            container_cpu: 1.5,
            container_memory: 5120,
            container_disk: 1025,
            ..HostedSettings::default()
        };
        assert_eq!((settings.cpus(), settings.milli_cpus()), (2, 1500));
        assert_eq!((settings.memory_gib(), settings.disk_gib()), (5, 2));
    }
}
