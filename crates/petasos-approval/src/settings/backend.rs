//! Where commands run, and whether anything of the host can be reached from there.
//!
//! Only the configuration is read; what was really mounted is asserted by the terminal.

use petasos_contract::Settings;
use serde_json::Value;

/// The kind of place commands run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// This machine.
    Local,
    /// Another machine, or a container that sees part of this one.
    Remote,
    /// A place from which nothing of the host can be reached.
    Isolated,
}

impl Backend {
    /// Reads a snapshot. A backend that is not known counts as one that must be guarded.
    pub(super) fn read(settings: &Settings) -> Self {
        match settings.text("terminal.backend").unwrap_or("local") {
            "local" | "" => Self::Local,
            "singularity" | "apptainer" | "modal" | "daytona" | "vercel_sandbox" => Self::Isolated,
            "docker" | "podman" if !sees_host(settings) => Self::Isolated,
            _ => Self::Remote,
        }
    }
}

fn sees_host(settings: &Settings) -> bool {
    let mounts_cwd = !matches!(
        settings.get("terminal.docker_mount_cwd_to_workspace"),
        None | Some(Value::Null | Value::Bool(false))
    );
    let volumes = settings.names("terminal.docker_volumes").unwrap_or_default();
    let arguments = settings.names("terminal.docker_extra_args").unwrap_or_default();
    mounts_cwd
        || volumes.iter().any(|volume| is_bind_mount(volume))
        || arguments.iter().any(|argument| opens_host(argument))
}

/// A volume by name is the engine's own; anything with a path is the host's.
fn is_bind_mount(volume: &str) -> bool {
    let source = volume.split(':').next().unwrap_or_default();
    let drive = volume.split(':').nth(1).is_some_and(|rest| rest.starts_with(['\\', '/']))
        && source.len() == 1;
    source.contains(['/', '\\', '~', '$']) && volume.contains(':')
        || source.starts_with('.')
        || drive
}

fn opens_host(argument: &str) -> bool {
    const OPENING: &str = "-v --volume --mount --privileged --device --pid --ipc --uts --userns --cap-add \
        --security-opt --cgroupns --net --network";
    OPENING.split(' ').any(|option| argument.starts_with(option))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_place_without_the_host_in_it_is_isolated() {
        let cases = [
            (json!({}), Backend::Local),
            (json!({"backend": "ssh"}), Backend::Remote),
            (json!({"backend": "modal"}), Backend::Isolated),
            (json!({"backend": "somewhere"}), Backend::Remote),
            (json!({"backend": "docker"}), Backend::Isolated),
            (json!({"backend": "docker", "docker_volumes": ["cache:/cache"]}), Backend::Isolated),
            (json!({"backend": "docker", "docker_volumes": ["/src:/src"]}), Backend::Remote),
            (json!({"backend": "docker", "docker_volumes": ["~/src:/src"]}), Backend::Remote),
            (json!({"backend": "docker", "docker_volumes": ["./src:/src:ro"]}), Backend::Remote),
            (json!({"backend": "docker", "docker_volumes": ["C:\\src:/src"]}), Backend::Remote),
            (json!({"backend": "docker", "docker_mount_cwd_to_workspace": true}), Backend::Remote),
            (json!({"backend": "docker", "docker_extra_args": ["--privileged"]}), Backend::Remote),
            (json!({"backend": "docker", "docker_extra_args": ["--memory=1g"]}), Backend::Isolated),
        ];
        for (terminal, backend) in cases {
            let values = json!({"terminal": terminal});
            let settings = Settings::from_values(values.as_object().unwrap().clone());
            assert_eq!(Backend::read(&settings), backend, "{values}");
        }
    }
}
